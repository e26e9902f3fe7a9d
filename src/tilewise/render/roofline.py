"""The climb as a roofline: every rung at its intensities, under the roofs of a device. SVG and PNG, the same bytes every time.

Draws with matplotlib, which is loaded here and nowhere else (the extra `plot`).
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tilewise.cost.traffic import SECTOR_BYTES
from tilewise.render.placement import Box, place_labels
from tilewise.render.units import show_ratio, strip_controls

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tilewise.engine.row import LadderRow
    from tilewise.hw.device import Device

REQUESTED, CLIMB, SECTORS, INK, ROOF, FAINT = "#0072B2", "#7fb4d6", "#D55E00", "#222222", "#555555", "#9a9a9a"
"""Blue (and a pale one) and vermilion of Okabe and Ito's palette, which colour-blind people tell apart; and greys."""
INCHES, DOTS_PER_INCH = (9.0, 6.0), 150
MARK_PIXELS = 9.0
"""Half of what a mark takes of the picture."""
LABEL_GAP = 17.0
LEFT = 0.085
"""Where axes and words begin, as a part of the picture's width."""
QUIET: dict[str, Any] = {"fontsize": 9.5, "color": ROOF}
CAPTION = (
    "Height is a bound, not a measurement: the product's FLOPs over the largest floor (HBM, L1 sectors, shared-memory\n"
    "wavefronts, FMAs). A blue mark above the HBM roof stands there because caches serve bytes that are requested again."
)
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "tilewise",  # names in the file do not change from run to run
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 10,
    "axes.linewidth": 0.8,
}


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a rung stands: x in FLOP a byte, by its requested bytes and by its sectors; y in FLOP/s."""

    names: tuple[str, ...]
    requested: float
    sectors: float
    bound: float


def draw_roofline(rows: Sequence[LadderRow], device: Device) -> dict[str, bytes]:
    """Return the picture of rows that ran one problem on `device`, as file names with their contents.

    Raises ModuleNotFoundError where matplotlib is missing.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH)
        _draw(figure, rows, device)
        return {"roofline.svg": _save(figure, "svg", {"Date": None}), "roofline.png": _save(figure, "png", {"Software": None})}


def marks(rows: Sequence[LadderRow]) -> list[Mark]:
    """Return where the rungs stand, in their order; neighbours that stand in one place share a mark."""
    found: list[Mark] = []
    for row in rows:
        bound = 2 * row.m * row.n * row.k / max(row.floors.values())
        name = f"{row.rung} {row.title} {row.variant}".rstrip()
        mark = Mark((name,), row.arithmetic_intensity_requested, row.arithmetic_intensity_sectors, bound)
        if found and _same_place(found[-1], mark):
            mark = Mark((*found.pop().names, name), mark.requested, mark.sectors, mark.bound)
        found.append(mark)
    return found


def _same_place(first: Mark, second: Mark) -> bool:
    pairs = ((first.requested, second.requested), (first.sectors, second.sectors), (first.bound, second.bound))
    return all(math.isclose(one, other, rel_tol=0.02) for one, other in pairs)


def _save(figure: Figure, kind: str, metadata: dict[str, Any]) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format=kind, metadata=metadata)
    return data.getvalue()


def _draw(figure: Figure, rows: Sequence[LadderRow], device: Device) -> None:
    found = marks(rows)
    axes = figure.add_axes((LEFT, 0.2, 0.97 - LEFT, 0.66))
    _draw_axes(axes, found, device)
    taken = [*_draw_roofs(axes, device), *_draw_marks(axes, found), *_draw_legend(axes)]
    taken += _name_roofs(axes, device, taken)
    _name_marks(axes, found, taken)
    title = f"Climbing to the ridge of the {strip_controls(device.name)}"
    figure.text(LEFT, 0.94, title, fontsize=15, color=INK, weight="bold")
    figure.text(LEFT, 0.895, _describe_run(rows), fontsize=10.5, color=ROOF)
    figure.text(LEFT, 0.025, CAPTION, fontsize=9, color=ROOF, linespacing=1.4)


def _describe_run(rows: Sequence[LadderRow]) -> str:
    head = rows[0]
    sizes = f"M x N x K = {head.m:,} x {head.n:,} x {head.k:,}"
    sampled = " on sampled blocks" if any(row.sampled_blocks for row in rows) else ""
    return f"C = A B, float32, {sizes}, layout {head.layout}, counted on the emulator{sampled}"


def _draw_axes(axes: Axes, found: Sequence[Mark], device: Device) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    peak, ridge = device.fp32_flops_per_s, device.fp32_flops_per_s / device.hbm_bandwidth_bytes_per_s
    lowest = min(mark.bound for mark in found)
    intensities = [ridge, *(mark.requested for mark in found), *(mark.sectors for mark in found)]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(min(intensities) / 2.2, max(intensities) * 6)
    axes.set_ylim(lowest / 3, peak * 2.4)
    left, right = (math.floor(math.log2(limit)) for limit in axes.get_xlim())
    axes.xaxis.set_major_locator(FixedLocator([2.0**power for power in range(left + 1, right + 1)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value >= 1 else f"1/{1 / value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: show_ratio(value / 1e12)))
    axes.set_xlabel("arithmetic intensity, FLOP a byte of global loads", color=INK, labelpad=6)
    axes.set_ylabel("TFLOP/s at the most", color=INK, labelpad=6)
    axes.grid(which="major", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", color=FAINT, labelcolor=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)


def _draw_roofs(axes: Axes, device: Device) -> Iterator[Box]:
    """Draw what no launch can rise above; yields boxes along the lines and of their names."""
    (left, right), (bottom, _) = axes.get_xlim(), axes.get_ylim()
    peak, bandwidth = device.fp32_flops_per_s, device.hbm_bandwidth_bytes_per_s
    l1_bandwidth = SECTOR_BYTES * device.l1_sectors_per_s
    ridge = peak / bandwidth
    roof = [(left, left * bandwidth), (ridge, peak), (right, peak)]
    l1_roof = [(left, left * l1_bandwidth), (peak / l1_bandwidth, peak)]
    axes.fill_between([x for x, _ in roof], [y for _, y in roof], bottom, color="#f5f5f2", zorder=0)
    axes.plot(*zip(*roof, strict=True), color=ROOF, linewidth=2.2, zorder=2)
    axes.plot(*zip(*l1_roof, strict=True), color=FAINT, linewidth=1.3, linestyle=(0, (5, 3)), zorder=2)
    axes.plot([ridge, ridge], [bottom, peak], color=FAINT, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
    yield from _boxes_along(axes, roof)
    yield from _boxes_along(axes, l1_roof)
    yield from _boxes_along(axes, [(ridge, bottom), (ridge, peak)])


def _draw_marks(axes: Axes, found: Sequence[Mark]) -> Iterator[Box]:
    """Draw the climb; yields the boxes of its marks and along its path."""
    path = [(mark.requested, mark.bound) for mark in found]
    for (x0, y0), (x1, y1) in pairwise(path):
        axes.plot([x0, x1], [y0, y1], color=CLIMB, linewidth=1.8, zorder=3)
        middle = (math.sqrt(x0 * x1), math.sqrt(y0 * y1))
        beyond = ((x0 * x1 * x1) ** (1 / 3), (y0 * y1 * y1) ** (1 / 3))
        axes.annotate("", beyond, middle, arrowprops={"arrowstyle": "-|>", "color": CLIMB, "mutation_scale": 14}, zorder=3)
    for mark in found:
        axes.plot(
            [mark.sectors, mark.requested], [mark.bound] * 2, color=SECTORS, linewidth=1.1, linestyle=(0, (1, 1.5)), zorder=3
        )
    axes.plot(
        [mark.sectors for mark in found],
        [mark.bound for mark in found],
        linestyle="",
        marker="s",
        markersize=11,
        markerfacecolor="none",
        markeredgecolor=SECTORS,
        markeredgewidth=1.8,
        zorder=4,
        label="by sectors of L1, 32 bytes each",
    )
    axes.plot(
        *zip(*path, strict=True),
        linestyle="",
        marker="o",
        markersize=7,
        color=REQUESTED,
        markeredgecolor="white",
        markeredgewidth=0.8,
        zorder=5,
        label="by requested bytes: the climb",
    )
    for mark in found:
        for x in (mark.requested, mark.sectors):
            across, up = axes.transData.transform((x, mark.bound))
            yield Box(across - MARK_PIXELS, up - MARK_PIXELS, across + MARK_PIXELS, up + MARK_PIXELS)
        yield from _boxes_along(axes, [(mark.sectors, mark.bound), (mark.requested, mark.bound)])
    yield from _boxes_along(axes, path)


def _draw_legend(axes: Axes) -> Iterator[Box]:
    legend = axes.legend(loc="upper left", bbox_to_anchor=(0.0, 1.0), frameon=False, labelcolor=INK, handletextpad=0.4)
    yield _box_of(legend)


def _name_roofs(axes: Axes, device: Device, taken: Sequence[Box]) -> Iterator[Box]:
    """Write each roof's name where least of what is taken lies; yields the names' boxes."""
    (left, right), (bottom, _) = axes.get_xlim(), axes.get_ylim()
    peak, bandwidth, l1_bandwidth = (
        device.fp32_flops_per_s,
        device.hbm_bandwidth_bytes_per_s,
        SECTOR_BYTES * device.l1_sectors_per_s,
    )
    ridge = peak / bandwidth
    words = axes.text(ridge * 1.05, bottom * 1.1, f"ridge, {show_ratio(ridge)} FLOP a byte", ha="left", va="bottom", **QUIET)
    if _box_of(words).right > _box_of(axes).right:
        words.set(x=ridge / 1.05, ha="right")
    yield _box_of(words)
    words = axes.text(right / 1.05, peak * 1.13, f"FMA roof, {peak / 1e12:.1f} TFLOP/s", ha="right", va="bottom", **QUIET)
    yield _box_of(words)
    for name, slope in (("HBM roof", bandwidth), ("L1 roof", l1_bandwidth)):
        ends = (max(left, bottom / slope), peak / slope)
        yield from _write_along(axes, f"{name}, {slope / 1e12:.3g} TB/s", ends, slope, taken)


def _write_along(axes: Axes, words: str, ends: tuple[float, float], slope: float, taken: Sequence[Box]) -> Iterator[Box]:
    """Write along a roof y = slope x between two intensities, at its angle, on the side and at the place that are freest."""
    (x0, y0), (x1, y1) = (axes.transData.transform((x, x * slope)) for x in ends)
    length, angle = math.hypot(x1 - x0, y1 - y0), math.atan2(y1 - y0, x1 - x0)
    along, aside = (math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))
    text = axes.text(0, 0, words, rotation_mode="anchor", ha="center", va="center", **QUIET)
    half, height = text.get_window_extent().width / 2, text.get_window_extent().height
    reach = half / length + 0.02
    found: list[tuple[float, int, tuple[float, float], list[Box]]] = []
    for side in (1, -1):
        for place in (0.5, 0.35, 0.65, 0.2, 0.8):
            centre = min(max(place, reach), 1 - reach) * length
            x, y = x0 + centre * along[0] + side * height * aside[0], y0 + centre * along[1] + side * height * aside[1]
            spots = [(x + step * half * along[0] / 4, y + step * half * along[1] / 4) for step in range(-4, 5)]
            boxes = [Box(i - height / 2, j - height / 2, i + height / 2, j + height / 2) for i, j in spots]
            found.append((sum(box.overlap(other) for box in boxes for other in taken), len(found), (x, y), boxes))
    _, _, spot, boxes = min(found)
    text.set_rotation(math.degrees(angle))
    text.set_position(tuple(axes.transData.inverted().transform(spot)))
    yield from boxes


def _name_marks(axes: Axes, found: Sequence[Mark], taken: Sequence[Box]) -> None:
    points = [tuple(axes.transData.transform((mark.requested, mark.bound))) for mark in found]
    labels = [axes.text(0, 0, "\n".join(mark.names), color=INK, weight="bold", linespacing=1.25) for mark in found]
    boxes = [_box_of(label) for label in labels]
    sizes = [(box.right - box.left, box.top - box.bottom) for box in boxes]
    places = place_labels(points, sizes, taken, _box_of(axes), LABEL_GAP)
    to_data = axes.transData.inverted().transform
    for label, (x, y), box in zip(labels, points, places, strict=True):
        label.set_verticalalignment("bottom")
        label.set_multialignment("right" if box.right < x else "left")
        label.set_position(tuple(to_data((box.left, box.bottom))))
        near = (min(max(x, box.left), box.right), min(max(y, box.bottom), box.top))
        if math.dist(near, (x, y)) > 1.5 * LABEL_GAP:
            axes.plot(*zip(to_data((x, y)), to_data(near), strict=True), color=FAINT, linewidth=0.8, zorder=2)


def _box_of(drawn: Any) -> Box:
    extent = drawn.get_window_extent()
    return Box(extent.x0, extent.y0, extent.x1, extent.y1)


def _boxes_along(axes: Axes, points: Sequence[tuple[float, float]], size: float = 5.0) -> Iterator[Box]:
    """Yield boxes of `size` pixels along a path, close enough that nothing slips between them."""
    pixels = [axes.transData.transform(point) for point in points]
    for (x0, y0), (x1, y1) in pairwise(pixels):
        steps = max(1, math.ceil(math.hypot(x1 - x0, y1 - y0) / size))
        for step in range(steps + 1):
            x, y = x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps
            yield Box(x - size / 2, y - size / 2, x + size / 2, y + size / 2)
