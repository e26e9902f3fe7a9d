"""`tilewise explain`: reads what is asked; lessons come from the topics in engine, their looks from render."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from tilewise.core.errors import TilewiseError

DIFFERENT = 1


def explain(
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="A rung, an idea or a kind of finding; none for the list.")
    ] = None,
    m: Annotated[int | None, typer.Option("--m", help="Rows of C.")] = None,
    n: Annotated[int | None, typer.Option("--n", help="Columns of C; as many as rows if left out.")] = None,
    k: Annotated[int | None, typer.Option("--k", help="Columns of A; as many as rows of C if left out.")] = None,
    tile: Annotated[int | None, typer.Option(help="Side S of a square tile: 8, 16 or 32.")] = None,
    thread_tile: Annotated[str | None, typer.Option(metavar="TMxTN", help="Outputs a thread, such as 8x8.")] = None,
    device: Annotated[str, typer.Option(help="The GPU to build for: one of tilewise devices, or a JSON file.")] = "h200",
    threads: Annotated[int | None, typer.Option(help="CPU threads to emulate on, all by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Derive an idea with your numbers and count it on the spot, or say what a kind of finding means."""
    from tilewise.core.lesson import Question, topics_below
    from tilewise.core.lesson import explain as explain_topic
    from tilewise.engine.topics import TOPICS
    from tilewise.hw.device_file import find_device
    from tilewise.render.json import as_json as to_json
    from tilewise.render.lesson import render_lesson, render_topics
    from tilewise.render.terminal import open_console

    listed = list(TOPICS.values()) if topic is None else [] if topic in TOPICS else topics_below(topic)
    if topic is None or listed:
        if as_json:
            print(to_json([{"topic": one.name, "group": one.group, "summary": one.summary} for one in listed]))
        else:
            render_topics(listed, open_console())
        return
    outputs = None if thread_tile is None else parse_thread_tile(thread_tile)
    lesson = explain_topic(topic, Question(find_device(device), m, n, k, tile, outputs, threads))
    if as_json:
        print(to_json(lesson.to_json()))
    else:
        render_lesson(lesson, open_console())
    different = [check.what for check in lesson.checks if not check.holds]
    if different:
        print(f"tilewise: counted otherwise than stated: {', '.join(different)}", file=sys.stderr)
        raise typer.Exit(DIFFERENT)


def parse_thread_tile(text: str) -> tuple[int, int]:
    """Return TM and TN of "8x4", or of "8" for a square.

    Raises TilewiseError for anything else.
    """
    match = re.fullmatch(r"(\d{1,4})(?:\s*x\s*(\d{1,4}))?", text.strip().lower(), re.ASCII)
    if match is None or 0 in (TM := int(match[1]), TN := int(match[2] or match[1])):
        raise TilewiseError(f"thread tile {text!r} is not of the form TMxTN: give two whole numbers, such as 8x8.")
    return TM, TN
