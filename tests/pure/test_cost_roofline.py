"""Floors against times measured on an H200, and against sums done by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.counters import Counters
from tilewise.core.problem import Problem
from tilewise.cost.roofline import Floors, floors, ridge_without_cache
from tilewise.hw.catalog import DEVICES, device

H200 = device("h200")


def test_floors_by_hand() -> None:
    counters = Counters(
        global_load_sectors=8_388_608,
        global_store_sectors=131_072,
        shared_load_wavefronts=67_108_864,
        shared_store_wavefronts=2_097_152,
        fma=1024**3,
    )
    found = floors(H200, Problem(1024, 1024, 1024), counters)
    clocks = 132 * 1.98e9
    assert found.hbm == pytest.approx(3 * 4 * 1024**2 / 4.8e12)
    assert found.l1 == pytest.approx(8_519_680 / 4 / clocks)
    assert found.shared == pytest.approx(69_206_016 / clocks)
    assert found.fma == pytest.approx(1024**3 / 128 / clocks)
    assert found.bound == "shared"
    assert found.seconds == found.shared


@pytest.mark.parametrize(
    ("tflops", "counters"),
    [
        (5.9, Counters(global_load_sectors=64 * 167_772_160, fma=4096**3)),
        (0.5, Counters(global_load_sectors=64 * 1_107_296_256, fma=4096**3)),
        (51.2, Counters(fma=4096**3)),
    ],
    ids=["naive coalesced", "naive along rows", "cuBLAS"],
)
def test_no_kernel_measured_on_an_h200_beats_its_floors(tflops: float, counters: Counters) -> None:
    problem = Problem(4096, 4096, 4096)
    assert floors(H200, problem, counters).seconds <= problem.flops / (tflops * 1e12)


@given(st.tuples(*[st.floats(0, 1e9)] * 4))
def test_bound_is_the_largest(seconds: tuple[float, float, float, float]) -> None:
    found = Floors(*seconds)
    assert found.by_resource[found.bound] == max(seconds) == found.seconds


def test_an_empty_launch_has_no_floor() -> None:
    found = floors(H200, Problem(0, 0, 0), Counters())
    assert found == Floors(0.0, 0.0, 0.0, 0.0)
    assert found.bound == "hbm"


def test_stores_and_loads_count_alike() -> None:
    problem = Problem(1, 1, 1)
    assert floors(H200, problem, Counters(global_load_sectors=9)).l1 == floors(H200, problem, Counters(global_store_sectors=9)).l1
    assert (
        floors(H200, problem, Counters(shared_load_wavefronts=9)).shared
        == floors(H200, problem, Counters(shared_store_wavefronts=9)).shared
    )


def test_ridge_of_an_h200() -> None:
    assert ridge_without_cache(H200) == pytest.approx(66.9e12 / 4.8e12, rel=1e-3)


@pytest.mark.parametrize("key", DEVICES)
def test_conflict_free_operands_for_every_fma_leave_it_bound_by_shared_memory(key: str) -> None:
    """Two words an FMA are two wavefronts for 32 FMAs; in a clock an SM does at most one wavefront, but 64 or 128 FMAs."""
    found = floors(DEVICES[key], Problem(512, 512, 512), Counters(shared_load_wavefronts=2 * 512**3 // 32, fma=512**3))
    assert found.bound == "shared"
