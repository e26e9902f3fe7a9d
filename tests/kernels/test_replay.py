"""The replay is itself checked: against sets counted lane by lane, and against the closed forms that the theory gives."""

from __future__ import annotations

import numpy as np
import pytest
from accounting import Product, sectors, wavefronts
from replay import replay

from tilewise.core.plan import TilePlan
from tilewise.kernels.ladder import LADDER, Rung, rung

LANES = 32


def square(n: int) -> Product:
    return Product(n, n, n, "rr", n, n, n)


def test_sectors_and_wavefronts_equal_a_count_with_sets() -> None:
    random = np.random.default_rng(1)
    words = random.integers(0, 200, size=(300, LANES))
    active = random.random((300, LANES)) < random.random((300, 1))
    for row, mask, touched, passes in zip(words, active, sectors(words, active), wavefronts(words, active), strict=True):
        asked = {int(word) for word, on in zip(row, mask, strict=True) if on}
        assert touched == len({word * 4 // 32 for word in asked})
        assert passes == max((sum(word % 32 == bank for word in asked) for bank in range(32)), default=0)


@pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)
def test_whole_tiles_load_what_the_formula_says(row: Rung) -> None:
    product, plan = Product(256, 128, 64, "rr", 64, 128, 128), row.default_plan
    M, N, K = product.M, product.N, product.K
    formula = M * K * N // plan.BN + K * N * M // plan.BM if row.reuses_block_tile else 2 * M * N * K
    assert replay(row.name, plan, product).counters().requested_load_bytes == 4 * formula


@pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)
def test_claims_hold_at_the_default_plan(row: Rung) -> None:
    product, plan, claims = square(128), row.default_plan, row.claims
    tally = replay(row.name, plan, product)
    blocks, k_steps = (product.M // plan.BM) * (product.N // plan.BN), product.K // plan.BK
    for access, claimed in (
        (tally.a_load, claims.a_sectors),
        (tally.b_load, claims.b_sectors),
        (tally.c_store, claims.c_sectors),
    ):
        assert access.transactions == claimed * access.requests
        assert access.worst == claimed
    assert tally.counters().worst_bank_conflict_ways == claims.conflict_ways
    assert tally.barriers == claims.barriers_per_k_step * k_steps * blocks
    assert tally.shared_load.bytes == 4 * claims.shared_words_per_fma * tally.fma
    assert 32 * tally.shared_load.transactions == claims.wavefronts_per_fma * tally.fma
    assert tally.fma == product.M * product.N * product.K


@pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)
def test_claimed_findings_follow_from_the_figures(row: Rung) -> None:
    tally = replay(row.name, row.default_plan, square(128))
    follows = {
        "perf.uncoalesced": any(
            32 * access.transactions > access.bytes for access in (tally.a_load, tally.b_load, tally.c_store)
        ),
        "perf.bank_conflict": tally.counters().worst_bank_conflict_ways > 1,
        "perf.traffic": tally.shared_load.requests == 0,
    }
    assert set(row.claims.findings) == {kind for kind, holds in follows.items() if holds}


def smem_tile_counts(n: int, S: int) -> dict[str, int]:
    """r03 on whole tiles, n and S multiples of 32 and 8."""
    return {
        "requested_load_bytes": 2 * n**3 // S * 4,
        "global_load_sectors": 2 * n**3 // S // 8,
        "global_store_sectors": n**2 // 8,
        "shared_store_requests": 2 * n**3 // S // 32,
        "shared_load_requests": 2 * n**3 // 32,
        "barriers": 2 * (n // S) ** 3,
        "fma": n**3,
    }


def naive_counts(n: int, sectors_of_both: int) -> dict[str, int]:
    """r01 and r02 on whole warps: n^3/32 requests for each operand, `sectors_of_both` for a pair."""
    return {
        "requested_load_bytes": 2 * n**3 * 4,
        "global_load_requests": 2 * n**3 // 32,
        "global_load_sectors": n**3 // 32 * sectors_of_both,
        "fma": n**3,
    }


@pytest.mark.parametrize("S", [8, 16, 32])
@pytest.mark.parametrize("n", [32, 96])
def test_smem_tile_equals_its_closed_forms(n: int, S: int) -> None:
    counters = replay("r03", TilePlan(S, S, S), square(n)).counters()
    expected = smem_tile_counts(n, S)
    assert {key: getattr(counters, key) for key in expected} == expected


@pytest.mark.parametrize(("name", "sectors_of_both"), [("r01", 33), ("r02", 5)])
def test_naive_rungs_equal_their_closed_forms(name: str, sectors_of_both: int) -> None:
    counters = replay(name, rung(name).default_plan, square(64)).counters()
    expected = naive_counts(64, sectors_of_both)
    assert {key: getattr(counters, key) for key in expected} == expected


def test_closed_forms_give_an_h200s_counters_at_1024() -> None:
    """Nsight Compute on an H200, 2026-11-29; shared loads as the PTX has them."""
    counts = smem_tile_counts(1024, 32)
    assert counts["global_load_sectors"] == 8_388_608
    assert counts["requested_load_bytes"] == 268_435_456
    assert counts["global_store_sectors"] == 131_072
    assert counts["shared_store_requests"] == 2_097_152
    assert counts["shared_load_requests"] == 67_108_864
    assert counts["barriers"] == 65_536
    assert naive_counts(1024, 5)["global_load_requests"] == 67_108_864
    assert naive_counts(1024, 5)["global_load_sectors"] == 167_772_160
    assert naive_counts(1024, 33)["global_load_sectors"] == 1_107_296_256


@pytest.mark.parametrize("layout", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize("S", [8, 16, 32])
def test_smem_tile_is_free_of_conflicts_in_every_layout(S: int, layout: str) -> None:
    tally = replay("r03", TilePlan(S, S, S), Product(S, S, S, layout, S, S, S))
    assert tally.shared_load.worst == tally.shared_store.worst == 1


@pytest.mark.parametrize("layout", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize("plan", [TilePlan(128, 128, 8, 8, 8), TilePlan(64, 64, 8, 8, 1), TilePlan(64, 64, 16, 4, 4)])
def test_thread_tile_stores_are_free_of_conflicts_in_every_layout(plan: TilePlan, layout: str) -> None:
    tally = replay("r04", plan, Product(128, 128, 32, layout, 128, 128, 128))
    assert tally.shared_store.worst == 1
