"""Threads that wait for each other, across lanes, warps and blocks."""

from __future__ import annotations

import numpy as np
import pytest
from running import in_every_build, program

pytestmark = in_every_build


@pytest.mark.parametrize(("blocks", "threads", "rounds"), [(1, 32, 3), (5, 40, 6), (16, 64, 5)])
def test_a_barrier_of_the_whole_grid(build: str, blocks: int, threads: int, rounds: int) -> None:
    n = blocks * threads
    first = np.random.default_rng(n).integers(0, 2**32, n, dtype=np.uint32)
    values, barrier = np.concatenate([first, np.zeros_like(first)]), np.zeros(2, np.uint32)
    program("grid_barrier", build).run("ring_sums", blocks, threads, values, barrier, rounds)
    expected = first
    for round_ in range(rounds):
        expected = np.roll(expected, -1) + np.roll(expected, 1) + np.uint32(round_)
    np.testing.assert_array_equal(values[rounds % 2 * n :][:n], expected)
    assert list(barrier) == [0, rounds]


@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (3, 33), (2, 96)])
def test_a_ticket_lock_that_all_lanes_want(build: str, blocks: int, threads: int) -> None:
    n = blocks * threads - 1
    amounts = np.random.default_rng(n).integers(-1000, 1000, n, dtype=np.int32)
    lock, account, log = np.zeros(2, np.uint32), np.zeros(2, np.int32), np.full(n, -1, np.int32)
    program("ticket_lock", build).run("deposit", blocks, threads, lock, account, amounts, log, n)
    assert list(lock) == [n, n]
    assert list(account) == [amounts.sum(), n]
    np.testing.assert_array_equal(np.sort(log), np.arange(n))
