"""The findings of several builds put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilewise.checkers.bounds import OVERFLOW, READ, WRITE
from tilewise.checkers.results import SCHEDULE
from tilewise.core.finding import SEVERITIES, Finding


def merge_findings(builds: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Return the findings of all builds, those of both once, and differences between schedules where nothing explains them."""
    merged: list[Finding] = []
    for findings in builds:
        known = list(merged)
        for finding in findings:
            same = next((one for one in known if _is_same(one, finding)), None)
            if same is None:
                merged.append(finding)
                continue
            known.remove(same)
            merged[merged.index(same)] = replace(same, build="both", count=max(same.count, finding.count))
    merged = _with_reasons(merged)
    if any(finding.severity == "error" and finding.kind != SCHEDULE.name for finding in merged):
        merged = [finding for finding in merged if finding.kind != SCHEDULE.name]
    return merged


def _is_same(one: Finding, other: Finding) -> bool:
    lines, others = ({(place.file, place.line) for place in finding.lines} for finding in (one, other))
    is_same_array = one.array == other.array or not one.array or not other.array
    return (one.kind, one.severity) == (other.kind, other.severity) and lines == others and is_same_array


def _with_reasons(findings: list[Finding]) -> list[Finding]:
    """Take out bad addresses of one build where the other says why they are bad: by an index that wrapped."""
    reasons = {index: finding for index, finding in enumerate(findings) if finding.kind == OVERFLOW.name}
    kept = dict(enumerate(findings))
    for index, finding in enumerate(findings):
        if finding.kind not in (READ.name, WRITE.name) or finding.build == "both":
            continue
        for place, reason in reasons.items():
            if reason.build not in ("both", finding.build) and _is_same(replace(finding, kind=reason.kind), reason):
                kept[place] = replace(reason, build="both", count=max(reason.count, finding.count))
                kept.pop(index, None)
    return list(kept.values())


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings, the worst first, then by place."""

    def key(finding: Finding) -> tuple[int, list[tuple[str, int]], str]:
        return -SEVERITIES.index(finding.severity), [(place.file, place.line) for place in finding.lines], finding.kind

    return tuple(sorted(findings, key=key))
