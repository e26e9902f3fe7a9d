"""Which findings a report keeps: by kind, by comments in the source, and without what an earlier report has.

    // tilewise-ignore: KIND[, KIND] -- reason          on a finding's line, or on the line above it

A kind may be a pattern, such as perf.*; a reason is required.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from tilewise.checkers.base import kinds
from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.core.report import Report, Suppressed

BASELINE_LIMIT_BYTES = 64 << 20

_COMMENT = re.compile(r"//[ \t]*+tilewise-ignore:(?P<rest>[^\n]*)")
_REST = re.compile(r"(?P<kinds>.*?)\s--\s+(?P<reason>\S.*)")

LEFT_OUT = {"comment": "a comment ignores", "baseline": "the baseline has"}

Comments = dict[int, tuple[tuple[str, ...], str]]
"""Patterns and the reason, by line."""
Sources = Mapping[str, str]
"""The texts of files, by the names that findings have for them."""
Known = tuple[str, tuple[tuple[str, str], ...]]
"""A finding as a baseline has it: its kind, and the name of the file and the text of each line."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What to keep."""

    only: tuple[str, ...] = ()
    """Patterns of kinds; none: all."""
    ignore: tuple[str, ...] = ()
    baseline: Path | None = None


def apply_filters(report: Report, filters: Filters, sources: Sources) -> Report:
    """Return the report without what filters and comments leave out; sentences in its coverage say how many those are.

    Raises TilewiseError for patterns that fit no kind, comments without a reason and baselines that cannot be read.
    """
    for flag, patterns in (("--only", filters.only), ("--ignore", filters.ignore)):
        for pattern in patterns:
            _require_kind(pattern, f"{flag} {pattern!r}", None)
    comments = {name: _read_comments(text, name) for name, text in sources.items()}
    known = Counter(_read_baseline(filters.baseline)) if filters.baseline else Counter[Known]()
    kept: list[Finding] = []
    suppressed: list[Suppressed] = []
    for finding in report.findings:
        if (filters.only and not _fits(finding.kind, filters.only)) or _fits(finding.kind, filters.ignore):
            continue
        reason = next(filter(None, (_reason_to_ignore(finding.kind, place, comments) for place in finding.lines)), None)
        if reason is not None:
            suppressed.append(Suppressed(finding, "comment", reason))
            continue
        key = _as_known(finding, sources)
        if known[key]:
            known[key] -= 1
            suppressed.append(Suppressed(finding, "baseline"))
            continue
        kept.append(finding)
    left_out = Counter(LEFT_OUT[one.by] for one in suppressed)
    sentences = tuple(f"{count} finding{'s' * (count != 1)} that {why}" for why, count in left_out.items())
    coverage = replace(report.coverage, skipped=(*report.coverage.skipped, *sentences))
    return replace(report, findings=tuple(kept), coverage=coverage, suppressed=tuple(suppressed))


def write_baseline(report: Report, path: Path, sources: Sources) -> None:
    """Write a report's findings, with the text of their lines, for a later `--baseline`.

    Raises TilewiseError where the file cannot be written.
    """
    data = report.to_json()
    for finding in data["findings"]:
        for line in finding["lines"]:
            line["text"] = _line_text(Place(line["file"], line["line"]), sources)
    try:
        path.write_text(json.dumps({"verdict": data["verdict"], "findings": data["findings"]}, indent=2) + "\n")
    except OSError as error:
        raise TilewiseError(f"{path} cannot be written: {error.strerror}.") from None


def _fits(kind: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(kind, pattern) for pattern in patterns)


def _require_kind(pattern: str, what: str, where: str | None) -> None:
    known = kinds()
    if not any(fnmatchcase(kind, pattern) for kind in known):
        is_family = any(kind.startswith(f"{pattern}.") for kind in known)
        hint = f" Did you mean {pattern}.*?" if is_family else nearest(pattern, known)
        raise TilewiseError(f"{what} fits no kind of finding.{hint}", where=where)


# -- comments


def _read_comments(text: str, name: str) -> Comments:
    """The patterns that each line's comment states, and its reason."""
    found: Comments = {}
    for number, line in enumerate(text.splitlines(), 1):
        comment = _COMMENT.search(line)
        if comment is None:
            continue
        where = f"{name}:{number}"
        rest = _REST.fullmatch(comment["rest"].strip())
        if rest is None:
            raise TilewiseError(
                "tilewise-ignore without a reason: write such as race.benign -- every thread stores 1.", where=where
            )
        patterns = tuple(pattern.strip() for pattern in rest["kinds"].split(","))
        for pattern in patterns:
            _require_kind(pattern, f"tilewise-ignore: {pattern!r}", where)
        found[number] = patterns, rest["reason"]
    return found


def _reason_to_ignore(kind: str, place: Place, comments: Mapping[str, Comments]) -> str | None:
    for one in (place, *place.inlined_from):
        of_file = comments.get(one.file, {})
        for patterns, reason in (of_file.get(line, ((), "")) for line in (one.line, one.line - 1)):
            if _fits(kind, patterns):
                return reason
    return None


# -- baselines


def _as_known(finding: Finding, sources: Sources) -> Known:
    return finding.kind, tuple((PurePath(place.file).name, _line_text(place, sources)) for place in finding.lines)


def _line_text(place: Place, sources: Sources) -> str:
    """A line without its blanks at both ends; its number where its file is not at hand."""
    lines = sources.get(place.file, "").splitlines()
    return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else f"line {place.line}"


def _read_baseline(path: Path) -> list[Known]:
    try:
        if path.stat().st_size > BASELINE_LIMIT_BYTES:
            raise TilewiseError(f"{path} has more than {BASELINE_LIMIT_BYTES >> 20} MB: give a report of --write-baseline.")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TilewiseError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise TilewiseError(f"{path} is no JSON: give a report of --write-baseline.") from None
    match data:
        case {"findings": [*findings]}:
            return [_known(finding, path) for finding in findings]
        case _:
            raise TilewiseError(f"{path} has no findings: give a report of --write-baseline.")


def _known(finding: Any, path: Path) -> Known:
    match finding:
        case {"kind": str(kind), "lines": [*lines]}:
            return kind, tuple(_known_line(line, path) for line in lines)
        case _:
            raise TilewiseError(f"{path} holds a finding without kind and lines: give a report of --write-baseline.")


def _known_line(line: Any, path: Path) -> tuple[str, str]:
    match line:
        case {"file": str(file), "text": str(text)}:
            return PurePath(file).name, text
        case {"file": str(file), "line": int(number)}:
            return PurePath(file).name, f"line {number}"
        case _:
            raise TilewiseError(f"{path} holds a line without file and text: give a report of --write-baseline.")
