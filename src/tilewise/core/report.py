"""What a check found, and what it covered."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tilewise.core.counters import Counters
from tilewise.core.errors import TilewiseError
from tilewise.core.finding import SEVERITIES, Finding, Severity
from tilewise.core.launch import Dim3

Verdict = Literal["clean", "findings", "incomplete"]


@dataclass(frozen=True, slots=True)
class LaunchCoverage:
    """The launch that was checked."""

    kernel: str
    grid: Dim3
    block: Dim3
    cluster: Dim3
    dynamic_shared_bytes: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a check looked at, and what it could not."""

    launch: LaunchCoverage
    blocks_run: int
    blocks_total: int
    builds: tuple[str, ...]
    """The builds that ran."""
    unchecked: tuple[str, ...]
    """Sentences: what was asked for and could not be checked."""
    skipped: tuple[str, ...] = ()
    """Sentences: what was left out without having been asked for, such as a build that does not compile."""


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that counts for nothing: a comment in the source or the baseline has it already."""

    finding: Finding
    by: Literal["comment", "baseline"]
    reason: str = ""
    """What the comment says."""


@dataclass(frozen=True, slots=True)
class Report:
    """Findings with their coverage; counters are those of the optimised build, None where it did not run to its end."""

    findings: tuple[Finding, ...]
    coverage: Coverage
    counters: Counters | None = field(repr=False)
    fail_on: Severity = "error"
    suppressed: tuple[Suppressed, ...] = ()
    printed: str = field(default="", repr=False)
    """What the kernel printed, in the build that ran first."""

    @property
    def verdict(self) -> Verdict:
        """findings if one is at or above `fail_on`, else incomplete if anything asked for was not checked, else clean."""
        least = SEVERITIES.index(self.fail_on)
        if any(SEVERITIES.index(finding.severity) >= least for finding in self.findings):
            return "findings"
        return "incomplete" if self.coverage.unchecked else "clean"

    def assert_clean(self) -> None:
        """Raise AssertionError with the findings in words unless the verdict is clean."""
        __tracebackhide__ = True  # pytest then shows the line that asks
        if self.verdict == "clean":
            return
        unchecked = (f"not checked: {sentence}" for sentence in self.coverage.unchecked)
        launch = self.coverage.launch
        head = f"{launch.kernel}, grid {launch.grid}, block {launch.block}: {self.verdict}"
        raise AssertionError("\n".join([head, *map(_words, self.findings), *unchecked]))

    def to_json(self) -> dict[str, Any]:
        """Return {verdict, coverage, findings, counters} as mappings, lists and plain values."""
        return {
            "verdict": self.verdict,
            "coverage": asdict(self.coverage),
            "findings": [finding.to_json() for finding in self.findings],
            "counters": None if self.counters is None else asdict(self.counters),
        }


def _words(finding: Finding) -> str:
    """A finding in a few lines."""
    places = " and ".join(map(str, finding.lines))
    at = f" at {places}" if places else ""
    return f"{finding.severity} {finding.kind}{at}: {finding.message}\n    fix: {finding.fix}"


def require_severity(name: str) -> Severity:
    """Return a severity by its name; raises TilewiseError for a name that is none."""
    for severity in SEVERITIES:
        if severity == name:
            return severity
    raise TilewiseError(f"severity {name!r} is unknown: there are {', '.join(SEVERITIES)}.")
