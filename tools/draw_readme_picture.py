"""Draws docs/ladder.svg, the README's picture: what `tilewise ladder 512` prints in a terminal of 100 columns."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from tilewise.engine.ladder import ladder
from tilewise.render.terminal import render_ladder

PICTURE = Path(__file__).parents[1] / "docs/ladder.svg"
SIZE = 512


def main() -> None:
    """Climb, and write the picture."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    render_ladder(ladder(SIZE, SIZE, SIZE), console)
    console.save_svg(str(PICTURE), title=f"tilewise ladder {SIZE}", unique_id="ladder")
    print(f"{PICTURE} written")


if __name__ == "__main__":
    main()
