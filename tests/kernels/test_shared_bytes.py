"""Wavefronts of single bytes in shared memory, whose words hang on where the lanes' common address falls."""

from __future__ import annotations

import numpy as np
import pytest

from tilewise.build.nvrtc import compile_source
from tilewise.core.launch import Launch
from tilewise.core.source import KernelSource
from tilewise.emu.machine import emulate
from tilewise.hw.banks import FULL_MASK, wavefronts

REVERSE = """
extern "C" __global__ void reverse(unsigned char* out, int shift) {
    __shared__ unsigned char pool[4096];
    pool[shift + STRIDE * threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = pool[shift + STRIDE * (31 - threadIdx.x)];
}
"""


@pytest.mark.parametrize("stride", [1, 31, 97])
def test_wavefronts_of_bytes_follow_the_alignment_at_run_time(stride: int) -> None:
    module = compile_source(KernelSource(REVERSE, "reverse.cu", defines={"STRIDE": str(stride)}), "compute_90a")
    expected, stored, loaded, ways = [], [], [], []
    for shift in range(4):
        out = np.zeros(32, np.uint8)
        counters = emulate(Launch(module, "reverse", (1, 1, 1), (32, 1, 1), (out, np.int32(shift)))).counters
        assert np.array_equal(out, np.arange(31, -1, -1))
        expected.append(wavefronts([shift + stride * lane for lane in range(32)], FULL_MASK, 1, "store"))
        stored.append(counters.shared_store_wavefronts)
        loaded.append(counters.shared_load_wavefronts)
        ways.append(counters.worst_bank_conflict_ways)
    assert stored == loaded == ways == expected
    assert (len(set(expected)) > 1) == (stride > 1)
