"""The replay of the rungs that move sixteen bytes at a time, r05 to r07, from their tiling alone.

A sixteen-byte access to shared memory goes by quarter-warps, or by half-warps where lanes agree in pairs (sources of the rule:
hw/banks.py; the count here is written apart). A copy of cp.async counts as a global load of the bytes inside the operand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from accounting import BANKS, WARP, Ints, Mask, Product, Tally, Traffic, blocks_of, sectors, threads_of, wavefronts

from tilewise.core.plan import TilePlan

VECTOR = 4
"""Words a lane moves at once, at most."""
PAD = 4
"""Words of padding a row of a tile that is transposed on its way in."""
LANES = (
    (0, 2, 4, 6, 8, 10, 12, 14),
    (1, 3, 5, 7, 9, 11, 13, 15),
    (16, 18, 20, 22, 24, 26, 28, 30),
    (17, 19, 21, 23, 25, 27, 29, 31),
)
"""r07: a warp's lanes as they lie over its tile."""


@dataclass(frozen=True)
class Operand:
    """A or B as its tiles are copied: `lines` of the block tile's width against k."""

    load: Traffic
    width: int
    size: int
    leading: int
    k_runs: bool
    """Whether k is what runs along memory; the tile is k first, so the copy then transposes."""

    @property
    def row_words(self) -> int:
        return self.width + (PAD if self.k_runs else 0)


@dataclass(frozen=True)
class Threads:
    """Where the threads of a block lie; a thread's patches of 4 x 4 stand 4 `down` rows and 4 `across` columns apart."""

    count: int
    row: Ints
    col: Ints
    down: int
    across: int


@dataclass(frozen=True)
class Step:
    """One k-step of one row or column of blocks: where it begins along the width and along k."""

    BK: int
    first: int
    k0: int
    K: int


def vectorised(plan: TilePlan, product: Product) -> Tally:
    """r05: two barriers a k-step; whole tiles of aligned operands go in float4s, any other word by word."""
    return _climb(plan, product, _spread_over_block(plan), barriers=2, asynchronous=False)


def double_buffer(plan: TilePlan, product: Product) -> Tally:
    """r06: one barrier a k-step; aligned operands that need no transposing go in copies of 16 bytes, any other word by word."""
    return _climb(plan, product, _spread_over_block(plan), barriers=1, asynchronous=True)


def warp_tile(plan: TilePlan, product: Product) -> Tally:
    """r07: r06 with each warp's threads over a tile of its own."""
    return _climb(plan, product, _spread_over_warps(plan), barriers=1, asynchronous=True)


def _spread_over_block(plan: TilePlan) -> Threads:
    down, across = plan.BM // plan.TM, plan.BN // plan.TN
    thread, _ = threads_of(down * across)
    return Threads(down * across, thread // across * 4, thread % across * 4, down, across)


def _spread_over_warps(plan: TilePlan) -> Threads:
    WM, WN = 4 * plan.TM, 8 * plan.TN
    count = 32 * (plan.BM // WM) * (plan.BN // WN)
    thread, _ = threads_of(count)
    place = np.array([divmod(np.flatnonzero(np.ravel(LANES) == lane)[0], 8) for lane in range(WARP)])
    warp, warps_across = thread // WARP, plan.BN // WN
    lane_row, lane_col = place[thread % WARP, 0], place[thread % WARP, 1]
    return Threads(count, warp // warps_across * WM + 4 * lane_row, warp % warps_across * WN + 4 * lane_col, 4, 8)


def _climb(plan: TilePlan, product: Product, threads: Threads, *, barriers: int, asynchronous: bool) -> Tally:
    tally = Tally()
    a = Operand(tally.a_load, plan.BM, product.M, product.lda, product.layout[0] == "r")
    b = Operand(tally.b_load, plan.BN, product.N, product.ldb, product.layout[1] == "c")
    block_row, block_col = blocks_of(plan, product)
    for operand, firsts, times in ((a, block_row, block_col.size), (b, block_col, block_row.size)):
        for first in firsts.flat:
            for k0 in range(0, product.K, plan.BK):
                _copy(tally, operand, Step(plan.BK, int(first), k0, product.K), threads, times, asynchronous)
    steps = block_row.size * block_col.size * -(-product.K // plan.BK)
    _read_fragments(tally, plan, threads, (a.row_words, b.row_words), steps)
    tally.barriers = barriers * steps
    tally.fma = plan.BM * plan.BN * plan.BK * steps
    _store(tally, plan, product, threads)
    return tally


def _copy(tally: Tally, operand: Operand, step: Step, threads: Threads, times: int, asynchronous: bool) -> None:
    """Count one tile's way in, `times` times: that many blocks copy the same one."""
    width, BK = operand.width, step.BK
    lines, depth = operand.size - step.first, step.K - step.k0
    by_vectors = operand.leading % 4 == 0 and (not operand.k_runs if asynchronous else lines >= width and depth >= BK)
    at_once = VECTOR if by_vectors else 1
    run = BK if operand.k_runs else width
    start = step.first * operand.leading + step.k0 if operand.k_runs else step.k0 * operand.leading + step.first
    thread, exists = threads_of(threads.count)
    for round_first in range(0, BK * width, at_once * threads.count):
        word = round_first + at_once * thread
        live = exists & (word < BK * width)
        across, along = word // run, word % run
        k, line = (along, across) if operand.k_runs else (across, along)
        along_left, across_left = (depth - k, lines - line) if operand.k_runs else (lines - line, depth - k)
        asked = np.where(live & (across_left > 0), np.clip(along_left, 0, at_once), 0)
        operand.load.add(asked > 0, sectors(start + across * operand.leading + along, asked > 0), times, asked)
        if asynchronous:
            tally.async_store_bytes += times * 4 * at_once * int(live.sum())
        else:
            _store_copied(tally.shared_store, k * operand.row_words + line, live, at_once, operand, times)


def _store_copied(store: Traffic, words: Ints, live: Mask, at_once: int, operand: Operand, times: int) -> None:
    """r05's way from registers to the tile: a float4, or one word after the other."""
    if at_once == VECTOR and not operand.k_runs:
        add_vectors(store, words, live, times)
        return
    for word in range(at_once):
        store.add(live, wavefronts(words + word * operand.row_words, live), times)


def _read_fragments(tally: Tally, plan: TilePlan, threads: Threads, row_words: tuple[int, int], times: int) -> None:
    _, exists = threads_of(threads.count)
    for kk in range(plan.BK):
        for i in range(0, plan.TM, VECTOR):
            add_vectors(tally.shared_load, kk * row_words[0] + threads.row + i * threads.down, exists, times)
        for j in range(0, plan.TN, VECTOR):
            add_vectors(tally.shared_load, kk * row_words[1] + threads.col + j * threads.across, exists, times)


def _store(tally: Tally, plan: TilePlan, product: Product, threads: Threads) -> None:
    """Blocks that lie wholly inside an aligned C store float4s, the others single words."""
    block_row, block_col = blocks_of(plan, product)
    _, exists = threads_of(threads.count)
    whole = (product.ldc % 4 == 0) & (block_row + plan.BM <= product.M) & (block_col + plan.BN <= product.N)
    for m in range(plan.TM):
        for n in range(0, plan.TN, VECTOR):
            row = block_row + m // 4 * 4 * threads.down + threads.row + m % 4
            col = block_col + n * threads.across + threads.col
            tally.c_store.add(whole & exists, sectors(product.c_word(row, col), whole & exists), words=VECTOR)
            for word in range(VECTOR):
                active = ~whole & exists & product.inside_c(row, col + word)
                tally.c_store.add(active, sectors(product.c_word(row, col + word), active))


def add_vectors(traffic: Traffic, words: Ints, active: Mask, times: int) -> None:
    """Count sixteen-byte accesses to shared memory; `words` are the first of each lane's four."""
    passes, ways = vector_wavefronts(words, active)
    traffic.add(active, passes, times, VECTOR, ways)


def vector_wavefronts(words: Ints, active: Mask) -> tuple[Ints, int]:
    """Return each request's wavefronts, and the worst conflict of any: the most words of a bank for lanes served together."""
    words, active = (array.reshape(-1, WARP) for array in np.broadcast_arrays(words, active))
    total = np.zeros(len(words), dtype=np.int64)
    worst = 0
    for request, (row, on) in enumerate(zip(words, active, strict=True)):
        lanes = 16 if _agree(row, on, 1) or _agree(row, on, 2) else 8
        for first in range(0, WARP, lanes):
            asked = {int(word) + part for word in row[first : first + lanes][on[first : first + lanes]] for part in range(VECTOR)}
            fullest = max((sum(word % BANKS == bank for word in asked) for bank in range(BANKS)), default=0)
            total[request] += fullest
            worst = max(worst, fullest)
    return total, worst


def _agree(words: Ints, active: Mask, distance: int) -> bool:
    other = np.arange(WARP) ^ distance
    return bool(((words == words[other]) | ~active | ~active[other]).all())
