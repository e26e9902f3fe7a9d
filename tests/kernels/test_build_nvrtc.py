"""CUDA C++ to PTX and cubin: what goes in by which road, and what comes out."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cuda_headers import need_cuda_headers

from tilewise.build.includes import scan_includes
from tilewise.build.nvrtc import compile, compile_source, compiler_version
from tilewise.build.nvrtc_library import supported_archs
from tilewise.core.errors import TilewiseError
from tilewise.core.source import KernelSource
from tilewise.kernels.ladder import LADDER
from tilewise.kernels.source import kernel_source

STORE = 'extern "C" __global__ void store(int* a) { *a = VALUE; }\n'


def stored(ptx: str) -> int:
    """Return the constant that the kernel stores."""
    match = re.search(r"mov\.[ub]32\s+%r\d+, (\d+);", ptx)
    assert match, ptx
    return int(match[1])


def files(ptx: str) -> list[str]:
    return re.findall(r'^\s*\.file\s+\d+\s+"([^"]*)"', ptx, re.MULTILINE)


def test_one_compile_gives_ptx_with_lines_and_a_cubin() -> None:
    module = compile("\n\n" + STORE.replace("VALUE", "1"), "store.cu", arch="sm_90a")
    assert ".target sm_90a" in module.ptx
    assert re.search(r"\.loc\s+1 3 ", module.ptx)
    assert module.cubin
    assert module.cubin.startswith(b"\x7fELF")
    assert [kernel.name for kernel in module.resources] == ["store"]
    assert (module.name, module.arch, module.log) == ("store.cu", "sm_90a", "")
    assert re.fullmatch(r"NVRTC 1[23]\.\d+", module.compiler)


def test_compute_arch_gives_the_same_ptx_and_no_cubin() -> None:
    source = STORE.replace("VALUE", "1")
    module = compile(source, arch="compute_90a")
    assert (module.cubin, module.resources) == (None, ())
    assert module.ptx == compile(source, arch="sm_90a").ptx


def test_every_supported_arch_compiles() -> None:
    for arch in supported_archs():
        module = compile(STORE.replace("VALUE", "1"), arch=arch)
        assert f".target {arch}\n" in module.ptx
        assert module.resources[0].registers > 0


def test_source_without_kernels_gives_no_resources() -> None:
    assert compile("__device__ int f(int x) { return x; }").resources == ()


def test_kernel_without_parameters_is_a_kernel() -> None:
    assert [kernel.name for kernel in compile('extern "C" __global__ void idle() {}').resources] == ["idle"]


def test_defines_reach_the_source() -> None:
    module = compile_source(KernelSource(STORE, defines={"VALUE": "TWICE(21)", "TWICE(x)": "(x + x)"}))
    assert stored(module.ptx) == 42


@pytest.mark.parametrize(("std", "value"), [("c++14", 201402), ("c++17", 201703), ("c++20", 202002)])
def test_standard_is_the_sources(std: str, value: int) -> None:
    assert stored(compile_source(KernelSource(STORE, defines={"VALUE": "__cplusplus"}, std=std)).ptx) == value


def test_options_reach_the_compiler() -> None:
    divide = 'extern "C" __global__ void divide(float* a) { a[0] /= a[1]; }'
    assert "div.rn.f32" in compile(divide).ptx
    assert "div.approx" in compile(divide, options=("--use_fast_math",)).ptx


def test_debug_build_warns_of_no_clash_with_line_info() -> None:
    module = compile(STORE.replace("VALUE", "1"), options=("-G",))
    assert ".target sm_90a, debug" in module.ptx
    assert module.log == ""


def test_headers_in_memory_come_before_those_on_disk(tmp_path: Path) -> None:
    (tmp_path / "outer.cuh").write_text('#include "value.cuh"\n')
    (tmp_path / "value.cuh").write_text("#define VALUE 1\n")
    text = '#include "outer.cuh"\n' + STORE
    on_disk = compile_source(KernelSource(text, include_paths=(tmp_path,)))
    in_memory = compile_source(KernelSource(text, include_paths=(tmp_path,), headers={"value.cuh": "#define VALUE 2\n"}))
    assert (stored(on_disk.ptx), stored(in_memory.ptx)) == (1, 2)


def test_line_table_shows_names_as_given(tmp_path: Path) -> None:
    twice = "__device__ inline int twice(int x) { return x * 2; }\n"
    thrice = "__device__ inline int thrice(int x) { return x * 3; }\n"
    (tmp_path / "disk.cuh").write_text(twice)
    source = KernelSource(
        '#include "disk.cuh"\n#include "sub/memory.cuh"\nextern "C" __global__ void f(int* a) { *a = twice(*a) ^ thrice(*a); }',
        "given/kernel.cu",
        headers={"sub/memory.cuh": thrice},
        include_paths=(tmp_path,),
    )
    assert files(compile_source(source).ptx) == ["given/kernel.cu", str(tmp_path / "disk.cuh"), "sub/memory.cuh"]


def test_files_that_a_rungs_lines_name_are_among_its_scanned_includes() -> None:
    for rung in LADDER:
        source = kernel_source(rung, rung.default_plan, "rr")
        named = set(files(compile_source(source).ptx))
        assert source.name in named
        assert named - {source.name} <= {path for path, _ in scan_includes(source).files}


def test_cuda_headers_need_no_toolkit() -> None:
    need_cuda_headers()
    module = compile('#include <cuda_fp16.h>\nextern "C" __global__ void add(__half* a) { a[0] = __hadd(a[1], a[2]); }')
    assert "add.f16" in module.ptx
    assert "add.f32" not in module.ptx


def test_threads_compile_side_by_side() -> None:
    def compile_number(number: int) -> int:
        return stored(compile(STORE.replace("VALUE", str(number))).ptx)

    numbers = range(100, 112)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(compile_number, numbers)) == list(numbers)


@pytest.mark.parametrize(
    ("arch", "first"),
    [
        ("sm_70", "sm_75"),
        ("sm_90f", "sm_90"),
        ("sm90a", "sm_90"),
        ("sm_119", "sm_120"),
        ("SM_100", "sm_100"),
        ("hopper", "sm_75"),
    ],
)
def test_unknown_arch_is_refused_with_the_nearest_first(arch: str, first: str) -> None:
    with pytest.raises(TilewiseError) as refusal:
        compile(STORE, arch=arch)
    text = str(refusal.value)
    assert text.startswith(f"arch '{arch}' is none that {compiler_version()} compiles for. Nearest first: {first}, ")
    assert all(known in text for known in supported_archs())


def test_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(TilewiseError, match=r"^store\.cu: NVRTC [\d.]+ refuses an option: .*--bogus"):
        compile(STORE, "store.cu", options=("--bogus",))


@pytest.mark.parametrize("option", ["-I/usr/include", "--include-path=/x", "-include=x.h", "--pre-include=x.h", "--use-pch=x"])
def test_option_that_would_read_files_past_the_cache_is_refused(option: str) -> None:
    with pytest.raises(TilewiseError, match=re.escape(option)):
        compile(STORE, options=(option,))


def test_number_is_no_arch_but_names_the_nearest() -> None:
    with pytest.raises(TilewiseError, match=r"^arch 91 is none .* Nearest first: sm_90, "):
        compile(STORE, arch=91)  # type: ignore[arg-type]


def test_one_string_is_no_tuple_of_options() -> None:
    with pytest.raises(TilewiseError, match=r"options = '-G' is one string: give a tuple, such as \('-G',\)"):
        compile(STORE, options="-G")  # type: ignore[arg-type]


def test_nul_and_lone_surrogate_are_refused_with_their_place() -> None:
    with pytest.raises(TilewiseError, match=r"^bad\.cu: line 2 holds a NUL character"):
        compile("int a;\nint b\0;", "bad.cu")
    with pytest.raises(TilewiseError, match=r"^bad\.cu: character 3 .* is not Unicode"):
        compile("// \udc80", "bad.cu")


@pytest.mark.parametrize("name", ["A B", "9", "", "A=B"])
def test_define_that_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(TilewiseError, match=re.escape(f"define {name!r}")):
        compile_source(KernelSource(STORE, defines={name: "1"}))


def test_source_that_is_no_text_is_refused() -> None:
    with pytest.raises(TilewiseError, match="source is a bytes"):
        compile(b"text")  # type: ignore[arg-type]


@pytest.mark.parametrize("absent", ["cuda.bindings", "cuda.pathfinder"])
def test_nvrtc_that_cannot_be_loaded_says_what_to_install(absent: str) -> None:
    program = f"""
import sys
sys.modules[{absent!r}] = None
from tilewise.build.nvrtc import compile
from tilewise.core.errors import TilewiseError
try:
    compile("")
except TilewiseError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("NVRTC, which compiles CUDA C++, cannot be loaded")
    assert 'pip install "nvidia-cuda-nvrtc' in said


def test_nothing_heavy_is_imported_before_the_first_compile() -> None:
    program = (
        "import sys, tilewise.build.nvrtc; print([m for m in ('numpy', 'cuda.bindings', 'platformdirs') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
