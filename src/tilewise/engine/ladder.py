"""The climb: each rung of the ladder is built, run on the emulator and checked against float64.

Knows the order of these steps; rungs and plans come from choice.py, the figures of a row from row.py, their looks from render.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex, cast

from tilewise.build.nvrtc import compile_source
from tilewise.core.errors import TilewiseError
from tilewise.core.problem import Problem, as_layout
from tilewise.emu.machine import emulate
from tilewise.engine.choice import Choice, choose, refuse_unfit
from tilewise.engine.drawn_product import DrawnProduct
from tilewise.engine.row import LadderRow, ladder_row
from tilewise.engine.sample import spread_blocks
from tilewise.hw.device import Device
from tilewise.hw.device_file import find_device
from tilewise.kernels.ladder import grid
from tilewise.kernels.source import kernel_source

Stage = Literal["building", "emulating", "checking"]
STAGES: tuple[Stage, ...] = ("building", "emulating", "checking")


@dataclass(frozen=True, slots=True)
class Step:
    """What a climb is about to do: `stage` for a rung, with `done` of `total` steps behind it."""

    rung: str
    stage: Stage
    done: int
    total: int


def ladder(
    M: SupportsIndex = 512,
    N: SupportsIndex | None = None,
    K: SupportsIndex | None = None,
    *,
    rungs: Sequence[str] | None = None,
    device: str | Device = "h200",
    tile: int | None = None,
    layout: str = "rr",
    seed: int = 0,
    threads: int | None = None,
    sample_blocks: int | None = None,
    progress: Callable[[Step], None] | None = None,
) -> list[LadderRow]:
    """Climb the ladder on C = A B, A being M x K and B K x N: a row for each plan of `rungs`, by default all that `device` runs.

    One size is a cube's. Sizes are at least 1: an empty product has nothing to count. Inputs are standard normal, from NumPy's
    default generator with `seed`, A first; leading dimensions are the least. `tile` is the side of r03's tile. Kernels are built
    for `device` (a Device, a name of the catalogue or a device file's path) and run on the emulator, on `threads` CPU threads, by
    default all. With `sample_blocks`, no more than so many blocks of a grid run, spread evenly over it: counts are then theirs
    times blocks / sampled_blocks, and only what they wrote is checked. `progress` is told each step as it begins.

    Raises TilewiseError for sizes, names or choices that cannot be, and for sizes beyond memory.
    """
    problem = _problem(M, N, K, layout)
    target = device if isinstance(device, Device) else find_device(device)
    choices = choose(rungs, target, tile)
    _check_count("seed", seed, least=0)
    for name, count in (("threads", threads), ("sample_blocks", sample_blocks)):
        if count is not None:
            _check_count(name, count, least=1)
    refuse_unfit(choices, target, problem)
    return _climb(problem, choices, target, seed, threads, sample_blocks, progress or (lambda step: None))


def _problem(M: SupportsIndex, N: SupportsIndex | None, K: SupportsIndex | None, layout: str) -> Problem:
    if (N is None) != (K is None):
        raise TilewiseError("two sizes do not make a product: give M, N and K, or M alone for a cube.")
    sizes = {"M": M, "N": M if N is None else N, "K": M if K is None else K}
    m, n, k = (_check_count(name, size, least=1) for name, size in sizes.items())
    return Problem(m, n, k, layout=as_layout(layout))


def _check_count(name: str, value: object, *, least: int) -> int:
    """Return `value` as an int of at least `least`."""
    try:
        number = operator.index(cast(SupportsIndex, value))
    except TypeError:
        number = least - 1
    if number < least:
        raise TilewiseError(f"{name} = {value!r} is not a whole number of at least {least}.")
    return number


def _climb(
    problem: Problem,
    choices: Sequence[Choice],
    device: Device,
    seed: int,
    threads: int | None,
    sample_blocks: int | None,
    progress: Callable[[Step], None],
) -> list[LadderRow]:
    product = DrawnProduct(problem, seed)
    rows: list[LadderRow] = []
    total = len(STAGES) * len(choices)
    for choice in choices:
        rung, plan = choice.rung, choice.plan
        steps = [Step(choice.label, stage, len(STAGES) * len(rows) + index, total) for index, stage in enumerate(STAGES)]
        progress(steps[0])
        module = compile_source(kernel_source(rung, plan, problem.layout), device.arch)
        progress(steps[1])
        blocks = spread_blocks(math.prod(grid(plan, problem)), sample_blocks) if sample_blocks else None
        emulation = emulate(product.launch(module, rung, plan, blocks), threads=threads, blocks=blocks)
        progress(steps[2])
        comparison = product.compare(plan, blocks)
        sampled = None if blocks is None else len(blocks)
        rows.append(ladder_row(choice, problem, device, module, emulation, comparison, sampled_blocks=sampled))
    return rows
