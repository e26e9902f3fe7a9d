"""A report as SARIF 2.1.0, the format in which code hosts and editors take findings.

Sections named here are those of the standard, SARIF 2.1.0 with errata 01 (OASIS, 2023).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tilewise
from tilewise.checkers.base import kinds
from tilewise.checkers.lessons import kind_lessons
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.core.report import Report
from tilewise.render.files import write_whole
from tilewise.render.source_text import read_sources, source_line
from tilewise.render.units import strip_controls

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""What relative addresses of files start from: the folder that Tilewise ran in."""
FINGERPRINT = "tilewise/v1"
FINGERPRINT_DIGITS = 16

Json = dict[str, Any]


def write_sarif(report: Report, path: Path, sources: Mapping[str, str] | None = None) -> None:
    """Write a report to a file as SARIF.

    `sources` are the texts of the files that findings lie in, by name; without them those in the working folder are read.
    Raises TilewiseError where the file cannot be written.
    """
    folder = Path.cwd()
    log = as_sarif(report, dict(sources) if sources is not None else read_sources(report, folder), folder)
    write_whole(path, (json.dumps(log, indent=2) + "\n").encode())


def as_sarif(report: Report, sources: dict[str, str], folder: Path) -> Json:
    """Return a report as a SARIF log of one run; files inside `folder` are named relative to it."""
    found = sorted({finding.kind for finding in report.findings})
    results, seen = [], Counter[str]()
    for finding in report.findings:
        base = _fingerprint(finding, sources, folder)
        seen[base] += 1
        results.append(_result(finding, found.index(finding.kind), f"{base}:{seen[base]}", folder))
    run = {
        "tool": {"driver": {"name": "tilewise", "version": tilewise.__version__, "rules": [_rule(kind) for kind in found]}},
        "automationDetails": {"id": f"tilewise/{_shown(report.coverage.launch.kernel)}/"},
        "originalUriBaseIds": {ROOT: {"uri": f"{folder.as_uri()}/"}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": results,
        "properties": {"verdict": report.verdict, "coverage": asdict(report.coverage)},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str) -> Json:
    kind, lesson = kinds()[name], kind_lessons()[name]
    text = f"{lesson.finds}\n\n{lesson.why}\n\n{lesson.fix}\n\ntilewise explain {name} shows an example."
    return {
        "id": name,
        "shortDescription": {"text": _escaped(kind.summary)},
        "fullDescription": {"text": _escaped(f"{lesson.finds} {lesson.why}")},
        "help": {"text": _escaped(text)},
        "defaultConfiguration": {"level": kind.severity},
        "properties": {"tags": ["cuda", name.partition(".")[0]]},
    }


def _result(finding: Finding, rule: int, fingerprint: str, folder: Path) -> Json:
    places = list(finding.lines)
    about = ("array", "build", "blocks", "threads", "iteration", "count")
    result: Json = {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": _message(finding) or finding.kind},
        "locations": [_location(places[0], folder)] if places else [],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": {name: getattr(finding, name) for name in about if getattr(finding, name) not in ("", (), None)},
    }
    related = list(_related(places))
    if related:
        located = (_location(place, folder) | {"message": {"text": _escaped(text)}} for place, text in related)
        result["relatedLocations"] = [location | {"id": number} for number, location in enumerate(located)]
    return result


def _related(places: list[Place]) -> Iterator[tuple[Place, str]]:
    """The second line, and for each line the calls that it was inlined from."""
    for index, place in enumerate(places):
        if index:
            yield place, "the other access" if len(places) == 2 else "also here"
        for outer in place.inlined_from:
            yield outer, f"where {place.function} was inlined" if place.function else "where it was inlined"


def _location(place: Place, folder: Path) -> Json:
    """A place; without a file there is no address, and the line is the PTX text's."""
    if not place.file:
        return {"message": {"text": f"PTX line {place.line}"}}
    region: Json = {"startLine": max(place.line, 1)}
    if place.column:
        region["startColumn"] = place.column
    location: Json = {"physicalLocation": {"artifactLocation": _address(place.file, folder), "region": region}}
    if place.function:
        location["logicalLocations"] = [{"name": _shown(place.function), "kind": "function"}]
    return location


def _address(file: str, folder: Path) -> Json:
    """The URI of a file: relative to `folder` inside it, absolute elsewhere."""
    # normpath leaves a leading double slash standing, which in a relative URI would begin a host's name
    path = os.path.normpath(folder / file)
    relative = os.path.relpath(path, folder)
    if Path(relative).parts[:1] == (os.pardir,):
        return {"uri": "file://" + quote(os.fsencode("/" + path.lstrip("/")))}
    return {"uri": quote(os.fsencode(relative)), "uriBaseId": ROOT}


def _fingerprint(finding: Finding, sources: dict[str, str], folder: Path) -> str:
    """The same for a finding of this kind while its files keep their names and its lines their text, wherever they move."""
    parts = [finding.kind]
    for place in finding.lines:
        address = _address(place.file, folder)["uri"] if place.file else ""
        parts += [address, source_line(sources, place) or str(place.line)]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:FINGERPRINT_DIGITS]


def _invocation(report: Report) -> Json:
    said = [("warning", text) for text in report.coverage.unchecked] + [("note", text) for text in report.coverage.skipped]
    return {
        "executionSuccessful": True,
        "toolExecutionNotifications": [{"level": level, "message": {"text": _escaped(text)}} for level, text in said],
    }


def _message(finding: Finding) -> str:
    fix = f"\n\n{finding.fix}" if finding.fix else ""
    return _escaped(finding.message) + _escaped(fix)


def _escaped(text: str) -> str:
    """Plain text for a message: braces begin no placeholder (3.11.5), and a bracket before a parenthesis no link (3.11.6)."""
    lines = "\n".join(_shown(line) for line in text.split("\n"))
    return lines.replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _shown(text: str) -> str:
    """Text without control characters; what is no Unicode (half a surrogate pair) becomes a question mark."""
    return strip_controls(text).encode("utf-8", "replace").decode()
