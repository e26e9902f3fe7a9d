"""Sorts and selection: exact, ties included."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from running import Program, blocks_for, in_every_build, program

pytestmark = in_every_build

Words = npt.NDArray[np.uint32]


def radix_pass(sort: Program, keys: Words, values: Words, shift: int, threads: int) -> tuple[Words, Words]:
    n, blocks = len(keys), blocks_for(len(keys), threads)
    counts, sorted_keys, sorted_values = np.zeros(16 * blocks, np.uint32), np.zeros_like(keys), np.zeros_like(values)
    sort.run("count_digits", blocks, threads, keys, counts, shift, n)
    sort.run("scan_counts", 1, 32, counts, len(counts))
    sort.run("scatter", blocks, threads, keys, values, counts, sorted_keys, sorted_values, shift, n)
    return sorted_keys, sorted_values


@pytest.mark.parametrize(("n", "threads"), [(1, 32), (1000, 100), (2050, 256)])
def test_one_radix_pass_is_a_stable_sort_by_its_digit(build: str, n: int, threads: int) -> None:
    keys = np.random.default_rng(n).integers(0, 2**32, n, dtype=np.uint32)
    for shift in (0, 28):
        order = np.argsort(keys >> np.uint32(shift) & np.uint32(15), kind="stable")
        sorted_keys, places = radix_pass(program("radix_sort", build), keys, np.arange(n, dtype=np.uint32), shift, threads)
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(sorted_keys, keys[order])


def test_eight_radix_passes_sort_words_with_their_values(build: str) -> None:
    keys = np.random.default_rng(8).integers(0, 2**32, 777, dtype=np.uint32)
    sorted_keys, values = keys, np.arange(len(keys), dtype=np.uint32)
    for shift in range(0, 32, 4):
        sorted_keys, values = radix_pass(program("radix_sort", build), sorted_keys, values, shift, 128)
    np.testing.assert_array_equal(sorted_keys, np.sort(keys))
    np.testing.assert_array_equal(values, np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1024, 1500])
def test_bitonic_sort_of_any_length(build: str, n: int) -> None:
    sort = program("bitonic_sort", build)
    items = np.random.default_rng(n).integers(-1000, 1000, n, dtype=np.int32)
    expected = np.sort(items)
    tile, tiles = 256, blocks_for(n, 256)
    sort.run("sort_tiles", tiles, tile // 2, items, n, 0)
    half = tile
    while half < n:
        pairs = blocks_for(n, 2 * half) * half
        distance, mirrored = half, 1
        while distance >= tile:
            sort.run("step", blocks_for(pairs, 96), 96, items, n, distance, mirrored)
            distance, mirrored = distance // 2, 0
        sort.run("sort_tiles", tiles, tile // 2, items, n, 1)
        half *= 2
    np.testing.assert_array_equal(items, expected)


@pytest.mark.parametrize(("columns", "threads"), [(5, 32), (1000, 64), (333, 128)])
def test_top_k_gives_values_and_places_with_ties_by_place(build: str, columns: int, threads: int) -> None:
    rows, k = 4, 5
    values = np.random.default_rng(columns).integers(-40, 40, (rows, columns)).astype(np.float32) / 8
    top, places = np.zeros((rows, k), np.float32), np.zeros((rows, k), np.int32)
    program("top_k", build).run("top_k", rows, threads, values, top, places, columns)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(top, np.take_along_axis(values, order, 1))


@pytest.mark.parametrize("depth", [0, 3, 40])
def test_quicksort_by_recursion_whatever_its_depth_limit(build: str, depth: int) -> None:
    random = np.random.default_rng(depth)
    lengths = random.integers(0, 60, 75)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    items = random.integers(-99, 99, starts[-1], dtype=np.int32)
    expected = np.concatenate([np.sort(items[a:b]) for a, b in pairwise(starts)])
    program("recursion", build).run("sort_segments", 2, 48, items, starts, 75, depth)
    np.testing.assert_array_equal(items, expected)
