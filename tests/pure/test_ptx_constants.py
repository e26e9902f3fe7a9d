from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.ptx.constants import evaluate

literals = st.one_of(st.integers(0, 1000).map(str), st.integers(0, 2**12).map(hex))
expressions = st.recursive(
    literals,
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from(["+", "-", "*", "&", "|", "^"]), part).map(" ".join),
        st.tuples(part, st.sampled_from(["<<", ">>"]), st.integers(0, 9).map(str)).map(lambda shift: f"({' '.join(shift)})"),
        st.tuples(st.sampled_from("-+~"), part).map("".join),
        part.map("({})".format),
    ),
    max_leaves=6,
)


@given(expressions)
def test_value_is_that_of_the_same_expression_in_python(text: str) -> None:
    value = eval(text)  # of literals and operators alone, whose precedence C and Python share
    assert evaluate(text) == (value if -(2**63) <= value < 2**64 else None)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000).filter(bool))
def test_division_truncates_as_in_c(left: int, right: int) -> None:
    quotient = int(Fraction(left, right))
    assert evaluate(f"({left}) / ({right})") == quotient
    assert evaluate(f"({left}) % ({right})") == left - right * quotient


@pytest.mark.parametrize(("text", "value"), [("010", 8), ("0b11U", 3), ("0xFFU", 255), (" 7 ", 7), ("3 - -2", 5), ("-2*-3", 6)])
def test_spellings(text: str, value: int) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "* 2",
        "(1",
        "1)",
        "()",
        "1 2",
        "1 / 0",
        "1 % 0",
        "1 << 64",
        "1 << -1",
        "x",
        "2**63",
        "1(2)",
        "18446744073709551616",
    ],
)
def test_text_that_is_no_constant(text: str) -> None:
    assert evaluate(text) is None
