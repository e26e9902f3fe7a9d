"""Problems: what is accepted, what is refused, and the sizes that follow."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.problem import LAYOUTS, Problem, as_layout

SIZES = st.integers(0, 2**31 - 1)


@given(SIZES, SIZES, SIZES, st.sampled_from(LAYOUTS))
def test_json_round_trip(M: int, N: int, K: int, layout: Any) -> None:
    problem = Problem(M, N, K, layout=layout)
    assert Problem(**json.loads(json.dumps(asdict(problem)))) == problem


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_flops_and_bytes_are_those_of_the_arrays(M: int, N: int, K: int) -> None:
    problem = Problem(M, N, K)
    a, b, c = (np.empty(shape, np.float32) for shape in ((M, K), (K, N), (M, N)))
    assert problem.compulsory_bytes == a.nbytes + b.nbytes + c.nbytes
    assert problem.flops == sum(2 * K for _ in range(M * N))


@pytest.mark.parametrize("size", [np.int64(7), np.int32(7), 7])
def test_any_integer_type_is_a_size(size: Any) -> None:
    assert Problem(size, size, size) == Problem(7, 7, 7)
    assert type(Problem(size, 1, 1).M) is int


@pytest.mark.parametrize("size", [-1, 1.0, "8", None, True, np.bool_(True), np.float32(4)])
def test_what_is_no_size_is_refused_with_its_value(size: Any) -> None:
    with pytest.raises(TilewiseError, match=r"N = .* is not a size: give a whole number, 0 or more"):
        Problem(4, size, 4)


def test_sizes_beyond_32_bits_are_refused() -> None:
    with pytest.raises(TilewiseError, match="K = 2147483648 does not fit"):
        Problem(1, 1, 2**31)


@pytest.mark.parametrize("alias", ["f32", "fp32", "float32"])
def test_dtype_aliases_are_one_dtype(alias: str) -> None:
    assert Problem(1, 1, 1, dtype=alias) == Problem(1, 1, 1)


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(TilewiseError, match=r"dtype 'f64' is not supported yet\. There is f32"):
        Problem(1, 1, 1, dtype="f64")


@pytest.mark.parametrize(
    ("layout", "a", "b"), [("rr", True, True), ("rc", True, False), ("cr", False, True), ("cc", False, False)]
)
def test_layout_letters_are_of_a_then_b(layout: Any, a: bool, b: bool) -> None:
    problem = Problem(1, 1, 1, layout=layout)
    assert (problem.a_row_major, problem.b_row_major) == (a, b)
    assert as_layout(layout) == layout


@pytest.mark.parametrize("layout", ["r", "rrr", "TN", ""])
def test_unknown_layouts_are_refused(layout: Any) -> None:
    with pytest.raises(TilewiseError, match=f"layout '{layout}' is unknown"):
        Problem(1, 1, 1, layout=layout)
    with pytest.raises(TilewiseError, match=f"layout '{layout}' is unknown"):
        as_layout(layout)


def test_nearest_offers_what_is_close_or_everything() -> None:
    assert nearest("h20", ["a100", "h200"]) == " Did you mean h200?"
    assert nearest("zzz", ["b", "a"]) == " There is a, b."


def test_an_error_says_where() -> None:
    assert str(TilewiseError("too big.", where="k.cu:7")) == "k.cu:7: too big."
