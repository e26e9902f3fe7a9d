"""Accesses to what no array holds: out of bounds, misaligned, by an index that did not fit 32 bits, off the stack."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.facts import Fault
from tilewise.core.finding import Finding

READ = Kind("oob.global.read", "error", "A thread reads global memory outside of every array.")
WRITE = Kind("oob.global.write", "error", "A thread writes global memory outside of every array that may be written.")
SHARED = Kind("oob.shared", "error", "A thread accesses shared memory that its block does not have.")
LOCAL = Kind("oob.local", "error", "A thread accesses local memory that it does not have.")
PARAMETER = Kind("oob.param", "error", "A thread reads past the kernel's parameters or a constant.")
MISALIGNED = Kind("misaligned", "error", "An address is no multiple of the access's bytes, which a GPU demands.")
OVERFLOW = Kind("overflow.index", "error", "An address is bad because its index was computed in 32 bits that do not hold it.")
JUMP = Kind("oob.jump", "error", "A thread calls a function, or jumps to a label, that is not there.")
STACK = Kind("oob.stack", "error", "Functions that call themselves take more than the thread's stack.")

FIXES = {
    READ: "guard the load with the array's bounds, and use a neutral value such as 0 outside",
    WRITE: "guard the store with the array's bounds",
    SHARED: (
        "make the shared array as large as the largest index plus 1, one whose size the launch states by --smem, "
        "or keep the index within it"
    ),
    LOCAL: "keep the index within the array",
    PARAMETER: "keep the offset within the structure or the constant array",
    MISALIGNED: (
        "start the array, its rows and what is accessed of them at multiples of the access's bytes, or access smaller pieces"
    ),
    OVERFLOW: "compute the index in 64 bits, as in (size_t)row * columns + column",
    JUMP: "set the function pointer before it is called, and construct the object whose virtual function is",
    STACK: "end the recursion earlier, or write it as a loop",
}


@checker(*FIXES)
def find_bad_addresses(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each instruction with a bad address."""
    for fault in evidence.observed.faults:
        kind = _kind(fault)
        if kind is None:
            continue
        yield Finding(
            kind=kind.name,
            severity=kind.severity,
            build=evidence.build,
            message=_message(evidence, fault, kind),
            fix=_fix(fault, kind),
            lines=(fault.place,),
            array=evidence.label(fault.array) if fault.array else "",
            threads=(fault.thread,),
            blocks=(fault.block,),
            count=fault.count,
        )


def _fix(fault: Fault, kind: Kind) -> str:
    """What would put it right. Of calls, printf alone accesses memory."""
    if fault.opcode.startswith("call") and kind in (READ, SHARED, LOCAL):
        return "give printf a string that ends with a 0 byte, in memory that the device has"
    if kind in (READ, WRITE) and fault.space == "global" and not fault.array:
        return "see where the pointer comes from: it was never set, was freed, or is the host's"
    return FIXES[kind]


def _kind(fault: Fault) -> Kind | None:
    match fault.kind:
        case "jump to nowhere":
            return JUMP
        case "stack overflow":
            return STACK
        case "misaligned":
            return MISALIGNED
        case "store to a read-only buffer":
            return WRITE
        case "out of bounds":
            return OVERFLOW if fault.wrapped else _kind_by_space(fault)
        case _:
            return None


def _kind_by_space(fault: Fault) -> Kind:
    match fault.space:
        case "shared":
            return SHARED
        case "local":
            return LOCAL
        case "const" | "param":
            return PARAMETER
        case _:
            return READ if fault.access in ("read", "copy") else WRITE


def _message(evidence: Evidence, fault: Fault, kind: Kind) -> str:
    verb = {"read": "reads", "write": "writes", "atomic": "updates", "copy": "copies"}[fault.access or "read"]
    if kind in (JUMP, STACK):
        return evidence.words(fault.detail)
    if fault.kind == "store to a read-only buffer":
        return f"writes {evidence.words(fault.detail)}, which is read-only"
    wrapped = ", by an index that does not fit 32 bits" if kind is OVERFLOW else ""
    what = evidence.words(fault.detail)
    return what if fault.access == "copy" else f"{verb} {what}{wrapped}"
