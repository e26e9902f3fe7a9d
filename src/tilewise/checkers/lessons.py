"""What each kind of finding means, read from cuda/KIND.cu: a head comment, a kernel that has the fault and one without it.

    // KIND, SEVERITY: one line that says what is wrong
    //
    // Finds: what is reported, and from what it is known
    //
    // Why: what becomes of a kernel that has it
    //
    // Fix: what puts it right
    //
    // Expect: y = 2 * x          (only where a finding needs it: --out and --expect)

    // tilewise: --kernel bad ...
    ...
    // tilewise: --kernel fixed ...

Both kernels can be checked as they stand: `tilewise check cuda/KIND.cu --kernel bad`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from tilewise.core.finding import Severity
from tilewise.core.report import require_severity

LESSONS_FOLDER = Path(__file__).parent / "cuda"

_FIRST = re.compile(r"(?P<kind>[a-z0-9_]+(\.[a-z0-9_]+)*), (?P<severity>[a-z]+): (?P<title>.+)")
_SECTION = re.compile(r"(?P<key>Finds|Why|Fix|Expect): +(?P<text>.+)")
_EXPECT = re.compile(r"(?P<out>\w+) = (?P<expression>.+)")
_BEGINS = re.compile(r"^// tilewise: --kernel (bad|fixed)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class KindLesson:
    """A kind of finding, in words and in two kernels of CUDA."""

    kind: str
    severity: Severity
    """What it is unless a checker has a reason to say otherwise."""
    title: str
    """What is wrong, in one line."""
    finds: str
    why: str
    fix: str
    bad: str
    """A kernel with its launch facts that has it."""
    fixed: str
    """The same kernel without it."""
    path: Path
    """The file that holds both."""
    expect: tuple[str, str] | None = None
    """The array to compare and what it should equal, where the finding needs that."""


@functools.cache
def kind_lessons() -> dict[str, KindLesson]:
    """Return the lessons by kind, in the order of their names."""
    found = map(_read, sorted(LESSONS_FOLDER.glob("*.cu")))
    return {lesson.kind: lesson for lesson in found}


def _read(path: Path) -> KindLesson:
    lesson = parse_lesson(path.read_text(encoding="utf-8"), path)
    if lesson.kind != path.stem:
        raise ValueError(f"{path} explains {lesson.kind}")
    return lesson


def parse_lesson(text: str, path: Path) -> KindLesson:
    """Return the lesson that a file's text holds. Raises ValueError for a text of another form."""
    comment = takewhile(lambda line: line.startswith("//"), text.splitlines())
    first, *rest = [line.removeprefix("//").strip() for line in comment] or [""]
    head = _FIRST.fullmatch(first)
    sections = _sections(rest)
    begins = list(_BEGINS.finditer(text))
    if head is None or not {"Finds", "Why", "Fix"} <= sections.keys() or [one[1] for one in begins] != ["bad", "fixed"]:
        raise ValueError(f"{path} does not begin as a lesson does, or has no kernels bad and fixed: {first!r}")
    expect = _EXPECT.fullmatch(sections["Expect"]) if "Expect" in sections else None
    return KindLesson(
        kind=head["kind"],
        severity=require_severity(head["severity"]),
        title=head["title"],
        finds=sections["Finds"],
        why=sections["Why"],
        fix=sections["Fix"],
        bad=text[begins[0].start() : begins[1].start()].strip(),
        fixed=text[begins[1].start() :].strip(),
        path=path,
        expect=(expect["out"], expect["expression"]) if expect else None,
    )


def _sections(lines: list[str]) -> dict[str, str]:
    """The sections of a head comment, each as one line."""
    found: dict[str, str] = {}
    key = ""
    for line in lines:
        section = _SECTION.fullmatch(line)
        if section:
            key = section["key"]
            found[key] = section["text"]
        elif key and line:
            found[key] += f" {line}"
    return found
