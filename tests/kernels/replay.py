"""A brute-force replay of what each rung does to memory, from its tiling alone.

Written apart from the emulator: it enumerates, as the CUDA source says, the lanes, addresses and active masks of every request,
and counts them one by one. Of the compiled code it knows only what test_rung_ptx.py checks: NVRTC keeps every access of these
rungs as one instruction for one 4-byte word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tilewise.core.counters import Counters
from tilewise.core.plan import TilePlan

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

WARP = 32
BANKS = 32
WORD_BYTES = 4
SECTOR_WORDS = 8


@dataclass(frozen=True)
class Product:
    """Sizes, layout and leading dimensions, in elements."""

    M: int
    N: int
    K: int
    layout: str
    lda: int
    ldb: int
    ldc: int

    def a_word(self, row: Ints, k: Ints) -> Ints:
        return row * self.lda + k if self.layout[0] == "r" else k * self.lda + row

    def b_word(self, k: Ints, col: Ints) -> Ints:
        return k * self.ldb + col if self.layout[1] == "r" else col * self.ldb + k

    def c_word(self, row: Ints, col: Ints) -> Ints:
        return row * self.ldc + col

    def inside_a(self, row: Ints, k: Ints) -> Mask:
        return (row < self.M) & (k < self.K)

    def inside_b(self, k: Ints, col: Ints) -> Mask:
        return (k < self.K) & (col < self.N)

    def inside_c(self, row: Ints, col: Ints) -> Mask:
        return (row < self.M) & (col < self.N)


@dataclass
class Traffic:
    """One kind of access, summed over its requests."""

    requests: int = 0
    bytes: int = 0
    transactions: int = 0
    """Sectors, or wavefronts."""
    worst: int = 0
    """The most transactions of one request."""

    def add(self, active: Mask, transactions: Ints, times: int = 1, words: Ints | int = 1) -> None:
        """Count requests `times` times: `active` has their lanes along the last axis, `transactions` one number a request.

        Each active lane asks for `words`.
        """
        self.requests += times * int(active.any(axis=-1).sum())
        self.bytes += times * WORD_BYTES * int((active * words).sum())
        self.transactions += times * int(transactions.sum())
        self.worst = max(self.worst, int(transactions.max(initial=0)))


@dataclass
class Tally:
    a_load: Traffic = field(default_factory=Traffic)
    b_load: Traffic = field(default_factory=Traffic)
    c_store: Traffic = field(default_factory=Traffic)
    shared_load: Traffic = field(default_factory=Traffic)
    shared_store: Traffic = field(default_factory=Traffic)
    barriers: int = 0
    fma: int = 0

    def counters(self) -> Counters:
        return Counters(
            requested_load_bytes=self.a_load.bytes + self.b_load.bytes,
            requested_store_bytes=self.c_store.bytes,
            global_load_requests=self.a_load.requests + self.b_load.requests,
            global_load_sectors=self.a_load.transactions + self.b_load.transactions,
            global_store_requests=self.c_store.requests,
            global_store_sectors=self.c_store.transactions,
            shared_load_requests=self.shared_load.requests,
            shared_load_bytes=self.shared_load.bytes,
            shared_load_wavefronts=self.shared_load.transactions,
            shared_store_requests=self.shared_store.requests,
            shared_store_bytes=self.shared_store.bytes,
            shared_store_wavefronts=self.shared_store.transactions,
            worst_bank_conflict_ways=max(self.shared_load.worst, self.shared_store.worst),
            barriers=self.barriers,
            fma=self.fma,
        )


def sectors(words: Ints, active: Mask) -> Ints:
    """Return how many 32-byte sectors each request touches; lanes stand along the last axis."""
    words, active = np.broadcast_arrays(words, active)
    touched: Ints = _distinct(np.where(active, words // SECTOR_WORDS, -1).reshape(-1, WARP)).sum(axis=-1)
    return touched


def wavefronts(words: Ints, active: Mask) -> Ints:
    """Return each request's passes through the 32 banks: the most different words that one bank has to give."""
    words, active = np.broadcast_arrays(words, active)
    rows = np.sort(np.where(active, words, -1).reshape(-1, WARP), axis=-1)
    first = _distinct(rows)
    request, lane = np.nonzero(first)
    banks = np.bincount(request * BANKS + rows[request, lane] % BANKS, minlength=len(rows) * BANKS)
    most: Ints = banks.reshape(-1, BANKS).max(axis=-1)
    return most


def _distinct(rows: Ints) -> Mask:
    """Return a mask with one True for each different non-negative value of a row, at its first place in sorted order."""
    rows = np.sort(rows, axis=-1)
    first = np.ones(rows.shape, dtype=bool)
    first[:, 1:] = rows[:, 1:] != rows[:, :-1]
    return first & (rows >= 0)


def replay(rung: str, plan: TilePlan, product: Product) -> Tally:
    """Return what a launch of the rung counts, grid and block as the ladder launches it."""
    return REPLAYS[rung](plan, product)


def blocks_of(plan: TilePlan, product: Product) -> tuple[Ints, Ints]:
    """Return first row and first column of every block, to broadcast with (block row, block column, warp, lane)."""
    return (
        np.arange(0, product.M, plan.BM).reshape(-1, 1, 1, 1),
        np.arange(0, product.N, plan.BN).reshape(1, -1, 1, 1),
    )


def threads_of(count: int) -> tuple[Ints, Mask]:
    """Return the linear thread numbers of a block by warp and lane, and which lanes exist."""
    thread = np.arange(-(-count // WARP) * WARP).reshape(-1, WARP)
    return thread, thread < count


def _one_output(along_rows: bool) -> Callable[[TilePlan, Product], Tally]:
    """r01 (threadIdx.x is the row in the block) and r02 (it is the column): no reuse at all."""

    def count(plan: TilePlan, product: Product) -> Tally:
        tally = Tally()
        thread, exists = threads_of(plan.BM * plan.BN)
        across = plan.BM if along_rows else plan.BN
        x, y = thread % across, thread // across
        block_row, block_col = blocks_of(plan, product)
        row, col = block_row + (x if along_rows else y), block_col + (y if along_rows else x)
        active = exists & product.inside_c(row, col)
        for k in np.arange(product.K).reshape(-1, 1):
            tally.a_load.add(active, sectors(product.a_word(row, k), active))
            tally.b_load.add(active, sectors(product.b_word(k, col), active))
        tally.c_store.add(active, sectors(product.c_word(row, col), active))
        tally.fma = int(active.sum()) * product.K
        return tally

    return count


def _smem_tile(plan: TilePlan, product: Product) -> Tally:
    """r03: threads (x, y) of an S x S block; a column-major operand is copied with x and y exchanged, into padded rows."""
    tally = Tally()
    S = plan.BM
    thread, exists = threads_of(S * S)
    x, y = thread % S, thread // S
    pad = 32 // S
    a_row_words, b_row_words = (S if order == "r" else S + pad for order in product.layout)
    a_row, a_k = (y, x) if product.layout[0] == "r" else (x, y)
    b_k, b_col = (y, x) if product.layout[1] == "r" else (x, y)
    block_row, block_col = blocks_of(plan, product)
    blocks = block_row.size * block_col.size
    for k0 in range(0, product.K, S):
        active = exists & product.inside_a(block_row + a_row, k0 + a_k) & (block_col >= 0)
        tally.a_load.add(active, sectors(product.a_word(block_row + a_row, k0 + a_k), active))
        active = exists & product.inside_b(k0 + b_k, block_col + b_col) & (block_row >= 0)
        tally.b_load.add(active, sectors(product.b_word(k0 + b_k, block_col + b_col), active))
        tally.shared_store.add(exists, wavefronts(a_row * a_row_words + a_k, exists), blocks)
        tally.shared_store.add(exists, wavefronts(b_k * b_row_words + b_col, exists), blocks)
        for kk in range(S):
            tally.shared_load.add(exists, wavefronts(y * a_row_words + kk, exists), blocks)
            tally.shared_load.add(exists, wavefronts(kk * b_row_words + x, exists), blocks)
        tally.barriers += 2 * blocks
        tally.fma += S * S * S * blocks
    row, col = block_row + y, block_col + x
    active = exists & product.inside_c(row, col)
    tally.c_store.add(active, sectors(product.c_word(row, col), active))
    return tally


def _thread_tile(plan: TilePlan, product: Product) -> Tally:
    """r04: a line of threads, thread tiles in rows; both tiles k first; transposed copies go into padded rows."""
    tally = Tally()
    count = (plan.BM // plan.TM) * (plan.BN // plan.TN)
    thread, exists = threads_of(count)
    across = plan.BN // plan.TN
    thread_row, thread_col = thread // across * plan.TM, thread % across * plan.TN
    pad = max(1, 32 // plan.BK)
    a_row_words = plan.BM + (pad if product.layout[0] == "r" else 0)
    b_row_words = plan.BN + (pad if product.layout[1] == "c" else 0)
    block_row, block_col = blocks_of(plan, product)
    blocks = block_row.size * block_col.size
    for k0 in range(0, product.K, plan.BK):
        for i, live in _rounds(plan.BM * plan.BK, count):
            row, k = (i // plan.BK, i % plan.BK) if product.layout[0] == "r" else (i % plan.BM, i // plan.BM)
            active = live & product.inside_a(block_row + row, k0 + k) & (block_col >= 0)
            tally.a_load.add(active, sectors(product.a_word(block_row + row, k0 + k), active))
            tally.shared_store.add(live, wavefronts(k * a_row_words + row, live), blocks)
        for i, live in _rounds(plan.BK * plan.BN, count):
            k, col = (i // plan.BN, i % plan.BN) if product.layout[1] == "r" else (i % plan.BK, i // plan.BK)
            active = live & product.inside_b(k0 + k, block_col + col) & (block_row >= 0)
            tally.b_load.add(active, sectors(product.b_word(k0 + k, block_col + col), active))
            tally.shared_store.add(live, wavefronts(k * b_row_words + col, live), blocks)
        for kk in range(plan.BK):
            for m in range(plan.TM):
                tally.shared_load.add(exists, wavefronts(kk * a_row_words + thread_row + m, exists), blocks)
            for n in range(plan.TN):
                tally.shared_load.add(exists, wavefronts(kk * b_row_words + thread_col + n, exists), blocks)
        tally.barriers += 2 * blocks
        tally.fma += plan.BM * plan.BN * plan.BK * blocks
    for m in range(plan.TM):
        for n in range(plan.TN):
            row, col = block_row + thread_row + m, block_col + thread_col + n
            active = exists & product.inside_c(row, col)
            tally.c_store.add(active, sectors(product.c_word(row, col), active))
    return tally


def _rounds(words: int, threads: int) -> Iterator[tuple[Ints, Mask]]:
    """Yield the word each thread copies in each round, by warp and lane, and which lanes still have one."""
    thread, exists = threads_of(threads)
    for first in range(0, words, threads):
        yield first + thread, exists & (first + thread < words)


REPLAYS: dict[str, Callable[[TilePlan, Product], Tally]] = {
    "r01": _one_output(along_rows=True),
    "r02": _one_output(along_rows=False),
    "r03": _smem_tile,
    "r04": _thread_tile,
}
