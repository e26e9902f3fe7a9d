"""Which kernel, tiles and cut a product gets on a GPU: a table of what could run, and the least estimated time decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.cost.fp32 import (
    CROWDED,
    LARGE,
    LAUNCH_SECONDS,
    MIDDLE,
    NARROW,
    SMALL,
    START_SECONDS,
    TALL,
    TINY,
    Tiling,
    estimate_few,
    estimate_tiled,
    share_out,
)
from tilewise.hw.device import Device
from tilewise.kernels import fp32
from tilewise.kernels.fp32 import Cut, Few, Tiles
from tilewise.kernels.ladder import grid, objections, rung
from tilewise.kernels.ladder import shared_bytes as rung_shared_bytes


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel with tiles, and what speaks for or against it."""

    kernel: str
    """A rung of the ladder ("r05"), or one of kernels/fp32.py: "fp32" (tiles), "dot", "columns"."""
    tile: TilePlan
    reason: str
    seconds: float
    """As estimated; infinite where it cannot run."""
    blocks: int = 0
    threads: int = 0
    shared_bytes: int = 0
    """Of a block."""
    tiles: Tiles | None = None
    """How "fp32" is built."""
    cut: Cut | None = None
    """How tiles go to blocks, for "fp32"."""
    few: Few | None = None
    """How the work is shared out, for "dot" and "columns"."""

    @property
    def label(self) -> str:
        """Such as "fp32 128 x 128 x 16, thread tile 16 x 8, 264 shares of k"."""
        tile = self.tile
        words = f"{self.kernel} {tile.BM} x {tile.BN} x {tile.BK}, thread tile {tile.TM} x {tile.TN}"
        if self.cut is not None and self.cut.shares:
            words += f", {self.cut.shares} shares of k"
        if self.few is not None and self.few.splits > 1:
            words += f", {self.few.splits} splits of k"
        return words


Make = Callable[[Problem, Device], Candidate]


def _rung(name: str, tile: TilePlan, of_peak: float, because: str) -> Make:
    """A rung, at `of_peak` of the multiply-adds' peak where its blocks fill the device."""

    def make(problem: Problem, device: Device) -> Candidate:
        row = rung(name)
        reasons = objections(row, tile, device, problem)
        if reasons:
            return _rejected(name, tile, reasons)
        across, down, _ = grid(tile, problem)
        rounds = -(-across * down // device.sms)
        fmas = rounds * device.sms * tile.BM * tile.BN * max(1, problem.K)
        seconds = LAUNCH_SECONDS + START_SECONDS + fmas / (of_peak * device.fp32_fmas_per_s)
        shared = rung_shared_bytes(row, tile, problem.layout)
        return Candidate(name, tile, because, seconds, across * down, tile.threads, shared)

    return make


def _tiles(tiling: Tiling, because: str) -> Make:
    tiles, tile = tiling.tiles, tiling.tiles.tile

    def make(problem: Problem, device: Device) -> Candidate:
        reasons = fp32.tiled_objections(tile, problem, device.compute_capability)
        if reasons:
            return _rejected("fp32", tile, reasons)
        estimate = estimate_tiled(tiling, problem, device)
        cut, shared = estimate.cut, fp32.shared_bytes(tile, tiles.stages, problem.layout)
        threads = fp32.threads(tile)
        return Candidate("fp32", tile, because, estimate.seconds, cut.blocks, threads, shared, tiles=tiles, cut=cut)

    return make


def _few(kernel: str, because: str) -> Make:
    k_runs = kernel == "dot"

    def make(problem: Problem, device: Device) -> Candidate:
        reasons = fp32.few_objections(problem, k_runs)
        few = share_out(problem, device)
        lines = few.R * few.line_warps if k_runs else fp32.COLUMNS_WIDTH
        tile = TilePlan(few.S, lines, max(1, few.chunk), few.S, few.R)
        if reasons:
            return _rejected(kernel, tile, reasons)
        blocks = fp32.few_blocks(fp32.as_short(problem), few) * few.splits
        seconds = estimate_few(few, problem, device)
        return Candidate(kernel, tile, because, seconds, blocks, fp32.FEW_THREADS, few=few)

    return make


def _rejected(kernel: str, tile: TilePlan, reasons: tuple[str, ...]) -> Candidate:
    return Candidate(kernel, tile, " ".join(reasons), float("inf"))


RULES: tuple[Make, ...] = (
    _few("dot", "reads the long operand once, along k, with as many multiply-adds a word as C has rows or columns."),
    _few("columns", "reads the long operand once, across k, with as many multiply-adds a word as C has rows or columns."),
    _tiles(TALL, "asks the least of shared memory and the L2."),
    _tiles(LARGE, "wastes less than 256 rows a tile do."),
    _tiles(MIDDLE, "wastes less on a C that is no multiple of larger tiles, or has few rows."),
    _tiles(CROWDED, "has the same tile with twice the threads, for few rows and a k that is not long."),
    _tiles(SMALL, "gives more SMs a block than larger tiles do."),
    _tiles(NARROW, "wastes least on a C of up to 32 rows."),
    _tiles(TINY, "has the shortest way from the first k-step to the last."),
    _rung("r05", TilePlan(128, 128, 8, 8, 8), 0.4, "runs below compute capability 8.0 too."),
    _rung("r05", TilePlan(64, 64, 16, 4, 4), 0.3, "runs below compute capability 8.0 too."),
    _rung("r02", TilePlan(32, 32, 1), 0.05, "stages nothing, and stores zeros where K = 0."),
)


@dataclass(frozen=True, slots=True)
class Ranking:
    """All of the table for a problem: the choice, what could run instead, the next best first, and what cannot."""

    chosen: Candidate
    alternatives: tuple[Candidate, ...]
    rejected: tuple[Candidate, ...]


def rank(problem: Problem, device: Device) -> Ranking:
    """Return the candidates for a problem on a device, the fastest by estimate first.

    Raises TilewiseError, with every reason, if none can run.
    """
    made = [make(problem, device) for make in RULES]
    able = sorted((each for each in made if each.seconds < float("inf")), key=lambda each: each.seconds)
    rejected = tuple(each for each in made if each.seconds == float("inf"))
    if not able:
        reasons = tuple(f"{candidate.label}: {candidate.reason}" for candidate in rejected)
        raise TilewiseError("no kernel runs this product: " + " ".join(reasons))
    return Ranking(able[0], tuple(able[1:]), rejected)
