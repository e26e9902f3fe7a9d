"""Every rung as NVRTC makes it for each generation of GPUs, optimised and not: right against float64."""

from __future__ import annotations

import numpy as np
import pytest
from launching import operands, run

from tilewise.core.problem import Problem
from tilewise.kernels.ladder import LADDER, Rung

ARCHS = {"compute_75": (7, 5), "compute_80": (8, 0), "compute_90a": (9, 0), "compute_100": (10, 0), "compute_120": (12, 0)}
BUILDS = {"optimised": (), "debug": ("-G",), "quick": ("--Ofast-compile=max",)}
SIZES = (37, 61, 23)


@pytest.mark.parametrize("build", ["optimised", "debug", pytest.param("quick", marks=pytest.mark.slow)])
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)
def test_rung_is_right_in_every_build(row: Rung, arch: str, build: str) -> None:
    if ARCHS[arch] < row.least_compute_capability:
        pytest.skip(f"{row.name} needs compute capability {row.least_compute_capability}")
    problem = Problem(*SIZES)
    a, b, c = matrices = operands(problem, pad=3)
    run(row, row.default_plan, problem, matrices, arch, options=BUILDS[build])
    exact, scale = a.values.astype(np.float64) @ b.values, np.abs(a.values).astype(np.float64) @ np.abs(b.values)
    bound = problem.K * 2.0**-24  # Higham, Accuracy and Stability, 3.1
    assert np.all(np.abs(c.values - exact) <= bound / (1 - bound) * scale)
