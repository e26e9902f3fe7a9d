"""The traffic formula against tile loads counted one by one, and the issue's worked figures."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.counters import Counters
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.cost.traffic import (
    arithmetic_intensity_requested,
    arithmetic_intensity_sectors,
    formula_load_bytes,
    load_reduction_vs_naive,
    naive_load_bytes,
)

SIZES = st.integers(0, 40)
TILES = st.integers(1, 17)


def load_tiles_one_by_one(problem: Problem, plan: TilePlan) -> int:
    """Return the bytes of all elements within the operands that the blocks' tiles cover, k-step by k-step."""
    elements = 0
    for row0 in range(0, problem.M, plan.BM):
        for column0 in range(0, problem.N, plan.BN):
            for k0 in range(0, problem.K, plan.BK):
                ks = range(k0, min(k0 + plan.BK, problem.K))
                elements += sum(1 for row in range(row0, row0 + plan.BM) for _ in ks if row < problem.M)
                elements += sum(1 for column in range(column0, column0 + plan.BN) for _ in ks if column < problem.N)
    return 4 * elements


@given(SIZES, SIZES, SIZES, TILES, TILES, TILES)
def test_formula_equals_tile_loads_counted_one_by_one(M: int, N: int, K: int, BM: int, BN: int, BK: int) -> None:
    problem, plan = Problem(M, N, K), TilePlan(BM, BN, BK)
    assert formula_load_bytes(problem, plan) == load_tiles_one_by_one(problem, plan)


@given(SIZES, SIZES, SIZES)
def test_without_reuse_every_multiply_loads_both_operands(M: int, N: int, K: int) -> None:
    problem = Problem(M, N, K)
    assert formula_load_bytes(problem, None) == naive_load_bytes(problem) == formula_load_bytes(problem, TilePlan(1, 1, 1))


@pytest.mark.parametrize("side", [1, 8, 16, 32, 64])
def test_square_tiles_that_divide_load_less_by_their_side(side: int) -> None:
    problem = Problem(1024, 1024, 1024)
    assert formula_load_bytes(problem, TilePlan(side, side, side)) * side == naive_load_bytes(problem)


def test_the_figures_of_1024_cubed() -> None:
    problem = Problem(1024, 1024, 1024)
    tiled = Counters(requested_load_bytes=268_435_456, global_load_sectors=8_388_608)
    assert formula_load_bytes(problem, TilePlan(32, 32, 32)) == 268_435_456
    assert load_reduction_vs_naive(problem, tiled) == 32
    assert arithmetic_intensity_requested(problem, tiled) == 8.0
    assert arithmetic_intensity_sectors(problem, tiled) == 8.0
    naive = Counters(requested_load_bytes=naive_load_bytes(problem), global_load_sectors=167_772_160)
    assert arithmetic_intensity_requested(problem, naive) == 0.25
    assert arithmetic_intensity_sectors(problem, naive) == float(Fraction(2 * 1024**3, 32 * 167_772_160))
    assert load_reduction_vs_naive(problem, naive) == 1


def test_large_sizes_stay_exact() -> None:
    top = 2**31 - 1
    assert formula_load_bytes(Problem(top, top, top), TilePlan(1, 1, 1)) == 8 * top**3


@pytest.mark.parametrize("sizes", [(0, 5, 5), (5, 0, 5), (5, 5, 0)])
def test_nothing_to_compute_has_no_intensity(sizes: tuple[int, int, int]) -> None:
    problem = Problem(*sizes)
    for figure in (load_reduction_vs_naive, arithmetic_intensity_requested, arithmetic_intensity_sectors):
        assert figure(problem, Counters()) == 0.0


def test_work_without_loads_has_infinite_intensity() -> None:
    assert arithmetic_intensity_requested(Problem(1, 1, 1), Counters()) == math.inf
