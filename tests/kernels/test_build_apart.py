"""The compiler in a process of its own, and kernels asked for by their C++ names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tilewise.build.cache import Cache
from tilewise.build.nvrtc import compile_source
from tilewise.core.errors import CompileError, TilewiseError
from tilewise.core.module import Module
from tilewise.core.source import KernelSource

LIMIT_S = 60.0


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def build(text: str, cache: Cache, *names: str, limit_s: float | None = LIMIT_S, arch: str = "sm_90a") -> Module:
    source = KernelSource(text, "kernel.cu", headers={"value.h": "#define VALUE 3\n"}, defines={"MORE": "4"}, std="c++20")
    return compile_source(source, arch, names=names, time_limit_s=limit_s, cache=cache)


def test_child_gives_what_a_compile_here_gives(cache: Cache, tmp_path: Path) -> None:
    text = '#include "value.h"\nextern "C" __global__ void k(int* p) { int unused; *p = VALUE + MORE; }\n'
    assert build(text, cache) == build(text, Cache(tmp_path / "other"), limit_s=None)
    assert build(text, cache, limit_s=0.001) == build(text, cache)  # from the cache: nothing is compiled


def test_child_keeps_the_lines_of_a_compile_error(cache: Cache) -> None:
    with pytest.raises(CompileError, match=r"kernel\.cu does not compile: 1 error\.\nkernel\.cu:2: error: .*nothing") as caught:
        build("\n__global__ void k() { nothing(); }\n", cache)
    assert "nothing" in caught.value.log


def test_child_keeps_the_place_of_other_errors(cache: Cache) -> None:
    with pytest.raises(TilewiseError, match=r"^kernel\.cu: line 1 holds a NUL") as caught:
        build("\0", cache)
    assert caught.value.where == "kernel.cu"


def test_compile_that_takes_too_long_is_stopped(cache: Cache) -> None:
    with pytest.raises(TilewiseError, match=r"^kernel\.cu: compiling took longer than 0\.02 s and was stopped"):
        build("__global__ void k() {}", cache, limit_s=0.02)


@pytest.mark.parametrize(
    ("script", "said"),
    [("kill -SEGV $$", r"the compiler crashed \(SIGSEGV\)"), ("echo one >&2; echo two >&2; exit 3", "ended with status 3: two")],
)
def test_child_that_does_not_answer_is_an_error(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(TilewiseError, match=said):
        build("__global__ void k() {}", cache)


def test_child_takes_no_modules_from_the_current_folder(cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('taken from the folder')")
    monkeypatch.chdir(tmp_path)
    assert ".entry _Z1kv(" in build("__global__ void k() {}", cache).ptx


# -- names

TEMPLATES = """
namespace ns { template <int N, class T> __global__ void fill(T* p) { *p = N; } }
template <class T> __global__ void clear(T* p) { *p = 0; }
"""


def test_instances_that_are_asked_for_are_in_the_ptx_under_their_names(cache: Cache) -> None:
    module = build(TEMPLATES, cache, "ns::fill<16, float>", "clear<double>")
    assert module.lowered_names == {"ns::fill<16, float>": "_ZN2ns4fillILi16EfEEvPT0_", "clear<double>": "_Z5clearIdEvPT_"}
    assert all(f".entry {lowered}(" in module.ptx for lowered in module.lowered_names.values())
    assert build(TEMPLATES, cache, "ns::fill<16, float>", "clear<double>") == module
    assert not build(TEMPLATES, cache).lowered_names


def test_name_that_no_kernel_has_is_refused(cache: Cache) -> None:
    with pytest.raises(TilewiseError, match=r'^kernel\.cu: no kernel is called fill<3>: identifier "fill" is undefined\.$'):
        build(TEMPLATES, cache, "fill<3>")


def test_name_that_would_add_code_is_refused(cache: Cache) -> None:
    with pytest.raises(TilewiseError):
        build(TEMPLATES, cache, "clear<int>); int evil(int x = 0")


def test_source_that_does_not_compile_says_so_whatever_the_name(cache: Cache) -> None:
    with pytest.raises(CompileError, match=r"kernel\.cu:1: error"):
        build("wrong", cache, "fill<3>")
