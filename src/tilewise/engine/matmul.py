"""`tilewise.matmul`: NumPy's product of float32 arrays, computed by a rung of the ladder on the emulator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tilewise.build.nvrtc import compile_source
from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.emu.machine import emulate
from tilewise.engine.memory import require_memory
from tilewise.engine.operands import Matrix, as_matrix, in_place, layout_of, product_launch
from tilewise.kernels.ladder import GRID_ROWS, Rung, objections, rung
from tilewise.kernels.source import kernel_source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ARCH = "compute_90a"
"""What the kernels are compiled for: PTX alone, which is all that the emulator runs."""

LARGE = TilePlan(64, 64, 32, 4, 1)
"""r04's, for a C of more than 32 x 32: on one thread of an AMD EPYC with AVX-512, 512^3 runs at 54 GFLOP/s, against 40 with SMALL
and 34 with r04's default (best of 7, measured 2026-11-30)."""
SMALL = TilePlan(32, 32, 32)
"""r03's, for a C with a shorter side, most of which LARGE would fill with zeros."""
TINY = TilePlan(16, 16, 16)
"""r03's, for a C of at most 16 x 16."""


def matmul(a: NDArray[np.float32], b: NDArray[np.float32], *, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return the product of two float32 arrays as `numpy.matmul` defines it, computed by a CUDA kernel on the emulator.

    a: (..., M, K) or (K,); b: (..., K, N) or (K,); leading dimensions broadcast. Sizes may be 0; K = 0 gives zeros.
    Operands with row-major or column-major strides are read in place, others are copied first. NaN and infinity propagate as IEEE
    754 says. `out`, of the result's shape, gets the product and is returned; it may have any strides.

    Raises TilewiseError for other types than float32, for shapes that do not match, for an `out` that has the wrong shape, is
    read-only or overlaps an operand, and for sizes beyond memory.
    """
    import numpy as np

    a, b = _as_operand("a", a), _as_operand("b", b)
    shape = _product_shape(a.shape, b.shape)
    if out is None:
        require_memory(4 * math.prod(shape), f"a product of shape {shape}")
        result = np.empty(shape, np.float32)
    else:
        _check_out(out, shape, a, b)
        result = out
    if result.size and a.shape[-1]:
        _multiply_stacks(a, b, result)
    else:
        result[...] = 0
    return result if shape or out is not None else result[()]  # as NumPy: a number for two vectors


def _as_operand(name: str, value: object) -> NDArray[np.float32]:
    import numpy as np

    array = np.asarray(value)
    if array.dtype != np.float32:
        raise TilewiseError(
            f"{name} is of type {array.dtype}, and matmul takes float32 only for now: give {name}.astype(np.float32)."
        )
    if array.ndim == 0:
        raise TilewiseError(
            f"{name} is a single number, and matmul takes arrays of at least one dimension: multiply with * instead."
        )
    return array


def _product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the product of arrays of these shapes."""
    import numpy as np

    k_of_b = b[-2] if len(b) > 1 else b[0]
    if a[-1] != k_of_b:
        raise TilewiseError(f"a of shape {a} has {a[-1]} columns and b of shape {b} has {k_of_b} rows: these two must be equal.")
    try:
        stack = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise TilewiseError(
            f"the stacks {a[:-2]} of a, of shape {a}, and {b[:-2]} of b, of shape {b}, do not broadcast: "
            "each pair of sizes, counted from the right, must be equal or have a 1."
        ) from None
    return (*stack, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def _check_out(out: object, shape: tuple[int, ...], a: NDArray[np.float32], b: NDArray[np.float32]) -> None:
    import numpy as np

    if not isinstance(out, np.ndarray):
        raise TilewiseError(f"out is {type(out).__name__}, not an array: give a float32 array of shape {shape}.")
    if out.dtype != np.float32:
        raise TilewiseError(f"out is of type {out.dtype}, and the product is float32: give np.empty({shape}, np.float32).")
    if out.shape != shape:
        raise TilewiseError(f"out has shape {out.shape}, and the product has shape {shape}: give np.empty({shape}, np.float32).")
    if not out.flags.writeable:
        raise TilewiseError("out is read-only: give an array that can be written, such as out.copy().")
    for name, operand in (("a", a), ("b", b)):
        if np.shares_memory(out, operand):
            raise TilewiseError(f"out overlaps {name} in memory, which the product still reads: give an array of its own.")


def _multiply_stacks(a: NDArray[np.float32], b: NDArray[np.float32], result: NDArray[np.float32]) -> None:
    """Write the product of every pair of matrices of two stacks, no side of which is 0, to `result`."""
    import numpy as np

    c = result[..., np.newaxis] if b.ndim == 1 else result
    c = c[..., np.newaxis, :] if a.ndim == 1 else c
    a = a[np.newaxis, :] if a.ndim == 1 else a
    b = b[:, np.newaxis] if b.ndim == 1 else b
    if b.ndim == 2 and c.flags.c_contiguous:  # one B for the whole stack: its matrices are the rows of one tall A
        a, c = a.reshape(-1, a.shape[-1]), c.reshape(-1, c.shape[-1])
    stack = c.shape[:-2]
    a, b = np.broadcast_to(a, stack + a.shape[-2:]), np.broadcast_to(b, stack + b.shape[-2:])
    for index in np.ndindex(stack):
        _multiply(a[index], b[index], c[index])


def _multiply(a: NDArray[np.float32], b: NDArray[np.float32], c: NDArray[np.float32]) -> None:
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
