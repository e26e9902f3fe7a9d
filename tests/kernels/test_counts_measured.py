"""What the emulator counts of every rung against what Nsight Compute counted of the same modules on an H200."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest
from launching import operands, run

from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.kernels.ladder import rung

RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "ncu_ladder_h200.json"
ROWS = {row["rung"]: row for row in json.loads(RESULT.read_text())["rows"]}
SAME_IN_MACHINE_CODE = [
    "global_load_requests",
    "global_load_sectors",
    "global_store_requests",
    "global_store_sectors",
    "shared_store_requests",
    "fma",
]
VECTORISED = ["r05", "r06", "r07"]
"""Rungs whose shared loads ptxas has no reason to merge."""


@cache
def emulated(name: str) -> dict[str, int]:
    row = ROWS[name]
    problem = Problem(row["size"], row["size"], row["size"])
    counters = run(rung(name), TilePlan(**row["tile"]), problem, operands(problem, pad=0), "compute_90a", threads=2)
    return asdict(counters)


def without_arbitration(name: str, kind: str) -> int:
    """Wavefronts of conflict-free accesses: Nsight Compute books as conflicts what other traffic at the same banks adds."""
    counted = ROWS[name]["ncu"]
    return int(counted[f"shared_{kind}_wavefronts"] - counted[f"shared_{kind}_bank_conflicts"])


@pytest.mark.parametrize("name", ROWS)
def test_global_traffic_stores_and_multiply_adds_equal_nsight_compute(name: str) -> None:
    counted = ROWS[name]["ncu"]
    assert {field: emulated(name)[field] for field in SAME_IN_MACHINE_CODE} == {
        field: counted[field] for field in SAME_IN_MACHINE_CODE
    }
    assert emulated(name)["shared_store_wavefronts"] == without_arbitration(name, "store")


@pytest.mark.parametrize("name", VECTORISED)
def test_shared_load_wavefronts_equal_nsight_compute(name: str) -> None:
    assert emulated(name)["shared_load_wavefronts"] == without_arbitration(name, "load")


def test_ptxas_merges_scalar_shared_loads() -> None:
    """Which is why counts of the PTX and of the machine code differ there, and there alone."""
    for name in ("r03", "r04"):
        assert emulated(name)["shared_load_requests"] > ROWS[name]["ncu"]["shared_load_requests"]
    assert emulated("r05")["shared_load_requests"] == ROWS["r05"]["ncu"]["shared_load_requests"]
