"""The findings of one build, and those of both put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tilewise.checkers.base import Evidence, judge_run
from tilewise.checkers.results import SCHEDULE
from tilewise.core.finding import SEVERITIES, Finding
from tilewise.engine.check_places import CallSites


@dataclass(frozen=True, slots=True)
class Found:
    """A finding; `is_vague` where its lines are calls of which only one is meant."""

    finding: Finding
    is_vague: bool


def find_all(evidence: Evidence) -> list[Found]:
    """Return what one build's run shows, at lines of sources."""
    sites = CallSites((evidence.function, *evidence.callees))
    return [Found(*sites.place(finding)) for finding in judge_run(evidence)]


def merge_findings(builds: Sequence[Sequence[Found]]) -> list[Finding]:
    """Return the findings of all builds, those of both once, and differences between schedules where nothing explains them."""
    merged: list[Found] = []
    for findings in builds:
        known = list(merged)
        for found in findings:
            same = next((one for one in known if _is_same(one, found)), None)
            if same is None:
                merged.append(found)
                continue
            known.remove(same)
            better = found if same.is_vague else same
            count = max(same.finding.count, found.finding.count)
            merged[merged.index(same)] = replace(better, finding=replace(better.finding, build="both", count=count))
    kept = [found.finding for found in merged]
    if any(finding.severity == "error" and finding.kind != SCHEDULE.name for finding in kept):
        kept = [finding for finding in kept if finding.kind != SCHEDULE.name]
    return kept


def _is_same(one: Found, other: Found) -> bool:
    first, second = one.finding, other.finding
    lines, others = ({(place.file, place.line) for place in finding.lines} for finding in (first, second))
    at_same_lines = lines == others or (one.is_vague and others <= lines) or (other.is_vague and lines <= others)
    is_same_array = first.array == second.array or not first.array or not second.array
    return (first.kind, first.severity) == (second.kind, second.severity) and at_same_lines and is_same_array


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings, the worst first, then by place."""

    def key(finding: Finding) -> tuple[int, list[tuple[str, int]], str]:
        return -SEVERITIES.index(finding.severity), [(place.file, place.line) for place in finding.lines], finding.kind

    return tuple(sorted(findings, key=key))
