"""A lesson as text for people: headings, wrapped paragraphs, pictures, equations line by line, and what a run counted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, assert_never

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tilewise.core import lesson
from tilewise.render.terminal import plain
from tilewise.render.units import strip_controls

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

READABLE_WIDTH = 96
"""Columns of running text, however wide the terminal is."""
INDENT = 2
EXACT_DIGITS = 9
"""Of figures that are held against each other."""


def render_lesson(shown: lesson.Lesson, console: Console) -> None:
    """Print a lesson, no wider than the console."""
    width = min(console.width, READABLE_WIDTH)
    console.print(plain(shown.title, "bold"), width=width)
    for kind, parts in groupby(shown.parts, key=type):
        indent = 0 if kind is lesson.Heading else INDENT
        for item in _draw(list(parts), width - indent):
            console.print()
            console.print(Padding(item, (0, 0, 0, indent)), width=width)


def render_topics(topics: Sequence[lesson.Topic], console: Console) -> None:
    """Print the list of topics, group by group."""
    for group, members in groupby(topics, key=lambda topic: topic.group):
        table = Table.grid(padding=(0, 2, 0, 0))
        for topic in members:
            table.add_row(plain(topic.name, "bold"), plain(topic.summary))
        console.print(plain(group, "bold cyan"))
        console.print(Padding(table, (0, 0, 1, INDENT)), width=min(console.width, READABLE_WIDTH))
    console.print("tilewise explain TOPIC explains one; --help lists what can be chosen.")


def _draw(parts: Sequence[lesson.Part], width: int) -> Iterator[RenderableType]:
    """Yield parts of one kind as what rich prints; equations that follow each other stand together."""
    equations = [part for part in parts if isinstance(part, lesson.Equation)]
    if equations:
        yield _equations(equations, width)
    for part in parts:
        match part:
            case lesson.Heading():
                yield plain(part.text, "bold cyan")
            case lesson.Paragraph():
                yield plain(part.text)
            case lesson.Picture():
                yield _picture(part, width)
            case lesson.Table():
                yield _table(part)
            case lesson.Count():
                yield plain(part.run)
                yield _checks(part)
            case lesson.Equation():
                pass
            case _:
                assert_never(part)


def _picture(part: lesson.Picture, width: int) -> Text:
    """A picture as it stands; lines beyond the width go on below, further in."""
    lines: list[str] = []
    for line in map(strip_controls, part.lines):
        lines += textwrap.wrap(line, width, subsequent_indent=" " * 8, drop_whitespace=False) or [""]
    return Text("\n".join(line.rstrip() for line in lines), "green", no_wrap=True)


def _equations(parts: Sequence[lesson.Equation], width: int) -> Table:
    """Equations that follow each other, with their signs in one column: a line each, or a line a form where that is too long."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for _ in range(3):
        table.add_column()
    left = max(len(part.name) for part in parts) + len(" = ")
    for part in parts:
        result = Text.assemble((show_figure(part.value), "bold"), f" {part.unit}".rstrip())
        chain = Text(" = ").join([*map(plain, part.forms), result])
        sides = [chain] if left + len(chain) <= width else [*map(plain, part.forms), result]
        for index, side in enumerate(sides):
            table.add_row(plain(part.name if index == 0 else ""), "=", side)
    return table


def _table(part: lesson.Table) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for index, heading in enumerate(part.header):
        table.add_column(plain(heading), justify="left" if index == 0 else "right", overflow="fold")
    for row in part.rows:
        table.add_row(*map(plain, row))
    return table


def _checks(part: lesson.Count) -> Table:
    first, right, wrong = ("claimed", "held", "NOT HELD") if part.claimed else ("derived", "equal", "DIFFERENT")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("figure", overflow="fold")
    for heading in (first, "counted"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for check in part.checks:
        verdict = plain(right, "green") if check.holds else plain(wrong, "bold red")
        figures = (show_figure(figure, EXACT_DIGITS) for figure in (check.derived, check.counted))
        table.add_row(plain(f"{check.what}, {check.unit}" if check.unit else check.what), *figures, verdict)
    return table


def show_figure(value: int | float, digits: int = 4) -> str:
    """Return a figure: whole numbers in full with their thousands apart, others with so many digits at the most."""
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    return f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.1f}"
