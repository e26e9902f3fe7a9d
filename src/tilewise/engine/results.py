"""Results of a bench: what is kept of it, as a file, and how two of them compare."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tilewise.core.errors import TilewiseError

FILE_NAME = "bench.json"


@dataclass(frozen=True, slots=True)
class BenchRow:
    """A product and a peer. Times are microseconds a call, medians over rounds in which both took turns."""

    suite: str
    m: int
    n: int
    k: int
    dtype: str
    layout: str
    ours_us: float
    peer: str
    """"" where no peer was asked for; `peer_us`, `ratio`, `lo` and `hi` are then 0."""
    peer_us: float
    ratio: float
    """The peer's time over ours, round by round, the median: above 1 ours is faster."""
    lo: float
    """The tenth percentile of the rounds' ratios."""
    hi: float
    """The ninetieth."""
    kernel: str
    """What ours ran: rung and tiles."""
    max_relative_error: float | None
    """None in a file that was made from a printed table, which does not have it."""
    correct: bool
    """Whether ours is within the tolerance of core/compare.py, every element of it checked before timing."""
    peer_correct: bool
    method: str
    """Of timing both: "graph" or "events"."""

    @property
    def problem(self) -> tuple[str, int, int, int, str, str]:
        """What identifies the product."""
        return self.suite, self.m, self.n, self.k, self.dtype, self.layout

    @property
    def tflops(self) -> float:
        """Ours."""
        return 2 * self.m * self.n * self.k / self.ours_us / 1e6


@dataclass(frozen=True, slots=True)
class BenchResult:
    """A run of the bench, and where it ran."""

    device: str
    command: str
    date: str
    versions: dict[str, str]
    clocks: dict[str, dict[str, float]]
    """While it ran: median, low and high (tenth and ninetieth percentile) of MHz, watts and degrees."""
    rows: tuple[BenchRow, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A product in two results: the time before over the time now."""

    row: BenchRow
    before_us: float

    @property
    def speedup(self) -> float:
        """Above 1, it became faster."""
        return self.before_us / self.row.ours_us


def load_result(folder: Path) -> BenchResult:
    """Return the result that was saved in a folder.

    Raises TilewiseError where there is none, or the file is no result.
    """
    path = folder / FILE_NAME
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TilewiseError(f"{path} cannot be read ({error.strerror}): give a folder of bench --save.") from None
    except ValueError as error:
        raise TilewiseError(f"{path} is not JSON ({error}).") from None
    return parse_result(data, str(path))


def parse_result(data: Any, name: str) -> BenchResult:
    """Return the result in parsed JSON; `name` stands for it in messages."""
    try:
        rows = tuple(BenchRow(**{field.name: row[field.name] for field in fields(BenchRow)}) for row in data["rows"])
        values = {field.name: data[field.name] for field in fields(BenchResult) if field.name != "rows"}
    except (KeyError, TypeError) as error:
        raise TilewiseError(f"{name} is no result of tilewise bench: {error} is missing or of the wrong kind.") from None
    return BenchResult(**values, rows=rows)


def changes(now: BenchResult, before: BenchResult) -> list[Change]:
    """Return the products that both results have, in the order of `now`, each once."""
    times = {row.problem: row.ours_us for row in before.rows}
    rows = {row.problem: row for row in now.rows}
    return [Change(row, times[problem]) for problem, row in rows.items() if problem in times]


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers, at least one."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))
