"""The bank rule against what Nsight Compute counted on an H200, case by case and in whole kernels."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tilewise.hw.banks import FULL_MASK, GROUP_LANES, SETTLED_WIDTHS, AccessKind, lane_groups, wavefronts

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
BANKS = json.loads((RESULTS / "banks_h200.json").read_text())
LADDER = json.loads((RESULTS / "ncu_ladder_h200.json").read_text())
KINDS: tuple[AccessKind, ...] = ("load", "store")
every_width = pytest.mark.parametrize(("width", "kind"), list(product(GROUP_LANES, KINDS)))


def measured(width: int, kind: str) -> list[dict[str, Any]]:
    return [row for row in BANKS["rows"] if (row["width"], row["op"]) == (width, kind)]


@every_width
def test_every_pattern_takes_the_wavefronts_measured(width: int, kind: AccessKind) -> None:
    expected = {row["pattern"]: row["wavefronts_per_request"] for row in measured(width, kind)}
    found = {row["pattern"]: wavefronts(row["addresses"], int(row["active"], 16), width, kind) for row in measured(width, kind)}
    assert found == expected


@every_width
def test_nsight_compute_books_wavefronts_beyond_the_groups_as_bank_conflicts(width: int, kind: AccessKind) -> None:
    for row in measured(width, kind):
        groups = lane_groups(row["addresses"], int(row["active"], 16), width, kind)
        assert row["bank_conflicts_per_request"] == row["wavefronts_per_request"] - len(groups), row["pattern"]


@every_width
def test_settled_widths_were_measured_by_many_patterns(width: int, kind: AccessKind) -> None:
    rows = measured(width, kind)
    assert width in SETTLED_WIDTHS
    assert len({tuple(row["addresses"]) for row in rows if row["active"] == f"{FULL_MASK:#x}"}) >= 12
    assert len({row["active"] for row in rows}) >= 12
    assert {row["requests"] for row in rows} == {1024}


@pytest.mark.parametrize("width", [8, 16])
def test_one_lane_that_disagrees_undoes_the_sharing_of_the_whole_warp(width: int) -> None:
    rows = {row["pattern"]: row["wavefronts_per_request"] for row in measured(width, "load")}
    shared, apart = width // 8, width // 4
    assert rows["2 neighbours share"] == shared
    assert rows["i^1 share in the first half"] == rows["i^1 share in all but lanes 28 to 31"] == apart
    assert rows["i^1 share in even quads, i^2 in odd"] == apart


def counted(rung: str) -> dict[str, int]:
    (row,) = (row for row in LADDER["rows"] if row["rung"] == rung)
    counts: dict[str, int] = row["ncu"]
    return counts


def cost(accesses: Iterable[tuple[int, list[int]]]) -> tuple[int, int, int]:
    """Return loads, wavefronts and groups of loads of so many bytes at the lanes' addresses."""
    totals: Counter[str] = Counter()
    for size, addresses in accesses:
        totals["loads"] += 1
        totals["wavefronts"] += wavefronts(addresses, FULL_MASK, size, "load")
        totals["groups"] += len(lane_groups(addresses, FULL_MASK, size, "load"))
    return totals["loads"], totals["wavefronts"], totals["groups"]


def test_shared_loads_of_the_thread_tile_rung() -> None:
    """ptxas makes two 16-byte loads of the 8 words of a_frag, which half a warp shares, and two of the 8 of b_frag."""
    step = [(16, [32 * (lane // 16) + 16 * part for lane in range(32)]) for part in range(2)]
    step += [(16, [32 * (lane % 16) + 16 * part for lane in range(32)]) for part in range(2)]
    loads, passes, groups = cost(step)
    counts = counted("r04")
    steps = 1024**3 // (8 * 8) // 32  # k-steps of all warps, each of 64 FMAs a lane
    assert counts["shared_load_requests"] == loads * steps
    assert counts["shared_load_wavefronts"] == passes * steps
    assert counts["shared_load_bank_conflicts"] == (passes - groups) * steps


def test_shared_loads_of_the_tiled_rung() -> None:
    """ptxas makes one 16-byte load of four uniform words of a_tile, beside four of a row of b_tile.

    What other traffic adds at the banks, Nsight Compute books as conflicts: less than a thousandth here.
    """
    loads, passes, groups = cost([(16, [0] * 32), *((4, [128 * k + 4 * lane for lane in range(32)]) for k in range(4))])
    counts = counted("r03")
    steps = 1024**3 // 4 // 32
    assert passes == groups
    assert counts["shared_load_requests"] == loads * steps
    assert counts["shared_load_wavefronts"] - counts["shared_load_bank_conflicts"] == passes * steps
    assert counts["shared_load_bank_conflicts"] < passes * steps / 1000


@pytest.mark.parametrize("rung", ["r03", "r04"])
def test_surplus_of_conflict_free_stores_is_what_other_traffic_adds(rung: str) -> None:
    counts = counted(rung)
    assert counts["shared_store_wavefronts"] - counts["shared_store_bank_conflicts"] == counts["shared_store_requests"]


def test_conflict_free_accesses_count_more_only_beside_transfers_to_and_from_l1() -> None:
    surplus = {row["traffic"] for row in BANKS["traffic"] if row["wavefronts_per_request"] > 1}
    assert surplus == {
        "shared stores, global loads that miss L1",
        "shared stores, global loads that hit L1",
        "shared loads, global stores",
    }
    alone = [row for row in BANKS["traffic"] if row["warps"] * row["blocks"] == 1]
    assert {row["wavefronts_per_request"] for row in alone} == {1.0}
