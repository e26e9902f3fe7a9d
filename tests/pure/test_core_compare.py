"""The tolerance rule against exact fractions, against wrong results it must catch, and on NaN, infinities and empty sizes."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tilewise.core import compare as rule
from tilewise.core.compare import Comparison, Reference, compare, is_correct, max_relative_error
from tilewise.core.errors import TilewiseError

Array = NDArray[Any]
NUMBERS = st.floats(-4, 4, width=32)


def operands(M: int, N: int, K: int, seed: int = 0) -> tuple[Array, Array]:
    generator = np.random.default_rng(seed)
    return generator.standard_normal((M, K), np.float32), generator.standard_normal((K, N), np.float32)


def exact_error(c: Array, a: Array, b: Array) -> Fraction:
    worst = Fraction(0)
    for row in range(c.shape[0]):
        for column in range(c.shape[1]):
            products = [Fraction(float(a[row, k])) * Fraction(float(b[k, column])) for k in range(a.shape[1])]
            distance, scale = abs(Fraction(float(c[row, column])) - sum(products)), sum(map(abs, products))
            worst = max(worst, distance / scale if distance else Fraction(0))
    return worst


@given(st.data())
def test_error_equals_exact_fractions(data: st.DataObject) -> None:
    M, N, K = (data.draw(st.integers(1, 4)) for _ in range(3))
    fill = st.lists(NUMBERS.map(lambda number: number or 1.0), min_size=M * K + K * N, max_size=M * K + K * N)
    values = np.array(data.draw(fill), np.float32)
    a, b = values[: M * K].reshape(M, K), values[M * K :].reshape(K, N)
    c = (a @ b).astype(np.float32) + np.float32(data.draw(NUMBERS))
    assert max_relative_error(c, a, b) == pytest.approx(float(exact_error(c, a, b)), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (37, 47, 61), (129, 65, 257), (300, 200, 1000)])
def test_numpys_product_is_correct(sizes: tuple[int, int, int]) -> None:
    a, b = operands(*sizes)
    found = compare(a @ b, a, b)
    assert found.correct
    assert found.max_relative_error < 1e-6


def test_panels_join_to_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = operands(70, 90, 110)
    c = a @ b
    c[68, 3] += 1
    whole = compare(c, a, b)
    monkeypatch.setattr(rule, "PANEL", 16)
    monkeypatch.setattr(rule, "KEPT_BYTES", 0)
    panels = compare(c, a, b)
    assert panels.max_relative_error == pytest.approx(whole.max_relative_error)
    assert panels.worst == whole.worst == (68, 3)
    assert not panels.correct


@pytest.mark.parametrize("K", [1, 32, 1024, 4096])
def test_a_lost_element_of_k_is_caught(K: int) -> None:
    a, b = operands(64, 64, K)
    lost = a[:, 1:] @ b[1:]
    assert not is_correct(lost, a, b)


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_scale_of_the_operands_does_not_matter(scale: float) -> None:
    a, b = operands(8, 8, 8)
    a = (a * np.float32(scale)).astype(np.float32)
    assert is_correct(a @ b, a, b)
    assert not is_correct(np.zeros((8, 8), np.float32), a, b)
    assert not is_correct((a @ b) * np.float32(1.001), a, b)


def test_long_sums_of_equal_numbers_are_no_false_alarm() -> None:
    K = 4096
    a, b = np.full((1, K), 0.1, np.float32), np.ones((K, 1), np.float32)
    total = np.float32(0)
    for k in range(K):
        total = np.float32(total + a[0, k])
    c = np.array([[total]])
    assert max_relative_error(c, a, b) > 1e-5
    assert is_correct(c, a, b)


def test_products_lost_to_underflow_are_right() -> None:
    a, b = np.full((2, 3), 1e-30, np.float32), np.full((3, 2), 1e-30, np.float32)
    assert is_correct(np.zeros((2, 2), np.float32), a, b)


def test_zero_over_zero_is_zero() -> None:
    a, b = np.zeros((3, 4), np.float32), np.ones((4, 2), np.float32)
    assert max_relative_error(np.zeros((3, 2), np.float32), a, b) == 0.0
    assert max_relative_error(np.full((3, 2), -0.0, np.float32), a, b) == 0.0
    assert max_relative_error(np.ones((3, 2), np.float32), a, b) == math.inf


@pytest.mark.parametrize(("given_c", "right"), [(math.nan, True), (math.inf, False), (0.0, False)])
def test_where_the_reference_is_nan_only_nan_is_right(given_c: float, right: bool) -> None:
    a, b = np.array([[math.nan, 1]], np.float32), np.ones((2, 1), np.float32)
    found = compare(np.array([[given_c]], np.float32), a, b)
    assert found == Comparison(0.0 if right else math.inf, int(not right), (0, 0))


@pytest.mark.parametrize(("given_c", "right"), [(math.inf, True), (-math.inf, False), (math.nan, False), (3e38, False)])
def test_where_the_reference_is_infinite_only_that_infinity_is_right(given_c: float, right: bool) -> None:
    a, b = np.array([[math.inf, 1]], np.float32), np.ones((2, 1), np.float32)
    found = compare(np.array([[given_c]], np.float32), a, b)
    assert found == Comparison(0.0 if right else math.inf, int(not right), (0, 0))


@pytest.mark.parametrize("given_c", [math.nan, math.inf, -math.inf])
def test_where_the_reference_is_finite_nothing_else_is_right(given_c: float) -> None:
    a, b = operands(5, 6, 7)
    c = a @ b
    c[2, 4] = given_c
    assert compare(c, a, b) == Comparison(math.inf, 1, (2, 4))


def test_nan_and_infinity_spoil_only_their_own_elements() -> None:
    a, b = operands(20, 30, 40)
    a[3, 7], b[11, 5] = math.nan, math.inf
    c = np.array(
        [[math.fsum(float(x) * float(y) for x, y in zip(row, column, strict=True)) for column in b.T] for row in a], np.float32
    )
    assert np.isnan(c[3]).all()
    assert np.isinf(c[0, 5])
    assert is_correct(c, a, b)
    c[4, 4] = math.nan
    assert not is_correct(c, a, b)


def test_overflow_of_the_results_type_is_right_where_the_product_overflows_it() -> None:
    a, b = np.full((1, 2), 3e38, np.float32), np.full((2, 1), 3.0, np.float32)
    assert is_correct(np.array([[math.inf]], np.float32), a, b)
    assert not is_correct(np.array([[-math.inf]], np.float32), a, b)
    assert not is_correct(np.array([[math.inf]], np.float32), a / 100, b)


@pytest.mark.parametrize(("M", "N", "K"), [(0, 3, 4), (3, 0, 4), (0, 0, 0), (3, 4, 0)])
def test_empty_sizes(M: int, N: int, K: int) -> None:
    a, b = np.ones((M, K), np.float32), np.ones((K, N), np.float32)
    found = compare(np.zeros((M, N), np.float32), a, b)
    assert (found.max_relative_error, found.correct) == (0.0, True)
    assert (found.worst is None) == (M * N == 0)


def test_without_k_steps_only_zero_is_right() -> None:
    assert not is_correct(np.ones((2, 2), np.float32), np.ones((2, 0), np.float32), np.ones((0, 2), np.float32))


def test_any_strides_and_read_only_arrays() -> None:
    a, b = operands(40, 50, 60)
    strided = np.asfortranarray(np.repeat(a, 2, axis=1))[:, ::2]
    strided.flags.writeable = False
    assert is_correct(a @ b, strided, b[::1][:, ::-1][:, ::-1])


def test_a_reference_serves_many_results() -> None:
    a, b = operands(30, 30, 30)
    reference = Reference(a, b)
    c = a @ b
    first = reference.compare(c)
    a[:] = 0
    assert reference.compare(c) == first
    assert not reference.compare(c + 1).correct


@pytest.mark.parametrize("shape", [(3, 4), (4, 3, 1), (12,)])
def test_wrong_shapes_are_refused(shape: tuple[int, ...]) -> None:
    a, b = operands(4, 3, 5)
    with pytest.raises(TilewiseError, match="but the product is 4 x 3"):
        compare(np.zeros(shape, np.float32), a, b)


def test_operands_that_do_not_multiply_are_refused() -> None:
    with pytest.raises(TilewiseError, match="a is 4 x 5 and b is 6 x 3: give M x K and K x N"):
        Reference(np.zeros((4, 5)), np.zeros((6, 3)))


def test_a_dtype_without_tolerance_is_refused() -> None:
    a, b = operands(1, 1, 1)
    with pytest.raises(TilewiseError, match=r"dtype 'f33' has no tolerance\. Did you mean f32"):
        is_correct(a @ b, a, b, dtype="f33")


def test_memory_stays_below_256_mb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrunk by 8 in each direction: panels of 128, and a reference of 3 MB kept; the same bound is 4 MB."""
    monkeypatch.setattr(rule, "PANEL", 128)
    monkeypatch.setattr(rule, "KEPT_BYTES", 3 * 2**20)
    for columns in (384, 1100):
        a, b = operands(512, columns, 600)
        c = a @ b
        tracemalloc.start()
        compare(c, a, b)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * 2**20
