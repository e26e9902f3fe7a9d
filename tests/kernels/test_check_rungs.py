"""The rungs of the ladder under `tilewise.check`: no fault in either build, and the performance findings that they claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewise
from tilewise.core.report import Report
from tilewise.kernels.ladder import LADDER, Rung, block, grid
from tilewise.kernels.source import kernel_source

every_rung = pytest.mark.parametrize("rung", LADDER, ids=[rung.name for rung in LADDER])


def check(rung: Rung, sizes: tuple[int, int, int], layout: Any, **options: Any) -> Report:
    M, N, K = sizes
    problem = tilewise.Problem(M, N, K, layout=layout)
    random = np.random.default_rng(7)
    a = random.standard_normal((M, K) if layout[0] == "r" else (K, M), dtype=np.float32)
    b = random.standard_normal((K, N) if layout[1] == "r" else (N, K), dtype=np.float32)
    sizes_by_name = {"M": M, "N": N, "K": K, "lda": a.shape[1], "ldb": b.shape[1], "ldc": N}
    left, right = (name if order == "r" else f"{name}.T" for name, order in zip("AB", layout, strict=True))
    return tilewise.check(
        kernel_source(rung, rung.default_plan, layout),
        grid=grid(rung.default_plan, problem),
        block=block(rung, rung.default_plan),
        args={"A": a, "B": b, "C": f"f32[{M},{N}]", **sizes_by_name},
        expect=f"C = {left} @ {right}",
        **options,
    )


@every_rung
def test_rung_is_clean_and_has_the_findings_that_it_claims(rung: Rung) -> None:
    report = check(rung, (128, 128, 64), "rr")
    report.assert_clean()
    assert report.coverage.builds == ("optimised", "unoptimised")
    kinds = {finding.kind for finding in report.findings}
    assert kinds == set(rung.claims.findings)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["rr", "rc", "cr", "cc"])
@every_rung
def test_rung_is_clean_at_edges_in_every_layout(rung: Rung, layout: str) -> None:
    report = check(rung, (70, 65, 33), layout, schedules=2)
    report.assert_clean()
    assert not any(finding.kind.startswith(("race", "barrier", "schedule")) for finding in report.findings)
