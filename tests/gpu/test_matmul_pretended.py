"""matmul on arrays of a pretended GPU: views, launches and results, without a GPU."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from device_arrays import Interfaced, Packed
from fake_driver import FakeDriver

import tilewise
from tilewise.core.errors import TilewiseError
from tilewise.gpu.dlpack import read_capsule
from tilewise.gpu.memory import DeviceArray

Floats = npt.NDArray[np.float32]


def normal(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def assert_product(result: Floats, a: Floats, b: Floats) -> None:
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    scale = np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    assert result.dtype == np.float32
    assert np.shape(result) == np.shape(exact)
    assert np.all(np.abs(result - exact) <= 1e-5 * scale)


VIEWS: dict[str, Callable[[int, int], Floats]] = {
    "row-major": lambda rows, columns: normal(rows, columns),
    "column-major": lambda rows, columns: normal(columns, rows).T,
    "padded rows": lambda rows, columns: normal(rows, columns + 5)[:, 2 : columns + 2],
    "padded columns": lambda rows, columns: normal(columns, rows + 3)[:, 1 : rows + 1].T,
    "every second row": lambda rows, columns: normal(2 * rows, columns)[::2],
    "every third column": lambda rows, columns: normal(rows, 3 * columns)[:, ::3],
    "rows from below": lambda rows, columns: normal(rows, columns)[::-1],
    "both reversed": lambda rows, columns: normal(rows, columns)[::-1, ::-1],
    "one row for all": lambda rows, columns: np.broadcast_to(normal(columns), (rows, columns)),
    "odd address": lambda rows, columns: (
        np.frombuffer(bytearray(b"x" + normal(rows, columns).tobytes()), np.uint8)[1:].view(np.float32).reshape(rows, columns)
    ),
    "four bytes off": lambda rows, columns: normal(rows * columns + 1)[1:].reshape(rows, columns),
}
IN_PLACE = ("row-major", "column-major", "padded rows", "padded columns", "every second row", "four bytes off")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("sizes", [(37, 29, 23), (1, 1, 1), (70, 67, 35), (129, 33, 40)])
def test_operands_of_any_strides(fake: FakeDriver, view: str, sizes: tuple[int, int, int]) -> None:
    M, N, K = sizes
    a, b = VIEWS[view](M, K), VIEWS[view](K, N)
    result = tilewise.matmul(Interfaced(fake, a), Interfaced(fake, b))
    assert isinstance(result, DeviceArray)
    assert_product(result.numpy(), a, b)
    copies = [name for name, _, _ in fake.launches if name == "copy_strided"]
    if view in IN_PLACE:
        assert not copies


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "one row for all"])
def test_out_of_any_strides_gets_the_product_and_nothing_beside_it(fake: FakeDriver, view: str) -> None:
    a, b, out = normal(19, 31), normal(31, 27), VIEWS[view](19, 27)
    base = out
    while isinstance(base.base, np.ndarray):
        base = base.base
    out[...] = 0
    untouched = base.copy()
    target = Interfaced(fake, out)
    assert tilewise.matmul(Interfaced(fake, a), Interfaced(fake, b), out=target) is target
    assert_product(out.copy(), a, b)
    out[...] = 0
    np.testing.assert_array_equal(base, untouched)


@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [((5,), (5,)), ((5,), (5, 7)), ((4, 5), (5,)), ((3, 4, 5), (5, 7)), ((2, 1, 4, 5), (3, 5, 7)), ((3, 4, 5), (3, 5, 7))],
)
def test_vectors_and_stacks(fake: FakeDriver, a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    a, b = normal(*a_shape), normal(*b_shape, seed=1)
    assert_product(tilewise.matmul(Interfaced(fake, a), Interfaced(fake, b)).numpy(), a, b)


def test_stack_of_rows_on_one_matrix_is_one_launch(fake: FakeDriver) -> None:
    tilewise.matmul(Interfaced(fake, normal(6, 4, 5)), Interfaced(fake, normal(5, 7)))
    assert len(fake.launches) == 1


def test_odd_operand_of_a_stack_is_copied_once(fake: FakeDriver) -> None:
    a, b = normal(3, 4, 5)[:, ::-1], normal(5, 14)[:, ::2]
    assert_product(tilewise.matmul(Interfaced(fake, a), Interfaced(fake, b)).numpy(), a, b)
    assert [name for name, _, _ in fake.launches] == ["copy_strided", "copy_strided", "gemm"] + 2 * ["copy_strided", "gemm"]


@pytest.mark.parametrize(("M", "N", "K"), [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_empty_operands(fake: FakeDriver, M: int, N: int, K: int) -> None:
    result = tilewise.matmul(Interfaced(fake, normal(M, K)), Interfaced(fake, normal(K, N))).numpy()
    np.testing.assert_array_equal(result, np.zeros((M, N), np.float32))


def test_dlpack_is_read_on_the_stream_that_the_product_runs_on(fake: FakeDriver) -> None:
    a, b = normal(9, 8).T, normal(9, 7)
    left, right = Packed(fake, a), Packed(fake, b)
    assert_product(tilewise.matmul(left, right).numpy(), a, b)
    ((_, _, stream),) = fake.launches
    assert left.streams == right.streams == [stream]


def test_work_waits_for_the_stream_that_wrote_an_operand(fake: FakeDriver) -> None:
    tilewise.matmul(Interfaced(fake, normal(4, 4), stream=77), Interfaced(fake, normal(4, 4)))
    ((_, _, stream),) = fake.launches
    assert (stream, 77) in fake.waits


def test_second_call_on_other_memory_decides_and_loads_nothing(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    tilewise.matmul(Interfaced(fake, normal(20, 30)), Interfaced(fake, normal(30, 40)))
    monkeypatch.setattr("tilewise.engine.matmul_gpu.make_recipe", None)
    a, b = normal(20, 30, seed=5), normal(30, 40, seed=6)
    assert_product(tilewise.matmul(Interfaced(fake, a), Interfaced(fake, b)).numpy(), a, b)


def test_the_callers_context_is_current_again_afterwards(fake: FakeDriver) -> None:
    fake.contexts.append(99)
    tilewise.matmul(Interfaced(fake, normal(4, 4)), Interfaced(fake, normal(4, 4)))
    assert fake.contexts == [99]


def test_result_goes_on_to_other_libraries(fake: FakeDriver) -> None:
    a, b, c = normal(6, 5), normal(5, 4), normal(4, 3)
    result = tilewise.matmul(Interfaced(fake, a), Interfaced(fake, b))
    tensor = read_capsule(result.__dlpack__(stream=55))
    assert (tensor.pointer, tensor.shape, tensor.strides, tensor.dtype, tensor.device) == (
        result.pointer,
        (6, 4),
        (16, 4),
        "float32",
        0,
    )
    assert (55, result.memory.stream) in fake.waits
    first = result.numpy()
    assert_product(tilewise.matmul(result, Interfaced(fake, c)).numpy(), first, c)


def test_capsule_keeps_the_memory_until_it_goes(fake: FakeDriver) -> None:
    result = tilewise.matmul(Interfaced(fake, normal(6, 5)), Interfaced(fake, normal(5, 4)))
    address = result.pointer
    capsule = result.__dlpack__(stream=-1)
    del result
    assert address in fake.memory
    del capsule
    assert address not in fake.memory


def test_numpy_arrays_run_on_the_gpu_if_asked(fake: FakeDriver) -> None:
    a, b, out = normal(6, 5).T, normal(6, 4), np.empty((5, 4), np.float32)
    assert tilewise.matmul(a, b, out=out, on="gpu") is out
    assert_product(out, a, b)
    assert len(fake.launches) == 1


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (lambda base: base[:, 2:6], "out overlaps a in memory"),
        (lambda base: base[1:5, 4:8], None),
        (lambda base: base.reshape(-1)[2:18].reshape(4, 4), "out overlaps a in memory"),
    ],
)
def test_out_may_interleave_with_an_operand_and_not_overlap_it(
    fake: FakeDriver, out: Callable[[Floats], Floats], message: str | None
) -> None:
    base = normal(5, 8)
    a, target = base[:4, :4], out(base)[:4]
    if message is None:
        b = normal(4, 4, seed=3)
        expected = a.copy()
        tilewise.matmul(Interfaced(fake, a), Interfaced(fake, b), out=Interfaced(fake, target))
        assert_product(target.copy(), expected, b)
    else:
        with pytest.raises(TilewiseError, match=message):
            tilewise.matmul(Interfaced(fake, a), Interfaced(fake, normal(4, 4)), out=Interfaced(fake, target))


def test_arrays_are_refused_with_what_would_be_right(fake: FakeDriver) -> None:
    good = Interfaced(fake, normal(3, 3))
    doubles = Interfaced(fake, np.ones((3, 3)))  # type: ignore[arg-type]  # what is refused
    for arguments, message in (
        ((good, doubles), "b is of type float64, and matmul takes float32 only for now"),
        (
            (good, normal(3, 3)),
            "a is a device_arrays.Interfaced on a GPU and b is a numpy.ndarray on the CPU: give all of one kind",
        ),
        ((normal(3, 3), good), "a is a numpy.ndarray and b is a device_arrays.Interfaced on a GPU"),
        ((good, Interfaced(fake, normal(4, 3))), "a of shape (3, 3) has 3 columns and b of shape (4, 3) has 4 rows"),
    ):
        with pytest.raises(TilewiseError, match=re.escape(message)):
            tilewise.matmul(*arguments)
    for out, message in (
        (Interfaced(fake, normal(3, 4)), "out has shape (3, 4), and the product has shape (3, 3)"),
        (Interfaced(fake, normal(3, 3), read_only=True), "out is read-only"),
    ):
        with pytest.raises(TilewiseError, match=re.escape(message)):
            tilewise.matmul(good, good, out=out)
    with pytest.raises(TilewiseError, match="a is on a GPU, and on = 'emulator'"):
        tilewise.matmul(good, good, on="emulator")


def test_too_little_memory_is_a_sentence(fake: FakeDriver) -> None:
    fake.free_bytes = 1000
    a = Interfaced(fake, normal(40, 1))
    with pytest.raises(TilewiseError, match=r"allocating 6,400 bytes on GPU 0: the GPU has too little free memory"):
        tilewise.matmul(a, Interfaced(fake, normal(1, 40)))
