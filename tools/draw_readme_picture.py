"""Draws the README's pictures: docs/ladder.svg, what `tilewise ladder` prints, and docs/roofline.svg, what --save draws of it.

The roofline is the same file every time; the ladder holds the times of this machine's emulator.
"""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from tilewise.engine.ladder import ladder
from tilewise.hw.catalog import device
from tilewise.render.files import write_whole
from tilewise.render.roofline import draw_roofline
from tilewise.render.terminal import render_ladder

DOCS = Path(__file__).parents[1] / "docs"
SIZE = 512
RUNGS = ["r01", "r02", "r03", "r05", "r07"]
"""What a table of readable width takes."""
WIDTH = 112


def main() -> None:
    """Climb, and write the pictures."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    rows = ladder(SIZE)
    render_ladder([row for row in rows if row.rung in RUNGS], console)
    console.save_svg(str(DOCS / "ladder.svg"), title=f"tilewise ladder {SIZE} --rungs {','.join(RUNGS)}", unique_id="ladder")
    write_whole(DOCS / "roofline.svg", draw_roofline(rows, device("h200"))["roofline.svg"])
    print(f"{DOCS} has ladder.svg and roofline.svg anew")


if __name__ == "__main__":
    main()
