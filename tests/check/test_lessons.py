"""Each kind's lesson: its first kernel has the finding, its second has none; and what `tilewise explain` makes of them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from commanding import Tilewise
from rich.console import Console

from tilewise.checkers.base import kinds
from tilewise.checkers.lessons import KindLesson, kind_lessons, parse_lesson
from tilewise.core.lesson import Question, explain
from tilewise.engine.topics import TOPICS
from tilewise.hw.catalog import device
from tilewise.render.lesson import render_lesson

every_kind = pytest.mark.parametrize("lesson", kind_lessons().values(), ids=lambda lesson: lesson.kind)


def test_every_kind_has_a_lesson_and_no_other() -> None:
    assert list(kind_lessons()) == list(kinds())


@every_kind
def test_bad_kernel_has_the_finding(lesson: KindLesson, tilewise: Tilewise) -> None:
    severity = kinds()[lesson.kind].severity
    report = tilewise.json("check", lesson.path, "--kernel", "bad", *lesson.options, code=int(severity == "error"))
    found = [finding for finding in report["findings"] if finding["kind"] == lesson.kind]
    assert severity in {finding["severity"] for finding in found}, report["findings"]
    last = lesson.path.read_text().partition(lesson.fixed)[0].count("\n")
    lines = [line for finding in found for line in finding["lines"] if line["file"] == str(lesson.path)]
    assert all(line["line"] <= last for line in lines)


@every_kind
def test_fixed_kernel_has_no_finding(lesson: KindLesson, tilewise: Tilewise) -> None:
    report = tilewise.json("check", lesson.path, "--kernel", "fixed", *lesson.options)
    assert (report["findings"], report["coverage"]["unchecked"], report["verdict"]) == ([], [], "clean")


@every_kind
def test_explanation_has_all_of_the_lesson(lesson: KindLesson) -> None:
    console = Console(width=120, file=io.StringIO())
    render_lesson(explain(lesson.kind, Question(device("h200"))), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    words = " ".join(shown.split())
    for text in (lesson.finds, lesson.why, lesson.fix, lesson.bad, lesson.fixed, kinds()[lesson.kind].summary):
        assert " ".join(text.split()) in words
    assert all(len(line) <= 120 for line in shown.splitlines())


def test_prefix_lists_the_kinds_below_it(tilewise: Tilewise) -> None:
    assert [topic["topic"] for topic in tilewise.json("explain", "race")] == [
        kind for kind in kinds() if kind.startswith("race.")
    ]
    shown = tilewise("explain", "race.shared")
    assert "race.shared.war " in shown
    assert "race.global" not in shown


def test_kind_that_is_also_a_prefix_is_explained(tilewise: Tilewise) -> None:
    assert tilewise("explain", "race.global").startswith("race.global (error)")


@pytest.mark.parametrize(("typo", "meant"), [("race.shared.rew", "race.shared.raw"), ("bank_conflict", "perf.bank_conflict")])
def test_typo_is_answered_with_the_nearest_names(typo: str, meant: str, tilewise: Tilewise) -> None:
    assert meant in tilewise("explain", typo, code=2)


def test_kinds_come_after_rungs_and_ideas() -> None:
    groups = [topic.group for topic in TOPICS.values()]
    assert groups == sorted(groups, key=["rungs", "ideas", "findings"].index)


GOOD = kind_lessons()["perf.fp64"].path.read_text()


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("// perf.fp64", "// perf.fp65"),
        GOOD.replace("// Why:", "// Reason:"),
        GOOD.replace("--kernel bad", "--kernel worse"),
        GOOD + "\n" + kind_lessons()["perf.fp64"].fixed,
        "",
    ],
)
def test_file_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"perf\.fp64\.cu"):
        parse_lesson(text, Path("perf.fp64.cu"))
