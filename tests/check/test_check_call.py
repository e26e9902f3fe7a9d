"""`tilewise.check` from Python."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import tilewise
from tilewise.cli.check import check as check_command
from tilewise.engine.check import CheckOptions
from tilewise.hw.device_file import find_device

AXPBY = """\
extern "C" __global__ void axpby(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + 1.f;
}
"""
X = np.arange(1000, dtype=np.float32)


def test_correct_kernel_is_clean_and_arrays_stay_as_they_are() -> None:
    y = np.zeros(1000, np.float32)
    report = tilewise.check(AXPBY, grid=4, block=256, args=[X, y, 2.0, 1000], expect="y = a * x + 1")
    assert report.verdict == "clean"
    assert report.findings == ()
    assert report.counters is not None
    assert report.counters.requested_load_bytes == 4000
    assert not y.any()
    report.assert_clean()


def test_names_of_a_mapping_are_those_of_the_report() -> None:
    args = {"input": X, "output": "f32[1000]", "factor": 2.0, "count": 1001}
    report = tilewise.check(AXPBY, grid=4, block=256, args=args)
    assert {(finding.kind, finding.array) for finding in report.findings} == {
        ("oob.global.read", "input"),
        ("oob.global.write", "output"),
    }
    with pytest.raises(AssertionError, match=r"error oob\.global\.write at kernel\.cu:3: writes 4 bytes at byte 4000 of output"):
        report.assert_clean()


def test_module_is_checked_as_it_is() -> None:
    module = tilewise.compile(AXPBY, "mine.cu")
    report = tilewise.check(module, grid=4, block=256, args=[X, "f32[1000]", 2.0, 999])
    (finding,) = report.findings
    assert finding.kind == "unwritten.output"
    assert finding.count == 1
    assert report.coverage.builds == ("optimised",)


def test_limit_is_the_same_from_python_and_from_the_command_line() -> None:
    limits = [inspect.signature(function).parameters["max_instructions"].default for function in (tilewise.check, check_command)]
    stated = Path(__file__).parents[2].joinpath("docs/check.md").read_text()
    assert f"at most {limits[0]:,} warp instructions" in stated
    assert limits == [CheckOptions(find_device("h200")).max_instructions] * 2


def test_limit_can_be_lifted() -> None:
    limited = {
        limit: tilewise.check(AXPBY, grid=4, block=256, args=[X, "f32[1000]", 2.0, 1000], max_instructions=limit)
        for limit in (9, None)
    }
    assert {limit: report.verdict for limit, report in limited.items()} == {9: "incomplete", None: "clean"}


def test_file_states_its_own_launch(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "// tilewise: --grid 4 --block 256 --arg 'x=f32[1000]:normal' --arg 'y=f32[1000]' --arg a=2.0 --arg n=1000\n" + AXPBY
    )
    assert tilewise.check(file, expect="a * x + 1").verdict == "clean"
    assert tilewise.check(str(file), expect="a * x + 2").verdict == "findings"


def test_read_only_array_must_not_be_written() -> None:
    y = np.zeros(1000, np.float32)
    y.flags.writeable = False
    (finding,) = tilewise.check(AXPBY, grid=4, block=256, args=[X, y, 2.0, 1000], build="optimised").findings
    assert finding.kind == "oob.global.write"
    assert "read-only" in finding.message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"args": [X, X, 1.0]}, "takes 4 arguments .* not 3"),
        ({"args": None}, "give all three"),
        ({"grid": "4"}, "grid = '4' is not"),
        ({"kernel": 7}, "kernel is a int"),
        ({"args": [X, X.astype(complex), 1.0, 4]}, "y is of type complex128"),
        ({"expect": "y = sum(x"}, "'\\(' was never closed"),
        ({"name": "axpbz"}, "no kernel 'axpbz'. Did you mean axpby"),
    ],
)
def test_what_does_not_fit_is_a_sentence(changes: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"kernel": AXPBY, "grid": 4, "block": 256, "args": [X, X, 1.0, 1000], **changes}
    with pytest.raises(tilewise.TilewiseError, match=message):
        tilewise.check(given.pop("kernel"), **given)  # type: ignore[arg-type]


def test_array_given_twice_is_one_array() -> None:
    reverse = (
        'extern "C" __global__ void reverse(const float* x, float* y) { y[threadIdx.x] = x[blockDim.x - 1 - threadIdx.x]; }\n'
    )
    apart = tilewise.check(reverse, grid=1, block=100, args=[X, np.zeros(100, np.float32)])
    assert apart.verdict == "clean"
    in_place = tilewise.check(reverse, grid=1, block=100, args=[X, X])
    assert {finding.kind for finding in in_place.findings} == {"race.global"}


def test_copies_of_an_unrolled_load_are_one_finding_an_array_with_their_total() -> None:
    """Each of 64 x 64 outputs asks for 64 elements of A and of B: 4 n^3 bytes of arrays of 4 n^2."""
    product = """\
extern "C" __global__ void mm(const float* A, const float* B, float* C, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll 8
  for (int k = 0; k < 64; k++) sum += A[row * n + k] * B[k * n + column];
  C[row * n + column] = sum;
}
"""
    report = tilewise.check(product, grid=(4, 4), block=(16, 16), args=["f32[64,64]:normal"] * 2 + ["f32[64,64]", 64])
    assert report.counters is not None
    assert sum(site.kind == "load" for site in report.counters.sites) == 16
    traffic = [finding for finding in report.findings if finding.kind == "perf.traffic"]
    assert sorted((finding.array, finding.lines[0].line, finding.count) for finding in traffic) == [("A", 5, 64), ("B", 5, 64)]
    assert all(f"requests {4 * 64**3:,} bytes" in finding.message for finding in traffic)
