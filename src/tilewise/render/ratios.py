"""A bench's ratios as a picture: a mark a product, with its spread, by suite. SVG and PNG, the same bytes every time.

Draws with matplotlib (the extra `plot`).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewise.engine.results import BenchResult, BenchRow
from tilewise.render.roofline import DOTS_PER_INCH, FAINT, INK, REQUESTED, SECTORS, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_INCHES, WIDTH_INCHES, MARGIN_INCHES = 0.2, 9.0, 1.4


def draw_ratios(result: BenchResult) -> dict[str, bytes]:
    """Return a picture for each peer, as file names with their contents.

    Raises ModuleNotFoundError where matplotlib is missing.
    """
    import matplotlib
    from matplotlib.figure import Figure

    pictures = {}
    with matplotlib.rc_context(STYLE):
        for peer in dict.fromkeys(row.peer for row in result.rows if row.peer):
            rows = [row for row in result.rows if row.peer == peer]
            figure = Figure(figsize=(WIDTH_INCHES, MARGIN_INCHES + ROW_INCHES * len(rows)), dpi=DOTS_PER_INCH)
            _draw(figure, rows, result.device, peer)
            pictures[f"{peer}.svg"] = _save(figure, "svg", {"Date": None})
            pictures[f"{peer}.png"] = _save(figure, "png", {"Software": None})
    return pictures


def _draw(figure: Figure, rows: Sequence[BenchRow], device: str, peer: str) -> None:
    height = MARGIN_INCHES + ROW_INCHES * len(rows)
    axes = figure.add_axes((0.3, 0.7 / height, 0.66, 1 - MARGIN_INCHES / height))
    places = list(range(len(rows)))
    axes.axvline(1, color=INK, linewidth=1)
    for place, row in zip(places, rows, strict=True):
        color = REQUESTED if row.ratio >= 1 else SECTORS
        axes.plot([row.lo, row.hi], [place, place], color=color, linewidth=1.5, alpha=0.5)
        axes.plot(row.ratio, place, "o", color=color, markersize=5)
    axes.set_xscale("log", base=2)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(places, [f"{row.suite}  {row.m} x {row.n} x {row.k} {row.layout}" for row in rows], fontsize=8)
    axes.set_xlabel(f"{peer}'s time over Tilewise's: right of 1 Tilewise is faster; bars hold eight of ten rounds")
    _quieten(axes)
    figure.text(0.03, 1 - 0.3 / height, f"float32 products on the {device}, beside {peer}", fontsize=13, weight="bold", color=INK)


def _quieten(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", color=FAINT, labelcolor=INK, length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)


def _save(figure: Figure, kind: str, metadata: dict[str, Any]) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format=kind, metadata=metadata)
    return data.getvalue()
