"""A report as SARIF 2.1.0, the format in which code hosts and editors take findings.

Sections named here are those of the standard, SARIF 2.1.0 with errata 01 (OASIS, 2023).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tilewise
from tilewise.checkers.base import kinds
from tilewise.checkers.lessons import kind_lessons
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.core.report import Report, Suppressed
from tilewise.render.files import write_whole
from tilewise.render.source_text import read_sources, source_line
from tilewise.render.units import strip_controls

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""What relative addresses of files start from: the folder that Tilewise ran in."""
FINGERPRINT = "tilewise/v1"
FINGERPRINT_DIGITS = 16

Json = dict[str, Any]


def write_sarif(report: Report, path: Path, sources: Mapping[str, str] | None = None, kernel_file: Path | None = None) -> None:
    """Write a report to a file as SARIF.

    `sources` are the texts of the files that findings lie in, by name; without them those in the working folder are read.
    `kernel_file` is where a finding without a line belongs; where that is PTX, so are lines without a file. Raises TilewiseError
    where the file cannot be written.
    """
    folder = Path.cwd()
    texts = dict(sources) if sources is not None else read_sources(report, folder)
    log = as_sarif(report, texts, folder, kernel_file)
    write_whole(path, (json.dumps(log, indent=2) + "\n").encode())


def as_sarif(report: Report, sources: dict[str, str], folder: Path, kernel_file: Path | None = None) -> Json:
    """Return a report as a SARIF log of one run; files inside `folder` are named relative to it."""
    places = _Places(folder, kernel_file)
    all_findings = [*report.findings, *(one.finding for one in report.suppressed)]
    found = sorted({finding.kind for finding in all_findings})
    seen = Counter[str]()
    results = []
    for finding in all_findings:
        base = _fingerprint(finding, sources, places)
        seen[base] += 1
        results.append(_result(finding, found.index(finding.kind), f"{base}:{seen[base]}", places))
    for result, one in zip(results[len(report.findings) :], report.suppressed, strict=True):
        result["suppressions"] = [_suppression(one)]
    of_file = f"{places.address(str(kernel_file))['uri']}/" if kernel_file else ""
    run = {
        "tool": {"driver": {"name": "tilewise", "version": tilewise.__version__, "rules": [_rule(kind) for kind in found]}},
        "automationDetails": {"id": f"tilewise/{of_file}{_shown(report.coverage.launch.kernel)}/"},
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


def _suppression(one: Suppressed) -> Json:
    if one.by == "baseline":
        return {"kind": "external", "justification": "The baseline has it."}
    return {"kind": "inSource", "justification": _shown(one.reason)}


def _result(finding: Finding, rule: int, fingerprint: str, places: _Places) -> Json:
    about = ("array", "build", "blocks", "threads", "iteration", "count")
    result: Json = {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": _message(finding) or finding.kind},
        "locations": [places.location(finding.lines[0])] if finding.lines else places.whole_file(),
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": {name: getattr(finding, name) for name in about if getattr(finding, name) not in ("", (), None)},
    }
    related = list(_related(finding.lines))
    if related:
        located = (places.location(place) | {"message": {"text": _escaped(text)}} for place, text in related)
        result["relatedLocations"] = [location | {"id": number} for number, location in enumerate(located)]
    return result


def _related(places: Sequence[Place]) -> Iterator[tuple[Place, str]]:
    """The second line, and for each line the calls that it was inlined from."""
    for index, place in enumerate(places):
        if index:
            yield place, "the other access" if len(places) == 2 else "also here"
        for outer in place.inlined_from:
            yield outer, f"where {place.function} was inlined" if place.function else "where it was inlined"


@dataclass(frozen=True, slots=True)
class _Places:
    """Turns places into locations: addresses relative to `folder` for files inside it."""

    folder: Path
    kernel_file: Path | None

    def location(self, place: Place) -> Json:
        """A place; the line of a PTX text that is no file has no address."""
        is_ptx_file = self.kernel_file is not None and self.kernel_file.suffix == ".ptx"
        if not place.file and not is_ptx_file:
            somewhere = self.whole_file() or [{}]
            return somewhere[0] | {"message": {"text": f"PTX line {place.line}"}}
        region: Json = {"startLine": max(place.line, 1)}
        if place.column:
            region["startColumn"] = place.column
        address = self.address(place.file or str(self.kernel_file))
        location: Json = {"physicalLocation": {"artifactLocation": address, "region": region}}
        if place.function:
            location["logicalLocations"] = [{"name": _shown(place.function), "kind": "function"}]
        return location

    def whole_file(self) -> list[Json]:
        """Where a finding stands that is of no line: code hosts show none without a location."""
        if self.kernel_file is None:
            return []
        return [{"physicalLocation": {"artifactLocation": self.address(str(self.kernel_file)), "region": {"startLine": 1}}}]

    def address(self, file: str) -> Json:
        """The URI of a file: relative to `folder` inside it, absolute elsewhere."""
        # normpath leaves a leading double slash standing, which in a relative URI would begin a host's name
        path = os.path.normpath(self.folder / file)
        relative = os.path.relpath(path, self.folder)
        if Path(relative).parts[:1] == (os.pardir,):
            return {"uri": "file://" + quote(os.fsencode("/" + path.lstrip("/")))}
        return {"uri": quote(os.fsencode(relative)), "uriBaseId": ROOT}


def _fingerprint(finding: Finding, sources: dict[str, str], places: _Places) -> str:
    """The same for a finding of this kind while its files keep their names and its lines their text, wherever they move."""
    parts = [finding.kind]
    for place in finding.lines:
        address = places.address(place.file)["uri"] if place.file else ""
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
