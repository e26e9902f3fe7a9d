"""Barriers that order nothing by themselves, and those that look so and do."""

from __future__ import annotations

import numpy as np
import pytest

import tilewise
from tilewise.emu.observe import observe

KERNEL = """extern "C" __global__ void k(float* x, float* y, int n) {{
    __shared__ float tile[128];
    const int i = threadIdx.x;
    {body}
}}
"""


def idle_lines(body: str, options: tuple[str, ...]) -> list[int]:
    """The lines of idle barriers, counted from the body's first."""
    module = tilewise.compile(KERNEL.format(body=body), "k.cu", options=options)
    arrays = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    launch = tilewise.Launch(module, "k", (1, 1, 1), (128, 1, 1), (*arrays, 2))
    return sorted(barrier.place.line - 4 for barrier in observe(launch, poison=[1]).observed.idle_barriers)


NEEDED = {
    "others read what one wrote": "if (i == 127) tile[0] = x[0];\n__syncthreads();\ny[i] = tile[0];",
    "the writer is the first to read": "if (i == 0) tile[0] = x[0];\n__syncthreads();\ny[i] = tile[0];",
    "a lane and its neighbour": "tile[i] = x[i];\n__syncthreads();\ny[i] = tile[i] + (i ? tile[i - 1] : 0);",
    "the writer comes back in every turn": (
        "for (int k = 0; k < n; ++k) {\nif (i == 0) tile[0] = x[k] + k;\n__syncthreads();\ny[i] += tile[0];\n__syncthreads();\n}"
    ),
    "the writer comes back before others do": (
        "if (i == 0) tile[0] = x[0];\n"
        "for (int k = 0; k < n; ++k) {\n__syncthreads();\nif (i == 0 || k == n - 1) y[i] = tile[0] + k;\n}"
    ),
    "global memory": "if (i == 0) y[0] = x[0];\n__syncthreads();\nx[i] = y[0];",
}
IDLE = {
    "each thread has its own": ("tile[i] = x[i];\n__syncthreads();\ny[i] = tile[i];", [1]),
    "all only read": ("y[i] = x[0];\n__syncthreads();\ny[i] += x[1];", [1]),
    "other bytes": (
        "if (i == 0) tile[0] = x[0];\n__syncthreads();\nif (i == 0) y[0] = tile[0];\nif (i) tile[i] = y[i] = x[i];",
        [1],
    ),
    "two in a row": ("if (i == 0) tile[0] = x[0];\n__syncthreads();\n__syncthreads();\ny[i] = tile[0];", [1, 2]),
}

every_build = pytest.mark.parametrize("options", [(), ("-G",)], ids=["optimised", "unoptimised"])


@every_build
@pytest.mark.parametrize("body", NEEDED.values(), ids=list(NEEDED))
def test_barrier_that_orders_two_accesses_is_not_idle(body: str, options: tuple[str, ...]) -> None:
    assert idle_lines(body, options) == []


@every_build
@pytest.mark.parametrize(("body", "lines"), IDLE.values(), ids=list(IDLE))
def test_barrier_that_orders_nothing_alone_is_idle(body: str, lines: list[int], options: tuple[str, ...]) -> None:
    assert idle_lines(body, options) == lines
