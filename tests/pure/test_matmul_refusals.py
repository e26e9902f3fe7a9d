from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewise
from tilewise.core.errors import TilewiseError


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.ones((2, 3)), ones(3, 4), "a is of type float64, and matmul takes float32 only for now: give a.astype(np.float32)"),
        (ones(2, 3), np.ones((3, 4), np.int32), "b is of type int32"),
        (ones(2, 3).astype(">f4"), ones(3, 4), "a is of type >f4"),
        ([[1.0]], ones(1, 1), "a is of type float64"),
        (np.float32(2), ones(3), "a is a single number"),
        (ones(2, 3), ones(4, 5), "a of shape (2, 3) has 3 columns and b of shape (4, 5) has 4 rows"),
        (ones(3), ones(4), "a of shape (3,) has 3 columns and b of shape (4,) has 4 rows"),
        (ones(2, 2, 3), ones(5, 3, 4), "the stacks (2,) of a, of shape (2, 2, 3), and (5,) of b"),
    ],
)
def test_operands_are_refused_with_what_would_be_right(a: Any, b: Any, message: str) -> None:
    with pytest.raises(TilewiseError, match=re.escape(message)):
        tilewise.matmul(a, b)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (ones(2, 5), "out has shape (2, 5), and the product has shape (2, 4)"),
        (ones(8), "out has shape (8,)"),
        (np.ones((2, 4)), "out is of type float64"),
        ([[0.0] * 4] * 2, "out is list"),
        (np.broadcast_to(np.float32(0), (2, 4)), "out is read-only"),
    ],
)
def test_out_is_refused_with_what_would_be_right(out: Any, message: str) -> None:
    with pytest.raises(TilewiseError, match=re.escape(message)):
        tilewise.matmul(ones(2, 3), ones(3, 4), out=out)


def test_out_that_overlaps_an_operand_is_refused() -> None:
    shared = ones(20)
    with pytest.raises(TilewiseError, match="out overlaps a in memory"):
        tilewise.matmul(shared[:9].reshape(3, 3), ones(3, 3), out=shared[8:17].reshape(3, 3))
    with pytest.raises(TilewiseError, match="out overlaps b in memory"):
        tilewise.matmul(ones(3, 3), shared[:9].reshape(3, 3), out=shared[:9].reshape(3, 3))


def test_out_between_an_operands_elements_does_not_overlap() -> None:
    """Refused only if a byte is shared: the columns of one array may be operand and out by turns."""
    whole = np.zeros((0, 6), np.float32)
    assert tilewise.matmul(whole[:, ::2], ones(3, 3), out=whole[:, 1::2]).shape == (0, 3)
    whole = np.zeros((4, 6), np.float32)
    with pytest.raises(TilewiseError, match="out overlaps a"):
        tilewise.matmul(whole[:, ::2], ones(3, 3), out=whole[:, :3])


def test_sizes_beyond_memory_are_refused_before_anything_is_allocated() -> None:
    column, row = np.broadcast_to(np.float32(1), (10**7, 1)), np.broadcast_to(np.float32(1), (1, 10**7))
    with pytest.raises(TilewiseError, match=r"400,000\.0 GB of memory and .* GB are free"):
        tilewise.matmul(column, row)


def test_copies_beyond_memory_are_refused() -> None:
    wide = np.broadcast_to(np.float32(1), (10**6, 10**6))
    with pytest.raises(TilewiseError, match=r"copy of an operand .* needs 4,000\.0 GB"):
        tilewise.matmul(wide, np.ones((10**6, 1), np.float32))
