"""Expectations: what the grammar takes, what it refuses, and values beside NumPy's."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.errors import TilewiseError
from tilewise.engine.estimate import FUNCTIONS, exact
from tilewise.engine.expect import parse_expectation

RANDOM = np.random.default_rng(7)
A, B, X = RANDOM.normal(size=(6, 5)), RANDOM.normal(size=(5, 4)), RANDOM.normal(size=12)
K = RANDOM.integers(0, 100, 12)
VALUES = {"A": A, "B": B, "X": X, "K": K, "n": np.asarray(3.0)}


def value_of(text: str) -> Any:
    return parse_expectation(text).evaluate({name: exact(value) for name, value in VALUES.items()}).value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A @ B", A @ B),
        ("C = 2 * A @ B - 1", 2 * A @ B - 1),
        ("A.T[1:3, ::2]", A.T[1:3, ::2]),
        ("X[None, n:-1] / 4", X[None, 3:-1] / 4),
        ("X ** 3", X**3),
        ("exp(X - max(X)) / sum(exp(X - max(X)))", np.exp(X - X.max()) / np.exp(X - X.max()).sum()),
        ("sum(A, axis=1, keepdims=True)", A.sum(axis=1, keepdims=True)),
        ("mean(A, 0)", A.mean(0)),
        ("where(X > 0, X, 0.1 * X)", np.where(X > 0, X, 0.1 * X)),
        ("relu(X) + minimum(abs(X), 1)", np.maximum(X, 0) + np.minimum(np.abs(X), 1)),
        ("cumsum(X)", np.cumsum(X)),
        ("sort(A, axis=0)", np.sort(A, axis=0)),
        ("sqrt(abs(X)) * tanh(X)", np.sqrt(np.abs(X)) * np.tanh(X)),
        ("log(abs(X)) + sin(X) * cos(X)", np.log(np.abs(X)) + np.sin(X) * np.cos(X)),
        ("reshape(X, (3, 4)).T", X.reshape(3, 4).T),
        ("roll(X, n) - flip(X)", np.roll(X, 3) - np.flip(X)),
        ("bincount(K & 7, 8)", np.bincount(K & 7, minlength=8)),
        ("(K >> 1) % 5 + K // 7 ^ 3", (K >> 1) % 5 + K // 7 ^ 3),
        ("arange(arange(4)[3:])", np.arange(3)),
        ("ones((2, n)) - zeros((2, n)) + arange(n)", np.ones((2, 3)) + np.arange(3)),
        ("floor(X) + ceil(X) + round(X)", np.floor(X) + np.ceil(X) + np.rint(X)),
        ("-transpose(A)", -A.T),
    ],
)
def test_value_is_numpys(text: str, expected: Any) -> None:
    np.testing.assert_allclose(value_of(text), expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["in", "is", "from", "lambda"])
def test_argument_may_be_called_as_a_word_of_pythons(name: str) -> None:
    expectation = parse_expectation(f"out = 2 * {name}.T + {name}[0]")
    expectation.check_names(frozenset({name, "out"}))
    np.testing.assert_array_equal(expectation.evaluate({name: exact(K)}).value, 2 * K + K[0])


def test_erf_is_the_integral_of_its_derivative() -> None:
    steps = np.linspace(0, 1, 100_001)
    integral = np.trapezoid(2 / np.sqrt(np.pi) * np.exp(-(steps**2)), steps)
    assert abs(float(value_of("erf(1)")) - integral) < 1e-10


@pytest.mark.parametrize(
    "text",
    [
        *("x.real", "__import__('os')", "A.T.base", "lambda: 1", "[1, 2]", "A if n else B", "x := 1", "f'{n}'", "'text'"),
        *("A and B", "not A", "~K", "A < B < A", "X ** n", "X ** 9", "X ** -1", "X ** 0.5", "sum(*A)", "open(n)", "A[B.x]"),
        *(
            "sum(A, dtype=n)",
            "exp(A, axis=1)",
            "exp()",
            "exp(A, B)",
            "(",
            "",
            "A = B = A",
            "yield X",
            "1j",
            "{}",
            "...",
            "1if n else 2",
        ),
        *("(" * 300 + "n" + ")" * 300, "-" * 300 + "n", "n" * 3000, "9" * 400),
    ],
)
def test_text_outside_of_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(TilewiseError, match="--expect"):
        value_of(text)


@pytest.mark.parametrize(
    "text",
    [
        *("A @ A", "A + B", "zeros(20000000)", "zeros((5000, 5000))", "arange(1000000000)", "X[99]", "X[:, 1]", "X[::0]"),
        *("arange(16000000)[:, None] < arange(16000000)", "reshape(X, (5, 5))", "X[0.5]", "bincount(K, 2)", "X & 1", "zeros(-1)"),
        *("reshape(arange(16000000), (16000000, 1)) @ reshape(arange(16000000), (1, 16000000))", "sum(A, axis=7)", "None"),
    ],
)
def test_expression_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(TilewiseError, match="--expect"):
        value_of(text)


def test_unknown_name_is_answered_with_the_nearest() -> None:
    expectation = parse_expectation("Alpha * X")
    with pytest.raises(TilewiseError, match=r"no argument is called Alpha\. Did you mean alpha"):
        expectation.check_names(frozenset({"alpha", "X"}))


@given(st.text(alphabet="AnX()[]+-*/.,:=<>@ 019_'\"", max_size=40))
def test_any_text_has_a_value_or_is_refused_with_a_sentence(text: str) -> None:
    with contextlib.suppress(TilewiseError):
        expectation = parse_expectation(text)
        expectation.check_names(VALUES)
        value_of(text)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "tanh", "sin", "cos", "erf"])
@given(st.floats(0.01, 5.0))
def test_scale_of_a_function_bounds_what_an_error_of_its_argument_does(name: str, x: float) -> None:
    error = 2.0**-30
    at, beside = (FUNCTIONS[name](exact(np.asarray(value))) for value in (x, x * (1 + error)))
    assert abs(float(at.value) - float(beside.value)) <= 1.01 * error * float(at.scale) + 1e-15


def test_float32_result_lies_within_depth_times_scale() -> None:
    a, b = (RANDOM.normal(size=shape).astype(np.float32) for shape in ((64, 512), (512, 64)))
    expected = parse_expectation("a @ b").evaluate({"a": exact(a), "b": exact(b)})
    computed = np.zeros((64, 64), np.float32)
    for k in range(512):
        computed += np.outer(a[:, k], b[k])
    error = np.abs(computed - expected.value)
    assert (error <= expected.depth * 2.0**-24 * expected.scale).all()
    assert expected.depth == 512
