"""NumPy matrices as the kernels take them: a pointer, the order of its elements and a leading dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from tilewise.core.launch import Launch, Slot
from tilewise.core.problem import Problem, as_layout
from tilewise.engine.memory import require_memory
from tilewise.kernels.ladder import Rung, block, grid
from tilewise.kernels.source import SYMBOL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tilewise.core.module import Module
    from tilewise.core.plan import TilePlan
    from tilewise.core.problem import Layout

Order = Literal["r", "c"]
ORDERS: tuple[Order, ...] = ("r", "c")

WORD_BYTES = 4
LARGEST_LEADING = 2**31 - 1
"""The kernels take leading dimensions as 32-bit integers."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A float32 matrix in memory, row-major (`order` "r") or column-major ("c")."""

    memory: NDArray[np.float32] | Slot
    """One-dimensional, from the matrix's first element to its last, gaps between rows included; on a GPU, its place."""
    order: Order
    leading: int
    """Elements from one row (column) to the next."""


def as_matrix(array: NDArray[np.float32]) -> Matrix:
    """Return a two-dimensional array, neither side of it 0, as a matrix: in place where its strides allow it, else a copy."""
    for order in ORDERS:
        matrix = in_place(array, order)
        if matrix is not None:
            return matrix
    require_memory(array.nbytes, f"a row-major copy of an operand of shape {array.shape}")
    return cast(Matrix, in_place(array.copy("C"), "r"))


def in_place(array: NDArray[np.float32], order: Order) -> Matrix | None:
    """Return a two-dimensional array as a matrix of that order without copying, or None where its strides do not allow it."""
    import numpy as np

    leading = _leading_dimension(array, order)
    if leading is None or not array.flags.aligned:
        return None
    lines, length = array.shape if order == "r" else array.shape[::-1]
    extent = (lines - 1) * leading + length
    memory = np.lib.stride_tricks.as_strided(array, shape=(extent,), strides=(WORD_BYTES,))
    return Matrix(memory, order, leading)


def layout_of(a: Matrix, b: Matrix) -> Layout:
    """Return the layout of a product: the order of A, then of B."""
    return as_layout(a.order + b.order)


def product_launch(module: Module, rung: Rung, plan: TilePlan, problem: Problem, a: Matrix, b: Matrix, c: Matrix) -> Launch:
    """Return the launch of a rung that was built with `plan` and the problem's layout: C = A B, with C row-major."""
    M, N, K = problem.M, problem.N, problem.K
    return Launch(
        module=module,
        kernel=SYMBOL,
        grid=grid(plan, problem),
        block=block(rung, plan),
        args=(a.memory, b.memory, c.memory, M, N, K, a.leading, b.leading, c.leading),
    )


def _leading_dimension(array: NDArray[np.float32], order: Order) -> int | None:
    """The elements between lines (rows for "r", columns for "c"); None where lines are not runs of whole, ascending words."""
    shape, strides = (array.shape, array.strides) if order == "r" else (array.shape[::-1], array.strides[::-1])
    lines, length = (int(size) for size in shape)
    line_stride, word_stride = (int(stride) for stride in strides)
    if length > 1 and word_stride != WORD_BYTES:
        return None
    if lines == 1:
        return length
    leading = line_stride // WORD_BYTES
    return leading if leading * WORD_BYTES == line_stride and length <= leading <= LARGEST_LEADING else None
