"""matmul on arrays of CuPy, JAX, NumPy and what only has an interface, held against NumPy in float64."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tilewise
from tilewise.core.errors import TilewiseError
from tilewise.gpu.memory import DeviceArray

Floats = npt.NDArray[np.float32]
pytestmark = pytest.mark.gpu


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy")


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    return jax


def normal(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def assert_product(result: Floats, a: Floats, b: Floats) -> None:
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    scale = np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    assert result.dtype == np.float32
    assert np.shape(result) == np.shape(exact)
    assert np.all(np.abs(result - exact) <= 1e-5 * scale)


def test_cupy_gets_cupy(cupy: Any) -> None:
    a, b = normal(100, 200), normal(300, 200).T
    result = tilewise.matmul(cupy.asarray(a), cupy.asarray(b.T).T)
    assert type(result) is cupy.ndarray
    assert_product(cupy.asnumpy(result), a, b)


def test_cupy_views_and_out(cupy: Any) -> None:
    a, b = normal(40, 60), normal(40, 30)
    out = cupy.full((90, 60), cupy.nan, dtype=cupy.float32)[::3, ::2]
    assert tilewise.matmul(cupy.asarray(a)[::-1, ::2].T, cupy.asarray(b)[::-1], out=out) is out
    assert_product(cupy.asnumpy(out), a[::-1, ::2].T, b[::-1])


def test_cupy_runs_on_its_current_stream_and_into_its_graphs(cupy: Any) -> None:
    a, b = cupy.asarray(normal(64, 64)), cupy.asarray(normal(64, 64, seed=1))
    out = cupy.zeros((64, 64), cupy.float32)
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        tilewise.matmul(a, b, out=out)
        graph = stream.end_capture()
    a[...] = cupy.asarray(normal(64, 64, seed=2))
    cupy.cuda.Device().synchronize()
    assert not cupy.any(out)
    graph.launch(stream)
    stream.synchronize()
    assert_product(cupy.asnumpy(out), cupy.asnumpy(a), cupy.asnumpy(b))


def test_jax_gets_jax(jax: Any) -> None:
    a, b = normal(100, 200), normal(200, 300)
    result = tilewise.matmul(jax.numpy.asarray(a), jax.numpy.asarray(b))
    assert isinstance(result, jax.Array)
    assert_product(np.asarray(result + 0), a, b)


def test_jax_arrays_that_go_at_once_are_read_first(jax: Any) -> None:
    results, operands = [], []
    for seed in range(20):
        a, b = normal(256, 256, seed=seed), normal(256, 256, seed=100 + seed)
        on_gpu = jax.numpy.asarray(a) * 1.0
        results.append(tilewise.matmul(on_gpu, jax.numpy.asarray(b) * 1.0))
        del on_gpu
        jax.numpy.full((256, 256), jax.numpy.nan)
        operands.append((a, b))
    for result, (a, b) in zip(results, operands, strict=True):
        assert_product(np.asarray(result), a, b)


def test_jax_arrays_are_not_written(jax: Any) -> None:
    a = jax.numpy.ones((4, 4), "float32")
    with pytest.raises(TilewiseError, match="out is a JAX array, which cannot be written"):
        tilewise.matmul(a, a, out=a)


def test_a_jax_result_may_outlive_everything(jax: Any) -> None:
    script = (
        "import jax, numpy, tilewise\n"
        "a = jax.numpy.ones((64, 64), 'float32')\n"
        "result = tilewise.matmul(a, a)\n"
        "kept = [result, tilewise.matmul(result, a)]\n"
        "print(float(kept[1][0, 0]))\n"
    )
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert (found.returncode, found.stdout.strip()) == (0, "4096.0"), found.stderr


class Interface:
    """Nothing but the CUDA array interface of a CuPy array."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


class Capsules:
    """Nothing but DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("wrap", [Interface, Capsules])
def test_interfaces_alone_get_an_array_that_goes_on_to_others(cupy: Any, wrap: Any) -> None:
    a, b = normal(70, 50), normal(50, 90)
    result = tilewise.matmul(wrap(cupy.asarray(a)), wrap(cupy.asarray(b)))
    assert isinstance(result, DeviceArray)
    assert_product(result.numpy(), a, b)
    assert_product(cupy.asnumpy(cupy.asarray(result)), a, b)
    assert_product(cupy.asnumpy(cupy.from_dlpack(result)), a, b)


def test_numpy_on_the_gpu() -> None:
    a, b = normal(3, 70, 50), normal(50, 90)
    assert_product(tilewise.matmul(a, b, on="gpu"), a, b)


def test_too_little_memory_is_a_sentence(cupy: Any) -> None:
    tall = Interface(cupy.ones((3_000_000, 1), cupy.float32))
    wide = Interface(cupy.ones((1, 3_000_000), cupy.float32))
    with pytest.raises(TilewiseError, match="too little free memory"):
        tilewise.matmul(tall, wide)
