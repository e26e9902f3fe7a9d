"""Every rung on the emulator: right against float64, counted as the replay counts, in every layout and with padded rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from accounting import Product
from launching import UNTOUCHED, Floats, Matrix, operands, run
from replay import replay

from tilewise.core.counters import Counters
from tilewise.core.plan import TilePlan
from tilewise.core.problem import LAYOUTS, Layout, Problem
from tilewise.kernels.ladder import LADDER, Rung, rung

ARCHS = ["compute_90a", "compute_100"]

PLANS = [
    ("r01", TilePlan(32, 32, 1)),
    ("r02", TilePlan(32, 32, 1)),
    ("r02", TilePlan(5, 9, 1)),
    ("r03", TilePlan(8, 8, 8)),
    ("r03", TilePlan(16, 16, 16)),
    ("r03", TilePlan(32, 32, 32)),
    ("r04", TilePlan(128, 128, 8, 8, 8)),
    ("r04", TilePlan(64, 32, 8, 4, 2)),
    ("r04", TilePlan(64, 64, 8, 8, 1)),
    ("r04", TilePlan(24, 20, 6, 4, 2)),
    ("r05", TilePlan(128, 128, 8, 8, 8)),
    ("r05", TilePlan(64, 32, 8, 4, 4)),
    ("r05", TilePlan(24, 20, 12, 4, 4)),
    ("r06", TilePlan(128, 128, 8, 8, 8)),
    ("r06", TilePlan(24, 20, 6, 4, 4)),
    ("r07", TilePlan(128, 128, 8, 8, 8)),
    ("r07", TilePlan(32, 64, 8, 4, 4)),
]
"""Those of 24 rows have 60 or 30 threads, and copies that these do not share out evenly."""

every_plan = pytest.mark.parametrize(
    ("name", "plan"), PLANS, ids=[f"{name}-{plan.BM}x{plan.BN}x{plan.BK}" for name, plan in PLANS]
)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
every_arch = pytest.mark.parametrize("arch", ARCHS)
every_rung = pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)

RAGGED = [(37, 61, 47), (1, 1, 1), (129, 257, 65), (132, 260, 68)]
"""The last has aligned rows."""


def edges(plan: TilePlan) -> list[tuple[int, int, int]]:
    """Return sizes round the edges of a plan's tiles: 1, one less, the tile, one more, a prime."""
    m, n, k = ([1, max(1, tile - 1), tile, tile + 1, 37] for tile in (plan.BM, plan.BN, plan.BK))
    turns = (0, 1, 2, 3, 4)
    return [(m[turn], n[(turn + 2) % 5], k[(turn + 4) % 5]) for turn in turns] + [(m[turn], n[turn], k[turn]) for turn in turns]


def assert_right(problem: Problem, a: Floats, b: Floats, c: Floats) -> None:
    """K multiply-adds in fp32 err by at most K u / (1 - K u) times |A||B|, u = 2^-24 [Higham, Accuracy and Stability, 3.1]."""
    exact, scale = a.astype(np.float64) @ b.astype(np.float64), np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    bound = problem.K * 2.0**-24
    assert np.all(np.abs(c - exact) <= bound / (1 - bound) * scale), problem


def assert_padding_untouched(c: Matrix) -> None:
    padding = np.ones(c.buffer.shape, dtype=bool)
    rows, columns = c.values.shape
    np.lib.stride_tricks.as_strided(padding, (rows, columns), (c.leading, 1))[...] = False
    assert np.all(c.buffer[padding] == UNTOUCHED)


def replayed(name: str, plan: TilePlan, problem: Problem, matrices: tuple[Matrix, Matrix, Matrix]) -> Counters:
    a, b, c = matrices
    product = Product(problem.M, problem.N, problem.K, problem.layout, a.leading, b.leading, c.leading)
    return replay(name, plan, product).counters()


@every_arch
@every_layout
@every_plan
def test_rung_is_right_round_the_edges_of_its_tiles(name: str, plan: TilePlan, layout: Layout, arch: str) -> None:
    for index, sizes in enumerate(edges(plan)):
        problem = Problem(*sizes, layout=layout)
        a, b, c = matrices = operands(problem, pad=(0, 3)[index % 2])
        run(rung(name), plan, problem, matrices, arch)
        assert_right(problem, a.values, b.values, c.values)
        assert_padding_untouched(c)


@every_arch
@every_layout
@every_plan
def test_counters_equal_the_replay(name: str, plan: TilePlan, layout: Layout, arch: str) -> None:
    for sizes in RAGGED:
        for pad in (0, 3):
            problem = Problem(*sizes, layout=layout)
            matrices = operands(problem, pad)
            counted = run(rung(name), plan, problem, matrices, arch)
            assert replace(counted, sites=()) == replayed(name, plan, problem, matrices)


@every_plan
def test_counters_are_the_same_for_any_number_of_threads(name: str, plan: TilePlan) -> None:
    problem = Problem(129, 257, 65)
    matrices = operands(problem, pad=0)
    alone, shared = (run(rung(name), plan, problem, matrices, "compute_90a", threads) for threads in (1, 3))
    assert alone == shared


@every_arch
@every_rung
def test_claims_hold_on_the_emulator(row: Rung, arch: str) -> None:
    problem, plan, claims = Problem(256, 128, 64), row.default_plan, row.claims
    counted = run(row, plan, problem, operands(problem, pad=0), arch)
    blocks, k_steps = (problem.M // plan.BM) * (problem.N // plan.BN), problem.K // plan.BK
    assert counted.worst_bank_conflict_ways == claims.conflict_ways
    assert counted.barriers == claims.barriers_per_k_step * k_steps * blocks
    assert counted.shared_load_bytes == 4 * claims.shared_words_per_fma * counted.fma
    assert counted.global_store_sectors == claims.c_sectors * counted.global_store_requests
    assert 32 * counted.shared_load_wavefronts == claims.wavefronts_per_fma * counted.fma
    tally = replay(row.name, plan, Product(problem.M, problem.N, problem.K, "rr", problem.K, problem.N, problem.N))
    requests = (tally.a_load.requests, tally.b_load.requests)
    assert counted.global_load_requests == sum(requests)
    assert counted.global_load_sectors == claims.a_sectors * requests[0] + claims.b_sectors * requests[1]


@every_rung
def test_nan_and_infinity_spread_as_ieee_says(row: Rung) -> None:
    problem = Problem(41, 43, 45)
    a, b, c = matrices = operands(problem, pad=2)
    a.values[3, 5], a.values[7, 44], b.values[0, 11] = np.nan, np.inf, -np.inf
    b.values[44, 2] = 0.0
    run(row, row.default_plan, problem, matrices, "compute_90a")
    with np.errstate(invalid="ignore"):
        exact = a.values.astype(np.float64) @ b.values.astype(np.float64)
    finite = np.isfinite(exact)
    assert np.isnan(c.values[7, 2])
    assert np.isnan(c.values[3]).all()
    np.testing.assert_array_equal(c.values[~finite], exact[~finite].astype(np.float32))
    np.testing.assert_allclose(c.values[finite], exact[finite], atol=1e-4)


@every_rung
def test_no_k_steps_give_zeros_and_no_loads(row: Rung) -> None:
    problem = Problem(33, 35, 0)
    c = operands(Problem(33, 35, 1), pad=1)
    counted = run(row, row.default_plan, problem, c, "compute_90a")
    assert np.all(c[2].values == 0.0)
    assert counted.requested_load_bytes == counted.barriers == counted.fma == 0
