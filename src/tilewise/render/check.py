"""A check's report for people: each finding at its source line, a summary by kind, and what was covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tilewise.core.place import Place
from tilewise.render.climb import PTX_NOTE
from tilewise.render.terminal import GAP, plain
from tilewise.render.units import show_bytes, show_count, show_ratio, strip_controls

if TYPE_CHECKING:
    from rich.console import Console

    from tilewise.core.counters import Counters, SiteCounters
    from tilewise.core.finding import Finding
    from tilewise.core.launch import Dim3
    from tilewise.core.report import Report

STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
VERDICT_STYLES = {"clean": "bold green", "findings": "bold red", "incomplete": "bold yellow"}
JUDGED_ONCE = ("perf.", "schedule.")
"""Kinds that are judged on one build, the optimised one where there is one."""
INDENT = " " * 4
SHOWN_LINES = 8
"""Places of one finding."""
LINE_COLUMNS = ("line", "memory", "requested", "share", "requests", "each", "conflict")
"""Of the table of lines, all but the source, which takes what is left of the width."""
LEAST_SOURCE_WIDTH = 12
SHOWN_PRINTED = 20
"""Lines that the kernel printed."""

Sources = Mapping[str, str]


def render_check(report: Report, sources: Sources, console: Console) -> None:
    """Print a report; `sources` are the texts of files by the names that findings have for them."""
    for finding in report.findings:
        _render_finding(finding, sources, console, several=len(report.coverage.builds) > 1)
    _render_printed(report.printed, console)
    _render_summary(report, console)
    _render_coverage(report, console)
    console.print(plain(f"verdict: {report.verdict}", VERDICT_STYLES[report.verdict]))


# -- one finding


def _render_finding(finding: Finding, sources: Sources, console: Console, *, several: bool) -> None:
    """Print a finding; of `several` builds, the one that alone has it is named."""
    is_of_one = several and finding.build != "both" and not finding.kind.startswith(JUDGED_ONCE)
    build = f" ({finding.build} build only)" if is_of_one else ""
    head = Text()
    head.append(finding.severity, STYLES[finding.severity])
    head.append(strip_controls(f" {finding.kind}{build}: "), "bold")
    head.append(strip_controls(finding.message))
    _print_sentence(head, console, first="")
    places = list(dict.fromkeys(finding.lines))  # two threads may race at one
    for place in places[:SHOWN_LINES]:
        _render_place(place, sources, console)
    if len(places) > SHOWN_LINES:
        console.print(plain(f"    and {len(places) - SHOWN_LINES} more lines"))
    if finding.threads:
        _print_sentence(plain(_who(finding), "dim"), console)
    _print_sentence(plain(f"fix: {finding.fix}", "green"), console)
    console.print()


def _print_sentence(sentence: Text, console: Console, *, first: str = INDENT) -> None:
    """Print a sentence, broken between words where it is a terminal's; a file gets one line, to be searched."""
    lines = sentence.wrap(console, max(1, console.width - len(INDENT))) if console.is_terminal else [sentence]
    for number, line in enumerate(lines):
        console.print(Text(INDENT if number else first) + line, soft_wrap=True)


def _render_place(place: Place, sources: Sources, console: Console) -> None:
    console.print(plain(f"  --> {_where(place)}", "cyan"), soft_wrap=True)
    text = _line(place, sources)
    if text.strip():
        number = f"{place.line:>6} | "
        console.print(plain(f"{number}{text.expandtabs(4)}"), soft_wrap=True)
        if place.column:
            before = strip_controls(text[: place.column - 1].expandtabs(4))
            console.print(plain(f"{' ' * (len(number) - 2)}| {' ' * len(before)}^", "bold"), soft_wrap=True)
    for outer in place.inlined_from:
        console.print(plain(f"      inlined at {_where(outer)}: {_line(outer, sources).strip()}".rstrip(": ")), soft_wrap=True)


def _where(place: Place) -> str:
    column = f":{place.column}" if place.column else ""
    function = f" in {place.function}" if place.function else ""
    return f"{place}{column}{function}"


def _line(place: Place, sources: Sources) -> str:
    lines = sources.get(place.file, "").splitlines()
    return lines[place.line - 1] if 0 < place.line <= len(lines) else ""


def _who(finding: Finding) -> str:
    pairs = zip(finding.threads, finding.blocks, strict=False)
    iteration = f", iteration {finding.iteration}" if finding.iteration is not None and finding.iteration > 1 else ""
    shown = " and ".join(f"thread {_index(thread)} of block {_index(block)}" for thread, block in pairs)
    return f"seen: {shown}{iteration}; {finding.count:,} time{'s' * (finding.count != 1)}"


def _index(index: Dim3) -> str:
    return ",".join(map(str, index))


# -- the end


def _render_printed(text: str, console: Console) -> None:
    lines = text.splitlines()
    for line in lines[:SHOWN_PRINTED]:
        console.print(plain(f"printed: {line}", "dim"), soft_wrap=True)
    if len(lines) > SHOWN_PRINTED:
        console.print(plain(f"and {len(lines) - SHOWN_PRINTED:,} more lines", "dim"))


def _render_summary(report: Report, console: Console) -> None:
    counts = Counter((finding.severity, finding.kind) for finding in report.findings)
    if not counts:
        console.print(plain("no findings", "green"))
        return
    table = Table.grid(padding=(0, GAP, 0, 0))
    for (severity, kind), count in counts.items():
        table.add_row(plain(severity, STYLES[severity]), plain(kind), plain(str(count)))
    console.print(table)


def _render_coverage(report: Report, console: Console) -> None:
    coverage = report.coverage
    launch = coverage.launch
    blocks = f"{coverage.blocks_run:,} of {coverage.blocks_total:,}"
    if coverage.blocks_run == coverage.blocks_total:
        blocks = "its one" if coverage.blocks_total == 1 else f"all {coverage.blocks_total:,}"
    builds = f", {' and '.join(coverage.builds)} build{'s' * (len(coverage.builds) != 1)}" if coverage.builds else ""
    shape = f"grid {_index(launch.grid)}, block {_index(launch.block)}"
    _print_sentence(
        plain(f"{launch.kernel}: {shape}: {blocks} block{'s' * (coverage.blocks_total != 1)}{builds}"), console, first=""
    )
    for sentence in coverage.unchecked:
        _print_sentence(plain(f"not checked: {sentence}", "yellow"), console, first="")
    for sentence in coverage.skipped:
        _print_sentence(plain(f"left out: {sentence}", "dim"), console, first="")


# -- lines


def render_lines(counters: Counters, sources: Sources, console: Console) -> None:
    """Print what each source line asks of memory, the most bytes first."""
    groups: dict[tuple[str, int, str], list[SiteCounters]] = {}
    for site in counters.sites:
        if site.requests:
            groups.setdefault((site.file, site.line, site.space), []).append(site)
    whole = sum(site.bytes for site in counters.sites)
    is_one_file = len({file for file, _, _ in groups}) == 1
    rows = []
    for (file, line, space), sites in sorted(groups.items(), key=lambda item: -sum(site.bytes for site in item[1])):
        where = str(line) if is_one_file else f"{file.rpartition('/')[2] or 'PTX'}:{line}"
        rows.append((where, space, *_figures(space, sites, whole), strip_controls(_line(Place(file, line), sources).strip())))
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0))
    left = console.width
    for column, cells in zip(LINE_COLUMNS, zip(*rows, strict=True), strict=False):
        width = max(map(len, (column, *cells)))
        left -= width + GAP
        table.add_column(plain(column, "bold"), justify="left" if column == "memory" else "right", no_wrap=True, width=width)
    table.add_column(plain("source", "bold"), no_wrap=True, overflow="ellipsis", width=max(left, LEAST_SOURCE_WIDTH))
    for row in rows:
        table.add_row(*map(plain, row))
    console.print()
    console.print(table)
    console.print(plain(f"each: sectors (global) or wavefronts (shared) a request. Counts {PTX_NOTE}", "dim"))


def _figures(space: str, sites: list[SiteCounters], whole: int) -> Iterator[str]:
    requested, requests = sum(site.bytes for site in sites), sum(site.requests for site in sites)
    ways = max(site.worst_conflict_ways for site in sites)
    yield show_bytes(requested)
    yield f"{show_ratio(100 * requested / whole)} %" if whole else "-"
    yield show_count(requests)
    yield show_ratio(sum(site.transactions for site in sites) / requests) if space != "local" else "-"
    yield "-" if space != "shared" else "none" if ways <= 1 else f"{ways} ways"
