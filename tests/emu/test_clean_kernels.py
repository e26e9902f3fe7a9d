"""Correct kernels whose threads work together, as compilers make them with and without optimising: right, and without a fault."""

# A grid may be a number:
# mypy: disable-error-code="arg-type"

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tilewise.build.nvrtc import compile as compile_cuda
from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.emu.machine import emulate

SOURCES = Path(__file__).parent / "cuda/clean"
ARCHS = ("compute_75", "compute_80", "compute_90a", "compute_100", "compute_120")
BUILDS = [(arch, options) for arch in ARCHS for options in ((), ("-G",))]
every_build = pytest.mark.parametrize("build", BUILDS, ids=[f"{arch}{''.join(options)}" for arch, options in BUILDS])
Build = tuple[str, tuple[str, ...]]
Floats = npt.NDArray[np.float32]


@cache
def module(name: str, build: Build) -> Module:
    return compile_cuda((SOURCES / f"{name}.cu").read_text(), f"{name}.cu", arch=build[0], options=build[1])


def run(build: Build, name: str, kernel: str, grid: Any, block: Any, *args: Any) -> None:
    emulate(Launch(module(name, build), kernel, grid, block, args))


def whole(*shape: int) -> Floats:
    """Whole numbers: their sums are exact in any order."""
    return np.random.default_rng(9).integers(-8, 9, shape).astype(np.float32)


@every_build
@pytest.mark.parametrize("name", ["double_buffer", "async_stages"])
def test_a_product(build: Build, name: str) -> None:
    if name == "async_stages" and build[0] == "compute_75":
        pytest.skip("cp.async is of sm_80")
    a, b, c = whole(64, 64), whole(64, 64).T.copy(), np.zeros((64, 64), np.float32)
    run(build, name, "mm", (4, 4), (16, 16), a, b, c, 64)
    np.testing.assert_array_equal(c, a @ b)


@every_build
def test_sums_by_one_warp(build: Build) -> None:
    x, y = whole(512), np.zeros(4, np.float32)
    run(build, "warp_tail", "rsum", 4, 128, x, y)
    np.testing.assert_array_equal(y, x.reshape(4, 128).sum(axis=1))


@every_build
def test_a_transpose(build: Build) -> None:
    a, b = whole(70, 90), np.zeros((90, 70), np.float32)
    run(build, "transpose_padded", "tr", (3, 3), (32, 8), a, b, 70, 90)
    np.testing.assert_array_equal(b, a.T)


@every_build
def test_threads_leave_before_a_barrier(build: Build) -> None:
    x, y = whole(200), np.zeros(200, np.float32)
    run(build, "exit_before_barrier", "shiftc", 2, 128, x, y, 200)
    np.testing.assert_array_equal(y, np.concatenate([np.roll(x[:128], -1), np.roll(x[128:], -1)]))


@every_build
def test_a_histogram(build: Build) -> None:
    x = np.random.default_rng(2).integers(0, 256, 5000).astype(np.uint8)
    h = np.zeros(64, np.uint32)
    run(build, "shared_histogram", "hist", 4, 256, x, h, 5000)
    np.testing.assert_array_equal(h, np.bincount(x & 63, minlength=64))


@every_build
def test_producers_and_consumers(build: Build) -> None:
    x, y = whole(8, 64), np.zeros((8, 64), np.float32)
    run(build, "named_barriers", "pc", 1, 128, x, y)
    np.testing.assert_array_equal(y, x[:, ::-1])


@every_build
def test_the_last_block_adds_up(build: Build) -> None:
    x, parts, counter, y = whole(1024), np.zeros(8, np.float32), np.zeros(1, np.uint32), np.zeros(1, np.float32)
    run(build, "last_block", "lastsum", 8, 128, x, parts, counter, y)
    assert (float(y[0]), int(counter[0])) == (float(x.sum()), 0)


@every_build
def test_a_copy_by_vectors(build: Build) -> None:
    x, y = whole(1003), np.zeros(1003, np.float32)
    run(build, "vector_copy", "cp4", 2, 128, x, y, 1003)
    np.testing.assert_array_equal(y, x)
