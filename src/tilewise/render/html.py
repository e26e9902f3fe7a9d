"""A report as one page of HTML that needs nothing else: no network, no script.

This is what the page says; page/report.html.jinja is how it is laid out, page/report.css how it looks. Whatever comes from a
kernel or its report goes through Jinja's escaping, and the page's own policy lets a browser load and run nothing but its style.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilewise
from tilewise.checkers.lessons import kind_lessons
from tilewise.core.counters import Request, SiteCounters
from tilewise.core.finding import SEVERITIES, Finding, Severity
from tilewise.core.launch import Dim3
from tilewise.core.place import Place
from tilewise.core.report import Report
from tilewise.render.files import write_whole
from tilewise.render.request_picture import Picture, draw_request
from tilewise.render.units import mark_controls, show_bytes, show_count, show_ratio

PAGE_FOLDER = Path(__file__).parent / "page"
HEAT_STEPS = 9
WHOLE_FILE_LINES = 1500
"""Longer files are shown round the lines that something is said of."""
ROUND_LINES = 8
PTX_NAME = "PTX"
"""Shown where a place names no file."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure of a line, with its share of the largest in its column in steps of HEAT_STEPS."""

    text: str = ""
    heat: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """A link from a line to a finding."""

    number: int
    severity: Severity
    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a source; None as its number is a gap."""

    number: int | None
    text: str = ""
    cells: tuple[Cell, ...] = ()
    marks: tuple[Mark, ...] = ()
    pictures: tuple[tuple[str, Picture], ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """A source with what is said of its lines."""

    number: int
    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A place in words, and the anchor of its line if the page has it."""

    text: str
    anchor: str
    inlined_into: tuple[str, ...] = ()
    code: str = ""


def write_html(report: Report, sources: Mapping[str, str], path: Path) -> None:
    """Write a report to a file as a page.

    `sources` are the texts of files by the names that the report has for them; "" is the PTX, where a place names no file. Raises
    TilewiseError where the file cannot be written.
    """
    write_whole(path, as_html(report, sources).encode())


def as_html(report: Report, sources: Mapping[str, str]) -> str:
    """Return a report as the text of a page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    style = (PAGE_FOLDER / "report.css").read_text(encoding="utf-8")
    environment = Environment(
        loader=FileSystemLoader(PAGE_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"shown": mark_controls, "dim3": _dim3}
    numbers = {name: number for number, name in enumerate(_worth_showing(report, sources))}
    page: dict[str, Any] = {
        "version": tilewise.__version__,
        "style": Markup(style),  # the project's own file, and the page's only text that is not escaped
        "style_hash": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        "report": report,
        "coverage": report.coverage,
        "tally": Counter(finding.severity for finding in report.findings),
        "severities": SEVERITIES[::-1],
        "findings": [
            (finding, [_link(place, numbers, sources) for place in dict.fromkeys(finding.lines)]) for finding in report.findings
        ],
        "lessons": kind_lessons(),
        "totals": _totals(report),
        "files": [_file(number, name, sources[name], report) for name, number in numbers.items()],
    }
    return environment.get_template("report.html.jinja").render(page)


def _dim3(size: Dim3) -> str:
    return " x ".join(map(str, size))


def _worth_showing(report: Report, sources: Mapping[str, str]) -> list[str]:
    """The files that something is said of, that of the first finding first."""
    places = [place for finding in report.findings for line in finding.lines for place in (line, *line.inlined_from)]
    sites = sorted(report.counters.sites if report.counters else (), key=lambda site: -site.transactions)
    named = dict.fromkeys([*(place.file for place in places), *(site.file for site in sites), *sources])
    by_text = {sources[name]: name for name in reversed(named) if name in sources}  # a PTX file has two names
    return [name for name in named if name in sources and by_text[sources[name]] == name]


def _link(place: Place, numbers: Mapping[str, int], sources: Mapping[str, str]) -> Link:
    lines = _lines(sources.get(place.file, ""))
    is_there = place.file in numbers and 0 < place.line <= len(lines)
    anchor = f"s{numbers[place.file]}-{place.line}" if is_there else ""
    return Link(str(place), anchor, tuple(map(str, place.inlined_from)), lines[place.line - 1].strip() if is_there else "")


def _lines(text: str) -> list[str]:
    """Lines as a compiler counts them."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _totals(report: Report) -> list[tuple[str, str]]:
    """The launch's figures, in words."""
    counters = report.counters
    if counters is None:
        return []
    figures = [
        ("requested by loads", show_bytes(counters.requested_load_bytes)),
        ("requested by stores", show_bytes(counters.requested_store_bytes)),
        ("sectors loaded", show_count(counters.global_load_sectors)),
        ("sectors stored", show_count(counters.global_store_sectors)),
        ("shared wavefronts", show_count(counters.shared_load_wavefronts + counters.shared_store_wavefronts)),
        ("worst bank conflict", f"{counters.worst_bank_conflict_ways} ways" if counters.worst_bank_conflict_ways > 1 else "none"),
        ("barriers", show_count(counters.barriers)),
        ("multiply-adds", show_count(counters.fma)),
    ]
    return [(name, text) for name, text in figures if text not in ("0", "0 B")]


# -- sources


COLUMNS = ("global sectors", "a request", "shared wavefronts", "ways")
COLD = (0, 0, 0, 1)
"""Figures that are not hot even where they are their column's largest: one way is no conflict."""


def _figures(sites: Sequence[SiteCounters]) -> tuple[float, ...]:
    """A line's figures, in the order of COLUMNS."""
    outer = [site for site in sites if site.space == "global"]
    inner = [site for site in sites if site.space == "shared"]
    requests = sum(site.requests for site in outer)
    sectors = sum(site.transactions for site in outer)
    ways = max((site.worst_conflict_ways for site in inner), default=0)
    return sectors, sectors / requests if requests else 0, sum(site.transactions for site in inner), ways


def _file(number: int, name: str, text: str, report: Report) -> File:
    sites: dict[int, list[SiteCounters]] = defaultdict(list)
    for site in report.counters.sites if report.counters else ():
        if site.file == name:
            sites[site.line].append(site)
    figures = {line: _figures(there) for line, there in sites.items()}
    most = [max(column) for column in zip(*figures.values(), strict=True)] or [0] * len(COLUMNS)
    used = [index for index, largest in enumerate(most) if largest]
    marks = _marks(name, report.findings)
    lines = _lines(text)
    rows = (
        Row(
            line,
            lines[line - 1],
            tuple(_cell(figures[line][index], most[index], COLD[index]) if line in figures else Cell() for index in used),
            tuple(marks.get(line, ())),
            tuple(_pictures(sites.get(line, ()))),
        )
        if line is not None
        else Row(None)
        for line in _chosen_lines(len(lines), {*marks, *sites})
    )
    return File(number, name or PTX_NAME, tuple(COLUMNS[index] for index in used), tuple(rows))


def _cell(figure: float, most: float, cold: float) -> Cell:
    if not figure:
        return Cell()
    text = show_ratio(figure) if isinstance(figure, float) else show_count(figure)
    return Cell(text, math.ceil(HEAT_STEPS * figure / most) if figure > cold else 0)


def _marks(file: str, findings: Sequence[Finding]) -> dict[int, list[Mark]]:
    """The findings at each line, also those of code that was inlined there."""
    marks: dict[int, list[Mark]] = defaultdict(list)
    for number, finding in enumerate(findings):
        places = [place for line in finding.lines for place in (line, *line.inlined_from)]
        for line in dict.fromkeys(place.line for place in places if place.file == file):
            marks[line].append(Mark(number, finding.severity, finding.kind))
    return marks


def _pictures(sites: Sequence[SiteCounters]) -> Iterator[tuple[str, Picture]]:
    """Pictures of a line's requests, one a pattern: copies of an access, as unrolled loops have them, go elsewhere alike."""
    patterns: dict[object, tuple[SiteCounters, Picture]] = {}
    for site in sites:
        picture = draw_request(site)
        if picture is not None and site.example is not None:
            patterns.setdefault(_pattern(site, site.example), (site, picture))
    for site, picture in patterns.values():
        costs = "wavefronts" if site.space == "shared" else "sectors"
        yield f"{site.space} {site.kind}: {site.example.transactions if site.example else 0} {costs} a request", picture


def _pattern(site: SiteCounters, request: Request) -> object:
    """What is the same for two requests whose lanes stand to each other alike, and which cost the same."""
    first = min((address for address in request.addresses if address is not None), default=0)
    steps = tuple(None if address is None else address - first for address in request.addresses)
    return site.space, site.kind, request.lane_bytes, request.transactions, steps


def _chosen_lines(count: int, said: set[int]) -> Iterator[int | None]:
    """The numbers of the lines to show, None for a gap."""
    if count <= WHOLE_FILE_LINES:
        yield from range(1, count + 1)
        return
    near = sorted({line + step for line in said for step in range(-ROUND_LINES, ROUND_LINES + 1)})
    last = 0
    for line in (line for line in near if 0 < line <= count):
        if line > last + 1:
            yield None
        yield line
        last = line
    if last < count:
        yield None
