"""pytest's plugin: .cu files that state launches in `// tilewise:` lines become tests, one a launch, which fail with the report.

Only where it is asked for: by `tilewise_collect = true` among pytest's settings, or by `--tilewise`. Loads nothing of Tilewise
before it has found such a file, so that nobody's pytest starts later for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tilewise.core.launch_facts import LaunchFacts
    from tilewise.core.report import Report

MARK = "// tilewise:"
REPORT_WIDTH = 110
"""Columns of a failure's text."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the flag and the settings."""
    parser.getgroup("tilewise").addoption(
        "--tilewise", action="store_true", help="Check the launches that .cu files state in // tilewise: lines."
    )
    parser.addini("tilewise_collect", "Whether to check them without --tilewise.", type="bool", default=False)
    parser.addini("tilewise_fail_on", "The least severity that fails a test: note, warning or error.", default="error")
    parser.addini("tilewise_ignore", "Kinds of findings to leave out, such as perf.*", type="args", default=[])
    parser.addini("tilewise_device", "The GPU to check for: a name of tilewise devices, or a JSON file.", default="h200")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that such tests have, for -m tilewise."""
    config.addinivalue_line("markers", "tilewise: a launch that a .cu file states, checked by Tilewise")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CudaFile | None:
    """Collect a file that states launches."""
    if file_path.suffix != ".cu" or not (parent.config.getoption("--tilewise") or parent.config.getini("tilewise_collect")):
        return None
    states_launches = MARK in file_path.read_text(encoding="utf-8", errors="replace")
    return CudaFile.from_parent(parent, path=file_path) if states_launches else None


class CudaFile(pytest.File):
    """A .cu file that states launches."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each launch."""
        from tilewise.core.errors import TilewiseError
        from tilewise.core.launch_facts import read_comment_facts

        try:
            stated = read_comment_facts(self.path.read_text(encoding="utf-8", errors="replace"), str(self.path), self.path.parent)
        except TilewiseError as error:
            raise self.CollectError(str(error)) from None
        for facts in stated:
            if facts.states_launch:
                yield CheckedLaunch.from_parent(self, name=facts.kernel or "launch", facts=facts)


class CheckedLaunch(pytest.Item):
    """One launch of a file."""

    def __init__(self, *, facts: LaunchFacts, **rest: Any) -> None:
        super().__init__(**rest)
        self._facts = facts
        self.add_marker("tilewise")

    def runtest(self) -> None:
        """Check the launch; raises NotClean with the report."""
        import tilewise

        report = tilewise.check(
            self.path,
            name=self._facts.kernel,
            device=self.config.getini("tilewise_device"),
            fail_on=self.config.getini("tilewise_fail_on"),
            ignore=self.config.getini("tilewise_ignore"),
        )
        if report.verdict != "clean":
            raise NotClean(report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return check's report, or what kept the check from running."""
        from tilewise.core.errors import TilewiseError

        match excinfo.value:
            case NotClean(report=report):
                return _words(report, self.path)
            case TilewiseError():
                return str(excinfo.value)
            case _:
                return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the test is, and what it is called."""
        return self.path, None, f"{self.path.name}: {self.name}"


class NotClean(Exception):
    """A check whose verdict is not clean."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.verdict)
        self.report = report


def _words(report: Report, path: Path) -> str:
    """The report as `tilewise check` prints it."""
    import io

    from rich.console import Console

    from tilewise.render.check import render_check

    text = io.StringIO()
    sources = {str(path): path.read_text(encoding="utf-8", errors="replace")}
    render_check(report, sources, Console(file=text, width=REPORT_WIDTH, color_system=None))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
