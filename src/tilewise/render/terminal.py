"""The ladder as a table for people: a column a rung, figures in groups, and what they mean in words below.

Takes finished rows; knows nothing of how they came about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewise.render.climb import describe_climb
from tilewise.render.units import show_bytes, show_count, show_ratio, show_seconds, strip_controls

if TYPE_CHECKING:
    from tilewise.cost.roofline import Resource
    from tilewise.engine.row import LadderRow
    from tilewise.kernels.ladder import Rung

    Figure = tuple[str, Callable[[LadderRow], str]]

LABEL_WIDTH = 26
COLUMN_WIDTH = 15
GAP = 2
FILE_WIDTH = 110
FLOOR_NAMES: dict[Resource, str] = {"hbm": "HBM bytes", "l1": "L1 sectors", "shared": "shared wavefronts", "fma": "FMAs"}


def render_ladder(rows: Sequence[LadderRow], console: Console, *, tile: int | None = None, left_out: Sequence[Rung] = ()) -> None:
    """Print the rows of one problem as tables as wide as the console, then what they mean in words.

    `tile` is the side of r03's tile where the user chose it: the words then begin with what it does to the requested bytes.
    `left_out` are the rungs that the device cannot run.
    """
    head = rows[0]
    sizes = f"{head.m} x {head.n} x {head.k}"
    console.print(plain(f"C = A B, float32, M x N x K = {sizes}, layout {head.layout}; device {head.device}", "bold"))
    abreast = max(1, (console.width - LABEL_WIDTH) // (COLUMN_WIDTH + GAP))
    for first in range(0, len(rows), abreast):
        console.print(_table(rows[first : first + abreast]))
    console.print()
    words = Table.grid(padding=(0, GAP, 0, 0))
    for topic, sentence in describe_climb(rows, tile, left_out):
        words.add_row(plain(topic, "bold"), plain(sentence))
    console.print(words)


def open_console() -> Console:
    """Return the console on stdout; what is no terminal gets lines of a readable width."""
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, FILE_WIDTH))


def plain(text: str, style: str = "") -> Text:
    """Return text as it stands: no markup, no control characters."""
    return Text(strip_controls(text), style)


def _table(rows: Sequence[LadderRow]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column(width=LABEL_WIDTH, no_wrap=True)
    for row in rows:
        table.add_column(plain(f"{row.rung} {row.title} {row.variant}".rstrip()), justify="right", width=COLUMN_WIDTH)
    for title, figures in GROUPS:
        table.add_row(plain(title.format(device=rows[0].device), "bold cyan"))
        for label, show in figures:
            table.add_row(plain(f"  {label}"), *(plain(show(row), _style(label, row)) for row in rows))
    return table


def _if_shared(show: Callable[[LadderRow], str]) -> Callable[[LadderRow], str]:
    return lambda row: show(row) if row.worst_bank_conflict_ways else "-"


def _conflict(row: LadderRow) -> str:
    return "none" if row.worst_bank_conflict_ways == 1 else f"{row.worst_bank_conflict_ways} ways"


def _blocks(row: LadderRow) -> str:
    return f"{row.sampled_blocks:,} of {row.blocks:,}" if row.sampled_blocks else f"{row.blocks:,}"


def _floor(key: Resource) -> Callable[[LadderRow], str]:
    return lambda row: ("binds  " if row.bound == key else "") + show_seconds(row.floors[key])


def _style(label: str, row: LadderRow) -> str:
    if label == "within tolerance":
        return "green" if row.correct else "bold red"
    return "yellow" if FLOOR_NAMES.get(row.bound) == label else ""


GROUPS: tuple[tuple[str, tuple[Figure, ...]], ...] = (
    (
        "Plan",
        (
            ("block tile BM x BN x BK", lambda row: f"{row.tile.BM} x {row.tile.BN} x {row.tile.BK}"),
            ("thread tile TM x TN", lambda row: f"{row.tile.TM} x {row.tile.TN}"),
            ("blocks", _blocks),
        ),
    ),
    (
        "Result against float64",
        (
            ("max relative error", lambda row: f"{row.max_relative_error:.1e}"),
            ("within tolerance", lambda row: "yes" if row.correct else "NO"),
        ),
    ),
    (
        "Global memory",
        (
            ("requested by loads", lambda row: show_bytes(row.requested_load_bytes)),
            ("by the formula", lambda row: show_bytes(row.formula_load_bytes)),
            ("naive / requested", lambda row: f"{show_ratio(row.load_reduction_vs_naive)} x"),
            ("L1 sectors loaded", lambda row: show_count(row.global_load_sectors)),
            ("sectors a request", lambda row: show_ratio(row.sectors_per_request)),
        ),
    ),
    (
        "Shared memory",
        (
            ("bytes a block", lambda row: f"{row.shared_bytes:,}"),
            ("wavefronts, loads", _if_shared(lambda row: show_count(row.shared_load_wavefronts))),
            ("wavefronts, stores", _if_shared(lambda row: show_count(row.shared_store_wavefronts))),
            ("worst bank conflict", _if_shared(_conflict)),
            ("words an FMA", _if_shared(lambda row: show_ratio(row.shared_words_per_fma))),
            ("barriers a k-step", lambda row: show_ratio(row.barriers_per_k_step)),
        ),
    ),
    (
        "On the {device}",
        (
            ("registers a thread", lambda row: str(row.registers)),
            ("occupancy", lambda row: f"{show_ratio(100 * row.occupancy)} %"),
            ("limited by", lambda row: row.occupancy_limiter),
        ),
    ),
    (
        "FLOP a byte",
        (
            ("requested", lambda row: show_ratio(row.arithmetic_intensity_requested)),
            ("ridge without cache", lambda row: show_ratio(row.ridge_without_cache)),
            ("by L1 sectors", lambda row: show_ratio(row.arithmetic_intensity_sectors)),
        ),
    ),
    ("Least time on the {device}", tuple((name, _floor(key)) for key, name in FLOOR_NAMES.items())),
    (
        "Emulated on this CPU",
        (
            ("time", lambda row: show_seconds(row.seconds)),
            ("GFLOP/s", lambda row: show_ratio(row.gflops)),
        ),
    ),
)
"""The table's groups: a title, then labels with what shows the figure of a row."""
