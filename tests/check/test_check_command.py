"""`tilewise check` on the command line: verdicts, exit codes, what is printed."""

from __future__ import annotations

import json
import re

import pytest
from commanding import Tilewise, Write

from tilewise.cli.main import main

AXPBY = """\
// tilewise: --grid 4 --block 256 --arg 'x=f32[1000]:normal' --arg 'y=f32[1000]' --arg a=2.0 --arg n=1000
extern "C" __global__ void axpby(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + 1.f;
}
"""
UNGUARDED = AXPBY.replace("if (i < n) y[i] = a * x[i]", "float v = i < n ? x[i] : 0.f; y[i] = a * v")


def test_correct_kernel_is_clean_in_both_builds(tilewise: Tilewise, write: Write) -> None:
    report = tilewise.json("check", write(AXPBY), "--expect", "y = a * x + 1")
    assert report["verdict"] == "clean"
    assert report["findings"] == []
    coverage = report["coverage"]
    assert coverage["launch"]["kernel"] == "axpby"
    assert (coverage["blocks_run"], coverage["blocks_total"]) == (4, 4)
    assert coverage["builds"] == ["optimised", "unoptimised"]
    assert coverage["unchecked"] == []
    assert report["counters"]["requested_store_bytes"] == 4000


def test_store_past_an_array_is_a_finding_at_its_line(tilewise: Tilewise, write: Write) -> None:
    file = write(UNGUARDED)
    (finding,) = tilewise.json("check", file, code=1)["findings"]
    assert (finding["kind"], finding["severity"], finding["build"], finding["array"]) == (
        "oob.global.write",
        "error",
        "both",
        "y",
    )
    assert [(line["file"], line["line"]) for line in finding["lines"]] == [(str(file), 4)]
    assert (finding["blocks"], finding["threads"]) == ([[3, 0, 0]], [[232, 0, 0]])
    assert finding["count"] == 24
    shown = tilewise("check", file, code=1)
    assert re.search(r"error oob\.global\.write: writes 4 bytes at byte 4000 of y", shown)
    assert "float v = i < n" in shown
    assert "verdict: findings" in shown


def test_wrong_result_says_where_it_differs(tilewise: Tilewise, write: Write) -> None:
    (finding,) = tilewise.json("check", write(AXPBY), "--expect", "y = a * x + where(arange(n) == 7, 2, 1)", code=1)["findings"]
    assert finding["kind"] == "wrong.result"
    assert finding["count"] == 1
    assert "y[7]" in finding["message"]


def test_exit_code_follows_the_least_severity_that_counts(tilewise: Tilewise, write: Write) -> None:
    rows = write(AXPBY.replace("axpby(const", "k(const").replace("x[i]", "x[(i * 37) % n]"))
    assert [finding["kind"] for finding in tilewise.json("check", rows)["findings"]] == ["perf.uncoalesced"]
    tilewise("check", rows, "--fail-on", "warning", code=1)
    tilewise("check", rows, "--fail-on", "warning", "--ignore", "perf.*")


def test_sampled_blocks_make_it_incomplete(tilewise: Tilewise, write: Write) -> None:
    report = tilewise.json("check", write(AXPBY), "--sample-blocks", "2", code=2)
    assert report["verdict"] == "incomplete"
    assert (report["coverage"]["blocks_run"], report["coverage"]["blocks_total"]) == (2, 4)


def test_launch_that_no_gpu_takes_is_not_run(tilewise: Tilewise, write: Write) -> None:
    report = tilewise.json("check", write(AXPBY), "--block", "1056", code=1)
    assert [finding["kind"] for finding in report["findings"]] == ["launch.threads"]
    assert report["coverage"]["blocks_run"] == 0
    empty = tilewise.json("check", write(AXPBY), "--grid", "n/1024", code=1)
    assert [finding["kind"] for finding in empty["findings"]] == ["launch.grid"]


def test_file_without_a_launch_is_listed(tilewise: Tilewise, write: Write) -> None:
    file = write(AXPBY.split("\n", 1)[1])
    assert f"tilewise check {file} --grid 1" in tilewise("check", file, code=2)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--expect", "y = a * z"], "no argument is called z"),
        (["--expect", "y = x.real"], "expected names, numbers"),
        (["--build", "fast"], "--build 'fast' is unknown"),
        (["--ignore", "race.shard"], "fits no kind of finding. Did you mean"),
        (["--schedules", "0"], "at least 1"),
        (["--fail-on", "fatal"], "severity 'fatal' is unknown"),
    ],
)
def test_bad_input_is_a_sentence(tilewise: Tilewise, write: Write, flags: list[str], message: str) -> None:
    assert message in tilewise("check", write(AXPBY), *flags, code=2)


SCAN = """\
// tilewise: --grid 1 --block 256 --arg x=f32[512]:normal --arg y=f32[512]
extern "C" __global__ void scan(const float* x, float* y) {
  __shared__ float t[512];
  const int i = threadIdx.x;
  t[2 * i] = x[2 * i], t[2 * i + 1] = x[2 * i + 1];
  int o = 1;
  for (int d = 256; d > 0; d /= 2, o *= 2) {
    __syncthreads();
    if (i < d) t[o * (2 * i + 2) - 1] += t[o * (2 * i + 1) - 1];
  }
  if (i == 0) t[511] = 0;
  for (int d = 1; d < 512; d *= 2) {
    o /= 2;
    __syncthreads();
    if (i >= d) continue;
    const int a = o * (2 * i + 1) - 1, b = o * (2 * i + 2) - 1;
    const float v = t[a];
    t[a] = t[b], t[b] += v;
  }
  y[2 * i] = t[2 * i], y[2 * i + 1] = t[2 * i + 1];
}
"""


def test_shared_addresses_whose_base_lies_below_zero_are_looked_at_where_they_are(tilewise: Tilewise, write: Write) -> None:
    assert tilewise.json("check", write(SCAN), "--expect", "y = cumsum(x) - x", "--ignore", "perf.*")["findings"] == []
    racing = SCAN.replace("o /= 2;\n    __syncthreads();", "o /= 2;")
    findings = tilewise.json("check", write(racing), "--only", "race.*", code=1)["findings"]
    assert {"race.shared.warp", "race.shared.raw"} <= {finding["kind"] for finding in findings}


HEAVY = """\
// tilewise: --grid 64 --block 32 --arg x=f32[32]:zeros
extern "C" __global__ void heavy(float* x) {
  for (int i = 0; i < 2000; ++i) x[threadIdx.x] += i;
}
"""


def test_long_check_says_what_it_does_off_a_terminal(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks race, so that every access is watched: that takes longer than the pauses."""
    monkeypatch.setattr("tilewise.render.progress.SAID_AFTER_S", 0.02)
    monkeypatch.setattr("tilewise.render.progress.SAID_EVERY_S", 0.02)
    with pytest.raises(SystemExit):
        main(["check", str(write(HEAVY)), "--json"])
    shown = capsys.readouterr()
    assert json.loads(shown.out)["verdict"] == "findings"
    said = re.findall(r"^tilewise: the \w+ build: watching every access, at block (\d+) of 64$", shown.err, re.MULTILINE)
    assert said
    assert all(1 <= int(block) <= 64 for block in said)
