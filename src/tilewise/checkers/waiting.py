"""Threads that wait, outside of barriers, for what nobody does: endless loops, lanes that a warp instruction names in vain."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.finding import Finding

SPIN = Kind("deadlock.spin", "error", "Threads go round in a loop for a value that nobody will write.")
MASK = Kind("warp.mask", "error", "A warp instruction's mask names lanes that do not take part in it.")
FIXES = {
    SPIN: (
        "read the flag with a volatile or atomic load, fence what it guards, and make sure that the block which sets it can run "
        "at the same time"
    ),
    MASK: "name only lanes that come here (as __ballot_sync gives them), or move the call out of the branch",
}


@checker(SPIN, MASK)
def find_endless_waits(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each loop that never ends and each warp instruction that lanes do not come to."""
    for fault in evidence.observed.faults:
        if fault.kind == "deadlock" and fault.barrier is None:
            kind = SPIN
        elif fault.kind == "missing lanes":
            kind = MASK
        else:
            continue
        yield Finding(
            kind=kind.name,
            severity=kind.severity,
            build=evidence.build,
            message=evidence.words(fault.detail),
            fix=FIXES[kind],
            lines=(fault.place,),
            threads=(fault.thread,),
            blocks=(fault.block,),
            count=fault.count,
        )
