"""How the replay counts: requests, bytes, sectors, wavefronts. Written apart from the emulator, over whole arrays of requests."""

from __future__ import annotations

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
    ways: int = 0
    """The worst bank conflict."""

    def add(self, active: Mask, transactions: Ints, times: int = 1, words: Ints | int = 1, ways: int | None = None) -> None:
        """Count requests `times` times: `active` has their lanes along the last axis, `transactions` one number a request.

        Each active lane asks for `words`. One word a lane conflicts in as many `ways` as it takes wavefronts.
        """
        self.requests += times * int(active.any(axis=-1).sum())
        self.bytes += times * WORD_BYTES * int((active * words).sum())
        self.transactions += times * int(transactions.sum())
        self.worst = max(self.worst, int(transactions.max(initial=0)))
        self.ways = max(self.ways, int(transactions.max(initial=0)) if ways is None else ways)


@dataclass
class Tally:
    a_load: Traffic = field(default_factory=Traffic)
    b_load: Traffic = field(default_factory=Traffic)
    c_store: Traffic = field(default_factory=Traffic)
    shared_load: Traffic = field(default_factory=Traffic)
    shared_store: Traffic = field(default_factory=Traffic)
    async_store_bytes: int = 0
    """What cp.async writes to shared memory, zeros included."""
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
            shared_async_store_bytes=self.async_store_bytes,
            worst_bank_conflict_ways=max(self.shared_load.ways, self.shared_store.ways),
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
