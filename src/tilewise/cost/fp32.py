"""How long an fp32 product takes by each of the kernels that matmul has, and how it is best cut: a model to choose by.

Times are of a device of known peak and bandwidth. What a model cannot know is a constant below, each with where it comes from:
[fitted] is least squares, over the logarithms of 88 times of tiles measured on an H200, 2026-11-30
(benchmarks/results/fp32_candidates_h200.json and bench_fp32_h200.json). The median error is 3 %; the worst, 37 % too little, is
of a C that is stored word by word and a K of few steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from tilewise.core.plan import TilePlan
from tilewise.core.problem import Layout, Problem
from tilewise.cost.traffic import formula_load_bytes
from tilewise.hw.banks import WORD_BYTES
from tilewise.hw.device import Device
from tilewise.kernels.fp32 import (
    FEW,
    MOST_SHARED_STEPS,
    Cut,
    Few,
    Tiles,
    as_short,
    few_blocks,
    parts_words,
    step_count,
    threads,
    tile_count,
)

LAUNCH_SECONDS = 7e-7
"""From one launch of a graph to the next where neither does anything [fitted]."""
START_SECONDS = 7e-7
"""Of a block, until its first tile is there and after its last multiply-add [fitted]."""
LATENCY_SECONDS = 8.5e-7
"""From asking for a tile to its arrival, with what the barrier adds [fitted]."""
SUM_SECONDS = 2e-6
"""A second launch that adds parts, which cannot begin before the first is done [fitted]."""
PART_SECONDS = 1.2e-7
"""A part more of the tile that has most: a thread adds them one after the other [fitted]."""
HALF_WARPS = 0.75
"""Warps a scheduler that reach half of what ever so many would [fitted]."""
L2_BYTES_PER_HBM_BYTE = 1.25
"""The L2's bandwidth over device memory's [reads on an H200: 5.5 against 4.47 TB/s]."""
READING = 0.9
"""Of device memory's nominal bandwidth, what reads reach [an H200: 4.47 of 4.8 TB/s]."""
THREADS_PER_SCHEDULERS = 128
"""A warp for each of an SM's four schedulers."""
FULL_WARPS = 2
"""Warps a scheduler that `Tiling.of_peak` is stated for."""
COLUMNS_DEPTH = 64
"""k that a block of columns has in shared memory at a time. The twin of DEPTH in columns.cu."""
LEAST_SHARE = 4
"""k-steps a share at the least: fewer are all prologue."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """A build of tiled.cu with what a GPU gets from it."""

    tiles: Tiles
    of_peak: float
    """Of the multiply-adds' nominal peak, with two warps a scheduler on every SM: what the machine code leaves of the issue
    slots, less what waiting takes. Fitted to layout rc, and taken for others that were not measured."""
    of_peak_elsewhere: tuple[tuple[Layout, float], ...] = ()
    """The same with other layouts, where it was measured."""

    def of_peak_with(self, layout: Layout) -> float:
        """Return the share of the peak with a layout."""
        return dict(self.of_peak_elsewhere).get(layout, self.of_peak)


WIDE = Tiling(Tiles(TilePlan(128, 256, 16, 8, 16), 2, 1), 0.66, (("rr", 0.745),))
LARGE = Tiling(Tiles(TilePlan(128, 128, 8, 16, 8), 4, 2), 0.705, (("rr", 0.71), ("cr", 0.74), ("cc", 0.72)))
MIDDLE = Tiling(Tiles(TilePlan(64, 128, 16, 16, 8), 2, 4), 0.645)
CROWDED = Tiling(Tiles(TilePlan(64, 128, 16, 8, 8), 2, 4), 0.57)
SMALL = Tiling(Tiles(TilePlan(64, 64, 16, 4, 4), 3, 3), 0.465)
FLAT = Tiling(Tiles(TilePlan(32, 128, 16, 4, 8), 2, 4), 0.475)
TINY = Tiling(Tiles(TilePlan(32, 32, 16, 4, 4), 4, 8), 0.4)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A cut and the seconds that a product then takes."""

    cut: Cut
    seconds: float


def estimate_tiled(tiling: Tiling, problem: Problem, device: Device) -> Estimate:
    """Return the fastest cut of a product's tiles: a block each, or cut along k so that all SMs have as much to do."""
    tiles, steps = tile_count(tiling.tiles.tile, problem), step_count(tiling.tiles.tile, problem)
    cuts = [Cut(tiles, 0, 0)]
    fills = tiles >= tiling.tiles.blocks_per_sm * device.sms
    for resident in range(tiling.tiles.blocks_per_sm if fills else 1, tiling.tiles.blocks_per_sm + 1):
        slots = resident * device.sms
        whole = max(0, tiles // slots - 1) * slots
        work = (tiles - whole) * steps
        share = max(-(-work // slots), LEAST_SHARE)
        if work < MOST_SHARED_STEPS and share % steps:
            cuts.append(Cut(whole, -(-work // share), share))
    return min((Estimate(cut, _seconds(tiling, cut, problem, device)) for cut in cuts), key=lambda each: each.seconds)


def _seconds(tiling: Tiling, cut: Cut, problem: Problem, device: Device) -> float:
    tile, steps = tiling.tiles.tile, step_count(tiling.tiles.tile, problem)
    busiest = -(-cut.whole // device.sms) * steps + -(-cut.shares // device.sms) * cut.share  # k-steps of the SM with most to do
    resident = min(tiling.tiles.blocks_per_sm, -(-cut.blocks // device.sms))
    peak = device.fp32_fmas_per_s / device.sms
    rate = peak * tiling.of_peak_with(problem.layout) * _of_full_rate(resident * threads(tile) / THREADS_PER_SCHEDULERS)
    hbm = READING * device.hbm_bandwidth_bytes_per_s
    l2 = L2_BYTES_PER_HBM_BYTE * hbm
    arithmetic = busiest * tile.BM * tile.BN * tile.BK / rate
    waiting = busiest / resident * LATENCY_SECONDS / (tiling.tiles.stages - 1)
    reading = max(problem.compulsory_bytes / hbm, formula_load_bytes(problem, tile) / l2)
    summing = 0.0
    if cut.shares:  # half of the places for parts are written, and read again
        summing = SUM_SECONDS + PART_SECONDS * -(-steps // cut.share) + WORD_BYTES * parts_words(tile, cut) / l2
    return LAUNCH_SECONDS + START_SECONDS + max(arithmetic, waiting, reading) + summing


def _of_full_rate(warps: float) -> float:
    """What so many warps a scheduler reach of what two do: one waits at times, and half a one leaves half of them idle."""
    return min(1.0, warps, (1 + HALF_WARPS / FULL_WARPS) * warps / (warps + HALF_WARPS))


@dataclass(frozen=True, slots=True)
class Sharing:
    """How dot or columns is built for up to so many rows, and what it gets from a GPU."""

    R: int
    line_warps: int
    unroll: int
    blocks_per_sm: int
    """Wanted, so that none waits long for the last."""
    of_peak: float
    """Of the multiply-adds' nominal peak: they wait for words of the short operand."""


ONE_OF_FEW_LINES = Sharing(2, 1, 4, 4, 0.16)
"""One row, where twice the lines a warp would leave too few blocks."""
ACROSS_K = Sharing(4, 1, 1, 4, 0.16)
"""Of columns, whose code has four lines a lane whatever is asked for [nothing was measured]."""
SHARINGS = MappingProxyType(
    {
        1: Sharing(4, 1, 8, 4, 0.16),
        2: Sharing(4, 2, 2, 4, 0.16),
        4: Sharing(4, 4, 2, 4, 0.16),
        8: Sharing(4, 8, 4, 4, 0.16),
        16: Sharing(8, 8, 1, 2, 0.25),
    }
)
"""Of dot, by rows: the fastest measured [of_peak fits 8 and 16 rows; memory bounds one, and 2 and 4 were not measured]."""


def share_out(problem: Problem, device: Device) -> Few:
    """Return how a product of few rows or columns is best shared out."""
    short = as_short(problem)
    S = _rows_held(short.rows)
    sharing = SHARINGS[S] if short.k_runs else ACROSS_K
    if sharing is SHARINGS[1] and short.lines < sharing.R * sharing.line_warps * sharing.blocks_per_sm * device.sms:
        sharing = ONE_OF_FEW_LINES
    few = Few(S, sharing.R, sharing.line_warps, sharing.unroll, 1, short.K)
    wanted = sharing.blocks_per_sm * device.sms
    pass_depth = 128 * (8 // few.line_warps) * few.unroll if short.k_runs else 2 * COLUMNS_DEPTH
    splits = max(1, min(wanted // few_blocks(short, few), short.K // pass_depth))
    chunk = -(-short.K // (splits * pass_depth)) * pass_depth if splits > 1 else max(1, short.K)
    return replace(few, splits=-(-short.K // chunk), chunk=chunk)


def estimate_few(few: Few, problem: Problem, device: Device) -> float:
    """Return the seconds of a product of few rows or columns: those of reading the long operand, or of its multiply-adds."""
    short = as_short(problem)
    reading = problem.compulsory_bytes / (READING * device.hbm_bandwidth_bytes_per_s)
    of_peak = (SHARINGS[few.S] if short.k_runs else ACROSS_K).of_peak
    arithmetic = few.S * short.lines * short.K / (of_peak * device.fp32_fmas_per_s)
    summing = SUM_SECONDS + PART_SECONDS * few.splits if few.splits > 1 else 0.0
    return LAUNCH_SECONDS + START_SECONDS + max(reading, arithmetic) + summing


def _rows_held(rows: int) -> int:
    """The power of 2 of rows that a thread computes, for as many and more."""
    return 1 << (min(rows, FEW) - 1).bit_length()
