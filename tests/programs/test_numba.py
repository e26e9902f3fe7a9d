"""Numba's CUDA compiler, a front end of its own: a matmul in Python, through its PTX, on the emulator."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.emu.machine import emulate
from tilewise.ptx.parse import parse

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed (pip install 'numba-cuda[cu13]')"
)
TILE = 12
"""Threads a side: 144, which are no whole warps."""


@cache
def compiled(optimised: bool) -> Module:
    """The kernel for three row-major matrices of float32."""
    from numba import cuda, float32, void

    def matmul(a: Any, b: Any, c: Any) -> None:
        a_tile = cuda.shared.array((TILE, TILE), float32)
        b_tile = cuda.shared.array((TILE, TILE), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row, column = cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + x
        acc = float32(0)
        for k0 in range(0, a.shape[1], TILE):
            a_tile[y, x] = a[row, k0 + x] if row < a.shape[0] and k0 + x < a.shape[1] else float32(0)
            b_tile[y, x] = b[k0 + y, column] if column < b.shape[1] and k0 + y < b.shape[0] else float32(0)
            cuda.syncthreads()
            for k in range(TILE):
                acc += a_tile[y, k] * b_tile[k, x]
            cuda.syncthreads()
        if row < c.shape[0] and column < c.shape[1]:
            c[row, column] = acc

    matrix = float32[:, ::1]
    ptx, _ = cuda.compile_ptx(matmul, void(matrix, matrix, matrix), cc=(9, 0), debug=not optimised, opt=optimised)
    return Module("matmul.py", "sm_90", ptx)


def as_arguments(array: npt.NDArray[Any]) -> tuple[Any, ...]:
    """A contiguous array as Numba passes it: two owners, items, bytes an item, data, shape, strides."""
    return (0, 0, array.size, array.itemsize, array, *array.shape, *array.strides)


@pytest.mark.parametrize("optimised", [True, False], ids=["optimised", "debug"])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (12, 24, 36), (31, 25, 40)])
def test_a_shared_memory_matmul_from_numba(m: int, n: int, k: int, optimised: bool) -> None:
    random = np.random.default_rng(m)
    a, b = random.standard_normal((m, k), np.float32), random.standard_normal((k, n), np.float32)
    c = np.full((m, n), np.nan, np.float32)
    module = compiled(optimised)
    (kernel,) = (function.name for function in parse(module.ptx).functions if function.is_entry)
    grid = (-(-n // TILE), -(-m // TILE))
    arguments = (*as_arguments(a), *as_arguments(b), *as_arguments(c))
    counters = emulate(Launch(module, kernel, (*grid, 1), (TILE, TILE, 1), arguments)).counters
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, exact, rtol=0, atol=1e-5)
    assert counters.requested_load_bytes == 4 * (m * k * grid[0] + k * n * grid[1])  # the formula of square tiles
    assert counters.barriers == 2 * -(-k // TILE) * grid[0] * grid[1]
