"""A product to try kernels on: A and B drawn at random, a C for a kernel to write, and the float64 result to hold it against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from tilewise.core.compare import KEPT_BYTES, Comparison, Reference
from tilewise.engine.memory import require_memory
from tilewise.engine.operands import WORD_BYTES, Matrix, Order, in_place, product_launch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tilewise.core.launch import Launch
    from tilewise.core.module import Module
    from tilewise.core.plan import TilePlan
    from tilewise.core.problem import Problem
    from tilewise.kernels.ladder import Rung

DRAWN_AT_ONCE = 2**20
"""Random values between two chances for Ctrl-C."""


class DrawnProduct:
    """C = A B on standard normal values from NumPy's default generator with `seed`, A first; leading dimensions are the least.

    Raises TilewiseError for sizes beyond memory.
    """

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        M, N, K = problem.M, problem.N, problem.K
        require_memory(WORD_BYTES * (M * K + K * N + M * N) + KEPT_BYTES, f"a ladder at {M} x {N} x {K}")
        random = np.random.default_rng(seed)
        self.problem = problem
        self._a = _draw_normal(random, M, K, problem.layout[0])
        self._b = _draw_normal(random, K, N, problem.layout[1])
        self._c = np.empty((M, N), np.float32)
        self._reference = Reference(self._a, self._b)

    def launch(self, module: Module, rung: Rung, plan: TilePlan, blocks: Sequence[int] | None = None) -> Launch:
        """Return the launch of a rung built with `plan` and the problem's layout.

        C then holds NaN (of `blocks` alone, if they are given), so that an element which the kernel leaves out is seen.
        """
        for rows, columns in self._tiles(plan, blocks):
            self._c[rows, columns] = np.nan
        matrices = (_dense(self._a, self.problem.layout[0]), _dense(self._b, self.problem.layout[1]), _dense(self._c, "r"))
        return product_launch(module, rung, plan, self.problem, *matrices)

    def compare(self, plan: TilePlan, blocks: Sequence[int] | None = None) -> Comparison:
        """Return how far C is from the product, looking only at the tiles of `blocks` if they are given."""
        if blocks is None:
            return self._reference.compare(self._c)
        errors, wrong = {}, 0
        for rows, columns in self._tiles(plan, blocks):
            tile = Reference(self._a[rows], self._b[:, columns]).compare(self._c[rows, columns])
            row, column = cast(tuple[int, int], tile.worst)
            errors[rows.start + row, columns.start + column] = tile.max_relative_error
            wrong += tile.wrong
        worst = max(errors, key=lambda place: errors[place])
        return Comparison(errors[worst], wrong, worst)

    def _tiles(self, plan: TilePlan, blocks: Sequence[int] | None) -> list[tuple[slice, slice]]:
        if blocks is None:
            return [(slice(None), slice(None))]
        return [tile_of(block, plan, self.problem) for block in blocks]


def tile_of(block: int, plan: TilePlan, problem: Problem) -> tuple[slice, slice]:
    """Return the rows and columns of C that a block writes, by its number along x, then y."""
    across = -(-problem.N // plan.BN)
    row, column = block // across * plan.BM, block % across * plan.BN
    return slice(row, min(row + plan.BM, problem.M)), slice(column, min(column + plan.BN, problem.N))


def _draw_normal(random: np.random.Generator, rows: int, columns: int, order: str) -> NDArray[np.float32]:
    """A matrix of standard normal values, drawn row by row whatever its order; in panels, since a draw cannot be stopped."""
    values = np.empty((rows, columns), np.float32, order="C" if order == "r" else "F")
    panel = -(-DRAWN_AT_ONCE // columns)
    for first in range(0, rows, panel):
        part = values[first : first + panel]
        part[...] = random.standard_normal(part.shape, dtype=np.float32)
    return values


def _dense(values: NDArray[np.float32], order: str) -> Matrix:
    return cast(Matrix, in_place(values, cast(Order, order)))
