"""The ladder from end to end: figures against closed forms of the tilings, on small problems."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import tilewise
from tilewise.cli.main import main
from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch
from tilewise.emu.machine import Emulation, emulate
from tilewise.engine import ladder as engine
from tilewise.engine.row import LadderRow
from tilewise.engine.rung_objects import from_objects
from tilewise.hw.catalog import DEVICES
from tilewise.kernels.ladder import LADDER

KEYS = {
    "rung",
    "m",
    "n",
    "k",
    "layout",
    "tile",
    "variant",
    "on",
    "blocks",
    "sampled_blocks",
    "device",
    "max_relative_error",
    "requested_load_bytes",
    "formula_load_bytes",
    "load_reduction_vs_naive",
    "global_load_requests",
    "global_load_sectors",
    "global_store_sectors",
    "sectors_per_request",
    "shared_load_requests",
    "shared_store_requests",
    "shared_load_wavefronts",
    "shared_store_wavefronts",
    "worst_bank_conflict_ways",
    "shared_words_per_fma",
    "barriers",
    "barriers_per_k_step",
    "fma",
    "registers",
    "shared_bytes",
    "occupancy",
    "occupancy_limiter",
    "arithmetic_intensity_requested",
    "arithmetic_intensity_sectors",
    "ridge_without_cache",
    "floors",
    "bound",
    "seconds",
    "gflops",
}

SIDE = 64
PRODUCTS = SIDE**3


@pytest.fixture(scope="module")
def rows() -> dict[str, LadderRow]:
    return {row.rung: row for row in tilewise.ladder(SIDE)}


def test_json_has_every_key_in_numbers_and_names() -> None:
    command = [sys.executable, "-m", "tilewise", "ladder", str(SIDE), "--json"]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [(row["rung"], row["variant"]) for row in printed] == [(row.name, "") for row in LADDER]
    plans = {row["rung"]: [(one["tile"]["tm"], one["tile"]["tn"], one["variant"]) for one in row["variants"]] for row in printed}
    assert plans == {row.name: [(8, 1, "1-D")] if row.name == "r04" else [] for row in LADDER}
    for row in from_objects(printed):
        assert row.keys() >= KEYS
        assert set(row["tile"]) == {"bm", "bn", "bk", "tm", "tn"}
        assert set(row["floors"]) == {"hbm", "l1", "shared", "fma"}
        assert row["bound"] == max(row["floors"], key=row["floors"].get)
        assert (row["m"], row["n"], row["k"], row["layout"], row["on"], row["device"]) == (64, 64, 64, "rr", "emulator", "h200")
        assert 0 < row["max_relative_error"] < 1e-5
        assert 0 < row["occupancy"] <= 1
        assert row["seconds"] > 0
        assert row["gflops"] == pytest.approx(2 * PRODUCTS / row["seconds"] / 1e9)


def test_naive_rung_touches_a_sector_a_lane(rows: dict[str, LadderRow]) -> None:
    naive = rows["r01"]
    assert naive.requested_load_bytes == naive.formula_load_bytes == 2 * PRODUCTS * 4
    assert naive.global_load_requests == 2 * PRODUCTS // 32
    assert naive.global_load_sectors == PRODUCTS // 32 * (32 + 1)
    assert naive.sectors_per_request == 16.5
    assert naive.load_reduction_vs_naive == 1
    assert (naive.shared_words_per_fma, naive.barriers, naive.barriers_per_k_step, naive.worst_bank_conflict_ways) == (0, 0, 0, 0)


def test_coalesced_rung_touches_five_sectors_for_two_requests(rows: dict[str, LadderRow]) -> None:
    coalesced = rows["r02"]
    assert coalesced.global_load_sectors == PRODUCTS // 32 * (1 + 4)
    assert coalesced.arithmetic_intensity_requested == 0.25
    assert coalesced.arithmetic_intensity_sectors == 2 * PRODUCTS / (PRODUCTS // 32 * 5 * 32)


@pytest.mark.parametrize("side", [8, 16, 32])
def test_requested_bytes_fall_by_the_tiles_side(side: int) -> None:
    (tiled,) = tilewise.ladder(SIDE, rungs=["r03"], tile=side)
    assert tiled.requested_load_bytes == tiled.formula_load_bytes == 2 * PRODUCTS * 4 // side
    assert tiled.load_reduction_vs_naive == side
    assert tiled.arithmetic_intensity_requested == tiled.arithmetic_intensity_sectors == side / 4
    assert tiled.shared_bytes == 2 * side * side * 4
    assert tiled.barriers == (SIDE // side) ** 2 * 2 * (SIDE // side)
    assert tiled.barriers_per_k_step == 2
    assert tiled.shared_words_per_fma == 2
    assert tiled.shared_load_requests == 2 * PRODUCTS // 32
    assert tiled.shared_store_requests == 2 * PRODUCTS // side // 32
    assert tiled.global_store_sectors == SIDE * SIDE * 4 // 32
    assert tiled.fma == PRODUCTS


def test_thread_tile_reads_half_a_shared_word_an_fma_at_most(rows: dict[str, LadderRow]) -> None:
    assert rows["r04"].shared_words_per_fma <= 0.5


def test_floors_are_counts_over_the_devices_rates(rows: dict[str, LadderRow]) -> None:
    tiled, h200 = rows["r03"], DEVICES["h200"]
    clocks = h200.sms * h200.clock_hz
    assert tiled.floors["hbm"] == 3 * SIDE * SIDE * 4 / h200.hbm_bandwidth_bytes_per_s
    assert tiled.floors["fma"] == pytest.approx(PRODUCTS / (h200.fp32_fmas_per_sm_per_clock * clocks))
    sectors, wavefronts = tiled.global_load_sectors + tiled.global_store_sectors, 2 * PRODUCTS // 32 + 2 * PRODUCTS // 32 // 32
    assert tiled.floors["l1"] == pytest.approx(sectors / (h200.l1_sectors_per_sm_per_clock * clocks))
    assert tiled.floors["shared"] == pytest.approx(wavefronts / (h200.shared_wavefronts_per_sm_per_clock * clocks))


def test_device_sets_resources_and_rates() -> None:
    (row,) = tilewise.ladder(SIDE, rungs=["r03"], device="a100-80gb")
    assert row.device == "a100-80gb"
    assert row.ridge_without_cache == pytest.approx(108 * 64 * 2 * 1.41e9 / 2039e9)


@pytest.mark.slow
def test_ragged_rectangles_of_every_layout_are_right() -> None:
    for layout in ("rr", "rc", "cr", "cc"):
        for row in tilewise.ladder(37, 61, 47, layout=layout):
            assert row.correct
            assert row.max_relative_error < 1e-5
            assert (row.m, row.n, row.k, row.layout) == (37, 61, 47, layout)
            assert row.barriers_per_k_step == {"r01": 0, "r02": 0, "r06": 1, "r07": 1}.get(row.rung, 2)


def test_seed_repeats_and_threads_change_no_count() -> None:
    def climb(seed: int, threads: int) -> LadderRow:
        (row,) = tilewise.ladder(96, 80, 72, rungs=["r03"], seed=seed, threads=threads)
        return replace(row, seconds=0, gflops=0)

    assert climb(1, 1) == climb(1, 2)
    assert climb(1, 1).max_relative_error != climb(2, 1).max_relative_error


COUNTS = (
    "requested_load_bytes",
    "global_load_requests",
    "global_load_sectors",
    "global_store_sectors",
    "shared_load_wavefronts",
    "shared_store_wavefronts",
    "barriers",
    "fma",
)


@pytest.mark.parametrize("count", [1, 2, 5, 15])
def test_sample_counts_as_all_blocks_do_where_each_does_the_same(count: int) -> None:
    (full,) = tilewise.ladder(128, 128, 96, rungs=["r03"])
    (sampled,) = tilewise.ladder(128, 128, 96, rungs=["r03"], sample_blocks=count)
    assert (full.blocks, full.sampled_blocks) == (16, None)
    assert (sampled.blocks, sampled.sampled_blocks) == (16, count)
    assert sampled.correct
    assert [getattr(sampled, name) for name in COUNTS] == [getattr(full, name) for name in COUNTS]
    assert sampled.floors == full.floors


def test_sample_of_ragged_sizes_comes_near() -> None:
    (full,) = tilewise.ladder(250, rungs=["r03"])
    (sampled,) = tilewise.ladder(250, rungs=["r03"], sample_blocks=7)
    assert sampled.correct
    assert sampled.requested_load_bytes != full.requested_load_bytes == full.formula_load_bytes
    assert sampled.requested_load_bytes == pytest.approx(full.requested_load_bytes, rel=0.05)


def test_sample_as_large_as_the_grid_is_no_sample() -> None:
    (row,) = tilewise.ladder(64, rungs=["r03"], sample_blocks=4)
    assert (row.blocks, row.sampled_blocks) == (4, None)


def test_wrong_element_of_a_sampled_block_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def emulate_wrongly(launch: Launch, *, threads: int | None = None, blocks: Sequence[int] | None = None) -> Emulation:
        emulation = emulate(launch, threads=threads, blocks=blocks)
        np.asarray(launch.args[2])[-1] += np.float32(1)  # the last element, of the last block
        return emulation

    monkeypatch.setattr(engine, "emulate", emulate_wrongly)
    assert not tilewise.ladder(96, rungs=["r02"], sample_blocks=2)[0].correct
    assert tilewise.ladder(96, rungs=["r02"], sample_blocks=1)[0].correct


def test_device_without_cp_async_climbs_what_it_can() -> None:
    climbed = {row.rung for row in tilewise.ladder(8, device="t4")}
    assert climbed == {row.name for row in LADDER if row.least_compute_capability <= (7, 5)}
    with pytest.raises(TilewiseError, match=r"r06: this rung needs compute capability 8\.0"):
        tilewise.ladder(8, device="t4", rungs=["r06"])


def test_steps_are_told_in_order() -> None:
    steps: list[engine.Step] = []
    tilewise.ladder(1, rungs=["r03", "r01"], progress=steps.append)
    assert [(step.rung, step.stage) for step in steps] == [
        (name, stage) for name in ("r01", "r03") for stage in ("building", "emulating", "checking")
    ]
    assert [step.done for step in steps] == list(range(6))
    assert {step.total for step in steps} == {6}


def test_wrong_result_is_a_finding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def emulate_wrongly(launch: Launch, *, threads: int | None = None, blocks: Sequence[int] | None = None) -> Emulation:
        emulation = emulate(launch, threads=threads, blocks=blocks)
        np.asarray(launch.args[2])[5] += np.float32(1)
        return emulation

    monkeypatch.setattr(engine, "emulate", emulate_wrongly)
    with pytest.raises(SystemExit) as stop:
        main(["ladder", "16", "--rungs", "r02"])
    shown = capsys.readouterr()
    assert stop.value.code == 1
    assert "wrong result: r02" in shown.err
    assert "WRONG RESULT" in shown.out


def test_cache_folder_that_cannot_be_is_said_once_and_done_without() -> None:
    climb = subprocess.run(
        [sys.executable, "-m", "tilewise", "ladder", "8", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TILEWISE_CACHE_DIR": "/proc/no-folder"},
    )
    assert len(json.loads(climb.stdout)) == len(LADDER)
    assert climb.stderr.startswith("tilewise: The cache folder /proc/no-folder cannot be used")
    assert climb.stderr.count("\n") == 1


def test_element_that_a_kernel_leaves_out_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def emulate_nothing(launch: Launch, *, threads: int | None = None, blocks: Sequence[int] | None = None) -> Emulation:
        before = np.asarray(launch.args[2]).copy()
        emulation = emulate(launch, threads=threads, blocks=blocks)
        np.asarray(launch.args[2])[...] = before
        return emulation

    monkeypatch.setattr(engine, "emulate", emulate_nothing)
    (row,) = tilewise.ladder(8, rungs=["r01"])
    assert not row.correct
    assert math.isinf(row.max_relative_error)


def test_sizes_of_other_integer_types_count() -> None:
    (row,) = tilewise.ladder(np.int64(8), rungs=["r01"])
    assert row.m == 8


@pytest.mark.parametrize("sizes", [(0,), (-1,), (1.5,), ("8",), (8, 8), (8, None, 8), (1, 2, 0)])
def test_sizes_that_cannot_be_are_refused(sizes: tuple[object, ...]) -> None:
    with pytest.raises(TilewiseError, match=r"not a whole number of at least 1|two sizes"):
        tilewise.ladder(*sizes)  # type: ignore[arg-type]


def test_no_rungs_are_refused() -> None:
    with pytest.raises(TilewiseError, match="no rung is chosen"):
        tilewise.ladder(8, rungs=[])
