"""The report for people: findings at their lines, carets, calls that were inlined, what was covered, traffic by line."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from tilewise.core.counters import Counters, SiteCounters
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.core.report import Coverage, LaunchCoverage, Report
from tilewise.render.check import render_check, render_lines

TEXT = "__global__ void k(float* y) {\n\tf(y);  // [bold red]\n  y[threadIdx.x + 1] = 1;\n}\n"
HEADER = "__device__ void f(float* y) { y[40] = 2; }\n"
SOURCES = {"k.cu": TEXT, "f.cuh": HEADER}
COVERAGE = Coverage(LaunchCoverage("k", (2, 1, 1), (32, 1, 1), (1, 1, 1), 0), 2, 2, ("optimised", "unoptimised"), ())
INLINED = Place("f.cuh", 1, 33, "f", (Place("k.cu", 2, 2),))


def shown(report: Report) -> list[str]:
    console = Console(file=io.StringIO(), width=100)
    render_check(report, SOURCES, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def finding(*lines: Place, **changes: object) -> Finding:
    return replace(Finding("oob.global.write", "error", "both", "writes y", "guard it", lines), **changes)  # type: ignore[arg-type]


def test_finding_quotes_its_line_with_a_caret_at_its_column() -> None:
    lines = shown(Report((finding(Place("k.cu", 3, 22)),), COVERAGE, None))
    assert lines[0] == "error oob.global.write: writes y"
    assert lines[1] == "  --> k.cu:3:22"
    assert lines[2].endswith("|   y[threadIdx.x + 1] = 1;")
    assert lines[3].index("^") == lines[2].index("=")
    assert "    fix: guard it" in lines


def test_caret_stands_right_behind_a_tab() -> None:
    lines = shown(Report((finding(Place("k.cu", 2, 2)),), COVERAGE, None))
    assert lines[3].index("^") == lines[2].index("f(y)")
    assert "[bold red]" in lines[2]


def test_inlined_calls_are_named_from_the_inside_out() -> None:
    lines = shown(Report((finding(INLINED),), COVERAGE, None))
    assert lines[1] == "  --> f.cuh:1:33 in f"
    assert "y[40] = 2" in lines[2]
    assert lines[4] == "      inlined at k.cu:2:2: f(y);  // [bold red]"


def test_place_at_which_threads_race_with_each_other_is_shown_once() -> None:
    lines = shown(Report((finding(INLINED, INLINED, Place("k.cu", 3, 22)),), COVERAGE, None))
    assert [line for line in lines if "-->" in line] == ["  --> f.cuh:1:33 in f", "  --> k.cu:3:22"]


def test_one_block_is_not_all() -> None:
    one = replace(COVERAGE, launch=replace(COVERAGE.launch, grid=(1, 1, 1)), blocks_run=1, blocks_total=1)
    assert "k: grid 1,1,1, block 32,1,1: its one block, optimised and unoptimised builds" in shown(Report((), one, None))
    assert "k: grid 2,1,1, block 32,1,1: all 2 blocks, optimised and unoptimised builds" in shown(Report((), COVERAGE, None))


def test_build_is_named_where_only_one_has_the_finding_but_for_kinds_judged_once() -> None:
    one = finding(Place("k.cu", 3), build="unoptimised")
    assert shown(Report((one,), COVERAGE, None))[0] == "error oob.global.write (unoptimised build only): writes y"
    for kind in ("perf.traffic", "schedule.difference"):
        alone = replace(one, kind=kind, severity="note", build="optimised")
        assert shown(Report((alone,), COVERAGE, None))[0] == f"note {kind}: writes y"


def test_build_is_not_named_where_no_other_ran() -> None:
    one = finding(Place("k.cu", 3), build="optimised")
    assert shown(Report((one,), replace(COVERAGE, builds=("optimised",)), None))[0] == "error oob.global.write: writes y"


def test_example_threads_and_iteration_are_shown() -> None:
    one = finding(Place("k.cu", 3), threads=((1, 0, 0), (2, 0, 0)), blocks=((0, 0, 0), (1, 0, 0)), iteration=4, count=1200)
    assert "    seen: thread 1,0,0 of block 0,0,0 and thread 2,0,0 of block 1,0,0, iteration 4; 1,200 times" in shown(
        Report((one,), COVERAGE, None)
    )


def test_end_counts_kinds_and_says_what_was_covered() -> None:
    findings = (
        finding(Place("k.cu", 3)),
        finding(Place("k.cu", 2)),
        finding(Place("k.cu", 3), kind="race.benign", severity="note"),
    )
    sampled = replace(COVERAGE, blocks_run=1, unchecked=("1 of 2 blocks ran",), skipped=("the other build",))
    end = shown(Report(findings, sampled, None))[-6:]
    assert [line.split() for line in end[:2]] == [["error", "oob.global.write", "2"], ["note", "race.benign", "1"]]
    assert end[2] == "k: grid 2,1,1, block 32,1,1: 1 of 2 blocks, optimised and unoptimised builds"
    assert end[3:] == ["not checked: 1 of 2 blocks ran", "left out: the other build", "verdict: findings"]


def test_clean_report_is_short_and_nothing_steers_the_terminal() -> None:
    assert shown(Report((), COVERAGE, None, printed="a\x1b[2J\nb\n" * 30)) == [
        *["printed: a[2J", "printed: b"] * 10,
        "and 40 more lines",
        "no findings",
        "k: grid 2,1,1, block 32,1,1: all 2 blocks, optimised and unoptimised builds",
        "verdict: clean",
    ]
    hostile = finding(Place("k.cu\x1b]0;x\x07", 3), message="\x1b[31mred")
    assert not {"\x1b", "\x07"} & set("".join(shown(Report((hostile,), COVERAGE, None))))


def test_sentences_break_between_words_on_a_terminal_and_not_in_a_file() -> None:
    long = finding(Place("k.cu", 3), message=" ".join(["word"] * 30), fix=" ".join(["mend"] * 30))
    console = Console(file=io.StringIO(), width=60, force_terminal=True, color_system=None)
    render_check(Report((long,), COVERAGE, None), SOURCES, console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    words = [line for line in lines if "word" in line]
    assert max(map(len, lines)) <= 60
    assert [line.startswith("    word") for line in words] == [False] + [True] * (len(words) - 1)
    assert all(line.startswith("    ") for line in lines if "mend" in line)
    assert " ".join(long.message.split()) in shown(Report((long,), COVERAGE, None))[0]


def test_lines_keep_their_figures_in_a_narrow_terminal() -> None:
    site = SiteCounters("global", "load", "k.cu", 2, "ld", requests=71400, bytes=8161000, transactions=155000, worst=4)
    source = {"k.cu": f"\n{'sum += a * b; ' * 9}\n"}
    console = Console(file=io.StringIO(), width=80)
    render_lines(Counters(sites=(site,)), source, console)
    assert isinstance(console.file, io.StringIO)
    head, row = [line for line in console.file.getvalue().splitlines() if line.strip()][:2]
    assert head.split() == ["line", "memory", "requested", "share", "requests", "each", "conflict", "source"]
    assert row.split()[:9] == ["2", "global", "8.161", "MB", "100", "%", "71,400", "2.17", "-"]
    assert len(row) <= 80
    assert row.rstrip().endswith("…")


def test_lines_are_ordered_by_what_they_request() -> None:
    sites = (
        SiteCounters("global", "load", "k.cu", 2, "ld", requests=10, bytes=1280, transactions=40, worst=4),
        SiteCounters(
            "shared", "load", "k.cu", 3, "ld", requests=20, bytes=2560, transactions=160, worst=8, worst_conflict_ways=8
        ),
        SiteCounters(
            "shared", "store", "k.cu", 3, "st", requests=10, bytes=1280, transactions=10, worst=1, worst_conflict_ways=1
        ),
    )
    console = Console(file=io.StringIO(), width=100)
    render_lines(Counters(sites=sites), SOURCES, console)
    assert isinstance(console.file, io.StringIO)
    rows = [line.split() for line in console.file.getvalue().splitlines() if line.strip()]
    assert rows[1][:11] == ["3", "shared", "3,840", "B", "75", "%", "30", "5.67", "8", "ways", "y[threadIdx.x"]
    assert rows[2][:9] == ["2", "global", "1,280", "B", "25", "%", "10", "4", "-"]
