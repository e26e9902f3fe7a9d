"""Draws the README's pictures: docs/ladder.svg and docs/check.svg, what commands print, and docs/roofline.svg, what --save draws.

Roofline and check are the same files every time; the ladder holds the times of this machine's emulator.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tilewise.engine.check_call import check
from tilewise.engine.ladder import ladder
from tilewise.engine.topics.barriers import without_barrier
from tilewise.hw.catalog import device
from tilewise.kernels.ladder import rung
from tilewise.kernels.source import kernel_source
from tilewise.render.check import render_check
from tilewise.render.files import write_whole
from tilewise.render.roofline import draw_roofline
from tilewise.render.terminal import render_ladder

DOCS = Path(__file__).parents[1] / "docs"
SIZE = 512
RUNGS = ["r01", "r02", "r03", "r05", "r07"]
"""What a table of readable width takes."""
WIDTH = 112
CHECKED_SIZE = 64


def main() -> None:
    """Climb, check, and write the pictures."""
    console = _console()
    rows = ladder(SIZE)
    render_ladder([row for row in rows if row.rung in RUNGS], console)
    console.save_svg(str(DOCS / "ladder.svg"), title=f"tilewise ladder {SIZE} --rungs {','.join(RUNGS)}", unique_id="ladder")
    write_whole(DOCS / "roofline.svg", draw_roofline(rows, device("h200"))["roofline.svg"])
    _draw_check()
    print(f"{DOCS} has ladder.svg, roofline.svg and check.svg anew")


def _draw_check() -> None:
    """Draw what check says of r03 without the barrier at the end of its loop."""
    tiled, n = rung("r03"), CHECKED_SIZE
    plan = tiled.default_plan
    source = replace(without_barrier(kernel_source(tiled, plan, "rr"), 1), name=tiled.file)
    arrays = {"A": f"f32[{n},{n}]:normal", "B": f"f32[{n},{n}]:normal", "C": f"f32[{n},{n}]"}
    args = {**arrays, **dict.fromkeys(("M", "N", "K", "lda", "ldb", "ldc"), n)}
    report = check(source, grid=(n // plan.BN, n // plan.BM), block=(plan.BN, plan.BM), args=args, expect="C = A @ B")
    printed = _console()
    render_check(report, {source.name: source.text}, printed)
    console = _console()
    console.print(Text.from_ansi(printed.file.getvalue()))  # type: ignore[attr-defined]  # wrapped, as a terminal does
    title = f"tilewise check {tiled.file} --expect 'C = A @ B', after its second __syncthreads() was taken out"
    console.save_svg(str(DOCS / "check.svg"), title=title, unique_id="check")


def _console() -> Console:
    return Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")


if __name__ == "__main__":
    main()
