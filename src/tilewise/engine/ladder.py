"""The climb: each rung of the ladder is built, run on the emulator and checked against float64.

Knows the choices and the order of these steps; what the figures of a row mean stands in row.py, their looks in render.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, SupportsIndex, cast

from tilewise.build.nvrtc import compile_source
from tilewise.build.nvrtc_library import supported_archs
from tilewise.core.compare import KEPT_BYTES, Reference
from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem, as_layout
from tilewise.emu.machine import emulate
from tilewise.engine.memory import require_memory
from tilewise.engine.operands import WORD_BYTES, Matrix, Order, in_place, product_launch
from tilewise.engine.row import LadderRow, ladder_row
from tilewise.hw import catalog
from tilewise.kernels.ladder import LADDER, Rung, objections, rung
from tilewise.kernels.source import kernel_source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tilewise.hw.device import Device

TILED = "r03"
"""The rung whose tile `tile` sets."""
TILES = (8, 16, 32)
"""Sides to choose from: a tile's element takes a thread, and a block has at most 1024."""
DRAWN_AT_ONCE = 2**20
"""Random values between two chances for Ctrl-C."""

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
    device: str = "h200",
    tile: int | None = None,
    layout: str = "rr",
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[Step], None] | None = None,
) -> list[LadderRow]:
    """Climb the ladder on C = A B, A being M x K and B K x N: a row for each of `rungs` (by default, all).

    One size is a cube's. Sizes are at least 1: an empty product has nothing to count. Inputs are standard normal, from NumPy's
    default generator with `seed`, A first; leading dimensions are the least. `tile` is the side of r03's tile. Kernels are built
    for `device` and run on the emulator, on `threads` CPU threads (by default, all). `progress` is told each step as it begins.

    Raises TilewiseError for sizes, names or choices that cannot be, and for sizes beyond memory.
    """
    problem = _problem(M, N, K, layout)
    chosen = [(row, _plan(row, tile)) for row in _chosen(rungs)]
    if tile is not None and all(row.name != TILED for row, _ in chosen):
        raise TilewiseError(
            f"tile = {tile} sets {TILED}, which is not among the rungs chosen: add {TILED}, or leave the tile out."
        )
    _check_count("seed", seed, least=0)
    if threads is not None:
        _check_count("threads", threads, least=1)
    target = catalog.device(device)
    if target.compiler_requirement and target.arch not in supported_archs():
        raise TilewiseError(target.compiler_requirement)
    for row, plan in chosen:
        reasons = objections(row, plan, target, problem)
        if reasons:
            raise TilewiseError(f"{row.name}: " + " ".join(reasons))
    return _climb(problem, chosen, target, seed, threads, progress or (lambda step: None))


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


def _chosen(names: Sequence[str] | None) -> list[Rung]:
    """The rungs of these names in the order of the ladder."""
    if names is None:
        return list(LADDER)
    wanted = {rung(name).name for name in names}
    if not wanted:
        raise TilewiseError(
            f"no rung is chosen: give some of {', '.join(row.name for row in LADDER)}, or leave rungs out for all."
        )
    return [row for row in LADDER if row.name in wanted]


def _plan(row: Rung, tile: int | None) -> TilePlan:
    if tile is None or row.name != TILED:
        return row.default_plan
    if tile not in TILES:
        raise TilewiseError(
            f"tile = {tile!r} is not a side of {TILED}'s tile: give {', '.join(map(str, TILES[:-1]))} or {TILES[-1]}."
        )
    return TilePlan(tile, tile, tile)


def _climb(
    problem: Problem,
    chosen: Sequence[tuple[Rung, TilePlan]],
    device: Device,
    seed: int,
    threads: int | None,
    progress: Callable[[Step], None],
) -> list[LadderRow]:
    import numpy as np

    M, N, K = problem.M, problem.N, problem.K
    require_memory(WORD_BYTES * (M * K + K * N + M * N) + KEPT_BYTES, f"a ladder at {M} x {N} x {K}")
    random = np.random.default_rng(seed)
    a = _draw_normal(random, M, K, problem.layout[0])
    b = _draw_normal(random, K, N, problem.layout[1])
    c = np.empty((M, N), np.float32)
    reference = Reference(a, b)
    rows: list[LadderRow] = []
    total = len(STAGES) * len(chosen)
    for row, plan in chosen:
        steps = [Step(row.name, stage, len(STAGES) * len(rows) + index, total) for index, stage in enumerate(STAGES)]
        progress(steps[0])
        module = compile_source(kernel_source(row, plan, problem.layout), device.arch)
        progress(steps[1])
        c.fill(np.nan)  # an element that a kernel leaves out is seen
        matrices = (_dense(a, problem.layout[0]), _dense(b, problem.layout[1]), _dense(c, "r"))
        emulation = emulate(product_launch(module, row, plan, problem, *matrices), threads=threads)
        progress(steps[2])
        rows.append(ladder_row(row, plan, problem, device, module, emulation, reference.compare(c)))
    return rows


def _draw_normal(random: np.random.Generator, rows: int, columns: int, order: str) -> NDArray[np.float32]:
    """A matrix of standard normal values, drawn row by row whatever its order; in panels, since a draw cannot be stopped."""
    import numpy as np

    values = np.empty((rows, columns), np.float32, order="C" if order == "r" else "F")
    panel = -(-DRAWN_AT_ONCE // columns)
    for first in range(0, rows, panel):
        part = values[first : first + panel]
        part[...] = random.standard_normal(part.shape, dtype=np.float32)
    return values


def _dense(values: NDArray[np.float32], order: str) -> Matrix:
    return cast(Matrix, in_place(values, cast(Order, order)))
