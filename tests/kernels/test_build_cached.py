"""The cache in front of the compiler: a hit compiles nothing, and whatever the result depends on is in the key."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cuda_headers import need_cuda_headers

import tilewise.build.nvrtc as nvrtc
from tilewise.build.cache import Cache, CacheWarning
from tilewise.build.nvrtc import compile_source
from tilewise.build.nvrtc_library import run_nvrtc
from tilewise.core.source import KernelSource

TEXT = '#include "value.cuh"\nextern "C" __global__ void store(int* a) { int unused; *a = VALUE + MORE; }\n'


class Compiles:
    """Counts the compiles that NVRTC does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.before: Callable[[], object] = lambda: None
        monkeypatch.setattr(nvrtc, "run_nvrtc", self)

    def __call__(self, *arguments: object) -> object:
        self.count += 1
        self.before()
        return run_nvrtc(*arguments)  # type: ignore[arg-type]


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> Compiles:
    return Compiles(monkeypatch)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def source(tmp_path: Path) -> KernelSource:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "value.cuh").write_text('#include "deep.cuh"\n#define VALUE 1\n')
    (folder / "deep.cuh").write_text("#define MORE 2\n")
    return KernelSource(TEXT, include_paths=(folder,))


def test_second_compile_is_a_hit_and_equal(source: KernelSource, cache: Cache, compiles: Compiles) -> None:
    first = compile_source(source, cache=cache)
    assert first.log  # the warning for the unused variable
    assert compile_source(source, cache=cache) == first
    assert compiles.count == 1
    assert cache.stats().entries == 1


def test_module_without_a_cubin_comes_back(source: KernelSource, cache: Cache, compiles: Compiles) -> None:
    first = compile_source(source, "compute_90", cache=cache)
    assert compile_source(source, "compute_90", cache=cache) == first
    assert (compiles.count, first.cubin) == (1, None)


@pytest.mark.parametrize("file", ["value.cuh", "deep.cuh"])
def test_edited_header_compiles_anew_and_the_old_text_is_a_hit_again(
    source: KernelSource, cache: Cache, compiles: Compiles, file: str
) -> None:
    header = source.include_paths[0] / file
    old = header.read_text()
    first = compile_source(source, cache=cache)
    header.write_text(old.replace("1", "7").replace("2", "8"))
    assert compile_source(source, cache=cache).ptx != first.ptx
    header.write_text(old)
    assert compile_source(source, cache=cache) == first
    assert compiles.count == 2


def test_header_that_newly_shadows_another_compiles_anew(source: KernelSource, cache: Cache, tmp_path: Path) -> None:
    nearer = tmp_path / "nearer"
    nearer.mkdir()
    both = replace(source, include_paths=(nearer, *source.include_paths))
    first = compile_source(both, cache=cache)
    (nearer / "value.cuh").write_text("#define VALUE 5\n#define MORE 5\n")
    assert compile_source(both, cache=cache).ptx != first.ptx


def test_header_edited_during_the_compile_is_not_kept(source: KernelSource, cache: Cache, compiles: Compiles) -> None:
    header = source.include_paths[0] / "deep.cuh"
    compiles.before = lambda: header.write_text("#define MORE 9\n")
    compile_source(source, cache=cache)
    assert cache.stats().entries == 0


CHANGES: dict[str, Callable[[KernelSource], KernelSource]] = {
    "text": lambda source: replace(source, text=source.text + "\n"),
    "name": lambda source: replace(source, name="other.cu"),
    "std": lambda source: replace(source, std="c++20"),
    "header": lambda source: replace(source, headers={"unused.cuh": ""}),
    "header text": lambda source: replace(source, headers={"unused.cuh": "\n"}),
    "define": lambda source: replace(source, defines={"A": "1"}),
    "define value": lambda source: replace(source, defines={"A": "2"}),
    "two defines": lambda source: replace(source, defines={"A": "1", "B": "2"}),
    "include path": lambda source: replace(source, include_paths=(*source.include_paths, Path("/nowhere"))),
}


def test_each_part_of_a_source_is_in_the_key(source: KernelSource, cache: Cache, compiles: Compiles) -> None:
    compile_source(source, cache=cache)
    for number, change in enumerate(CHANGES.values(), 2):
        compile_source(change(source), cache=cache)
        assert (compiles.count, cache.stats().entries) == (number, number)


def test_arch_and_options_are_in_the_key(source: KernelSource, cache: Cache, compiles: Compiles) -> None:
    compile_source(source, cache=cache)
    compile_source(source, "sm_80", cache=cache)
    compile_source(source, options=("--use_fast_math",), cache=cache)
    assert (compiles.count, cache.stats().entries) == (3, 3)


def test_another_compiler_is_in_the_key(
    source: KernelSource, cache: Cache, compiles: Compiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_source(source, cache=cache)
    monkeypatch.setattr(nvrtc, "library_identity", lambda: "NVRTC 99.9")
    compile_source(source, cache=cache)
    assert compiles.count == 2


def test_include_named_by_a_macro_is_never_kept(source: KernelSource, cache: Cache, compiles: Compiles) -> None:
    by_macro = replace(source, text=source.text.replace('"value.cuh"', "FILE"), defines={"FILE": '"value.cuh"'})
    assert compile_source(by_macro, cache=cache).ptx == compile_source(by_macro, cache=cache).ptx
    assert (compiles.count, cache.stats().entries) == (2, 0)


def test_damaged_entry_compiles_anew(source: KernelSource, cache: Cache, compiles: Compiles) -> None:
    first = compile_source(source, cache=cache)
    (entry,) = cache.root.glob("*.entry")
    entry.write_bytes(entry.read_bytes()[:-1])
    assert compile_source(source, cache=cache) == first
    assert compile_source(source, cache=cache) == first
    assert compiles.count == 2


def test_cuda_headers_are_unpacked_once_beside_the_entries(cache: Cache, compiles: Compiles) -> None:
    need_cuda_headers()
    source = KernelSource('#include <cuda_fp16.h>\nextern "C" __global__ void add(__half* a) { a[0] += a[1]; }')
    first = compile_source(source, cache=cache)
    assert compile_source(source, cache=cache) == first
    assert compiles.count == 1
    cache.clear()
    assert not any(cache.root.iterdir())


def test_without_a_usable_cache_all_compiles_and_is_said_once(source: KernelSource, compiles: Compiles, tmp_path: Path) -> None:
    need_cuda_headers()
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file")
    half = KernelSource('#include <cuda_fp16.h>\nextern "C" __global__ void add(__half* a) { a[0] += a[1]; }')
    with pytest.warns(CacheWarning):
        first = compile_source(source, cache=cache)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compile_source(source, cache=cache) == first
        assert "add.f16" in compile_source(half, cache=cache).ptx
    assert compiles.count == 3
