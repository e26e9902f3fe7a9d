"""What a product takes on a GPU: the launches, in order, on buffers that each call gives. Made once for arrays of one form.

A product of two matrices is one launch, and at times a second that adds up parts (kernels/fp32.py). Operands that no kernel reads
in place, and an `out` that none writes in place, go through row-major copies in a workspace; stacks and very tall matrices are
several launches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from tilewise.core.launch import Launch, Slot
from tilewise.core.problem import Problem
from tilewise.engine.operands import ORDERS, WORD_BYTES, Matrix, Order, in_place, layout_of, product_launch
from tilewise.engine.pairs import matrix_pairs
from tilewise.engine.phantom import phantom, slot
from tilewise.engine.rules import Candidate
from tilewise.kernels.auxiliary import Strided, copy_strided
from tilewise.kernels.fp32 import Call, Place, few_calls, parts_words, tiled_calls
from tilewise.kernels.ladder import GRID_ROWS, rung

if TYPE_CHECKING:
    from tilewise.core.module import Module
    from tilewise.core.plan import TilePlan
    from tilewise.core.problem import Layout
    from tilewise.engine.phantom import Array

A, B, OUT, WORKSPACE = range(4)
"""Numbers of the buffers."""
PANEL_ROWS = 32 * GRID_ROWS
"""Rows of C that one launch covers with any tile of at least 32 rows."""
ALIGNMENT = 256
"""Bytes; where a copy in the workspace begins."""
LOW_BITS = 15
"""Of an address: what kernels ask of it is at most to be a multiple of 16."""

VECTOR_BYTES = 16
VECTOR_WORDS = VECTOR_BYTES // WORD_BYTES

Choose = Callable[[Problem], Candidate]


@dataclass(frozen=True, slots=True)
class Builder:
    """How kernels are compiled: rungs, those of kernels/fp32.py by file and plan.cuh, auxiliary ones by name."""

    rung: Callable[[str, TilePlan, Layout], Module]
    fp32: Callable[[str, str], Module]
    auxiliary: Callable[[str], Module]


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array of a call without its address: shape, strides in bytes, and the address's lowest four bits."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    low_bits: int = 0


@dataclass(frozen=True, slots=True)
class Recipe:
    """The launches of a product on A, B, OUT and WORKSPACE, and what was chosen for its matrices."""

    launches: tuple[Launch, ...]
    workspace_bytes: int
    chosen: tuple[Candidate, ...]
    copied: tuple[str, ...]
    """Which of a, b and out go through a copy."""


def make_recipe(a: Buffer, b: Buffer, out: Buffer, choose: Choose, build: Builder) -> Recipe:
    """Return the recipe of out = a b.

    Shapes match as numpy.matmul demands. `choose` decides for each product of two matrices, `build` compiles it.
    Raises TilewiseError for a problem that no kernel can run.
    """
    kitchen = _Kitchen((a.low_bits, b.low_bits, out.low_bits, 0), choose, build)
    arrays = [phantom(index, buffer.low_bits, buffer.shape, buffer.strides) for index, buffer in enumerate((a, b, out))]
    if math.prod(out.shape):
        for left, right, target in matrix_pairs(*arrays):
            kitchen.multiply(left, right, target)
    return Recipe(tuple(kitchen.launches), kitchen.workspace_bytes, tuple(kitchen.chosen), tuple(kitchen.copied))


class _Kitchen:
    """A recipe under way."""

    def __init__(self, low_bits: tuple[int, int, int, int], choose: Choose, build: Builder) -> None:
        self.launches: list[Launch] = []
        self.workspace_bytes = 0
        self.chosen: dict[Candidate, None] = {}
        self.copied: dict[str, None] = {}
        self._low_bits = low_bits
        self._choose, self._build = choose, build
        self._parts_at, self._parts_words = Slot(WORKSPACE), 0
        self._copies: dict[tuple[Slot, tuple[int, ...], tuple[int, ...]], Array] = {}

    def multiply(self, a: Array, b: Array, c: Array) -> None:
        """Add the product of two matrices, neither side of C being 0."""
        if in_place(c, "r") is None and in_place(c, "c") is not None:
            a, b, c = b.T, a.T, c.T  # a column-major C is the row-major product of the transposes
        for first in range(0, c.shape[0], PANEL_ROWS):
            self._multiply_panel(a[first : first + PANEL_ROWS], b, c[first : first + PANEL_ROWS])

    def _multiply_panel(self, a: Array, b: Array, c: Array) -> None:
        left, right, target = self._operand(a, "r"), self._operand(b, "c"), in_place(c, "r")
        if target is None:
            copy = self._allocate(c.shape)
            self._launch_product(left, right, _dense(copy), c.shape, a.shape[1])
            self._copy(copy, c)
            self.copied["out"] = None
        else:
            self._launch_product(left, right, target, c.shape, a.shape[1])

    def _launch_product(self, a: Matrix, b: Matrix, c: Matrix, shape: tuple[int, ...], K: int) -> None:
        problem = Problem(shape[0], shape[1], K, layout=layout_of(a, b))
        candidate = self._choose(problem)
        self.chosen[candidate] = None
        if candidate.cut is None and candidate.few is None:
            module = self._build.rung(candidate.kernel, candidate.tile, problem.layout)
            a, b, c = (replace(matrix, memory=self._slot(cast("Array", matrix.memory))) for matrix in (a, b, c))
            self.launches.append(product_launch(module, rung(candidate.kernel), candidate.tile, problem, a, b, c))
            return
        for call in self._calls(candidate, problem, *map(self._place, (a, b, c))):
            module = self._build.fp32(call.file, call.header)
            self.launches.append(
                Launch(module, call.kernel, call.grid, call.block, call.args, dynamic_shared_bytes=call.dynamic_shared_bytes)
            )

    def _calls(self, candidate: Candidate, problem: Problem, a: Place, b: Place, c: Place) -> list[Call]:
        cut, few, nowhere = candidate.cut, candidate.few, 0
        if cut is not None and candidate.tiles is not None:
            words = parts_words(candidate.tile, cut)
            parts = self._parts(words) if words else nowhere
            return tiled_calls(candidate.tiles, cut, problem, a, b, c, parts)
        assert few is not None
        words = few.splits * problem.M * problem.N if few.splits > 1 else 0
        parts = self._parts(words) if words else nowhere
        return few_calls(few, problem, a, b, c, parts)

    def _parts(self, words: int) -> Slot:
        """Return a place for parts of a product, which the next product may write anew."""
        if words > self._parts_words:
            self._parts_at, self._parts_words = self._slot(self._allocate((1, words))), words
        return self._parts_at

    def _place(self, matrix: Matrix) -> Place:
        """Return where a matrix is, and whether its lines begin at multiples of 16 bytes."""
        memory = cast("Array", matrix.memory)
        at = self._slot(memory)
        address = self._low_bits[at.buffer] + at.offset
        vectors = address % VECTOR_BYTES == 0 and matrix.leading % VECTOR_WORDS == 0
        return Place(at, matrix.leading, vectors)

    def _operand(self, array: Array, along_k: Order) -> Matrix:
        """Return an operand in place, or the matrix that a launch copies it to first. An empty one is never read.

        `along_k` is the order in which k runs along memory: a single row or column of any order is taken so.
        """
        if 0 in array.shape:
            return Matrix(array, "r", 1)
        for order in (along_k, *ORDERS) if 1 in array.shape else ORDERS:
            matrix = in_place(array, order)
            if matrix is not None:
                return matrix
        key = (self._slot(array), array.shape, array.strides)
        if key not in self._copies:
            self._copies[key] = self._allocate(array.shape)
            self._copy(array, self._copies[key])
            self.copied["ab"[key[0].buffer]] = None
        return _dense(self._copies[key])

    def _allocate(self, shape: tuple[int, ...]) -> Array:
        """Return a row-major matrix in the workspace."""
        start = self.workspace_bytes
        self.workspace_bytes += -(-math.prod(shape) * WORD_BYTES // ALIGNMENT) * ALIGNMENT
        rows, columns = shape
        workspace = phantom(WORKSPACE, 0, (self.workspace_bytes // WORD_BYTES,), (WORD_BYTES,))
        return workspace[start // WORD_BYTES :][: rows * columns].reshape(rows, columns)

    def _copy(self, source: Array, target: Array) -> None:
        rows, columns = source.shape
        call = copy_strided(self._strided(source), self._strided(target), rows, columns)
        self.launches.append(Launch(self._build.auxiliary(call.kernel), call.kernel, call.grid, call.block, call.args))

    def _strided(self, array: Array) -> Strided:
        return Strided(self._slot(array), *(int(stride) for stride in array.strides))

    def _slot(self, array: Array) -> Slot:
        return slot(array, self._low_bits)


def _dense(array: Array) -> Matrix:
    return Matrix(array.reshape(-1), "r", array.shape[1])
