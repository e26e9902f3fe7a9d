"""`explain race.shared.raw` and its like: what a kind of finding is, why it matters, a kernel with it and one without."""

from __future__ import annotations

from functools import partial

from tilewise.checkers.base import Kind, kinds
from tilewise.checkers.lessons import kind_lessons
from tilewise.core.lesson import Heading, Lesson, Paragraph, Part, Picture, Question, Topic, register


def explain_kind(kind: Kind, question: Question) -> Lesson:  # the same whatever is asked
    """Return what a kind of finding is, with its two kernels and the command that checks them."""
    lesson = kind_lessons()[kind.name]
    bad = f"{lesson.shared}\n\n{lesson.bad}" if lesson.shared else lesson.bad
    parts: tuple[Part, ...] = (
        Heading("What it finds"),
        Paragraph(lesson.finds),
        Heading("Why it matters"),
        Paragraph(lesson.why),
        Heading("A kernel that has it"),
        Picture(tuple(bad.splitlines())),
        Paragraph(f"Check it: {lesson.command('bad')}"),
        Heading("And one that does not"),
        Picture(tuple(lesson.fixed.splitlines())),
        Heading("What puts it right"),
        Paragraph(lesson.fix),
    )
    return Lesson(kind.name, f"{kind.name} ({kind.severity}): {kind.summary}", parts)


for _kind in kinds().values():
    register(Topic(_kind.name, _kind.summary, "findings", frozenset(), partial(explain_kind, _kind)))
