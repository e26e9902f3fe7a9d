"""Infinities in outputs: those that a kernel stores on purpose, as causal masks do, and those that its arithmetic gives."""

from __future__ import annotations

import numpy as np
import pytest

import tilewise

SOURCE = """\
#include <math.h>
extern "C" __global__ void mask(const float* x, float* y, float scale) {
  int row = blockIdx.x, column = threadIdx.x;
  float value = x[row * 32 + column] * scale;
  if (column > row) value = HIDDEN;
  y[row * 32 + column] = value;
}
"""


@pytest.mark.parametrize(
    ("hidden", "scale", "severity"),
    [("-INFINITY", 0.5, "note"), ("-INFINITY * value * value", 0.5, "error"), ("0", -1e38, "error"), ("0", 0.5, None)],
)
def test_only_infinities_of_a_mask_are_meant(hidden: str, scale: float, severity: str | None) -> None:
    args = {"x": np.full((4, 32), 8.0, np.float32), "y": "f32[4,32]", "scale": scale}
    report = tilewise.check(SOURCE.replace("HIDDEN", hidden), grid=4, block=32, args=args)
    found = {finding.severity for finding in report.findings if finding.kind == "numeric.nonfinite"}
    assert found == ({severity} if severity else set())
    assert report.verdict == ("findings" if severity == "error" else "clean")
