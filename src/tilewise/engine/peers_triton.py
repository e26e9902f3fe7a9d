"""A float32 product in Triton, tuned for each problem from a few configurations. Loaded by peers.py alone."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

_CONFIGURATIONS = [
    triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_warps=warps, num_stages=stages)
    for bm, bn, bk, warps, stages in (
        (128, 128, 16, 8, 3),
        (128, 64, 32, 4, 3),
        (64, 128, 32, 4, 3),
        (64, 64, 32, 4, 4),
        (32, 64, 32, 4, 4),
        (16, 64, 64, 4, 4),
    )
]
TILES_A_GROUP = 8


@triton.autotune(configs=_CONFIGURATIONS, key=["M", "N", "K", "a_row", "b_k"])  # type: ignore[untyped-decorator]
@triton.jit  # type: ignore[untyped-decorator]
def _product(  # type: ignore[no-untyped-def]  # Triton reads the annotations it needs
    a, b, c, M, N, K, a_row, a_k, b_k, b_col, c_row, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    """C = A B: a program a tile, tiles in groups of rows so that programs at work share their operands in the L2 cache."""
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    program = tl.program_id(0)
    group = program // (GROUP * across)
    rows_here = min(down - group * GROUP, GROUP)
    row_tile = group * GROUP + program % (GROUP * across) % rows_here
    col_tile = program % (GROUP * across) // rows_here
    rows, cols, ks = row_tile * BM + tl.arange(0, BM), col_tile * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + ks
        a_tile = tl.load(a + rows[:, None] * a_row + k[None, :] * a_k, mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b_tile = tl.load(b + k[:, None] * b_k + cols[None, :] * b_col, mask=(k[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision="ieee")
    tl.store(c + rows[:, None] * c_row + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def matmul(a: Any, b: Any, c: Any) -> None:
    """Write the product of two CUDA tensors to a row-major one, on PyTorch's current stream."""
    (M, K), N = a.shape, b.shape[1]

    def grid(meta: dict[str, int]) -> tuple[int]:
        return (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)

    _product[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), GROUP=TILES_A_GROUP)
