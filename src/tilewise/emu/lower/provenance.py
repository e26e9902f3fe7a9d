"""Which registers may hold a thread's local addresses: a generic access is local by its address, and each lane has its own bytes.

Flow plays no part: a register may hold what any instruction leaves in it. An address is taken to point into the memory that it
was derived from; where it does not, the access is out of bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewise.emu.isa.spec import BYTES
from tilewise.emu.lower.step import Step, registers_of
from tilewise.ptx.ast import Symbol

ADDRESS_BYTES = 8


@dataclass(frozen=True, slots=True)
class Provenance:
    """Registers that may hold local addresses, and those that may hold others."""

    local: frozenset[str]
    other: frozenset[str]

    def space_of(self, names: Iterable[str]) -> str:
        """What a generic address made of these registers points to: "local", "other" (not local) or "any"."""
        names = set(names)
        if not names & self.local:
            return "other"
        return "any" if names & self.other else "local"


def trace(steps: Iterable[Step], local_symbols: set[str]) -> Provenance:
    """Follow addresses through a program's instructions until nothing new is found."""
    if not local_symbols:
        return Provenance(frozenset(), frozenset())
    steps = list(steps)
    held: dict[str, set[str]] = {"local": set(), "other": set()}
    in_memory: set[str] = set()
    known, before = 0, -1
    while known != before:
        before = known
        for step in steps:
            kinds = _kinds(step, held, in_memory, local_symbols)
            for kind in kinds:
                held[kind] |= step.writes
            if step.access is not None and step.access.kind in ("store", "atomic"):
                stored = {name for operand, _ in step.sources[1:] for name in registers_of(operand)}
                in_memory |= {kind for kind, names in held.items() if names & stored}
        known = sum(map(len, (*held.values(), in_memory)))
    return Provenance(frozenset(held["local"]), frozenset(held["other"]))


def _kinds(step: Step, held: dict[str, set[str]], in_memory: set[str], local_symbols: set[str]) -> set[str]:
    """What the results of an instruction may be addresses of."""
    opcode = step.instruction.opcode
    if step.access is not None:
        if step.access.bytes < ADDRESS_BYTES and "local" not in in_memory:
            return set()
        return {"other"} | ({"local"} & in_memory)
    if opcode.startswith("cvta"):
        return {"local"} if ".local" in opcode and ".to" not in opcode else _of(step, held, local_symbols) | _not_local(opcode)
    return _of(step, held, local_symbols)


def _of(step: Step, held: dict[str, set[str]], local_symbols: set[str]) -> set[str]:
    """What the sources of an instruction are."""
    reads = {name for operand, _ in step.sources for name in registers_of(operand)}
    found = {kind for kind, names in held.items() if names & reads}
    for operand, type_ in step.sources:
        if isinstance(operand, Symbol) and BYTES.get(type_, 0) >= ADDRESS_BYTES:
            found.add("local" if operand.name in local_symbols else "other")
    return found


def _not_local(opcode: str) -> set[str]:
    return set() if ".local" in opcode else {"other"}
