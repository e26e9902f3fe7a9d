"""The texts of the files that a report names, for outputs that quote their lines.

A report names what the kernel's line table names, which a hostile .ptx chooses: only files inside one folder are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilewise.core.place import Place
from tilewise.core.report import Report

FILE_LIMIT_BYTES = 4 << 20


def read_sources(report: Report, folder: Path) -> dict[str, str]:
    """Return the texts of the files named in a report that lie in `folder`, by the names that the report has for them.

    Left out is what does not lie there when links are followed, cannot be read, is longer than 4 MiB or is no text in UTF-8.
    """
    root = folder.resolve()
    texts = {name: _read(root, name) for name in dict.fromkeys(_named(report))}
    return {name: text for name, text in texts.items() if text is not None}


def source_line(sources: dict[str, str], place: Place) -> str:
    """Return the text of a place's line, without blanks at its ends; empty where it is not known."""
    lines = sources.get(place.file, "").split("\n")
    return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""


def _named(report: Report) -> Iterator[str]:
    for finding in report.findings:
        for place in finding.lines:
            yield place.file
            for outer in place.inlined_from:
                yield outer.file
    for site in report.counters.sites if report.counters else ():
        yield site.file


def _read(root: Path, name: str) -> str | None:
    try:
        path = (root / name).resolve(strict=True)
        if not path.is_relative_to(root) or not path.is_file() or path.stat().st_size > FILE_LIMIT_BYTES:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError):  # a null character, bytes that are no text, links that go round in circles
        return None
