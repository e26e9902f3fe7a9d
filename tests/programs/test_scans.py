"""Scans, counts and compaction: exact."""

from __future__ import annotations

import numpy as np
import pytest
from running import blocks_for, in_every_build, program

pytestmark = in_every_build


@pytest.mark.parametrize(("n", "threads"), [(1, 32), (5000, 32), (9999, 100), (4096, 256)])
def test_scan_with_look_back_equals_cumsum(build: str, n: int, threads: int) -> None:
    values = np.random.default_rng(n).integers(0, 2**32, n, dtype=np.uint32)
    tiles = blocks_for(n, 4 * threads)
    out, states, started = np.zeros_like(values), np.zeros(tiles, np.uint64), np.zeros(1, np.int32)
    program("scan_look_back", build).run("scan", tiles, threads, values, out, states, started, n)
    np.testing.assert_array_equal(out, np.cumsum(values, dtype=np.uint32))
    assert started[0] == tiles
    assert (states >> np.uint64(32) == 2).all()


@pytest.mark.parametrize(("n", "blocks", "threads"), [(1, 1, 32), (10007, 3, 100), (4096, 4, 256)])
def test_histogram_equals_bincount(build: str, n: int, blocks: int, threads: int) -> None:
    values = np.random.default_rng(n).normal(128, 20, n).clip(0, 255).astype(np.uint8)
    bins = np.zeros(256, np.uint32)
    program("histogram", build).run("histogram", blocks, threads, values, bins, n)
    np.testing.assert_array_equal(bins, np.bincount(values, minlength=256))


@pytest.mark.parametrize(("n", "threads"), [(1, 32), (3001, 128), (2000, 100)])
def test_compaction_keeps_all_positive_items_in_order_within_a_block(build: str, n: int, threads: int) -> None:
    values = np.random.default_rng(n).integers(-50, 50, n, dtype=np.int32)
    blocks = blocks_for(n, threads)
    out, first, kept = np.zeros_like(values), np.zeros(blocks, np.int32), np.zeros(1, np.int32)
    program("compaction", build).run("compact", blocks, threads, values, out, first, kept, n)
    assert kept[0] == (values > 0).sum()
    for block in range(blocks):
        own = values[block * threads : (block + 1) * threads]
        own = own[own > 0]
        np.testing.assert_array_equal(out[first[block] : first[block] + len(own)], own)
    np.testing.assert_array_equal(np.sort(out[: kept[0]]), np.sort(values[values > 0]))


@pytest.mark.parametrize(("n", "threads"), [(1, 64), (700, 96), (1111, 50)])
def test_templated_reductions_of_three_types(build: str, n: int, threads: int) -> None:
    reduction = program("reduction_template", build)
    random = np.random.default_rng(n)

    def reduce(kernel: str, values: np.ndarray, items: int) -> np.ndarray:
        out = np.zeros(blocks_for(n, threads * items), values.dtype)
        reduction.run(kernel, len(out), threads, values, out, n, shared_bytes=threads * values.itemsize)
        return out

    doubles = random.standard_normal(n)
    sums = reduce("_ZN9reduction6reduceIdNS_3SumELi4EEEvPKT_PS2_i", doubles, 4)
    np.testing.assert_allclose(sums, np.add.reduceat(doubles, range(0, n, 4 * threads)), rtol=1e-12, atol=1e-12)
    shorts = random.integers(-(2**15), 2**15, n, dtype=np.int16)
    greatest = reduce("_ZN9reduction6reduceIsNS_8GreatestELi1EEEvPKT_PS2_i", shorts, 1)
    np.testing.assert_array_equal(greatest, np.maximum.reduceat(shorts, range(0, n, threads)))
    longs = random.integers(0, 2**64, n, dtype=np.uint64)
    sums = reduce("_ZN9reduction6reduceIyNS_3SumELi3EEEvPKT_PS2_i", longs, 3)
    np.testing.assert_array_equal(sums, np.add.reduceat(longs, range(0, n, 3 * threads)))
