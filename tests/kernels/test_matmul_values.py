from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewise

Floats = npt.NDArray[np.float32]
RELATIVE_TOLERANCE = 1e-5


def normal(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def assert_product(result: Floats, a: Floats, b: Floats) -> None:
    """Hold a result against NumPy's own product in float64, on the scale of |a||b|."""
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    scale = np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    assert result.dtype == np.float32
    assert np.shape(result) == np.shape(exact)
    assert np.all(np.abs(result - exact) <= RELATIVE_TOLERANCE * scale)


VIEWS: dict[str, Callable[[int, int], Floats]] = {
    "row-major": lambda rows, columns: normal(rows, columns),
    "column-major": lambda rows, columns: normal(columns, rows).T,
    "padded rows": lambda rows, columns: normal(rows, columns + 5)[:, 2 : columns + 2],
    "padded columns": lambda rows, columns: normal(columns, rows + 3)[:, 1 : rows + 1].T,
    "every second row": lambda rows, columns: normal(2 * rows, columns)[::2],
    "every third column": lambda rows, columns: normal(rows, 3 * columns)[:, ::3],
    "rows from below": lambda rows, columns: normal(rows, columns)[::-1],
    "columns from the right": lambda rows, columns: normal(rows, columns)[:, ::-1],
    "one row for all": lambda rows, columns: np.broadcast_to(normal(columns), (rows, columns)),
    "unaligned": lambda rows, columns: np.frombuffer(b"x" + normal(rows, columns).tobytes(), np.float32, offset=1).reshape(
        rows, columns
    ),
}
"""Ways in which rows x columns numbers stand in memory."""
every_view = pytest.mark.parametrize("view", VIEWS)


@every_view
@pytest.mark.parametrize("sizes", [(37, 29, 23), (1, 1, 1), (1, 40, 7), (33, 1, 65), (64, 32, 1), (70, 67, 35), (33, 130, 64)])
def test_operands_of_any_strides(view: str, sizes: tuple[int, int, int]) -> None:
    M, N, K = sizes
    a, b = VIEWS[view](M, K), VIEWS[view](K, N)
    assert_product(tilewise.matmul(a, b), a, b)


@pytest.mark.parametrize("view", [name for name, make in VIEWS.items() if make(2, 2).flags.writeable])
def test_out_of_any_strides_gets_the_product_and_nothing_beside_it(view: str) -> None:
    out = VIEWS[view](19, 27)
    base = out
    while base.base is not None and isinstance(base.base, np.ndarray):
        base = base.base
    before = base.copy()
    a, b = normal(19, 11, seed=1), normal(11, 27, seed=2)
    assert tilewise.matmul(a, b, out=out) is out
    assert_product(out, a, b)
    out[...] = before_view(out, base, before)
    assert np.array_equal(base, before)


def before_view(out: Floats, base: Floats, before: Floats) -> Floats:
    """Return what `out` held when its `base` was copied to `before`."""
    offset = out.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return np.ndarray(out.shape, np.float32, before.data, offset, out.strides)


def test_read_only_operands() -> None:
    a, b = normal(20, 30), normal(30, 10)
    a.flags.writeable = b.flags.writeable = False
    assert_product(tilewise.matmul(a, b), a, b)


@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((7,), (7,)),
        ((7,), (7, 5)),
        ((4, 7), (7,)),
        ((3, 4, 7), (7,)),
        ((7,), (3, 7, 5)),
        ((3, 4, 7), (7, 5)),
        ((4, 7), (3, 7, 5)),
        ((3, 4, 7), (3, 7, 5)),
        ((2, 1, 4, 7), (3, 7, 5)),
        ((1, 4, 7), (6, 7, 5)),
    ],
)
def test_vectors_and_stacks_as_numpy_has_them(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    a, b = normal(*a_shape, seed=1), normal(*b_shape, seed=2)
    assert_product(tilewise.matmul(a, b), a, b)
    out = np.full(np.matmul(a, b).shape, np.nan, np.float32)
    assert tilewise.matmul(a, b, out=out) is out
    assert_product(out, a, b)


@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((0, 3), (3, 4)),
        ((2, 3), (3, 0)),
        ((2, 0), (0, 4)),
        ((0,), (0,)),
        ((0, 2, 3), (3, 4)),
        ((2, 3), (0, 3, 4)),
        ((0, 0), (0, 0)),
    ],
)
def test_zero_sizes_give_numpys_empty_or_zero_result(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    a, b = np.ones(a_shape, np.float32), np.ones(b_shape, np.float32)
    result, expected = tilewise.matmul(a, b), np.matmul(a, b)
    assert np.shape(result) == np.shape(expected)
    assert np.array_equal(result, expected)


def test_no_terms_overwrite_out_with_zeros() -> None:
    out = np.full((2, 4), np.nan, np.float32)
    tilewise.matmul(np.empty((2, 0), np.float32), np.empty((0, 4), np.float32), out=out)
    assert np.array_equal(out, np.zeros((2, 4)))


def test_nan_and_infinity_propagate() -> None:
    a, b = np.ones((3, 3), np.float32), np.ones((3, 3), np.float32)
    a[0, 1], a[1, 0] = np.nan, np.inf
    b[0, 2] = -np.inf
    with np.errstate(invalid="ignore"):
        expected = np.matmul(a, b)
    assert np.array_equal(tilewise.matmul(a, b), expected, equal_nan=True)


@settings(max_examples=25)
@given(st.data())
def test_product_of_slices_of_any_step(data: st.DataObject) -> None:
    M, N, K = (data.draw(st.integers(0, 80), label=name) for name in "MNK")
    steps = st.sampled_from([-3, -2, -1, 1, 2, 3])

    def draw_strided(rows: int, columns: int) -> Floats:
        row_step, column_step = data.draw(steps, label="row step"), data.draw(steps, label="column step")
        shape = (rows * abs(row_step), columns * abs(column_step))
        transposed = data.draw(st.booleans(), label="transposed")
        whole = normal(*shape[::-1], seed=3).T if transposed else normal(*shape, seed=3)
        return whole[::row_step, ::column_step]

    a, b = draw_strided(M, K), draw_strided(K, N)
    assert_product(tilewise.matmul(a, b), a, b)
