"""Which rung and tiles a product gets on a GPU: a table, read from the top. The first row that fits is the choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.hw.device import Device
from tilewise.kernels.ladder import grid, objections, rung


@dataclass(frozen=True, slots=True)
class Rule:
    """A row: what runs, for which problems, and why."""

    rung: str
    tile: TilePlan
    fits: Callable[[Problem, Device], bool]
    because: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rung with tiles, and what speaks for or against it."""

    rung: str
    tile: TilePlan
    reason: str

    @property
    def label(self) -> str:
        """Such as "r07 128 x 128 x 8, thread tile 8 x 8"."""
        tile = self.tile
        return f"{self.rung} {tile.BM} x {tile.BN} x {tile.BK}, thread tile {tile.TM} x {tile.TN}"


def _is_empty_sum(problem: Problem, device: Device) -> bool:
    return problem.K == 0


def _is_narrow(problem: Problem, device: Device) -> bool:
    return min(problem.M, problem.N) <= 32


def _fills_device(tile: TilePlan) -> Callable[[Problem, Device], bool]:
    def fits(problem: Problem, device: Device) -> bool:
        across, down, _ = grid(tile, problem)
        return across * down >= device.sms

    return fits


def _always(problem: Problem, device: Device) -> bool:
    return True


LARGE = TilePlan(128, 128, 8, 8, 8)
SMALL = TilePlan(64, 64, 16, 4, 4)

RULES: tuple[Rule, ...] = (
    Rule("r02", TilePlan(32, 32, 1), _is_empty_sum, "sums nothing, and stores zeros."),
    Rule("r03", TilePlan(32, 32, 32), _is_narrow, "wastes least on a C that is narrower than larger tiles."),
    Rule("r07", LARGE, _fills_device(LARGE), "asks the least of memory, with a block or more for every SM."),
    Rule("r07", SMALL, _always, "gives more SMs a block than larger tiles do."),
    Rule("r05", LARGE, _fills_device(LARGE), "runs below compute capability 8.0 too."),
    Rule("r05", SMALL, _always, "runs below compute capability 8.0 too."),
)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Every row of the table, in order: the choice, what could run instead, and what cannot."""

    chosen: Candidate
    alternatives: tuple[Candidate, ...]
    rejected: tuple[Candidate, ...]


def rank(problem: Problem, device: Device) -> Ranking:
    """Return the rows of the table for a problem on a device.

    Raises TilewiseError, with every reason, if none can run.
    """
    fitting: list[Candidate] = []
    others: list[Candidate] = []
    rejected: list[Candidate] = []
    for rule in RULES:
        reasons = objections(rung(rule.rung), rule.tile, device, problem)
        if reasons:
            rejected.append(Candidate(rule.rung, rule.tile, " ".join(reasons)))
        else:
            kind = fitting if rule.fits(problem, device) else others
            kind.append(Candidate(rule.rung, rule.tile, rule.because))
    able = [*fitting, *others]
    if not able:
        reasons = tuple(f"{candidate.label}: {candidate.reason}" for candidate in rejected)
        raise TilewiseError("no kernel runs this product: " + " ".join(reasons))
    return Ranking(able[0], tuple(able[1:]), tuple(rejected))
