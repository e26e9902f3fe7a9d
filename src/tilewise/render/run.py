"""What a launch did, for people: its arrays in a few figures, its counters, and what went wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from tilewise.render.climb import PTX_NOTE
from tilewise.render.terminal import GAP, plain
from tilewise.render.units import show_bytes, show_count, show_ratio, show_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from tilewise.core.counters import Counters
    from tilewise.engine.array_summary import ArraySummary
    from tilewise.engine.run import RunReport

FIRST_WIDTH = 48


def render_run(report: RunReport, whole: Mapping[str, NDArray[Any]], console: Console) -> None:
    """Print a report, and the arrays of `whole` with all their values."""
    launch = report.launch
    shapes = f"grid {_by(launch.grid)}, block {_by(launch.block)}"
    cluster = "" if launch.cluster == (1, 1, 1) else f", cluster {_by(launch.cluster)}"
    console.print(plain(f"{report.kernel} of {launch.module.name}: {shapes}{cluster}", "bold"))
    for line in report.printed.splitlines():
        console.print(plain(line), soft_wrap=True)
    for fault in report.faults:
        console.print(plain(fault, "bold red"))
    _render_arrays(report, console)
    for name, array in whole.items():
        _render_whole(name, array, console)
    if report.emulation is not None:
        _render_counters(report.emulation.counters, report.emulation.seconds, console)
    for missing in report.missing:
        times = "" if missing.count == 1 else f", {missing.count} times"
        console.print(
            plain(f"not in the emulator, and not reached: {missing.opcode} ({missing.file}:{missing.line}{times})", "yellow")
        )


def _by(sizes: tuple[int, int, int]) -> str:
    """Sizes without those at the end that are 1."""
    shown = list(sizes)
    while len(shown) > 1 and shown[-1] == 1:
        shown.pop()
    return " x ".join(map(str, shown))


# -- arrays


def _render_arrays(report: RunReport, console: Console) -> None:
    written = [array for array in report.arrays if array.written]
    if written:
        table = _table("", "written", "min", "max", "mean", "first values")
        for array in written:
            kind = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
            figures = map(_show_number, (array.least, array.greatest, array.mean))
            table.add_row(*map(plain, (array.name, kind, *figures, _show_first(array))))
        console.print(table)
    if unwritten := [array.name for array in report.arrays if not array.written]:
        console.print(plain(f"unchanged: {', '.join(unwritten)}"))
    for array in written:
        for note in _notes(array):
            console.print(plain(f"{array.name}: {note}", "yellow"))


def _show_first(array: ArraySummary) -> str:
    shown = ""
    for index, value in enumerate(array.first):
        text = f"{shown} {_show_number(value)}" if index else _show_number(value)
        if len(text) > FIRST_WIDTH:
            break
        shown = text
    return shown + (" ..." if math.prod(array.shape) > len(shown.split()) else "")


def _notes(array: ArraySummary) -> Iterator[str]:
    nans = array.nans - array.still_poison
    if array.still_poison:
        yield f"{_elements(array.still_poison, 'holds', 'hold')} what unwritten memory holds"
    if nans > 0:
        yield f"{_elements(nans, 'is', 'are')} NaN"
    if array.infinities:
        yield f"{_elements(array.infinities, 'is', 'are')} infinite"


def _elements(count: int, verb_of_one: str, verb: str) -> str:
    return f"1 element {verb_of_one}" if count == 1 else f"{count:,} elements {verb}"


def _show_number(value: float | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.6g}"


def _render_whole(name: str, array: NDArray[Any], console: Console) -> None:
    import sys

    import numpy as np

    text = np.array2string(array, threshold=sys.maxsize, max_line_width=console.width)
    console.print(plain(f"{name} =", "bold"))
    for line in text.splitlines():
        console.print(plain(line), soft_wrap=True)


# -- counters


def _render_counters(counters: Counters, seconds: float, console: Console) -> None:
    table = _table("", "loads", "stores")
    for label, load, store in _figures(counters):
        table.add_row(plain(label), plain(load), plain(store))
    console.print(table)
    rest = [f"barriers {show_count(counters.barriers)}", f"FMAs {show_count(counters.fma)}"]
    if counters.worst_bank_conflict_ways:
        ways = counters.worst_bank_conflict_ways
        rest.append("no bank conflict" if ways == 1 else f"worst bank conflict {ways} ways")
    console.print(plain(f"{', '.join(rest)}; emulated in {show_seconds(seconds)}"))
    console.print(plain(f"Counts {PTX_NOTE}", "dim"))


def _figures(counters: Counters) -> Iterator[tuple[str, str, str]]:
    """Rows of a label, and what loads and stores did."""
    each = counters
    yield "bytes requested", show_bytes(each.requested_load_bytes), show_bytes(each.requested_store_bytes)
    yield "global requests", show_count(each.global_load_requests), show_count(each.global_store_requests)
    yield "sectors", show_count(each.global_load_sectors), show_count(each.global_store_sectors)
    yield (
        "sectors a request",
        _ratio(each.global_load_sectors, each.global_load_requests),
        _ratio(each.global_store_sectors, each.global_store_requests),
    )
    if each.worst_bank_conflict_ways:
        yield "shared requests", show_count(each.shared_load_requests), show_count(each.shared_store_requests)
        yield "shared wavefronts", show_count(each.shared_load_wavefronts), show_count(each.shared_store_wavefronts)
    if each.shared_async_store_bytes:
        yield "shared bytes of cp.async", "-", show_bytes(each.shared_async_store_bytes)


def _ratio(one: int, other: int) -> str:
    return show_ratio(one / other) if other else "-"


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0))
    for index, column in enumerate(columns):
        table.add_column(plain(column), justify="left" if index < 1 or column in ("written", "first values") else "right")
    return table
