"""Kernels that give up by themselves: a trap, or an assertion that does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.finding import Finding

ASSERT = Kind("trap.assert", "error", "An assertion in the kernel does not hold.")
TRAP = Kind("trap.instruction", "error", "A thread comes to a trap, with which a kernel gives up.")
KINDS_BY_FAULT = {"failed assertion": ASSERT, "trap": TRAP}


@checker(ASSERT, TRAP)
def find_traps(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each assertion and trap."""
    for fault in evidence.observed.faults:
        kind = KINDS_BY_FAULT.get(fault.kind)
        if kind is None:
            continue
        yield Finding(
            kind=kind.name,
            severity=kind.severity,
            build=evidence.build,
            message=fault.detail,
            fix="see what the condition guards against: the example thread comes to it with values that break it",
            lines=(fault.place,),
            threads=(fault.thread,),
            blocks=(fault.block,),
            count=fault.count,
        )
