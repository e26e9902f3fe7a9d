"""Operands, the check in float64 and the auxiliary kernels, on a pretended GPU: they run on the emulator."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from fake_driver import FakeDriver

from tilewise.core.compare import compare
from tilewise.core.errors import TilewiseError
from tilewise.core.problem import LAYOUTS, Layout, Problem
from tilewise.engine.gpu_operands import GpuOperands
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import open_gpu


def made(problem: Problem, *, rotate: bool = False, seed: int = 0) -> GpuOperands:
    return GpuOperands(open_gpu(0), device_of(0), problem, rotate=rotate, seed=seed)


def host(operands: GpuOperands, fake: FakeDriver, which: int, number: int = 0) -> np.ndarray:
    """A view of an operand's memory, by its own strides."""
    array = operands.arrays(number)[which]
    memory = fake.memory[array.memory.address]
    start = array.pointer - array.memory.address
    flat = memory[start : start + 4 * int(np.prod(array.shape))].view(np.float32)
    return np.lib.stride_tricks.as_strided(flat, array.shape, array.strides)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (16, 16, 16), (33, 17, 40), (5, 70, 3)])
def test_check_says_what_core_compare_says(fake: FakeDriver, layout: Layout, sizes: tuple[int, int, int]) -> None:
    operands = made(Problem(*sizes, layout=layout))
    a, b, c = (host(operands, fake, which) for which in range(3))
    for spoiled in (0.0, 3e-5, np.nan, np.inf):
        c[...] = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
        c[-1, 0] += np.float32(spoiled)
        expected, found = compare(c, a, b), operands.check()
        assert found.wrong == expected.wrong
        assert found.max_relative_error == pytest.approx(expected.max_relative_error, rel=1e-6, abs=1e-12)


def test_check_takes_nan_and_infinity_as_ieee_754_has_them(fake: FakeDriver) -> None:
    operands = made(Problem(4, 4, 4))
    a, b, c = (host(operands, fake, which) for which in range(3))
    a[0, 0], a[1, 1], b[2, 2] = np.nan, np.inf, 3e38
    a[2, 2] = 3e38
    with np.errstate(over="ignore", invalid="ignore"):
        c[...] = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    assert operands.check().wrong == compare(c, a, b).wrong == 0
    c[2, 2] = 3e38
    assert operands.check().wrong == compare(c, a, b).wrong == 1


def test_poison_is_seen_as_wrong(fake: FakeDriver) -> None:
    operands = made(Problem(20, 30, 8))
    operands.poison()
    assert operands.check().wrong == 600


def test_drawn_numbers_look_normal_and_depend_on_the_seed(fake: FakeDriver) -> None:
    values = host(made(Problem(200, 1, 100)), fake, 0)
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 1) < 0.02
    assert len(np.unique(values)) > 0.9 * values.size
    assert abs(np.corrcoef(values[:, :-1].ravel(), values[:, 1:].ravel())[0, 1]) < 0.02
    assert not np.array_equal(values, host(made(Problem(200, 1, 100), seed=1), fake, 0))


def test_copies_follow_each_other_past_the_l2_cache(fake: FakeDriver) -> None:
    fake.attributes["L2_CACHE_SIZE"] = 100_000
    operands = made(Problem(64, 64, 64), rotate=True)
    assert operands.sets == -(-200_000 // (3 * 64 * 64 * 4))
    places = sorted(address for number in range(operands.sets) for address in operands.addresses(number))
    assert all(second - first >= 64 * 64 * 4 for first, second in pairwise(places))


def test_a_problem_beyond_the_gpus_memory_is_a_sentence(fake: FakeDriver) -> None:
    fake.free_bytes = 10_000
    with pytest.raises(TilewiseError, match=r"a product of 64 x 64 x 64 takes 0\.0 GB, more than GPU 0 has free"):
        made(Problem(64, 64, 64), rotate=True)


def test_given_values_are_put_in_their_layout(fake: FakeDriver) -> None:
    operands = made(Problem(3, 5, 4, layout="cr"))
    random = np.random.default_rng(3)
    a, b = random.random((3, 4), np.float32), random.random((4, 5), np.float32)
    operands.put(a, b)
    np.testing.assert_array_equal(host(operands, fake, 0), a)
    np.testing.assert_array_equal(host(operands, fake, 1), b)
