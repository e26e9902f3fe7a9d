"""How long an fp32 product takes by each of the kernels that matmul has, and how it is best cut: a model to choose by.

Times are of a device of known peak and bandwidth. What a model cannot know is a constant below, each with where it comes from:
[fitted] is least squares, over the logarithms of 670 times of tiles measured on an H200, 2026-11-30, rounded
(benchmarks/results/fp32_candidates_h200.json has the fastest of them). Of the builds below, the median error is 2 %, and nine of
ten are within 7 %.
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
from tilewise.kernels.ladder import VECTOR

LAUNCH_SECONDS = 1e-7
"""From one launch of a graph to the next, beyond what a block takes to start [fitted]."""
START_SECONDS = 1.5e-6
"""Of each piece of a tile: until its first k-step is there and after its last multiply-add [fitted]."""
LATENCY_SECONDS = 8.5e-7
"""From asking for a k-step to its arrival, with what the barrier adds [fitted]."""
SUM_SECONDS = 2e-6
"""A second launch that adds parts, which cannot begin before the first is done [fitted]."""
PART_SECONDS = 1.3e-7
"""A part more of the tile that has most: a thread adds them one after the other [fitted]."""
HALF_WARPS = 0.33
"""Warps a scheduler that reach half of what ever so many would [fitted]."""
WORD_STORED_BYTES = 12
"""What a word of C takes of the L2's bandwidth where words are stored one by one, a sector each time [fitted]."""
L2_BYTES_PER_HBM_BYTE = 1.0
"""What tiles get of the L2, over what reads get of device memory [fitted; reads alone reach 1.2 on an H200, 5.5 to 4.47 TB/s]."""
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


TALL = Tiling(Tiles(TilePlan(256, 128, 8, 16, 8), 4, 1, 4), 0.757, (("rr", 0.785), ("cr", 0.805), ("cc", 0.775)))
LARGE = Tiling(Tiles(TilePlan(128, 128, 8, 16, 8), 4, 2, 2), 0.755, (("rr", 0.78), ("cr", 0.8), ("cc", 0.775)))
MIDDLE = Tiling(Tiles(TilePlan(64, 128, 8, 16, 8), 4, 4, 4), 0.735)
CROWDED = Tiling(Tiles(TilePlan(64, 128, 8, 8, 8), 4, 4), 0.655)
SMALL = Tiling(Tiles(TilePlan(64, 64, 16, 8, 4), 3, 4), 0.6)
NARROW = Tiling(Tiles(TilePlan(32, 64, 16, 4, 4), 4, 6), 0.46)
TINY = Tiling(Tiles(TilePlan(32, 32, 16, 4, 4), 4, 8), 0.43)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A cut and the seconds that a product then takes."""

    cut: Cut
    seconds: float


def estimate_tiled(tiling: Tiling, problem: Problem, device: Device) -> Estimate:
    """Return the fastest cut of a product's tiles."""
    cuts = possible_cuts(tiling.tiles, problem, device)
    return min((Estimate(cut, _seconds(tiling, cut, problem, device)) for cut in cuts), key=lambda each: each.seconds)


def possible_cuts(tiles: Tiles, problem: Problem, device: Device) -> list[Cut]:
    """Return the cuts that come into question: a block a tile, or so many shares of k that all SMs have as much to do."""
    count, steps = tile_count(tiles.tile, problem), step_count(tiles.tile, problem)
    cuts = [Cut(count, 0, 0)]
    fills = count >= tiles.blocks_per_sm * device.sms
    for resident in range(tiles.blocks_per_sm if fills else 1, tiles.blocks_per_sm + 1):
        slots = resident * device.sms
        whole = max(0, count // slots - 1) * slots
        work = (count - whole) * steps
        share = max(-(-work // slots), LEAST_SHARE)
        if work < MOST_SHARED_STEPS and share % steps:
            cuts.append(Cut(whole, -(-work // share), share))
    return cuts


def _seconds(tiling: Tiling, cut: Cut, problem: Problem, device: Device) -> float:
    tile, steps = tiling.tiles.tile, step_count(tiling.tiles.tile, problem)
    whole, shares = -(-cut.whole // device.sms), -(-cut.shares // device.sms)  # of the SM with most to do
    busiest = whole * steps + shares * cut.share  # its k-steps
    resident = min(tiling.tiles.blocks_per_sm, -(-cut.blocks // device.sms))
    pieces = max(1.0, (whole + shares * _pieces(cut.share, steps)) / resident)  # one after the other
    peak = device.fp32_fmas_per_s / device.sms
    rate = peak * tiling.of_peak_with(problem.layout) * _of_full_rate(resident * threads(tile) / THREADS_PER_SCHEDULERS)
    hbm = READING * device.hbm_bandwidth_bytes_per_s
    l2 = L2_BYTES_PER_HBM_BYTE * hbm
    arithmetic = busiest * tile.BM * tile.BN * tile.BK / rate
    waiting = busiest / resident * LATENCY_SECONDS / (tiling.tiles.stages - 1)
    reading = max(problem.compulsory_bytes / hbm, formula_load_bytes(problem, tile) / l2)
    storing = WORD_STORED_BYTES * problem.M * problem.N / l2 if problem.N % VECTOR else 0.0
    summing = 0.0
    if cut.shares:  # half of the places for parts are written, and read again
        summing = SUM_SECONDS + PART_SECONDS * -(-steps // cut.share) + WORD_BYTES * parts_words(tile, cut) / l2
    return LAUNCH_SECONDS + START_SECONDS * pieces + max(arithmetic, waiting, reading) + storing + summing


def _pieces(share: int, steps: int) -> int:
    """Of how many tiles a share has a part at the most."""
    if share == 0:
        return 0
    return -(-share // steps) + (share % steps != 0 and steps % share != 0)


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
        8: Sharing(8, 8, 1, 2, 0.17),
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
