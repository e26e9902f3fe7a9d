from __future__ import annotations

from itertools import pairwise

import pytest

from tilewise.core.counters import Counters
from tilewise.engine.sample import scale_counters, spread_blocks


@pytest.mark.parametrize(("total", "count"), [(2, 1), (16, 2), (16, 5), (16, 15), (10**6, 7), (17, 16)])
def test_blocks_spread_evenly_from_the_first_to_the_last(total: int, count: int) -> None:
    chosen = spread_blocks(total, count)
    assert chosen is not None
    assert len(chosen) == count
    assert list(chosen) == sorted(set(chosen))
    if count > 1:
        assert (chosen[0], chosen[-1]) == (0, total - 1)
        gaps = [after - before for before, after in pairwise(chosen)]
        assert max(gaps) - min(gaps) <= 1


def test_odd_samples_hold_the_middle() -> None:
    assert spread_blocks(101, 3) == (0, 50, 100)
    assert spread_blocks(101, 1) == (50,)


@pytest.mark.parametrize(("total", "count"), [(1, 1), (16, 16), (16, 17)])
def test_sample_of_everything_is_none(total: int, count: int) -> None:
    assert spread_blocks(total, count) is None


def test_sums_are_scaled_and_the_worst_is_not() -> None:
    scaled = scale_counters(Counters(requested_load_bytes=10, fma=7, barriers=1, worst_bank_conflict_ways=4), 8, 3)
    assert (scaled.requested_load_bytes, scaled.fma, scaled.barriers, scaled.worst_bank_conflict_ways) == (27, 19, 3, 4)
