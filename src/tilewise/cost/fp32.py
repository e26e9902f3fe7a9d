"""How long an fp32 product takes by each of the kernels that matmul has, and how it is best cut: a model to choose by.

Times are of a device of known peak and bandwidth. What a model cannot know is a constant below, each with where it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
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

LAUNCH_SECONDS = 2e-6
"""From one launch of a graph to the next where neither does anything [an H200, order of magnitude]."""
START_SECONDS = 1e-6
"""Of a block, until its first tile is there and after its last multiply-add [an H200, order of magnitude]."""
LATENCY_SECONDS = 6e-7
"""From asking for a tile to its arrival [an H200, order of magnitude]."""
L2_BYTES_PER_HBM_BYTE = 1.25
"""The L2's bandwidth over device memory's [reads on an H200: 5.5 against 4.47 TB/s]."""
READING = 0.9
"""Of device memory's nominal bandwidth, what reads reach [an H200: 4.47 of 4.8 TB/s]."""
THREADS_PER_SCHEDULERS = 128
"""A warp for each of an SM's four schedulers."""
LEAST_SHARE = 4
"""k-steps a share at the least: fewer are all prologue."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """A build of tiled.cu with what a GPU gets from it."""

    tiles: Tiles
    of_peak: float
    """Of the multiply-adds' nominal peak, with as many blocks on every SM: what the machine code leaves of the issue slots, less
    what waiting takes."""


LARGE = Tiling(Tiles(TilePlan(128, 128, 16, 16, 8), 2, 2), 0.76)
MIDDLE = Tiling(Tiles(TilePlan(64, 128, 16, 16, 8), 2, 4), 0.72)
SMALL = Tiling(Tiles(TilePlan(64, 64, 16, 16, 8), 2, 8), 0.68)
FLAT = Tiling(Tiles(TilePlan(32, 128, 16, 4, 8), 2, 4), 0.55)
TINY = Tiling(Tiles(TilePlan(32, 32, 16, 4, 4), 4, 8), 0.42)


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
    rate = peak * tiling.of_peak * _of_full_rate(resident * threads(tile) / THREADS_PER_SCHEDULERS)
    hbm = READING * device.hbm_bandwidth_bytes_per_s
    l2 = L2_BYTES_PER_HBM_BYTE * hbm
    arithmetic = busiest * tile.BM * tile.BN * tile.BK / rate
    waiting = busiest / resident * LATENCY_SECONDS / (tiling.tiles.stages - 1)
    reading = max(problem.compulsory_bytes / hbm, formula_load_bytes(problem, tile) / l2)
    summing = (
        LAUNCH_SECONDS + WORD_BYTES * parts_words(tile, cut) / l2 if cut.shares else 0.0
    )  # half of it written, and read again
    return LAUNCH_SECONDS + START_SECONDS + max(arithmetic, waiting, reading) + summing


def _of_full_rate(warps: float) -> float:
    """What so many warps a scheduler reach of what two do: one waits at times, and half a one leaves half of them idle."""
    return min(1.0, warps, 1.25 * warps / (warps + 0.5))


def share_out(problem: Problem, device: Device) -> Few:
    """Return how a product of few rows or columns is best shared out."""
    short = as_short(problem)
    S = 1 << (min(short.rows, FEW) - 1).bit_length()
    line_warps, unroll = {1: (1, 4), 2: (2, 2), 4: (4, 2), 8: (8, 2), 16: (8, 1)}[S]
    few = Few(S, 4, line_warps, unroll, 1, short.K)
    wanted = 4 * device.sms  # blocks, so that none waits long for the last
    pass_depth = 128 * (8 // line_warps) * unroll if short.k_runs else 64
    splits = max(1, min(wanted // few_blocks(short, few), short.K // (2 * pass_depth)))
    chunk = -(-short.K // (splits * pass_depth)) * pass_depth if splits > 1 else max(1, short.K)
    return Few(S, 4, line_warps, unroll, -(-short.K // chunk), chunk)


def estimate_few(few: Few, problem: Problem, device: Device) -> float:
    """Return the seconds of a product of few rows or columns: those of reading the long operand, or of its multiply-adds."""
    short = as_short(problem)
    reading = problem.compulsory_bytes / (READING * device.hbm_bandwidth_bytes_per_s)
    arithmetic = few.S * short.lines * short.K / (0.4 * device.fp32_fmas_per_s)
    return LAUNCH_SECONDS * (1 + (few.splits > 1)) + max(reading, arithmetic)
