"""A bench's result for people: a line a product and peer, geometric means, the worst, and what changed since another result."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from tilewise.engine.results import BenchResult, BenchRow, Change, geometric_mean
from tilewise.render.terminal import plain
from tilewise.render.units import show_ratio, show_seconds

if TYPE_CHECKING:
    from rich.text import Text

NEVER_SLOWER = 1.0
EVENTS_MARK = "* "
EVENTS_NOTE = "* timed call by call, since the peer cannot be captured into a graph: what a call costs the host may show"


def render_bench(result: BenchResult, console: Console) -> None:
    """Print the result as a table, then its summary."""
    console.print(plain(result.device, "bold"))
    console.print(plain(", ".join(f"{name} {version}" for name, version in result.versions.items())))
    for line in describe_clocks(result):
        console.print(plain(line))
    console.print(_table(result.rows))
    if any(row.method == "events" for row in result.rows):
        console.print(plain(EVENTS_NOTE))
    console.print()
    for topic, sentence in summarise(result):
        console.print(plain(f"{topic}: {sentence}"))


def render_changes(changes: Sequence[Change], console: Console) -> None:
    """Print how products that two results share changed: the geometric mean and the worst."""
    console.print()
    for sentence in describe_changes(changes):
        console.print(plain(sentence))


def describe_clocks(result: BenchResult) -> Iterator[str]:
    """Yield a line on the clocks under which the result was taken."""
    if not result.clocks:
        yield "clocks unknown: nvidia-smi is missing or tells none"
        return
    words = [
        f"{name} {figure['median']:.0f} ({figure['low']:.0f} to {figure['high']:.0f})" for name, figure in result.clocks.items()
    ]
    yield "while it ran: " + ", ".join(words)


def summarise(result: BenchResult) -> Iterator[tuple[str, str]]:
    """Yield what the ratios to each peer amount to, over all and by suite, and what is wrong."""
    for peer in dict.fromkeys(row.peer for row in result.rows if row.peer):
        rows = [row for row in result.rows if row.peer == peer]
        yield f"of {peer}'s speed", _mean(rows)
        suites = dict.fromkeys(row.suite for row in rows)
        if len(suites) > 1:
            for suite in suites:
                yield f"  {suite}", _mean([row for row in rows if row.suite == suite])
    wrong = [_product(row) for row in result.rows if not row.correct]
    if wrong:
        yield "WRONG", ", ".join(dict.fromkeys(wrong))
    theirs = [f"{row.peer} at {_product(row)}" for row in result.rows if not row.peer_correct]
    if theirs:
        yield "beyond the tolerance too", ", ".join(theirs)


def describe_changes(changes: Sequence[Change]) -> Iterator[str]:
    """Yield sentences on what became faster or slower."""
    if not changes:
        yield "the two results share no product: there is nothing to compare."
        return
    worst = min(changes, key=lambda change: change.speedup)
    mean = geometric_mean([change.speedup for change in changes])
    yield (
        f"time before over time now: {show_ratio(mean)} over {len(changes)} products (geometric mean), the worst "
        f"{show_ratio(worst.speedup)} at {_product(worst.row)} ({worst.before_us:.2f} us before, {worst.row.ours_us:.2f} us now)."
    )


def _mean(rows: Sequence[BenchRow]) -> str:
    worst = min(rows, key=lambda row: row.ratio)
    slower = sum(row.ratio < NEVER_SLOWER for row in rows)
    return (
        f"{show_ratio(geometric_mean([row.ratio for row in rows]))} over {len(rows)} products (geometric mean), the worst "
        f"{show_ratio(worst.ratio)} at {_product(worst)}; slower at {slower}"
    )


def _table(rows: Sequence[BenchRow]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("M x N x K layout", no_wrap=True)
    table.add_column("kernel")  # gives way where the console is narrow
    for name in ("ours", "TFLOP/s", "peer", "its time", "ratio (8 of 10 rounds)"):
        table.add_column(name, justify="right", no_wrap=True)
    for suite, members in itertools.groupby(rows, key=lambda row: row.suite):
        table.add_row(plain(suite, "bold cyan"))
        for row in members:
            table.add_row(*_cells(row))
    return table


def _cells(row: BenchRow) -> Iterator[Text]:
    yield from map(plain, (f"  {_product(row)}", row.kernel.partition(",")[0]))
    yield plain(show_seconds(row.ours_us / 1e6), "" if row.correct else "bold red")
    yield plain(show_ratio(row.tflops))
    if not row.peer:
        yield from map(plain, ("-", "-", "-"))
        return
    yield from map(plain, (row.peer, show_seconds(row.peer_us / 1e6)))
    mark = "" if row.method == "graph" else EVENTS_MARK
    yield plain(f"{mark}{row.ratio:.3f} ({row.lo:.3f} to {row.hi:.3f})", "green" if row.ratio >= NEVER_SLOWER else "yellow")


def _product(row: BenchRow) -> str:
    return f"{row.m} x {row.n} x {row.k} {row.layout}"
