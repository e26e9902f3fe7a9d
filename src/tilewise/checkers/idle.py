"""Barriers that order nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.finding import Finding

BARRIER = Kind("perf.barrier", "note", "A barrier orders no two accesses that nothing else orders: without it, nothing changes.")


@checker(BARRIER)
def find_idle_barriers(evidence: Evidence) -> Iterator[Finding]:
    """Yield a note for each barrier that could go, in this launch."""
    for barrier in evidence.observed.idle_barriers:
        times = "once" if barrier.count == 1 else f"{barrier.count:,} times"
        yield Finding(
            BARRIER.name,
            BARRIER.severity,
            evidence.build,
            f"passed {times}, and ordered no two accesses to one byte in this launch",
            "leave it out if that holds for every launch",
            (barrier.place,),
            count=barrier.count,
        )
