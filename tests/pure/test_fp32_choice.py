"""What the model of the fp32 kernels chooses and estimates, held against times measured on an H200, 2026-11-30."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilewise.core.problem import Problem
from tilewise.engine.results import BenchRow, parse_result
from tilewise.engine.rules import Candidate, rank
from tilewise.hw.device_file import find_device
from tilewise.kernels.fp32 import Cut, Few

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MEASURED = json.loads((RESULTS / "fp32_candidates_h200.json").read_text())
BENCH = json.loads((RESULTS / "bench_fp32_h200.json").read_text())
H200 = find_device("h200")
Row = dict[str, Any]
SLOWER = 1.05
"""How much slower than the fastest candidate a choice may be."""
SLOWER_HERE = {"8x14336x4096 rc": 1.21, "333x7777x129 rc": 1.06}
"""Where the model is worse than that."""


def problem_of(row: Row) -> Problem:
    return Problem(row["m"], row["n"], row["k"], layout=row["layout"])


def is_build_of(candidate: Candidate, row: Row) -> bool:
    """Whether a measured candidate is a rule's kernel, tile and ring, whatever its cut."""
    tile, tiles = candidate.tile, candidate.tiles
    if tiles is None or row["kernel"] != candidate.kernel:
        return False
    shape = (f"{tile.BM} x {tile.BN} x {tile.BK}", f"{tile.TM} x {tile.TN}", tiles.stages, tiles.copy_parts)
    return shape == (row["tile"], row["thread_tile"], row["stages"], row["copy_parts"])


def matches(candidate: Candidate, row: Row) -> bool:
    match candidate.cut, candidate.few:
        case Cut(whole, shares, share), None:
            return is_build_of(candidate, row) and row["cut"] == [whole, shares, share]
        case None, Few(_, R, line_warps, unroll, splits, _):
            asked = (candidate.kernel, R, line_warps, unroll, splits)
            return asked == tuple(row.get(name) for name in ("kernel", "lines_a_warp", "line_warps", "unroll", "splits"))
    return False


def label(row: Row) -> str:
    return "{m}x{n}x{k} {layout}".format(**row)


def measured_estimates() -> Iterator[tuple[float, float]]:
    """Estimated and measured microseconds of every candidate that the rules still make."""
    for row in MEASURED["rows"]:
        ranking = rank(problem_of(row), H200)
        for candidate in (ranking.chosen, *ranking.alternatives):
            for found in row["candidates"]:
                if matches(candidate, found):
                    yield 1e6 * candidate.seconds, found["us"]


@pytest.mark.parametrize("row", MEASURED["rows"], ids=label)
def test_choice_is_among_the_fastest_measured(row: Row) -> None:
    chosen = rank(problem_of(row), H200).chosen
    times = [found["us"] for found in row["candidates"] if matches(chosen, found)]
    assert times, f"{chosen.label} was not measured"
    assert times[0] <= SLOWER_HERE.get(label(row), SLOWER) * min(found["us"] for found in row["candidates"])


def test_estimates_are_near_what_was_measured() -> None:
    errors = [abs(estimated / measured - 1) for estimated, measured in measured_estimates()]
    assert len(errors) > 40
    assert statistics.median(errors) < 0.03
    assert statistics.quantiles(errors, n=10)[-1] < 0.1


def test_kept_bench_is_a_result_of_all_suites() -> None:
    result = parse_result(BENCH, "bench_fp32_h200.json")
    assert {row.suite for row in result.rows} == {"square", "llm", "odd", "skinny", "layouts"}
    assert all(isinstance(row, BenchRow) and row.lo <= row.ratio <= row.hi for row in result.rows)
    assert all(abs(row.peer_us / row.ours_us / row.ratio - 1) < 0.02 for row in result.rows)
