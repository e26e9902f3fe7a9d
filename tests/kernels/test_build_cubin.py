"""Registers, shared memory and stack as read from cubins, against what ptxas says of the same compile."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.build.cubin import read_resources
from tilewise.build.nvrtc import compile
from tilewise.core.errors import TilewiseError
from tilewise.core.module import KernelResources

KERNELS = r"""
extern "C" __global__ void plain(float* a) { a[threadIdx.x] *= 2; }

extern "C" __global__ void idle() {}

extern "C" __global__ void shared(float* a) {
    __shared__ float s[333];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[332 - threadIdx.x];
}

extern "C" __global__ void shared_dynamic(float* a) {
    extern __shared__ float d[];
    d[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = d[32 - threadIdx.x];
}

extern "C" __global__ void local_array(float* a, int n) {
    float t[50], sum = 0;
    for (int i = 0; i < 50; i++) t[i] = a[i * n];
    for (int i = 0; i < n; i++) sum += t[(i * 7) % 50];
    a[n] = sum;
}

extern "C" __global__ void __launch_bounds__(1024) spills(float* a, int n) {
    float t[120];
#pragma unroll
    for (int i = 0; i < 120; i++) t[i] = a[i * n];
    for (int j = 0; j < n; j++) {
#pragma unroll
        for (int i = 0; i < 120; i++) t[i] = t[i] * t[(i + 1) % 120] + t[(i + 7) % 120];
    }
#pragma unroll
    for (int i = 0; i < 120; i++) a[i * n] = t[i];
}

__device__ __noinline__ float call_deep(float* a, int n) {
    float t[20];
    for (int i = 0; i < 20; i++) t[i] = a[i * n];
    return t[n % 20] + t[n % 7];
}

extern "C" __global__ void calls(float* a, int n) { a[n] = call_deep(a, n) + call_deep(a + n, n + 1); }

template <class T> __global__ void templated(T* a) {
    __shared__ T s[16];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[15 - threadIdx.x];
}
template __global__ void templated<double>(double*);
"""

NVCC = shutil.which("nvcc")


def read_verbose(log: str) -> dict[str, KernelResources]:
    """Return what `ptxas -v` says of each kernel; without a cumulative stack size there is no stack."""
    resources = {}
    for part in log.split("Compiling entry function ")[1:]:
        name, used = re.match(r"'(\w+)'", part), re.search(r"Used (\d+) registers.*", part)
        assert name
        assert used
        shared, stack = re.search(r"(\d+) bytes smem", used[0]), re.search(r"(\d+) bytes cumulative stack size", used[0])
        resources[name[1]] = KernelResources(
            name[1], int(used[1]), int(shared[1]) if shared else 0, int(stack[1]) if stack else 0
        )
    return resources


@pytest.mark.parametrize("build", [(), ("-G",)], ids=["optimised", "debug"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100", "sm_120"])
def test_resources_are_those_that_ptxas_reports(arch: str, build: tuple[str, ...]) -> None:
    module = compile(KERNELS, arch=arch, options=("--ptxas-options=-v", *build))
    said = read_verbose(module.log)
    assert len(said) == 8
    assert {kernel.name: kernel for kernel in module.resources} == said


def test_what_the_kernels_were_written_for_is_there() -> None:
    found = {kernel.name: kernel for kernel in compile(KERNELS, arch="sm_90a").resources}
    assert found["shared"].static_shared_bytes == 1344  # 333 floats, in units of 16 bytes
    assert found["_Z9templatedIdEvPT_"].static_shared_bytes == 128
    assert found["shared_dynamic"].static_shared_bytes == 0
    assert found["local_array"].local_bytes == 200
    assert found["calls"].local_bytes >= 80
    assert found["spills"].registers == 64  # 65,536 registers of an SM over 1,024 threads
    assert found["spills"].local_bytes > 120 * 4 - 64 * 4
    assert found["plain"].local_bytes == 0


@pytest.mark.skipif(NVCC is None, reason="no nvcc on the path to compare with")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100"])
def test_cubins_of_nvcc_are_read_as_its_ptxas_reports(tmp_path: Path, arch: str) -> None:
    assert NVCC
    source, cubin = tmp_path / "kernels.cu", tmp_path / "kernels.cubin"
    source.write_text(KERNELS)
    command = [NVCC, f"-arch={arch}", "-cubin", "--resource-usage", "-o", str(cubin), str(source)]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert {kernel.name: kernel for kernel in read_resources(cubin.read_bytes())} == read_verbose(log)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", bytes(500), b"\x7fELF" + bytes(500), b"not a cubin" * 40])
def test_bytes_that_are_no_cubin_are_refused(data: bytes) -> None:
    with pytest.raises(TilewiseError, match=rf"^These {len(data)} bytes are no cubin"):
        read_resources(data)


def test_host_program_is_refused() -> None:
    with pytest.raises(TilewiseError, match="no 64-bit ELF file for CUDA"):
        read_resources(Path("/bin/sh").read_bytes())


@given(st.data())
def test_damaged_cubin_is_read_or_refused_but_never_worse(data: st.DataObject) -> None:
    cubin = bytearray(compile(KERNELS).cubin or b"")
    for _ in range(data.draw(st.integers(1, 8))):
        cubin[data.draw(st.integers(0, len(cubin) - 1))] = data.draw(st.integers(0, 255))
    whole = cubin[: data.draw(st.integers(0, len(cubin)))] if data.draw(st.booleans()) else cubin
    try:
        resources = read_resources(bytes(whole))
    except TilewiseError:
        return
    assert all(isinstance(kernel, KernelResources) for kernel in resources)
