"""What of a kernel the emulator could not run: instructions that the opcode table lacks, reached or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tilewise.core.module import Module
from tilewise.emu.compiled import parse_module
from tilewise.emu.isa import find_form
from tilewise.ptx.ast import Instruction


@dataclass(frozen=True, slots=True)
class Missing:
    """An instruction without a form: its opcode, the source line it stands at (its line in the PTX without one), how often."""

    opcode: str
    file: str
    line: int
    count: int


def missing_forms(module: Module, kernel: str) -> tuple[Missing, ...]:
    """Return what the opcode table lacks of a kernel and of the module's functions, which it may call; in order of the text."""
    found: Counter[tuple[str, str, int]] = Counter()
    for function in parse_module(module.ptx).functions:
        if function.is_entry and function.name != kernel:
            continue
        for instruction in function.body:
            if isinstance(instruction, Instruction) and find_form(instruction.opcode, len(instruction.operands)) is None:
                place = instruction.position.outermost if instruction.position else None
                where = (place.file, place.line) if place else ("PTX", instruction.ptx_line)
                found[instruction.opcode, *where] += 1
    return tuple(Missing(*key, count) for key, count in found.items())
