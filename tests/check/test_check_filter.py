"""What a report keeps: by kind, by comments, by baselines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewise.core.errors import TilewiseError
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.core.report import Coverage, LaunchCoverage, Report
from tilewise.engine.check_filter import Filters, apply_filters, write_baseline

COVERAGE = Coverage(LaunchCoverage("k", (1, 1, 1), (32, 1, 1), (1, 1, 1), 0), 1, 1, ("optimised",), ())
TEXT = "int a;\nint b;\nint c;\n"


def finding(kind: str, *lines: int) -> Finding:
    return Finding(kind, "error", "both", "words", "words", tuple(Place("dir/k.cu", line) for line in lines))


def report(*findings: Finding) -> Report:
    return Report(findings, COVERAGE, None)


def kept(filters: Filters, *findings: Finding, text: str = TEXT) -> list[tuple[str, int]]:
    left = apply_filters(report(*findings), filters, {"dir/k.cu": text}).findings
    return [(one.kind, one.lines[0].line) for one in left]


RACE, BENIGN, PERF = finding("race.shared.raw", 1, 2), finding("race.benign", 2, 2), finding("perf.traffic", 3)


def test_only_and_ignore_take_patterns() -> None:
    assert kept(Filters(only=("race.*",)), RACE, BENIGN, PERF) == [("race.shared.raw", 1), ("race.benign", 2)]
    assert kept(Filters(ignore=("perf.*", "race.benign")), RACE, BENIGN, PERF) == [("race.shared.raw", 1)]
    assert kept(Filters(only=("race.*",), ignore=("race.b*",)), RACE, BENIGN, PERF) == [("race.shared.raw", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "int a;\nint b; // tilewise-ignore: race.benign -- all store 1\n",
        "// tilewise-ignore: perf.x*, race.* -- so\nint b;\n",
    ],
)
def test_comment_ignores_its_line_and_the_next(text: str) -> None:
    text = text.replace("perf.x*", "perf.*")
    left = apply_filters(report(BENIGN, PERF), Filters(), {"dir/k.cu": text})
    assert left.findings == (PERF,)
    assert left.coverage.skipped == ("1 finding that a comment ignores",)


def test_comment_two_lines_above_ignores_nothing() -> None:
    assert kept(Filters(), PERF, text="// tilewise-ignore: perf.traffic -- why\n\nint c;\n") == [("perf.traffic", 3)]


def test_comment_at_the_call_ignores_what_was_inlined() -> None:
    inlined = Finding("misaligned", "error", "both", "", "", (Place("h.cuh", 9, inlined_from=(Place("dir/k.cu", 1),)),))
    assert kept(Filters(), inlined, text="f(); // tilewise-ignore: misaligned -- never here\n") == []


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("race.benign", r"^dir/k\.cu:1: tilewise-ignore without a reason"),
        ("race.benign --", "without a reason"),
        ("race.shared -- family", r"fits no kind of finding\. Did you mean race\.shared\.\*\?"),
        ("race.bening -- typo", r"^dir/k\.cu:1: .*fits no kind of finding\. Did you mean race\.benign"),
    ],
)
def test_comment_that_is_wrong_is_refused(comment: str, message: str) -> None:
    with pytest.raises(TilewiseError, match=message):
        kept(Filters(), text=f"// tilewise-ignore: {comment}\n")


def test_baseline_knows_findings_by_the_text_of_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write_baseline(report(RACE, BENIGN), path, {"dir/k.cu": TEXT})
    filters = Filters(baseline=path)
    moved = "// new\n" + TEXT
    elsewhere = Finding("race.shared.raw", "error", "both", "", "", (Place("other/k.cu", 2), Place("other/k.cu", 3)))
    left = apply_filters(report(elsewhere, BENIGN, PERF), filters, {"other/k.cu": moved, "dir/k.cu": TEXT})
    assert left.findings == (PERF,)
    assert left.coverage.skipped == ("2 findings that the baseline has",)
    assert kept(filters, BENIGN, BENIGN) == [("race.benign", 2)]
    assert kept(filters, RACE, text=TEXT.replace("int b", "long b")) == [("race.shared.raw", 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "has no findings"),
        ('{"findings": [{}]}', "without kind and lines"),
        ('{"findings": [{"kind": "misaligned", "lines": [{"line": 3}]}]}', "without file and text"),
    ],
)
def test_baseline_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(TilewiseError, match=message):
        kept(Filters(baseline=path), RACE)


def test_baseline_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TilewiseError, match="cannot be read"):
        kept(Filters(baseline=tmp_path / "none.json"), RACE)
