"""What a climb runs: the rungs that are asked for, each with the plans that the ladder shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.build.nvrtc_library import supported_archs
from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.hw.device import Device
from tilewise.kernels.ladder import LADDER, Rung, objections, rung

TILED = "r03"
"""The rung whose tile can be chosen."""
TILES = (8, 16, 32)
"""Sides to choose from: a tile's element takes a thread, and a block has at most 1024."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A rung with one of its plans; `variant` names a plan that is not its default."""

    rung: Rung
    plan: TilePlan
    variant: str = ""

    @property
    def label(self) -> str:
        """Such as "r04 1-D"."""
        return f"{self.rung.name} {self.variant}".rstrip()


def choose(names: Sequence[str] | None, device: Device, tile: int | None = None) -> list[Choice]:
    """Return the plans of the rungs of these names, in the order of the ladder; without names, of all rungs that `device` runs.

    `tile` is the side of r03's tile. Raises TilewiseError for unknown names, none at all, and a tile that cannot be.
    """
    rows = _named(names) if names is not None else [row for row in LADDER if row not in out_of_reach(device)]
    if tile is not None and all(row.name != TILED for row in rows):
        raise TilewiseError(
            f"tile = {tile} sets {TILED}, which is not among the rungs chosen: add {TILED}, or leave the tile out."
        )
    return [choice for row in rows for choice in _plans(row, tile)]


def out_of_reach(device: Device) -> list[Rung]:
    """Return the rungs that the device cannot run."""
    return [row for row in LADDER if row.least_compute_capability > device.compute_capability]


def refuse_unfit(choices: Sequence[Choice], device: Device, problem: Problem) -> None:
    """Raise TilewiseError unless the choices can be built for `device`, run on it and cover the problem."""
    if device.compiler_requirement and device.arch not in supported_archs():
        raise TilewiseError(device.compiler_requirement)
    for choice in choices:
        reasons = objections(choice.rung, choice.plan, device, problem)
        if reasons:
            raise TilewiseError(f"{choice.label}: " + " ".join(reasons))


def tiled_plan(tile: int) -> TilePlan:
    """Return r03's plan with tiles of `tile` x `tile`.

    Raises TilewiseError for a side that is not 8, 16 or 32.
    """
    if tile not in TILES:
        raise TilewiseError(
            f"tile = {tile!r} is not a side of {TILED}'s tile: give {', '.join(map(str, TILES[:-1]))} or {TILES[-1]}."
        )
    return TilePlan(tile, tile, tile)


def _named(names: Sequence[str]) -> list[Rung]:
    wanted = {rung(name).name for name in names}
    if not wanted:
        raise TilewiseError(
            f"no rung is chosen: give some of {', '.join(row.name for row in LADDER)}, or leave rungs out for all."
        )
    return [row for row in LADDER if row.name in wanted]


def _plans(row: Rung, tile: int | None) -> list[Choice]:
    """The plans of a rung that a climb shows, the default one last."""
    if tile is not None and row.name == TILED:
        return [Choice(row, tiled_plan(tile))]
    return [*(Choice(row, plan, name) for name, plan in row.variants), Choice(row, row.default_plan)]
