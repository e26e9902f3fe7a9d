"""What a thread saw, for people: each source line once, then pass by pass the variables that it read and wrote there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tilewise.render.terminal import GAP, plain
from tilewise.render.units import strip_controls

if TYPE_CHECKING:
    from rich.console import Console

    from tilewise.engine.trace import Number, TracedAccess, TracedStep, TracedValue, TraceReport

BETWEEN = "   "


def render_trace(report: TraceReport, source: str, console: Console, *, registers: bool = False) -> None:
    """Print a report; `source` is the text of its file.

    Registers that hold no variable are shown with `registers`, and where the build knows no variables.
    """
    block, thread = (",".join(map(str, place)) for place in (report.block, report.thread))
    console.print(plain(f"{report.kernel}, block {block}, thread {thread}", "bold"))
    texts = source.splitlines()
    for line in report.lines:
        text = texts[line - 1].strip() if line <= len(texts) else ""
        console.print(plain(f"{report.file or 'PTX'}:{line}: {text}", "cyan"), soft_wrap=True)
    table = Table.grid(padding=(0, GAP, 0, 0))
    for number, steps in enumerate(report.passes, 1):
        table.add_row(
            plain(str(number), "dim"), _show_pass(steps, registers or not report.has_names, several=len(report.lines) > 1)
        )
    console.print(table)
    if not report.passes:
        console.print(plain("the thread does not come here, or does nothing here but branch and wait"))
    if report.ended:
        console.print(plain(report.ended, "yellow"))


def _show_pass(steps: tuple[TracedStep, ...], registers: bool, *, several: bool) -> Text:
    """A pass: what it reads first, then what it does, in order; with several lines, a paragraph each."""
    cells: list[str] = []
    paragraphs = [cells]
    shown: dict[str, Number] = {}
    line = 0
    for step in steps:
        if several and step.line != line:
            line = step.line
            cells = [f"{line}:"]
            paragraphs.append(cells)
        for value in step.reads:
            if (registers or value.is_variable) and shown.get(value.name) != value.value:
                shown[value.name] = value.value
                cells.append(_show_value(value))
        cells += _show_access(step.access) if step.access else ()
        for value in step.writes:
            if (registers or value.is_variable) and shown.get(value.name) != value.value:
                shown[value.name] = value.value
                cells.append(_show_value(value, "<-"))
    return Text("\n".join(strip_controls(BETWEEN.join(paragraph)) for paragraph in paragraphs if paragraph))


def _show_value(value: TracedValue, sign: str = "=") -> str:
    return f"{value.name} {sign} {value.place or _show_number(value.value)}"


def _show_access(access: TracedAccess) -> Iterator[str]:
    values = ", ".join(map(_show_number, access.values))
    yield f"{access.kind} {access.place} = {values}" if values else f"{access.kind} {access.place}"


def _show_number(value: Number) -> str:
    """A number, in hexadecimal if it is so large that it is an address."""
    return f"{value:.6g}" if isinstance(value, float) else hex(value) if value >= 1 << 32 else str(value)
