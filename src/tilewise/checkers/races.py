"""Races: two threads at one byte, one of them writing, with nothing that orders them. docs/glossary.md has the definition."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.facts import Access, Conflict
from tilewise.core.finding import Finding

READ_AFTER_WRITE = Kind(
    "race.shared.raw",
    "error",
    "One warp reads shared memory that another writes, and no barrier stands between: the read may come first.",
)
WRITE_AFTER_READ = Kind(
    "race.shared.war", "error", "One warp overwrites shared memory that another still reads, and no barrier stands between."
)
WRITE_AFTER_WRITE = Kind("race.shared.ww", "error", "Two threads write the same shared memory, and nothing says who comes last.")
WARP = Kind(
    "race.shared.warp",
    "error",
    "Lanes of one warp exchange data through shared memory without a __syncwarp between store and load.",
)
GLOBAL = Kind("race.global", "error", "Two threads access one global byte, one of them writing, and nothing orders them.")
FENCE = Kind(
    "race.global.fence", "error", "A flag or a counter passes data between threads without the fence that makes the data visible."
)
BENIGN = Kind("race.benign", "note", "Threads store the same value to one place: which of them comes last changes nothing.")
COPY = Kind("async.cp_async_wait", "error", "What cp.async copies is used before the copy was waited for.")

FIXES = {
    READ_AFTER_WRITE: "put __syncthreads() between the store and the load",
    WRITE_AFTER_READ: "put __syncthreads() between the load and the next store, as at the end of the loop's body",
    WRITE_AFTER_WRITE: "give each thread an element of its own, or use an atomic",
    WARP: "put __syncwarp() between the two: since compute capability 7.0 lanes need not go in step",
    GLOBAL: "use an atomic, give each thread an element of its own, or order the two with a barrier, or with a flag and fences",
    FENCE: "call __threadfence() between the data and the flag, on the writing side and on the reading side",
    BENIGN: "nothing needs to change; a comment spares the next reader the question",
    COPY: "wait for the copy's group (cp.async.wait_group, with 0 for the last), then __syncthreads(), before the data is used",
}


@checker(*FIXES)
def find_races(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each pair of instructions that race."""
    for conflict in evidence.observed.conflicts:
        kind = classify(conflict)
        first, second = conflict.first, conflict.second
        yield Finding(
            kind=kind.name,
            severity=kind.severity,
            build=evidence.build,
            message=_message(evidence, conflict, kind),
            fix=_fix(conflict, kind),
            lines=(second.place,) if kind is COPY else (first.place, second.place),
            array=evidence.label(conflict.array) if conflict.array else "",
            threads=(first.thread, second.thread),
            blocks=(first.block, second.block),
            iteration=second.iteration,
            count=conflict.count,
        )


def _fix(conflict: Conflict, kind: Kind) -> str:
    if kind in (COPY, BENIGN):
        return FIXES[kind]
    if conflict.needs_fence:
        return FIXES[FENCE]
    if _in_warp(conflict):
        return FIXES[WARP]
    return FIXES[COPY] if kind is READ_AFTER_WRITE and conflict.first.kind == "copy" else FIXES[kind]


def classify(conflict: Conflict) -> Kind:
    """Return the kind of a race, as docs/glossary.md defines them."""
    if conflict.is_pending:
        return COPY
    if conflict.same_value:
        return BENIGN
    if conflict.space == "global":
        return FENCE if conflict.needs_fence else GLOBAL
    if _in_warp(conflict):
        return WARP
    if _writes(conflict.first) and _writes(conflict.second):
        return WRITE_AFTER_WRITE
    return READ_AFTER_WRITE if _writes(conflict.first) else WRITE_AFTER_READ


def _in_warp(conflict: Conflict) -> bool:
    """Whether __syncwarp would do: all pairs lie in one warp, and one of the two comes after the other."""
    return conflict.in_warp and not (conflict.space == "global" and conflict.first.place == conflict.second.place)


def _writes(access: Access) -> bool:
    return access.kind != "read"


def _message(evidence: Evidence, conflict: Conflict, kind: Kind) -> str:
    first, second = conflict.first, conflict.second
    where = evidence.element(conflict.array, conflict.offset)
    who = _apart(conflict)
    if kind is COPY:
        return f"{_DONE[second.kind]} {where}, which the cp.async of {_line(first)} may still be writing ({who})"
    missing = _missing(conflict, kind)
    if first.place == second.place:
        verbs = " and ".join(dict.fromkeys((_DONE[first.kind], _DONE[second.kind])))
        return f"{_line(first)} {verbs} {where} in several threads: {missing} ({who})"
    one, other = (f"{_line(access)}{_iteration(access)} {_DONE[access.kind]}" for access in (first, second))
    return f"{one} {where} and {other} it: {missing} ({who})"


def _missing(conflict: Conflict, kind: Kind) -> str:
    """What would have ordered the two."""
    if kind is BENIGN:
        return "nothing orders them, and all write the same value"
    if conflict.needs_fence:
        return "no fence between them"
    if _in_warp(conflict):
        return "no __syncwarp or barrier between them"
    if conflict.first.kind == "copy" and conflict.second.kind == "read":
        return "no barrier between the wait for the copy and the load"
    return "nothing orders them" if conflict.across_blocks else "no barrier between them"


_DONE = {"read": "reads", "write": "writes", "atomic": "updates", "copy": "copies to"}


def _line(access: Access) -> str:
    """Where an access stands: what was inlined from another file, at its call in the kernel's."""
    place, own = access.place, access.place.outermost
    return f"line {place.line if place.file == own.file else own.line}"


def _iteration(access: Access) -> str:
    return f" of iteration {access.iteration}" if access.iteration > 1 else ""


def _apart(conflict: Conflict) -> str:
    """Who was seen, as "threads 3,0 and 35,0 of block 0,0"."""
    first, second = conflict.first, conflict.second
    if first.block == second.block:
        return f"threads {_short(first.thread)} and {_short(second.thread)} of block {_short(first.block)}"
    return (
        f"thread {_short(first.thread)} of block {_short(first.block)} and thread {_short(second.thread)} of block "
        f"{_short(second.block)}"
    )


def _short(index: tuple[int, int, int]) -> str:
    shown = list(index)
    while len(shown) > 1 and shown[-1] == 0:
        shown.pop()
    return ",".join(map(str, shown))
