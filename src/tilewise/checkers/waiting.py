"""Threads that wait, outside of barriers, for what nobody does: endless loops, lanes that a warp instruction names in vain."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.facts import Fault
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


NOTHING_READ = (
    "end the loop by a condition that changes from one round to the next; a flag that others set must be read with a volatile or "
    "atomic load"
)
NEVER_SET = (
    "let a thread set what is waited for, with a fence before it if data go with it, and make sure that its block can run at the "
    "same time; what is waited for must not be set back before all have seen it"
)
STRONG = ("volatile", "relaxed", "acquire", "mmio")


def _fix(fault: Fault, kind: Kind) -> str:
    if kind is SPIN and fault.access is None:
        return NOTHING_READ
    if kind is SPIN and (fault.access == "atomic" or set(STRONG) & set(fault.opcode.split("."))):
        return NEVER_SET
    return FIXES[kind]


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
            fix=_fix(fault, kind),
            lines=(fault.place,),
            threads=(fault.thread,),
            blocks=(fault.block,),
            count=fault.count,
        )
