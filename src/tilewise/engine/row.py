"""One row of the ladder: what a rung counted on one problem, held against the definitions and a device."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from tilewise.core.counters import Counters
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Layout, Problem
from tilewise.cost.occupancy import Limiter, occupancy
from tilewise.cost.roofline import Resource, floors, ridge_without_cache
from tilewise.cost.traffic import (
    arithmetic_intensity_requested,
    arithmetic_intensity_sectors,
    formula_load_bytes,
    load_reduction_vs_naive,
)
from tilewise.engine.choice import Choice
from tilewise.engine.operands import WORD_BYTES
from tilewise.engine.sample import scale_counters
from tilewise.kernels.ladder import grid
from tilewise.kernels.source import SYMBOL

if TYPE_CHECKING:
    from tilewise.core.compare import Comparison
    from tilewise.core.module import Module
    from tilewise.emu.machine import Emulation
    from tilewise.hw.device import Device


@dataclass(frozen=True, slots=True)
class LadderRow:
    """What one rung did on one problem. Bytes, sectors and the like are counts over the whole launch (docs/glossary.md)."""

    rung: str
    title: str
    variant: str
    """Name of a plan that is not the rung's default: "1-D"; "" for the default."""
    m: int
    n: int
    k: int
    layout: Layout
    tile: TilePlan
    on: Literal["emulator", "gpu"]
    blocks: int
    """Of the grid."""
    sampled_blocks: int | None
    """How many of them ran, where not all did: every count is then that of these blocks, times blocks / sampled_blocks."""
    device: str
    """Whose limits and rates `occupancy`, `ridge_without_cache`, `floors` and `bound` are of."""
    correct: bool
    """Whether every element that the blocks wrote is within the tolerance of core/compare.py."""
    max_relative_error: float
    """max |C - C64| / (|A||B|), with C64 the product in float64."""
    requested_load_bytes: int
    formula_load_bytes: int
    load_reduction_vs_naive: float
    """2MNK b / requested_load_bytes, b bytes an element."""
    global_load_requests: int
    global_load_sectors: int
    global_store_sectors: int
    sectors_per_request: float
    shared_load_requests: int
    shared_store_requests: int
    shared_load_wavefronts: int
    shared_store_wavefronts: int
    worst_bank_conflict_ways: int
    """1 is conflict-free, 0 is no shared access."""
    shared_words_per_fma: float
    barriers: int
    """Completed block barriers."""
    barriers_per_k_step: float
    """Of one block: barriers / blocks / ceil(K/BK)."""
    fma: int
    registers: int
    """A thread's, from the cubin for the device."""
    shared_bytes: int
    """A block's, from the same."""
    occupancy: float
    """0..1"""
    occupancy_limiter: Limiter
    arithmetic_intensity_requested: float
    """2MNK / requested_load_bytes"""
    arithmetic_intensity_sectors: float
    """2MNK / (32 global_load_sectors)"""
    ridge_without_cache: float
    """The device's fp32 peak / its HBM bandwidth, as the derivation that ignores caches has it. FLOP a byte."""
    floors: dict[Resource, float]
    """Seconds that the launch takes at the least by hbm, l1, shared and fma."""
    bound: Resource
    """The largest of the floors."""
    seconds: float
    """Of the emulation alone, of the blocks that ran, counting included; neither compiling nor checking."""
    gflops: float
    """2MNK / seconds / 1e9, of the same share of the work."""

    @property
    def label(self) -> str:
        """Such as "r03" or "r04 1-D"."""
        return f"{self.rung} {self.variant}".rstrip()

    def to_json(self) -> dict[str, object]:
        """Return the row as `tilewise ladder --json` prints it."""
        row = asdict(self)
        row["tile"] = {name.lower(): size for name, size in row["tile"].items()}
        return row


def ladder_row(
    choice: Choice,
    problem: Problem,
    device: Device,
    module: Module,
    emulation: Emulation,
    comparison: Comparison,
    *,
    sampled_blocks: int | None = None,
) -> LadderRow:
    """Return the row of a choice that was built as `module` and ran `problem` on the emulator, all of it or `sampled_blocks`."""
    row, plan = choice.rung, choice.plan
    blocks = math.prod(grid(plan, problem))
    ran = sampled_blocks or blocks
    counters = scale_counters(emulation.counters, blocks, ran)
    resources = next(kernel for kernel in module.resources if kernel.name == SYMBOL)
    fits = occupancy(device, plan.threads, resources.registers, resources.static_shared_bytes)
    least = floors(device, problem, counters)
    k_steps = -(-problem.K // plan.BK)
    return LadderRow(
        **_what_ran(choice, problem),
        **_as_counted(counters),
        on="emulator",
        blocks=blocks,
        sampled_blocks=sampled_blocks,
        device=device.key,
        correct=comparison.correct,
        max_relative_error=comparison.max_relative_error,
        formula_load_bytes=formula_load_bytes(problem, plan if row.reuses_block_tile else None),
        load_reduction_vs_naive=load_reduction_vs_naive(problem, counters),
        sectors_per_request=counters.global_load_sectors / counters.global_load_requests,
        shared_words_per_fma=counters.shared_load_bytes / WORD_BYTES / counters.fma,
        barriers_per_k_step=counters.barriers / (blocks * k_steps),
        registers=resources.registers,
        shared_bytes=resources.static_shared_bytes,
        occupancy=fits.fraction,
        occupancy_limiter=fits.limiter,
        arithmetic_intensity_requested=arithmetic_intensity_requested(problem, counters),
        arithmetic_intensity_sectors=arithmetic_intensity_sectors(problem, counters),
        ridge_without_cache=ridge_without_cache(device),
        floors=least.by_resource,
        bound=least.bound,
        seconds=emulation.seconds,
        gflops=problem.flops * ran / blocks / emulation.seconds / 1e9,
    )


def _what_ran(choice: Choice, problem: Problem) -> dict[str, Any]:
    return {
        "rung": choice.rung.name,
        "title": choice.rung.title,
        "variant": choice.variant,
        "m": problem.M,
        "n": problem.N,
        "k": problem.K,
        "layout": problem.layout,
        "tile": choice.plan,
    }


def _as_counted(counters: Counters) -> dict[str, Any]:
    """The row's fields that are counters of the same name."""
    names = {field.name for field in fields(Counters)} & {field.name for field in fields(LadderRow)}
    return {name: getattr(counters, name) for name in names}
