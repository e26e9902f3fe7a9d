"""Headers of the host in device code: NVRTC compiles what they give, a file's own headers go first, nvcc takes what is beyond."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tilewise.build import nvcc
from tilewise.build.stand_ins import STAND_INS, with_stand_ins
from tilewise.core.errors import CompileError
from tilewise.core.source import KernelSource
from tilewise.engine.kernel_file import BuildOptions, build, list_kernels, open_file

ALL = "".join(f"#include <{name}>\n" for name in STAND_INS)
KERNEL = """\
__global__ void k(float* x, const uint8_t* y, std::int64_t n, size_t m) {
    assert(n > 0);
    printf("%d", (int)n);
    memcpy(x, y, m);
    x[0] = INFINITY + NAN + M_PI + FLT_MAX + DBL_EPSILON + sqrtf(2) + isnan(x[1]) + abs(-3) + UINT32_MAX;
    static_assert(sizeof(int64_t) == 8 && sizeof(uint16_t) == 2 && INT64_MAX == LLONG_MAX && INT32_MIN == INT_MIN);
}
"""


@pytest.fixture
def without_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc, "_find_nvcc", lambda: None)


def write(folder: Path, text: str) -> Path:
    path = folder / "k.cu"
    path.write_text(text)
    return path


@pytest.mark.usefixtures("without_nvcc")
@pytest.mark.parametrize("beside", ["", "#include <cuda/std/cstdint>\n#include <cuda/std/limits>\n"])
def test_headers_of_the_host_need_no_nvcc(tmp_path: Path, beside: str) -> None:
    module = build(open_file(write(tmp_path, beside + ALL + KERNEL)), BuildOptions())
    assert ".entry" in module.ptx
    assert module.compiler.startswith("NVRTC")


@pytest.mark.usefixtures("without_nvcc")
@pytest.mark.parametrize("header", ["cuda_runtime.h", "stdlib.h", "cstdlib", "sys/types.h"])
def test_short_names_of_unsigned_types_need_no_nvcc(header: str, tmp_path: Path) -> None:
    text = f"#include <{header}>\n__global__ void k(uint* x, ushort y, ulong z) {{ *x = y + (uint)z; }}\n"
    assert build(open_file(write(tmp_path, text)), BuildOptions()).compiler.startswith("NVRTC")


HELPERS = """\
const char* program = "sum";
static int launches = 0;
struct Timer { float start; Timer() { start = 0; } };
int ceil_div(int a, int b) { launches++; return (a + b - 1) / b; }
"""


@pytest.mark.usefixtures("without_nvcc")
@pytest.mark.parametrize("unoptimised", [False, True])
def test_helpers_of_the_host_beside_a_kernel_need_no_nvcc(unoptimised: bool, tmp_path: Path) -> None:
    path = write(tmp_path, HELPERS + "__global__ void k(float* x) { x[0] = 1; }\n")
    assert [kernel.shown for kernel in list_kernels(build(open_file(path), BuildOptions(unoptimised=unoptimised)))] == ["k"]


@pytest.mark.usefixtures("without_nvcc")
def test_error_in_a_kernel_beside_helpers_of_the_host_is_shown(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"k\.cu:5: error: identifier \"y\" is undefined") as raised:
        build(open_file(write(tmp_path, HELPERS + "__global__ void k(float* x) { x[0] = y; }\n")), BuildOptions())
    assert "JIT mode" not in str(raised.value)


@pytest.mark.usefixtures("without_nvcc")
def test_header_of_the_file_s_own_folder_goes_first(tmp_path: Path) -> None:
    (tmp_path / "float.h").write_text("#define FLT_MAX 7.0f\n")
    module = build(
        open_file(write(tmp_path, '#include "float.h"\n__global__ void k(float* x) { x[0] = FLT_MAX; }\n')), BuildOptions()
    )
    assert "0f40E00000" in module.ptx or "1088421888" in module.ptx  # 7.0 as bits


def test_source_without_such_headers_stays_as_it_is() -> None:
    source = KernelSource("#include <cuda_fp16.h>\n__global__ void k() {}\n")
    assert with_stand_ins(source) is source


@pytest.mark.usefixtures("without_nvcc")
def test_what_no_stand_in_has_is_an_error_at_its_line_without_nvcc(tmp_path: Path) -> None:
    path = write(tmp_path, "#include <cmath>\n__global__ void k(float* x) { x[0] = std::sqrt(x[1]); }\n")
    with pytest.raises(CompileError, match=r"k\.cu:2: error"):
        build(open_file(path), BuildOptions())


@pytest.mark.slow
@pytest.mark.skipif(nvcc._find_nvcc() is None, reason="no nvcc")
def test_nvcc_takes_what_no_stand_in_has(tmp_path: Path) -> None:
    path = write(tmp_path, "#include <cmath>\n__global__ void k(float* x) { x[0] = std::sqrt(x[1]); }\n")
    assert build(open_file(path), BuildOptions()).compiler.startswith("nvcc")


@pytest.mark.parametrize("header", ["limits.h", "float.h", "stdint.h", "math.h"])
def test_constants_are_the_compiler_s_own(header: str, tmp_path: Path) -> None:
    constants = dict(re.findall(r"#define (\w+) (.+)", STAND_INS[header]))
    numbers = {name: value for name, value in constants.items() if "__int_as_float" not in value}
    checks = "".join(f'_Static_assert({name} == ({value}), "{name}");\n' for name, value in numbers.items())
    path = tmp_path / "constants.c"
    path.write_text(f"#define _GNU_SOURCE\n#include <{header}>\n{checks}")
    try:
        done = subprocess.run(["cc", "-std=gnu11", "-fsyntax-only", str(path)], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    assert done.returncode == 0, done.stderr
