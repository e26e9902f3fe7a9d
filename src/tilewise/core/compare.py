"""The one rule of when a computed product is right.

C is compared with C64 = A B in float64, element by element, on the scale of |A||B| (the same product of absolute values),
since that is what rounding errors grow with [Higham, Accuracy and Stability of Numerical Algorithms, section 3.5]. Elements
are equal, whatever their scale, where both are NaN, both the same infinity, or C is the infinity that C64 rounds to in C's
type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.errors import TilewiseError, nearest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Matrix = NDArray[np.float64]

PANEL = 1024
"""Rows and columns of a tile of the reference, and depth of its k-steps: five such tiles in float64 take 40 MB."""
KEPT_BYTES = 192 * 2**20
"""A reference up to this size is kept for the next comparison; with the tiles at work it stays below 256 MB."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """An element is right within atol + rtol (|A||B|), where rtol is the larger of `least_rtol` and K times `unit_roundoff`.

    K unit_roundoff bounds the error of K multiply-adds in any order on any data [Higham, section 3.5]: no right kernel is
    refused. Data of mixed sign stays far below (measured: 2e-7 in fp32 up to K = 65536), equal numbers come near (4e-5 at K =
    4096).
    """

    atol: float
    """No more than what products lost to underflow amount to, so that small operands are not waved through."""
    least_rtol: float
    unit_roundoff: float

    def rtol(self, depth: int) -> float:
        """Return rtol for sums of `depth` products."""
        return max(self.least_rtol, depth * self.unit_roundoff)


TOLERANCES = {"f32": Tolerance(atol=1e-30, least_rtol=1e-5, unit_roundoff=2.0**-24)}
"""By dtype of the operands."""
RESULT_TOLERANCES = {
    **TOLERANCES,
    "f64": Tolerance(atol=1e-290, least_rtol=1e-12, unit_roundoff=2.0**-53),
    "tf32": Tolerance(atol=1e-30, least_rtol=2.0**-10, unit_roundoff=2.0**-24),
    "f16": Tolerance(atol=2.0**-24, least_rtol=2.0**-10, unit_roundoff=2.0**-24),
    "bf16": Tolerance(atol=1e-30, least_rtol=2.0**-7, unit_roundoff=2.0**-24),
    "e4m3": Tolerance(atol=2.0**-9, least_rtol=2.0**-3, unit_roundoff=2.0**-24),
    "e5m2": Tolerance(atol=2.0**-16, least_rtol=2.0**-2, unit_roundoff=2.0**-24),
}
"""By dtype of the result, of sums taken in fp32 (fp64 for f64): twice what rounding to that type once costs, and its least
number. Whole numbers have none: they are right or wrong."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far C is from the reference."""

    max_relative_error: float
    """max |C - C64| / (|A||B|), 0/0 being 0; infinite where only one of the two is NaN or infinite."""
    wrong: int
    """Elements beyond the tolerance."""
    worst: tuple[int, int] | None
    """Row and column of that error; None without elements."""

    @property
    def correct(self) -> bool:
        """Whether no element is beyond the tolerance."""
        return self.wrong == 0


class Reference:
    """The float64 product of `a` (M x K) and `b` (K x N), to compare any number of results with.

    Works in tiles, so that memory beyond the operands stays below 256 MB; keeps them for the next comparison where they are few.
    """

    def __init__(self, a: Array, b: Array) -> None:
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
            raise TilewiseError(f"a is {_shape(a)} and b is {_shape(b)}: give M x K and K x N.")
        self._a, self._b = a, b
        self._kept: list[tuple[slice, slice, Matrix, Matrix]] | None = None

    def compare(self, c: Array, *, dtype: str = "f32") -> Comparison:
        """Return how far `c` (M x N) is from the product.

        Raises TilewiseError for another shape, or a dtype that has no tolerance.
        """
        rows, columns = self._a.shape[0], self._b.shape[1]
        if c.shape != (rows, columns):
            raise TilewiseError(f"c is {_shape(c)}, but the product is {rows} x {columns}.")
        if dtype not in TOLERANCES:
            raise TilewiseError(f"dtype {dtype!r} has no tolerance.{nearest(dtype, TOLERANCES)}")
        atol, rtol = TOLERANCES[dtype].atol, TOLERANCES[dtype].rtol(self._a.shape[1])
        result = Comparison(0.0, 0, None)
        for row_panel, column_panel, exact, scale in self._tiles():
            tile = _compare_tile(c[row_panel, column_panel], exact, scale, atol, rtol)
            result = _join(result, tile, row_panel.start, column_panel.start)
        return result

    def _tiles(self) -> Iterator[tuple[slice, slice, Matrix, Matrix]]:
        """Yield tiles of C64 and of |A||B|, with the rows and columns they stand for."""
        if self._kept is not None:
            yield from self._kept
            return
        rows, columns = self._a.shape[0], self._b.shape[1]
        keep = 16 * rows * columns <= KEPT_BYTES
        kept = []
        for row in range(0, rows, PANEL):
            for column in range(0, columns, PANEL):
                row_panel, column_panel = slice(row, row + PANEL), slice(column, column + PANEL)
                tile = (row_panel, column_panel, *_multiply(self._a[row_panel], self._b[:, column_panel]))
                if keep:
                    kept.append(tile)
                yield tile
        self._kept = kept if keep else None


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far an array of any shape is from what it should be; as `Comparison`."""

    max_relative_error: float
    wrong: int
    first: tuple[int, ...] | None
    """Index of the first element beyond the tolerance; None if there is none."""


def compare_values(computed: Array, exact: Array, scale: Array, *, atol: float, rtol: float) -> Deviation:
    """Return how far `computed` is from `exact` (float64, of the same shape) on a scale, as products are on that of |A||B|."""
    import numpy as np

    if not computed.size:
        return Deviation(0.0, 0, None)
    error, is_right = _judge(computed, exact, scale, atol, rtol)
    wrong = np.flatnonzero(~is_right)
    first = tuple(int(part) for part in np.unravel_index(int(wrong[0]), computed.shape)) if wrong.size else None
    return Deviation(float(error.max()), int(wrong.size), first)


def compare(c: Array, a: Array, b: Array, *, dtype: str = "f32") -> Comparison:
    """Return how far `c` (M x N) is from `a` (M x K) times `b` (K x N); see `Reference`."""
    return Reference(a, b).compare(c, dtype=dtype)


def max_relative_error(c: Array, a: Array, b: Array) -> float:
    """Return max |C - C64| / (|A||B|) of `c` (M x N), `a` (M x K) and `b` (K x N); 0 without elements."""
    return compare(c, a, b).max_relative_error


def is_correct(c: Array, a: Array, b: Array, *, dtype: str = "f32") -> bool:
    """Return whether every element of `c` is within its dtype's tolerance of `a` times `b`."""
    return compare(c, a, b, dtype=dtype).correct


def _shape(array: Array) -> str:
    return " x ".join(str(size) for size in array.shape) or "a scalar"


def _multiply(a: Array, b: Array) -> tuple[Matrix, Matrix]:
    """Return a b and |a||b| in float64, in k-steps."""
    import numpy as np

    exact = np.zeros((a.shape[0], b.shape[1]))
    scale = np.zeros_like(exact)
    with np.errstate(invalid="ignore", over="ignore"):
        for k0 in range(0, a.shape[1], PANEL):
            a_step = a[:, k0 : k0 + PANEL].astype(np.float64)
            b_step = b[k0 : k0 + PANEL].astype(np.float64)
            exact += a_step @ b_step
            scale += np.abs(a_step, out=a_step) @ np.abs(b_step, out=b_step)
    return exact, scale


def _compare_tile(c: Array, exact: Matrix, scale: Matrix, atol: float, rtol: float) -> Comparison:
    import numpy as np

    error, is_right = _judge(c, exact, scale, atol, rtol)
    row, column = np.unravel_index(int(np.argmax(error)), error.shape)
    return Comparison(float(error[row, column]), int((~is_right).sum()), (int(row), int(column)))


def _judge(c: Array, exact: Matrix, scale: Matrix, atol: float, rtol: float) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return each element's error relative to its scale, and whether it is right."""
    import numpy as np

    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        rounded = exact.astype(c.dtype).astype(np.float64)
        computed = c.astype(np.float64)
        equal = (computed == exact) | (np.isnan(computed) & np.isnan(exact)) | (np.isinf(computed) & (computed == rounded))
        distance = np.abs(computed - exact)
        error = np.where(equal, 0.0, distance / scale)
        error[np.isnan(error)] = math.inf
        close = np.isfinite(distance) & (distance <= atol + rtol * scale)
    return error, equal | close


def _join(result: Comparison, tile: Comparison, first_row: int, first_column: int) -> Comparison:
    """Return the worse of both errors, with the place in all of C, and all wrong elements."""
    wrong = result.wrong + tile.wrong
    if tile.worst is None or (result.worst is not None and tile.max_relative_error <= result.max_relative_error):
        return Comparison(result.max_relative_error, wrong, result.worst)
    return Comparison(tile.max_relative_error, wrong, (first_row + tile.worst[0], first_column + tile.worst[1]))
