"""Barriers at which threads wait for others that cannot come, or pass without them."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.finding import Finding

DIVERGENCE = Kind(
    "barrier.divergence",
    "error",
    "Threads of a block wait at a barrier that others do not come to; a note where those had left the kernel.",
)
COUNT = Kind("barrier.count", "error", "A named barrier waits for more threads than ever come to it.")

NAME_ONE = "give the barrier the number of threads that come to it, arriving ones included, and let all of them name the same one"
MOVE_OUT = "move the barrier out of the branch, so that all threads of the block come to it"


@checker(DIVERGENCE, COUNT)
def find_stuck_barriers(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each barrier that cannot complete, or that a warp came to in parts."""
    for fault in evidence.observed.faults:
        if fault.barrier is None:
            continue
        is_named = fault.kind == "deadlock" and fault.barrier != 0
        kind = COUNT if is_named else DIVERGENCE
        yield Finding(
            kind=kind.name,
            severity=kind.severity,
            build=evidence.build,
            message=fault.detail,
            fix=NAME_ONE if is_named else MOVE_OUT,
            lines=(fault.place,),
            threads=(fault.thread,),
            blocks=(fault.block,),
            count=fault.count,
        )


@checker()
def find_short_barriers(evidence: Evidence) -> Iterator[Finding]:
    """Yield a note for each barrier that was passed without threads that had left the kernel."""
    for short in evidence.observed.short_barriers:
        yield Finding(
            kind=DIVERGENCE.name,
            severity="note",
            build=evidence.build,
            message=(
                f"passed {short.count:,} times by warps of which some threads had left the kernel: GPUs of compute capability "
                "7.0 and up do not wait for those, older ones hang"
            ),
            fix="let threads without work skip the loads and stores, not the barrier",
            lines=(short.place,),
            threads=(short.thread,),
            blocks=(short.block,),
            count=short.count,
        )
