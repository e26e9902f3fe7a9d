"""Memory that is read before anybody wrote it, and outputs that nobody wrote."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.ptx.ast import Instruction
from tilewise.ptx.mangled import local_name
from tilewise.ptx.origins import access_origins, place_of

SHARED = Kind("uninit.shared", "error", "A thread reads shared memory that no thread of its block has written.")
GLOBAL = Kind("uninit.global", "error", "A thread reads global memory that nobody has written, neither host nor kernel.")
LOCAL = Kind("uninit.local", "error", "A thread reads a local variable that it has not written.")
CONSTANT = Kind(
    "uninit.constant", "note", "The kernel reads constant memory that the host is to fill, and that holds zeros here."
)
UNWRITTEN = Kind("unwritten.output", "error", "A part of an output was never written.")

READ_KINDS = {"shared": SHARED, "global": GLOBAL, "local": LOCAL}
FIXES = {
    "shared": "write every element that is read: store 0 where a guard leaves one out, and let the block cover the whole tile",
    "global": "fill the array before the launch, or write it before it is read (C = ... instead of C += ...)",
    "local": "give the variable a value where it is declared",
}


@checker(CONSTANT)
def find_unset_constants(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each variable in constant memory that the kernel reads and nobody fills, where it is read first."""
    places: dict[str, Place] = {}
    for function in (evidence.function, *evidence.callees):
        origins = access_origins(function)
        for load in (item for item in function.body if isinstance(item, Instruction) and item.opcode.startswith("ld.")):
            for name in origins.get(load.ptx_line, frozenset()) & evidence.unset_constants:
                places.setdefault(name, place_of(load))
    for variable, place in places.items():
        name = local_name(variable)
        yield Finding(
            kind=CONSTANT.name,
            severity=CONSTANT.severity,
            build=evidence.build,
            message=f"reads {name}, constant memory that the source leaves to the host to fill: here it holds zeros",
            fix=f"give {name} values where it is declared, for this check: what a host copies to it is not seen",
            lines=(place,),
            array=name,
        )


@checker(SHARED, GLOBAL, LOCAL, UNWRITTEN)
def find_missing_values(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each load of what nobody wrote, and for each output with holes."""
    for load in evidence.observed.uninitialised:
        kind = READ_KINDS[load.space]
        place = (
            evidence.element(load.array, load.offset)
            if load.space != "local"
            else evidence.label(load.array) or "a local variable"
        )
        yield Finding(
            kind=kind.name,
            severity=kind.severity,
            build=evidence.build,
            message=f"reads {place}, which nobody has written",
            fix=FIXES[load.space],
            lines=(load.access.place,),
            array=evidence.label(load.array) if load.array else "",
            threads=(load.access.thread,),
            blocks=(load.access.block,),
            iteration=load.access.iteration,
            count=load.count,
        )
    for output in evidence.observed.unwritten:
        name = evidence.label(output.array)
        state = evidence.argument(output.array)
        each = state.dtype.bytes if state and state.dtype else 1
        whole = f" of {state.bytes // each:,}" if state else ""
        workspace = (
            "; the kernel reads from it too, so it may be a workspace that is larger than need be" if output.is_read else ""
        )
        yield Finding(
            kind=UNWRITTEN.name,
            severity="warning" if output.is_read else UNWRITTEN.severity,
            build=evidence.build,
            message=(
                f"{output.bytes // each:,}{whole} elements of {name} are never written, the first of them "
                f"{evidence.element(output.array, output.first)}{workspace}"
            ),
            fix="make grid and block cover the whole array: round the number of blocks up, and guard the edge",
            lines=tuple(dict.fromkeys(output.stores)),
            array=name,
            count=output.bytes // each,
        )
