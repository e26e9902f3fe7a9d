"""The rung r03 for Numba's CUDA simulator, which finds `cuda` among a kernel's globals.

NUMBA_ENABLE_CUDASIM=1 must be set before this is imported.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, float32

S = 16


@cuda.jit  # type: ignore[untyped-decorator]  # numba has no types
def gemm(a: Any, b: Any, c: Any, K: int) -> None:
    """c = a b for sides that S divides; a block of S x S threads a tile of c."""
    a_tile = cuda.shared.array((S, S), float32)
    b_tile = cuda.shared.array((S, S), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * S + y, cuda.blockIdx.x * S + x
    acc = float32(0)
    for k0 in range(0, K, S):
        a_tile[y, x] = a[row, k0 + x]
        b_tile[y, x] = b[k0 + y, column]
        cuda.syncthreads()
        for k in range(S):
            acc += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    c[row, column] = acc
