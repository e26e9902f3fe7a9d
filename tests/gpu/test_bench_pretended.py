"""Timing, bench and ladder on a pretended GPU, whose clock goes on by a millisecond a launch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_driver import FakeDriver
from typer.testing import CliRunner

from tilewise.cli.main import app
from tilewise.core.errors import TilewiseError
from tilewise.core.problem import Problem
from tilewise.engine.bench import bench
from tilewise.engine.choice import choose
from tilewise.engine.ladder_gpu import ladder_on_gpu
from tilewise.engine.suites import Shape
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import open_gpu
from tilewise.gpu.timing import Effort, time_interleaved

QUICK = Effort(round_seconds=2e-3, total_seconds=0.01, least_rounds=3, most_rounds=4)


@pytest.fixture(autouse=True)
def small_cache(fake: FakeDriver) -> None:
    """One copy of the operands leaves so small a cache."""
    fake.attributes["L2_CACHE_SIZE"] = 4


def test_every_contestant_goes_through_all_inputs_in_every_round(fake: FakeDriver) -> None:
    calls: dict[str, list[int]] = {"slow": [], "fast": []}

    def work(name: str, seconds: float, stream: int, number: int) -> None:
        if fake._captured is not None:
            raise RuntimeError("not while capturing")
        calls[name].append(number)
        fake.seconds += seconds

    found = time_interleaved(
        open_gpu(0),
        {
            "slow": lambda stream, number: work("slow", 0.02, stream, number),
            "fast": lambda stream, number: work("fast", 0.01, stream, number),
        },
        sets=5,
        effort=QUICK,
    )
    assert set(calls["slow"]) == set(range(5))
    assert found["slow"].calls == 5
    assert len(found["slow"].seconds) == len(found["fast"].seconds) == 3


def test_work_that_cannot_be_captured_is_timed_call_by_call(fake: FakeDriver) -> None:
    def work(stream: int, number: int) -> None:
        if fake._captured is not None:
            raise RuntimeError("operation not permitted when stream is capturing")
        fake.seconds += 0.5

    found = time_interleaved(open_gpu(0), {"x": work}, sets=2, effort=QUICK)["x"]
    assert found.method == "events"
    assert found.spread.median == pytest.approx(0.5)


def test_bench_without_peers_times_ours(fake: FakeDriver) -> None:
    result = bench([Shape("mine", Problem(40, 50, 30, layout="rc"))], vs=[], effort=QUICK, command="x")
    (row,) = result.rows
    assert row.correct
    assert row.ours_us == pytest.approx(1000)
    assert (row.suite, row.m, row.n, row.k, row.layout, row.peer) == ("mine", 40, 50, 30, "rc", "")
    assert result.device == "NVIDIA H200"


def test_bench_tells_a_wrong_kernel(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewise.engine.bench.make_ready", lambda geometries, bits, choose: Spoiled(choose))
    (row,) = bench([Shape("mine", Problem(4, 5, 3))], vs=[], effort=QUICK).rows
    assert not row.correct


class Spoiled:
    """A product that launches nothing: C keeps its poison."""

    def __init__(self, choose: object) -> None:
        from tilewise.engine.rules import rank

        self.prepared = ()
        self.recipe = self
        self.workspace = 0
        self.chosen = (rank(Problem(4, 5, 3), device_of(0)).chosen,)


@pytest.mark.parametrize(("name", "message"), [("cublass", "Did you mean cublas?"), ("numpy", "there is no peer 'numpy'")])
def test_unknown_peers_are_refused(fake: FakeDriver, name: str, message: str) -> None:
    with pytest.raises(TilewiseError) as refused:
        bench([], vs=[name])
    assert message in str(refused.value)


def test_ladder_has_a_row_for_every_plan_with_its_figures(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewise.engine.ladder_gpu.has_cublas", lambda: False)
    monkeypatch.setattr("tilewise.engine.ladder_gpu.PEAK_ROUNDS", 2)
    fake.attributes["MULTIPROCESSOR_COUNT"] = 1
    rungs = ["r02", "r04", "r07"]
    fmas = 2048 * 2 * 256  # threads of an SM, rounds, multiply-adds a round
    told: list[str] = []
    rows = ladder_on_gpu(
        Problem(40, 33, 20),
        rungs=rungs,
        emulated={"r02": {"fma": 5}},
        effort=QUICK,
        progress=lambda text, done, total: told.append(text),
    )
    assert [row.label for row in rows] == [choice.label for choice in choose(rungs, device_of(0))]
    for row in rows:
        assert row.correct
        assert row.seconds == pytest.approx(1e-3)
        assert row.fma_peak_tflops == pytest.approx(2 * fmas / 1e-3 / 1e12)
        assert row.percent_of_fma_peak == pytest.approx(100 * 40 * 33 * 20 / fmas)
        assert row.percent_of_cublas is None
    assert next(row for row in rows if row.label == "r02").emulated == {"fma": 5}
    assert told[-1] == "timing"


def test_command_line_saves_and_compares(fake: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewise.engine.bench.Effort", lambda: QUICK)
    shapes = tmp_path / "shapes.csv"
    shapes.write_text("M,N,K\n20,30,10\n")
    arguments = ["bench", "--shapes", str(shapes), "--vs", ""]
    saved = CliRunner().invoke(app, [*arguments, "--save", str(tmp_path / "out")])
    assert saved.exit_code == 0, saved.output
    stored = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert [(row["m"], row["n"], row["k"]) for row in stored["rows"]] == [(20, 30, 10)]
    compared = CliRunner().invoke(app, [*arguments, "--compare", str(tmp_path / "out")])
    assert "time before over time now: 1 over 1 products" in compared.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "--suite", "odd", "--shapes", "x.csv"], "--suite and --shapes both say what to run"),
        (["ladder", "64", "--on", "gpus"], "--on gpus is no place to run. Did you mean gpu?"),
        (["ladder", "64", "--counters"], "--counters and --emulated belong to --on gpu"),
        (["ladder", "64", "--on", "gpu", "--device", "a100-80gb"], "--device a100-80gb is for the emulator"),
        (["ladder", "64", "--on", "gpu", "--threads", "2"], "--sample-blocks and --threads are for the emulator"),
    ],
)
def test_options_that_do_not_go_together(fake: FakeDriver, arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, TilewiseError)
    assert message in str(result.exception)
