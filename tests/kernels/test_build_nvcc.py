"""Files with host code: recognised, compiled by nvcc where there is one, refused with a sentence where there is none."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from tilewise.build import nvcc
from tilewise.core.errors import CompileError, TilewiseError
from tilewise.engine.kernel_file import BuildOptions, build, list_kernels, open_file, open_kernel

PROGRAM = """\
#include <vector>
__global__ void twice(float* x) { x[threadIdx.x] *= 2.f; }
int main() {
  std::vector<float> x(32);
  twice<<<1, 32>>>(nullptr);
}
"""
with_nvcc = pytest.mark.skipif(nvcc._find_nvcc() is None, reason="no nvcc")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PROGRAM, nvcc.HostCode("<vector>", 1)),
        ("void f() {\n  k<<<1, 2>>>();\n}", nvcc.HostCode("a kernel's launch", 2)),
        ("__global__ void k() {}\n\nint main(int argc, char** argv) {}", nvcc.HostCode("main", 3)),
        ("#include <stdio.h>", nvcc.HostCode("<stdio.h>", 1)),
        ("// int main() { k<<<1, 2>>>(); }\n/* #include <vector>\n*/ __global__ void k() {}", None),
        ("#include <cuda_fp16.h>\n#include <cuda/std/array>\n__device__ int remains(int x) { return x << 3; }", None),
    ],
)
def test_host_code_is_what_nvrtc_cannot_compile(text: str, expected: nvcc.HostCode | None) -> None:
    assert nvcc.find_host_code(text) == expected


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.cu"
    path.write_text(PROGRAM)
    return path


@with_nvcc
@pytest.mark.slow
def test_device_code_has_the_file_s_own_lines(program: Path) -> None:
    module = build(open_file(program), BuildOptions(assembled=True))
    assert f'.file\t1 "{program}"' in module.ptx
    assert ".loc\t1 2 " in module.ptx
    assert [kernel.registers > 0 for kernel in module.resources] == [True]
    assert module.compiler.startswith("nvcc 1")


@with_nvcc
@pytest.mark.slow
def test_template_s_instance_is_compiled_and_a_wrong_one_is_the_command_line_s(tmp_path: Path) -> None:
    path = tmp_path / "program.cu"
    path.write_text("#include <vector>\nnamespace ns {\ntemplate <int T> __global__ void k(float* x) { x[0] = T; }\n}\n")
    file = open_file(path)
    module = build(file, BuildOptions(assembled=True), "ns::k<16>")
    assert [entry.shown for entry in list_kernels(module)] == ["ns::k<16>"]
    assert f'.file\t1 "{path}"' in module.ptx
    assert [kernel.registers > 0 for kernel in module.resources] == [True]
    with pytest.raises(CompileError, match=r'--kernel\(1\): error: identifier "nothing" is undefined'):
        build(file, BuildOptions(), "ns::k<nothing>")


@with_nvcc
@pytest.mark.slow
def test_header_of_kernels_is_compiled_and_its_template_s_unsigned_numbers_need_no_suffix(tmp_path: Path) -> None:
    path = tmp_path / "kernels.cuh"
    path.write_text("#include <algorithm>\ntemplate <unsigned T> __global__ void k(float* x) { x[0] = T; }\n")
    entry = open_kernel(open_file(path), BuildOptions(assembled=True), "k<16>")
    assert entry.shown == "k<16u>"


@with_nvcc
@pytest.mark.slow
def test_error_stands_at_its_line(program: Path) -> None:
    program.write_text(PROGRAM.replace("x(32)", "y(z)"))
    with pytest.raises(CompileError, match=r'program\.cu\(4\): error: identifier "z" is undefined'):
        build(open_file(program), BuildOptions())


def test_missing_nvcc_is_a_sentence(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc, "_find_nvcc", lambda: None)
    with pytest.raises(TilewiseError, match=r"program\.cu:1: <vector> is host code.*nvidia-cuda-nvcc"):
        build(open_file(program), BuildOptions())


def test_compiler_that_hangs_is_stopped_with_what_it_started(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "nvcc"
    slow.write_text("#!/bin/sh\nsleep 60 &\nwait\n")
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(nvcc, "_find_nvcc", lambda: str(slow))
    began = time.monotonic()
    with pytest.raises(TilewiseError, match=r"nvcc took longer than 0\.3 s"):
        build(open_file(program), BuildOptions(time_limit_s=0.3))
    assert time.monotonic() - began < 20
