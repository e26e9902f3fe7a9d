"""What is read off nvidia-smi and ncu, and made of times: no GPU is needed for that."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.engine.gpu_row import GpuRow
from tilewise.engine.ladder_gpu import read_emulated
from tilewise.gpu.clocks import summarise
from tilewise.gpu.counters import METRICS, ProfiledLaunch, count_launches, parse_table
from tilewise.gpu.timing import Timing, ratios, spread

NCU = json.loads((Path(__file__).parents[2] / "benchmarks" / "results" / "ncu_ladder_h200.json").read_text())
ROW = GpuRow(
    rung="r03",
    title="smem tile",
    variant="",
    m=1024,
    n=1024,
    k=1024,
    layout="rr",
    tile=TilePlan(32, 32, 32),
    on="gpu",
    device="NVIDIA H200",
    correct=True,
    max_relative_error=1e-7,
    registers=32,
    shared_bytes=8192,
    occupancy=1.0,
    occupancy_limiter="warps",
    seconds=2e-4,
    seconds_low=1.9e-4,
    seconds_high=2.1e-4,
    tflops=10.7,
    fma_peak_tflops=61.0,
    percent_of_fma_peak=17.5,
    cublas_seconds=None,
    percent_of_cublas=None,
)


def test_spread_is_the_median_and_the_outer_tenths() -> None:
    found = spread([float(value) for value in range(11)])
    assert (found.median, found.low, found.high) == (5.0, 1.0, 9.0)


def test_spread_of_one_figure_is_that_figure() -> None:
    assert spread([3.0]).low == spread([3.0]).high == 3.0


def test_ratios_compare_rounds_and_not_medians() -> None:
    ours, theirs = Timing((1.0, 2.0, 4.0), 1, "graph"), Timing((2.0, 4.0, 8.0), 1, "graph")
    assert ratios(theirs, ours) == spread([2.0, 2.0, 2.0])


def test_clocks_are_those_of_a_busy_gpu() -> None:
    lines = ["345, 3201, 75.1, 30, 0", "1980, 3201, 600.2, 45, 97", "1900, 3201, 650.0, 47, 100", "torn"]
    figures, samples = summarise("\n".join(lines))
    assert samples == 2
    assert figures["sm_mhz"].median == 1940.0
    assert figures["watts"].median == pytest.approx(625.1)


def test_clocks_that_a_gpu_does_not_tell_are_left_out() -> None:
    figures, _ = summarise("1980, [N/A], [N/A], 40, 50")
    assert set(figures) == {"sm_mhz", "celsius", "percent_busy"}


def test_no_lines_no_clocks() -> None:
    assert summarise("") == ({}, 0)


def test_ncus_table_becomes_launches() -> None:
    metrics = (METRICS["fma"], METRICS["instructions"])
    table = (
        "==PROF== Connected to process 1\n"
        f'"ID","Kernel Name","{METRICS["fma"]}","{METRICS["instructions"]}"\n'
        '"","","inst","inst"\n'
        '"0","gemm(float*)","1,073,741,824","5"\n"1","other","7","6"\n'
    )
    assert parse_table(table, metrics) == [
        ProfiledLaunch("gemm", dict(zip(metrics, (2.0**30, 5.0), strict=True))),
        ProfiledLaunch("other", dict(zip(metrics, (7.0, 6.0), strict=True))),
    ]


def test_without_ncu_the_counters_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(TilewiseError, match=r"ncu is not on the PATH: install Nsight Compute"):
        count_launches(["true"], "^gemm$")


@pytest.fixture
def ncu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A stand-in for ncu on the PATH: lists all metrics, and otherwise does what the file `says` beside it has."""
    script = tmp_path / "ncu"
    listing = "\n".join(sorted({metric.partition(".")[0] for metric in METRICS.values()}))
    script.write_text(f'#!/bin/sh\nif [ "$1" = --query-metrics ]; then echo "{listing}"; exit 0; fi\n. {tmp_path}/says\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    return tmp_path / "says"


def test_counters_that_the_driver_keeps_to_administrators(ncu: Path) -> None:
    ncu.write_text("echo '==ERROR== ERR_NVGPUCTRPERM - no permission'; exit 1\n")
    with pytest.raises(TilewiseError, match=r"does not let this user read the GPU's counters \(ERR_NVGPUCTRPERM\): run as"):
        count_launches(["true"], "^gemm$")


def test_a_command_that_fails_under_ncu_is_quoted(ncu: Path) -> None:
    ncu.write_text("echo 'tilewise: no GPU'; exit 9\n")
    with pytest.raises(TilewiseError, match=r"ncu ended with status 9: tilewise: no GPU"):
        count_launches(["true"], "^gemm$")


def emulated(**changes: Any) -> list[dict[str, Any]]:
    row = {"rung": "r04", "variant": "1-D", "m": 8, "n": 8, "k": 8, "layout": "rr", "on": "emulator", "fma": 512}
    return [{**row, **changes}]


def test_counts_of_another_machine_are_joined_by_label(tmp_path: Path) -> None:
    path = tmp_path / "ladder.json"
    path.write_text(json.dumps([*emulated(), *emulated(rung="r02", variant="")]))
    assert read_emulated(path, Problem(8, 8, 8)) == {"r04 1-D": {"fma": 512}, "r02": {"fma": 512}}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (emulated(k=9), "holds counts of 8 x 8 x 9 rr, and this climb is 8 x 8 x 8 rr"),
        (emulated(on="gpu"), "holds counts of no emulated rung"),
        ([{"rung": "r01"}], "is not what tilewise ladder --json prints"),
        ({"a": 1}, "is not what tilewise ladder --json prints"),
    ],
)
def test_counts_of_another_product_are_refused(tmp_path: Path, rows: Any, message: str) -> None:
    path = tmp_path / "ladder.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(TilewiseError, match=message):
        read_emulated(path, Problem(8, 8, 8))


def test_counts_pair_up_without_what_ncu_books_as_conflicts() -> None:
    counted = next(row["ncu"] for row in NCU["rows"] if row["rung"] == "r03")
    pairs = {pair.name: pair for pair in replace(ROW, counted=counted, emulated={"global_load_sectors": 8_388_608}).pairs()}
    assert pairs["global_load_sectors"].counted == pairs["global_load_sectors"].emulated
    stores = pairs["shared_store_wavefronts"]
    assert stores.counted is not None
    assert stores.counted - stores.conflicts == 2 * 1024**3 // 32 // 32  # two tiles a k-step: 32 words a warp, no conflicts
    assert stores.emulated is None
