"""The grammar of --arg."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tilewise.core.argument import FILLS, ArrayValue, FileFill, Fill, NumberValue, parse_argument
from tilewise.core.dtypes import ALIASES, DTYPES
from tilewise.core.errors import TilewiseError
from tilewise.core.expression import Expression, parse_expression
from tilewise.core.scanner import FlagText, Scanner


def parse(text: str) -> ArrayValue | NumberValue:
    return parse_argument(FlagText("--arg", text)).value


def evaluate(text: str, **names: int) -> int:
    scanner = Scanner(FlagText("--smem", text))
    expression = parse_expression(scanner)
    scanner.finish("the end")
    return expression.evaluate(names)


def outcome(call: Callable[[], object]) -> object:
    """What a call returns, or the message of the TilewiseError it raises."""
    try:
        return call()
    except TilewiseError as error:
        return str(error)


def column_of(call: Callable[[], object]) -> int:
    """The column that the error names, which the caret must point at."""
    with pytest.raises(TilewiseError) as caught:
        call()
    message, shown, caret = str(caught.value).split("\n")
    column = int(message.split("column ")[1].split(":")[0])
    flag_width = len("  --arg ") if shown.startswith("  --arg ") else len("  --smem ")
    assert caret == " " * (flag_width + column - 1) + "^"
    return column


def test_array_has_type_sizes_and_fill() -> None:
    value = parse("A = f32[64, n*n]:uniform(-1, 1e3)")
    assert isinstance(value, ArrayValue)
    assert value.dtype is DTYPES["f32"]
    assert [size.evaluate({"n": 3}) for size in value.shape or ()] == [64, 9]
    assert value.strides is None
    assert isinstance(value.fill, Fill)
    low, high = value.fill.numbers
    assert isinstance(low, Expression)
    assert (value.fill.name, low.evaluate({}), high) == ("uniform", -1, 1000.0)


def test_strides_stand_behind_a_semicolon() -> None:
    value = parse("A=f16[4,8;ld,1]")
    assert isinstance(value, ArrayValue)
    assert [stride.evaluate({"ld": 10}) for stride in value.strides or ()] == [10, 1]


def test_array_without_fill_is_poison() -> None:
    value = parse("C=f32[4]")
    assert isinstance(value, ArrayValue)
    assert value.fill == Fill("poison")


@pytest.mark.parametrize("name", [*DTYPES, *ALIASES])
def test_every_type_is_known_by_all_its_names(name: str) -> None:
    array, number = parse(f"x={name}[2]:zeros"), parse(f"x={name}:1")
    assert array.dtype is number.dtype is DTYPES[ALIASES.get(name, name)]


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.5", 1.5), ("-2.", -2.0), ("+.5", 0.5), ("1e3", 1000.0), ("-1E-3", -0.001), ("inf", math.inf), ("-inf", -math.inf)],
)
def test_floating_point_literals(text: str, number: float) -> None:
    assert parse(f"a={text}") == NumberValue(None, number)
    assert parse(f"a=f64:{text}") == NumberValue(DTYPES["f64"], number)


def test_nan_is_a_number() -> None:
    value = parse("a=nan")
    assert isinstance(value, NumberValue)
    assert isinstance(value.number, float)
    assert math.isnan(value.number)


@pytest.mark.parametrize(
    ("text", "shape"), [("A=x y/z.npy", None), ("A=f32[2,3]:x.npy", 2), ("A=/abs/x.npy", None), ("A=f32[2].npy", 1)]
)
def test_file_names_end_in_npy(text: str, shape: int | None) -> None:
    if text == "A=f32[2].npy":
        with pytest.raises(TilewiseError, match=r"column 9"):
            parse(text)
        return
    folder = Path("there")
    value = parse_argument(FlagText("--arg", text), folder).value
    assert isinstance(value, ArrayValue)
    assert value.fill == FileFill(text[value.fill.at :], folder, text.index("x") if "/abs" not in text else 2)  # type: ignore[union-attr]
    assert (None if value.shape is None else len(value.shape)) == shape


# -- expressions


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2+3*4", 14),
        ("(2+3)*4", 20),
        ("2-3-4", -5),
        ("100/7/2", 7),
        ("-7/2", -3),
        ("7/-2", -3),
        ("-7%3", -1),
        ("7%-3", 1),
        ("0x10*n", 64),
        ("--n", 4),
        ("(n+15)/16", 1),
        ("18446744073709551615", 2**64 - 1),
        ("  1 + 1  ", 2),
        ("08", 8),
    ],
)
def test_expressions_follow_c(text: str, value: int) -> None:
    assert evaluate(text, n=4) == value


def in_python(text: str) -> int | None:
    """The same expression by Python, whose floor division is turned into C's; None where C has no value."""

    class Number(int):
        def __truediv__(self, other: int) -> Number:
            return Number(int(abs(int(self)) // abs(int(other)) * (1 if (self < 0) == (other < 0) else -1)))

        def __mod__(self, other: int) -> Number:
            return Number(int(self) - int(Number(self) / other) * int(other))

        def __add__(self, other: int) -> Number:
            return Number(int(self) + int(other))

        def __sub__(self, other: int) -> Number:
            return Number(int(self) - int(other))

        def __mul__(self, other: int) -> Number:
            return Number(int(self) * int(other))

        def __neg__(self) -> Number:
            return Number(-int(self))

    try:
        return int(eval(text.replace("n", "N(5)").replace("7", "N(7)"), {"N": Number}))
    except ZeroDivisionError:
        return None


@given(
    st.recursive(
        st.sampled_from(["n", "7"]),
        lambda inner: (
            st.tuples(inner, st.sampled_from("+-*/%"), inner).map("".join) | inner.map("({})".format) | inner.map("-{}".format)
        ),
        max_leaves=12,
    )
)
def test_expressions_agree_with_python(text: str) -> None:
    expected = in_python(text)
    if expected is None:
        with pytest.raises(TilewiseError, match=r" [/%] 0 has no value"):
            evaluate(text, n=5)
    else:
        assert evaluate(text, n=5) == expected


def test_long_expressions_take_linear_time_and_no_recursion() -> None:
    assert evaluate("1" + "+1" * 50_000) == 50_001


# -- errors point


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("", 1, "expected a name"),
        ("A", 2, "expected ="),
        ("=1", 1, "expected a name"),
        ("A=", 3, "expected a whole number, a name or ("),
        ("f32=1", 1, "f32 is an element type, not a name"),
        ("A=f33[4]", 3, "Did you mean f32"),
        ("A=f32[64,64:normal", 12, "expected ] after the sizes, found ':'"),
        ("A=f32[4", 8, "found the end"),
        ("A=f32[]", 7, "found ']'"),
        ("A=f32[4;1,1]", 9, "1 sizes have 2 strides"),
        ("A=f32[4]normal", 9, "expected a fill, such as :normal"),
        ("A=f32[4]:norml", 10, "Did you mean normal"),
        ("A=f32[4]:uniform(1)", 10, "takes two numbers: uniform(low,high)"),
        ("A=f32[4]:uniform(1,2,3)", 10, "takes two numbers"),
        ("A=f32[4]:full", 10, "takes one number"),
        ("A=f32[4]:zeros(1)", 10, "takes no numbers"),
        ("A=f32[4]:full(1", 16, "expected ) after the numbers of full"),
        ("A=f32[4]:zeros x", 16, "nothing more after the fill"),
        ("A=f32[4]:", 10, "expected a fill (normal, uniform"),
        ("A=f32[1,1,1,1,1,1,1,1,1]", 23, "more than 8 sizes"),
        ("n=1 2", 5, "nothing more after a number"),
        ("n=f32", 6, "expected [ for an array or : for a number after the type f32"),
        ("n=ff:1", 3, "no element type"),
        ("n=3*(4", 7, "expected ) after an expression"),
        ("n=99999999999999999999", 3, "does not fit 64 bits"),
        ("n=123456789012345678901234567890", 3, "does not fit 64 bits"),
        ("n=$", 3, "found '$'"),
        ("n=" + "(" * 40, 35, "more than 32 deep"),
        ("n=" + "-" * 40, 35, "more than 32 deep"),
    ],
)
def test_errors_name_and_show_the_column(text: str, column: int, said: str) -> None:
    assert column_of(lambda: parse(text)) == column
    with pytest.raises(TilewiseError) as caught:
        parse(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("1+m", 3, "is called m. Did you mean nm?"),
        ("4/(n-n)", 2, "4 / 0 has no value"),
        ("4%0", 2, "4 % 0 has no value"),
        ("0xffffffffffffffff*2", 19, "does not fit 64 bits"),
    ],
)
def test_evaluation_errors_name_and_show_the_column(text: str, column: int, said: str) -> None:
    assert column_of(lambda: evaluate(text, n=1, nm=2)) == column
    with pytest.raises(TilewiseError) as caught:
        evaluate(text, n=1, nm=2)
    assert said in str(caught.value)


def test_error_shows_part_of_a_long_text_and_no_control_characters() -> None:
    with pytest.raises(TilewiseError) as caught:
        parse("n=" + "1+" * 1000 + "\x1b[31m" + "+1" * 1000)
    message, shown, caret = str(caught.value).split("\n")
    assert "column 2003" in message
    assert len(shown) < 150
    assert "\x1b" not in shown
    assert shown[len(caret) - 1] == "?"


def test_error_names_the_line_it_stands_in() -> None:
    with pytest.raises(TilewiseError, match=r"^k\.cu:7: --arg, column 3") as caught:
        parse_argument(FlagText("--arg", "n=", "k.cu:7"))
    assert caught.value.where == "k.cu:7"


# -- whatever the text


PIECES = st.sampled_from(
    [
        *FILLS,
        *DTYPES,
        "=",
        "[",
        "]",
        "(",
        ")",
        ",",
        ";",
        ":",
        "+",
        "-",
        "*",
        "/",
        "%",
        "n",
        "A",
        "1",
        "0x",
        "1e9",
        ".5",
        ".npy",
        " ",
        "\t",
        "\0",
    ]
)


@given(st.text(max_size=60) | st.lists(PIECES, max_size=25).map("".join))
@example("A=f32[" + "1," * 5000)
@example("A=f32[4]:uniform(" + "1," * 5000)
@example("n=" + "1" * 100_000)
def test_any_text_parses_or_is_refused_with_a_column(text: str) -> None:
    found = outcome(lambda: parse_argument(FlagText("--arg", text)).name)
    assert isinstance(found, str)
    assert text.lstrip(" \t").startswith(found) or found.startswith("--arg, column ")
