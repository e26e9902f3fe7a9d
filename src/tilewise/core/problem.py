"""The product to compute: sizes, type and layout. Knows nothing of tiles or devices."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tilewise.core.dtypes import ALIASES
from tilewise.core.errors import TilewiseError, nearest

Layout = Literal["rr", "rc", "cr", "cc"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

ITEM_BYTES = {"f32": 4}
"""Bytes an element takes, by dtype."""


@dataclass(frozen=True, slots=True)
class Problem:
    """C = A B with A of shape M x K, B of K x N and C of M x N.

    `layout` is two letters, A then B: `r` row-major, `c` column-major (BLAS's TN is `rc`). C is row-major.
    """

    M: int
    N: int
    K: int
    dtype: str = "f32"
    layout: Layout = "rr"

    def __post_init__(self) -> None:
        for name in ("M", "N", "K"):
            size = as_size(name, getattr(self, name))
            object.__setattr__(self, name, size)
            if size > 2**31 - 1:
                raise TilewiseError(f"{name} = {size} does not fit the kernels' 32-bit sizes: at most {2**31 - 1}.")
        if self.layout not in LAYOUTS:
            raise TilewiseError(f"layout {self.layout!r} is unknown.{nearest(str(self.layout), LAYOUTS)}")
        dtype = ALIASES.get(self.dtype, self.dtype)
        if dtype not in ITEM_BYTES:
            raise TilewiseError(f"dtype {self.dtype!r} is not supported yet.{nearest(self.dtype, ITEM_BYTES)}")
        object.__setattr__(self, "dtype", dtype)

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return ITEM_BYTES[self.dtype]

    @property
    def flops(self) -> int:
        """2 M N K: a multiply and an add each."""
        return 2 * self.M * self.N * self.K

    @property
    def compulsory_bytes(self) -> int:
        """Bytes that HBM must move at the least: A and B once in, C once out."""
        return self.item_bytes * (self.M * self.K + self.K * self.N + self.M * self.N)

    @property
    def a_row_major(self) -> bool:
        """Whether A's rows are contiguous."""
        return self.layout[0] == "r"

    @property
    def b_row_major(self) -> bool:
        """Whether B's rows are contiguous."""
        return self.layout[1] == "r"


def as_size(name: str, value: Any) -> int:
    """Return `value`, a whole number of any integer type, as an int.

    Raises TilewiseError for a negative one and for anything else; True and False are no sizes.
    """
    truth = isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"  # an index to NumPy before 2.3
    try:
        size = -1 if truth else operator.index(value)
    except TypeError:
        size = -1
    if size < 0:
        raise TilewiseError(f"{name} = {value!r} is not a size: give a whole number, 0 or more.")
    return size


def as_layout(text: str) -> Layout:
    """Return `text` as a layout.

    Raises TilewiseError for anything else than rr, rc, cr or cc.
    """
    if text not in LAYOUTS:
        raise TilewiseError(f"layout {text!r} is unknown.{nearest(text, LAYOUTS)}")
    return text
