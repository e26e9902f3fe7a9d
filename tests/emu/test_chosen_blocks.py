from __future__ import annotations

import numpy as np
import pytest

from tilewise.build.nvrtc import compile as compile_text
from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch
from tilewise.emu.machine import emulate

SOURCE = """
extern "C" __global__ void mark(int* x) {
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    __syncthreads();
    x[block * 32 + threadIdx.x] = block + 1;
}
"""
BLOCKS = 3 * 5 * 2


def marking() -> tuple[Launch, np.ndarray[tuple[int], np.dtype[np.int32]]]:
    marks = np.zeros(32 * BLOCKS, np.int32)
    return Launch(compile_text(SOURCE, "mark.cu"), "mark", grid=(3, 5, 2), block=(32, 1, 1), args=(marks,)), marks


@pytest.mark.parametrize("chosen", [[0], [BLOCKS - 1, 0], [7, 3, 16, 22], range(BLOCKS)])
@pytest.mark.parametrize("threads", [1, 2])
def test_only_chosen_blocks_run_and_count(chosen: list[int], threads: int) -> None:
    launch, marks = marking()
    counters = emulate(launch, blocks=chosen, threads=threads).counters
    expected = np.zeros((BLOCKS, 32), np.int32)
    expected[list(chosen)] = np.array(chosen, np.int32)[:, None] + 1
    np.testing.assert_array_equal(marks.reshape(BLOCKS, 32), expected)
    assert counters.global_store_requests == counters.barriers == len(chosen)


@pytest.mark.parametrize("chosen", [[BLOCKS], [-1], [1.0], ["0"], [3, 3], []])
def test_blocks_that_cannot_be_chosen_are_refused(chosen: list[int]) -> None:
    launch, marks = marking()
    with pytest.raises(TilewiseError, match=r"not in the grid: give whole numbers from 0 to 29|none, or one of them twice"):
        emulate(launch, blocks=chosen)
    assert not marks.any()
