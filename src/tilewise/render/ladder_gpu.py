"""The climb on a GPU for people: a line a rung, and where there are counts, the emulator's beside Nsight Compute's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from tilewise.render.terminal import plain
from tilewise.render.units import show_count, show_ratio, show_seconds

if TYPE_CHECKING:
    from rich.console import Console

    from tilewise.engine.gpu_row import CountPair, GpuRow

COUNTS_NOTE = (
    "The emulator counts the program as compiled to PTX, ncu the machine code, in which the assembler may have merged loads. "
    "ncu books as bank conflicts also what other traffic at the banks adds: its wavefronts are shown without them, and with them."
)


def render_ladder_on_gpu(rows: Sequence[GpuRow], console: Console) -> None:
    """Print the rows of one problem."""
    head = rows[0]
    sizes = f"{head.m} x {head.n} x {head.k}"
    console.print(plain(f"C = A B, float32, M x N x K = {sizes}, layout {head.layout}; on the {head.device}", "bold"))
    console.print(plain(f"multiply-adds alone reach {show_ratio(head.fma_peak_tflops)} TFLOP/s here, measured in the same run"))
    console.print(_times(rows))
    console.print(plain("spread: between which times eight of ten rounds lie; max error: relative, against float64"))
    if any(row.counted or row.emulated for row in rows):
        console.print()
        console.print(_counts(rows))
        console.print(plain(COUNTS_NOTE))


def _times(rows: Sequence[GpuRow]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("rung", no_wrap=True)
    for name in ("time", "spread", "TFLOP/s", "% of FMAs", "% of cuBLAS", "occupancy", "limited by", "max error"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cublas = "-" if row.percent_of_cublas is None else show_ratio(row.percent_of_cublas)
        table.add_row(
            plain(f"{row.rung} {row.title} {row.variant}".rstrip()),
            plain(show_seconds(row.seconds)),
            plain(f"{100 * (row.seconds_high - row.seconds_low) / row.seconds:.2f} %"),
            plain(show_ratio(row.tflops)),
            plain(show_ratio(row.percent_of_fma_peak)),
            plain(cublas),
            plain(f"{show_ratio(100 * row.occupancy)} %"),
            plain(row.occupancy_limiter),
            plain(f"{row.max_relative_error:.1e}" if row.correct else "WRONG", "" if row.correct else "bold red"),
        )
    return table


def _counts(rows: Sequence[GpuRow]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("rung", "count"):
        table.add_column(name, no_wrap=True)
    for name in ("emulated", "ncu", "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        for number, pair in enumerate(row.pairs()):
            table.add_row(plain("" if number else row.label), plain(pair.name.replace("_", " ")), *map(plain, _cells(pair)))
    return table


def _cells(pair: CountPair) -> Iterator[str]:
    yield "-" if pair.emulated is None else show_count(pair.emulated)
    if pair.counted is None:
        yield from ("-", "-")
        return
    own = pair.counted - pair.conflicts
    yield show_count(own) + (f" ({show_count(pair.counted)})" if pair.conflicts else "")
    if pair.emulated is None:
        yield "-"
    elif own == pair.emulated:
        yield "none"
    else:
        yield f"{100 * (own / pair.emulated - 1):+.2f} %" if pair.emulated else show_count(own)
