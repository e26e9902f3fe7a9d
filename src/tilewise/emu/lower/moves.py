"""Loads that take part in copies: whose values go nowhere but into memory again.

Copying an object reads all its bytes, those too that nobody has written and nobody will look at. So does storing to a bit-field:
the bits beside it are loaded, and stored again as they were.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tilewise.emu.lower.step import Step, registers_of

LOCAL = ("local", "generic")
BIT_FIELD = ("and", "or", "bfi")
"""What a store to a bit-field is made of, in this order."""


def mark_moves(steps: Iterable[Step]) -> None:
    """Set `only_moves` of the loads whose values are only moved and stored."""
    readers: dict[str, list[Step]] = defaultdict(list)
    loads = []
    for step in steps:
        for name in step.reads:
            readers[name].append(step)
        if step.access is not None and step.access.kind == "load" and step.access.space in LOCAL:
            loads.append(step)
    for load in loads:
        load.only_moves = all(
            _is_only_moved(name, readers, frozenset()) or _is_put_back(name, readers, load, BIT_FIELD) for name in load.writes
        )


def _is_only_moved(name: str, readers: dict[str, list[Step]], seen: frozenset[str]) -> bool:
    return all(
        _stores(step, name)
        or (_moves(step) and all(to in seen or _is_only_moved(to, readers, seen | {name}) for to in step.writes))
        for step in readers[name]
    )


def _is_put_back(name: str, readers: dict[str, list[Step]], load: Step, opcodes: tuple[str, ...]) -> bool:
    """Whether a loaded word is only masked, merged with other bits and stored where it came from."""
    return bool(readers[name]) and all(
        (_stores(step, name) and step.sources[0][0] == load.sources[0][0])
        or (
            step.instruction.opcode.partition(".")[0] in opcodes
            and step.instruction.guard is None
            and all(_is_put_back(to, readers, load, BIT_FIELD[1:]) for to in step.writes)
        )
        for step in readers[name]
    )


def _moves(step: Step) -> bool:
    return step.instruction.opcode.startswith("mov.") and step.instruction.guard is None


def _stores(step: Step, name: str) -> bool:
    """Whether a step stores a register and does not use it as an address or a guard."""
    if step.access is None or step.access.kind != "store":
        return False
    guard = step.instruction.guard
    return name not in registers_of(step.sources[0][0]) and (guard is None or guard.register != name)
