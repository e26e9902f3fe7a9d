"""Products of NumPy arrays on the CPU: a rung of the ladder on the emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewise.build.nvrtc import compile_source
from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.emu.machine import emulate
from tilewise.engine.memory import require_memory
from tilewise.engine.operands import Matrix, as_matrix, in_place, layout_of, product_launch
from tilewise.engine.pairs import matrix_pairs
from tilewise.kernels.ladder import GRID_ROWS, Rung, objections, rung
from tilewise.kernels.source import kernel_source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

ARCH = "compute_90a"
"""What the kernels are compiled for: PTX alone, which is all that the emulator runs."""

LARGE = TilePlan(64, 64, 32, 4, 1)
"""r04's, for a C of more than 32 x 32: on one thread of an AMD EPYC with AVX-512, 512^3 runs at 54 GFLOP/s, against 40 with SMALL
and 34 with r04's default (best of 7, measured 2026-11-30)."""
SMALL = TilePlan(32, 32, 32)
"""r03's, for a C with a shorter side, most of which LARGE would fill with zeros."""
TINY = TilePlan(16, 16, 16)
"""r03's, for a C of at most 16 x 16."""


def multiply_emulated(a: Array, b: Array, out: Array) -> None:
    """Write the product of two arrays that match, of any strides, to `out`, which overlaps neither.

    Operands with row-major or column-major strides are read in place, others are copied first. Raises TilewiseError for sizes
    beyond memory.
    """
    if out.size and a.shape[-1]:
        for left, right, c in matrix_pairs(a, b, out):
            _multiply(left, right, c)
    else:
        out[...] = 0


def _multiply(a: Array, b: Array, c: Array) -> None:
    """Write the product of two matrices, no side of which is 0, to `c`: in panels of as many rows as a grid covers."""
    import numpy as np

    chosen, plan = _choose(*c.shape)
    right = as_matrix(b)
    rows = GRID_ROWS * plan.BM
    for first in range(0, len(c), rows):
        left, panel = as_matrix(a[first : first + rows]), c[first : first + rows]
        target = in_place(panel, "r")
        if target is not None:
            _run(chosen, plan, left, right, target, (*panel.shape, len(b)))
            continue
        require_memory(panel.nbytes, f"a row-major copy of out, of shape {panel.shape},")
        copy = np.empty(panel.shape, np.float32)
        _run(chosen, plan, left, right, Matrix(copy.ravel(), "r", panel.shape[1]), (*panel.shape, len(b)))
        panel[...] = copy


def _choose(M: int, N: int) -> tuple[Rung, TilePlan]:
    """Return the rung and plan that the emulator runs fastest for a C of M x N."""
    if min(M, N) > SMALL.BM:
        return rung("r04"), LARGE
    return rung("r03"), TINY if max(M, N) <= TINY.BM else SMALL


def _run(chosen: Rung, plan: TilePlan, a: Matrix, b: Matrix, c: Matrix, sizes: tuple[int, int, int]) -> None:
    problem = Problem(*sizes, layout=layout_of(a, b))
    reasons = objections(chosen, plan, problem=problem)
    if reasons:
        raise TilewiseError(" ".join(reasons))
    module = compile_source(kernel_source(chosen, plan, problem.layout), ARCH)
    emulate(product_launch(module, chosen, plan, problem, a, b, c))
