"""Checks files from tests, and holds the findings against what a table expects."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from tilewise.cli.main import main

Report = dict[str, Any]
"""As `tilewise check --json` prints it."""

EXIT_CODES = {"clean": 0, "findings": 1, "incomplete": 2}


def run_check(*words: str | Path) -> tuple[int, str]:
    """Run `tilewise check` here; return its exit code and what it printed: on stdout, or on stderr where that is empty."""
    code, out, err = 0, io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(["check", *map(str, words)])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue() or err.getvalue()


def check(*words: str | Path) -> Report:
    """Return the report of `tilewise check`, whose exit code must fit its verdict."""
    code, printed = run_check(*words, "--json")
    assert printed.startswith("{"), printed
    report: Report = json.loads(printed)
    assert code == EXIT_CODES[report["verdict"]]
    return report


def lines_of(finding: Report) -> set[int]:
    """Return all lines that a finding mentions, those of inlined calls included."""
    return {place["line"] for place in _places(finding["lines"])}


def _places(lines: Sequence[Report]) -> Iterator[Report]:
    for line in lines:
        yield line
        yield from _places(line["inlined_from"])


def has(report: Report, severity: str, kind: str, lines: Sequence[int]) -> bool:
    """Whether a report has a finding of that severity and kind that mentions those lines."""
    return any(is_like(finding, severity, kind, lines) for finding in report["findings"])


def is_like(finding: Report, severity: str, kind: str, lines: Sequence[int]) -> bool:
    """Whether a finding is of that severity and kind and mentions those lines."""
    return (finding["severity"], finding["kind"]) == (severity, kind) and set(lines) <= lines_of(finding)


def shown(report: Report) -> str:
    """Return a report's findings in lines, for messages."""
    rows = [
        f"{one['severity']} {one['kind']} {sorted(lines_of(one))} ({one['build']}): {one['message']}"
        for one in report["findings"]
    ]
    return "\n".join([report["verdict"], *rows, *report["coverage"]["unchecked"]])
