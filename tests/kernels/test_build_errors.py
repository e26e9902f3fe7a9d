"""Compile errors: the user's own files and lines, the line quoted, every error counted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewise.build.diagnostics import SHOWN
from tilewise.build.nvrtc import compile, compile_source
from tilewise.core.errors import CompileError, TilewiseError
from tilewise.core.source import KernelSource


def fail(text: str, name: str = "mine.cu", **source: object) -> CompileError:
    with pytest.raises(CompileError) as refusal:
        compile_source(KernelSource(text, name, **source))  # type: ignore[arg-type]
    return refusal.value


def test_error_shows_the_users_line_with_a_caret() -> None:
    error = fail('extern "C" __global__ void k(float* a) {\n    a[0] = unknown + 1;\n}\n')
    assert str(error) == (
        "mine.cu does not compile: 1 error.\n"
        'mine.cu:2: error: identifier "unknown" is undefined\n'
        "      a[0] = unknown + 1;\n"
        "             ^"
    )


def test_errors_are_counted_as_nvrtc_counts_them_and_warnings_are_left_to_the_log() -> None:
    body = "\n".join(f"    int unused{number}; missing{number}();" for number in range(SHOWN + 3))
    error = fail(f'extern "C" __global__ void k() {{\n{body}\n}}\n')
    (count,) = re.findall(r"(\d+) errors detected", error.log)
    assert str(error).splitlines()[0] == f"mine.cu does not compile: {count} errors."
    assert str(error).count(": error: ") == SHOWN
    assert str(error).endswith("\nand 3 more.")
    assert "warning" in error.log
    assert "warning" not in str(error)


def test_error_in_a_header_on_disk_names_the_header(tmp_path: Path) -> None:
    header = tmp_path / "broken.cuh"
    header.write_text("\n__device__ int f( { return 1; }\n")
    error = fail('#include "broken.cuh"\n', include_paths=(tmp_path,))
    assert f"\n{header}:2: error: " in str(error)
    assert "\n  __device__ int f( { return 1; }\n" in str(error)
    assert "mine.cu:" not in str(error)


def test_error_in_a_header_in_memory_names_the_header() -> None:
    error = fail('#include "plan.cuh"\n', headers={"plan.cuh": '\n\nstatic_assert(1 == 2, "the tile\'s side");\n'})
    assert 'plan.cuh:3: error: static assertion failed with "the tile\'s side"' in str(error)


def test_missing_header_is_an_error_at_its_include() -> None:
    assert '\nmine.cu:2: error: cannot open source file "nope.cuh"\n  #include "nope.cuh"\n' in str(
        fail('\n#include "nope.cuh"\n')
    )


def test_line_directive_is_followed() -> None:
    assert "\nother.cu:70: error: " in str(fail('#line 70 "other.cu"\nint x = ;\n'))


def test_bad_inline_assembly_is_an_error_at_its_source_line() -> None:
    error = fail('extern "C" __global__ void k(float* a) {\n    a[0] = 1;\n\tasm volatile("frob.f32 %0;" :: "f"(a[1]));\n}\n')
    lines = str(error).splitlines()
    assert lines[1].startswith("mine.cu:3: error: ")
    assert "frob" in lines[1]
    assert lines[2] == '  \tasm volatile("frob.f32 %0;" :: "f"(a[1]));'
    assert lines[3].startswith("  \t")
    assert lines[3].endswith("^")
    assert "ptxas" not in str(error)


def test_each_error_of_the_assembler_counts() -> None:
    error = fail('extern "C" __global__ void k() {\n    asm volatile("frob;");\n    asm volatile("grob;");\n}\n')
    assert str(error).startswith("mine.cu does not compile: 2 errors.\nmine.cu:2: error: ")
    assert "\nmine.cu:3: error: " in str(error)


def test_bad_inline_assembly_in_a_header_in_memory_quotes_the_header() -> None:
    header = '\n__device__ inline void frob() {\n    asm volatile("frob;");\n}\n'
    error = fail('#include "ptx.cuh"\nextern "C" __global__ void k() { frob(); }\n', headers={"ptx.cuh": header})
    assert "\nptx.cuh:3: error: " in str(error)
    assert '\n      asm volatile("frob;");\n' in str(error)


def test_too_much_shared_memory_is_said_in_decimal() -> None:
    error = fail('extern "C" __global__ void k(int* a) { __shared__ int s[100000]; s[*a] = 1; __syncthreads(); *a = s[*a + 1]; }')
    assert re.search(r"^mine\.cu: error: .*'k' uses too much shared data \(400000 bytes, 232448 max\)", str(error), re.MULTILINE)


def test_bad_standard_is_refused() -> None:
    with pytest.raises(TilewiseError, match=r"refuses an option: .*--std=c\+\+99"):
        compile_source(KernelSource("", std="c++99"))


def test_failed_compile_is_tried_anew_each_time(tmp_path: Path) -> None:
    header = tmp_path / "value.cuh"
    header.write_text("int x = ;\n")
    source = KernelSource('#include "value.cuh"\n', include_paths=(tmp_path,))
    for _ in range(2):
        with pytest.raises(CompileError):
            compile_source(source)
    header.write_text("\n")
    assert compile_source(source).ptx


def test_warnings_are_in_the_modules_log() -> None:
    assert "mine.cu(1): warning" in compile("__device__ void f() { int unused; }\n", "mine.cu").log
