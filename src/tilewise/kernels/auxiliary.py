"""Kernels beside the ladder: copies of odd strides, random numbers, a check in float64 and the peak of multiply-adds.

Sources and launch shapes; who calls them and with what memory is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.launch import Dim3, Slot
from tilewise.core.source import KernelSource
from tilewise.kernels.source import CUDA_FOLDER

THREADS = 256
BLOCKS_PER_SM = 8
"""256 threads each: as many threads as an SM has."""
CHECK_SIDE = 16
"""Rows and columns of the tile that a block of check_product looks at. The twin of SIDE there."""
FMAS_PER_ROUND = 256
"""Multiply-adds a thread and round of fma_peak: CHAINS x UNROLLED there."""

Word = Slot | int | float
Strides = tuple[int, int, int, int, int]
"""Elements between rows and columns of A (M, K), then of B (K, N), and between rows of C."""


@dataclass(frozen=True, slots=True)
class Call:
    """A launch of an auxiliary kernel, without its module."""

    kernel: str
    """Also its file's name."""
    grid: Dim3
    block: Dim3
    args: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Strided:
    """A matrix of 4-byte words in memory: where it begins, and its strides in bytes."""

    place: Slot
    row_bytes: int
    column_bytes: int


def auxiliary_source(kernel: str) -> KernelSource:
    """Return the source of an auxiliary kernel."""
    path = CUDA_FOLDER / "auxiliary" / f"{kernel}.cu"
    return KernelSource(text=path.read_text(encoding="utf-8"), name=str(path))


def copy_strided(source: Strided, target: Strided, rows: int, columns: int) -> Call:
    """Return the launch that copies a matrix of rows x columns words."""
    blocks = min(-(-rows * columns // THREADS), 2**20)
    strides = (source.row_bytes, source.column_bytes, target.row_bytes, target.column_bytes)
    return Call("copy_strided", (blocks, 1, 1), (THREADS, 1, 1), (source.place, target.place, rows, columns, *strides))


def draw_normal(values: Slot, count: int, seed: int) -> Call:
    """Return the launch that fills `count` float32 numbers."""
    return Call("draw_normal", (min(-(-count // THREADS), 2**16), 1, 1), (THREADS, 1, 1), (values, count, seed))


def fma_peak(sums: Slot, sms: int, rounds: int) -> tuple[Call, int]:
    """Return the launch on `sms` SMs, which writes a float32 number a thread, and its multiply-adds."""
    blocks = BLOCKS_PER_SM * sms
    return Call(
        "fma_peak", (blocks, 1, 1), (THREADS, 1, 1), (sums, rounds, 0.999, 0.001)
    ), blocks * THREADS * rounds * FMAS_PER_ROUND


def check_blocks(M: int, N: int) -> int:
    """Return the blocks of check_product for a C of M x N: as many doubles and as many 32-bit counts it leaves."""
    return -(-M // CHECK_SIDE) * -(-N // CHECK_SIDE)


def check_product(
    operands: tuple[Slot, Slot, Slot],
    results: tuple[Slot, Slot],
    sizes: tuple[int, int, int],
    strides: Strides,
    atol: float,
    rtol: float,
) -> Call:
    """Return the launch that compares C with A B; `results` are where the errors and counts of `check_blocks` blocks go."""
    M, N, _ = sizes
    grid = (-(-N // CHECK_SIDE), -(-M // CHECK_SIDE), 1)
    return Call("check_product", grid, (CHECK_SIDE, CHECK_SIDE, 1), (*operands, *results, *sizes, *strides, atol, rtol))
