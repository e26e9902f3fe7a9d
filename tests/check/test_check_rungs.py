"""The ladder's own kernels under check: no error, and of performance what each rung claims of itself, no more and no less."""

from __future__ import annotations

import pytest

import tilewise
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Layout, Problem
from tilewise.core.report import Report
from tilewise.kernels.ladder import LADDER, Rung, block, grid
from tilewise.kernels.source import kernel_source

SMALL = {
    "r01": TilePlan(16, 16, 1),
    "r02": TilePlan(16, 16, 1),
    "r03": TilePlan(16, 16, 16),
    "r04": TilePlan(32, 32, 8, 4, 4),
    "r05": TilePlan(32, 32, 8, 4, 4),
    "r06": TilePlan(32, 32, 8, 4, 4),
    "r07": TilePlan(32, 32, 8, 4, 4),
}
every_rung = pytest.mark.parametrize("row", LADDER, ids=[row.name for row in LADDER])


def check_rung(row: Rung, plan: TilePlan, problem: Problem, pad: int, schedules: int = 1) -> Report:
    """Check a rung with `pad` words between the rows (columns) of A and B."""
    a_width = problem.K if problem.a_row_major else problem.M
    b_width = problem.N if problem.b_row_major else problem.K
    leading = {"lda": a_width + pad, "ldb": b_width + pad, "ldc": problem.N}
    strides = [f"{leading[name]},1" if is_row_major else f"1,{leading[name]}" for name, is_row_major in
               (("lda", problem.a_row_major), ("ldb", problem.b_row_major))]  # fmt: skip
    args = {
        "A": f"f32[M,K;{strides[0]}]:normal",
        "B": f"f32[K,N;{strides[1]}]:normal",
        "C": "f32[M,N]",
        "M": problem.M,
        "N": problem.N,
        "K": problem.K,
        **leading,
    }
    source = kernel_source(row, plan, problem.layout)
    shape = {"grid": grid(plan, problem), "block": block(row, plan)}
    return tilewise.check(source, **shape, args=args, expect="C = A @ B", build="both", schedules=schedules)


@every_rung
def test_rung_has_the_performance_findings_it_claims(row: Rung) -> None:
    plan = row.default_plan
    report = check_rung(row, plan, Problem(2 * plan.BM, 2 * plan.BN, max(64, 2 * plan.BK)), 0)
    report.assert_clean()
    assert {finding.kind for finding in report.findings} == set(row.claims.findings)


@pytest.mark.parametrize("layout", ["rr", "cc"])
@every_rung
def test_rung_is_clean_on_sizes_that_its_tiles_do_not_divide(row: Rung, layout: Layout) -> None:
    plan = SMALL[row.name]
    report = check_rung(row, plan, Problem(plan.BM + 5, plan.BN + 3, 2 * plan.BK + 3, layout=layout), 1, schedules=4)
    report.assert_clean()
    assert report.coverage.builds == ("optimised", "unoptimised")
