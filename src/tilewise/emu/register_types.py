"""What the registers of a program hold, as far as its instructions say: newer PTX moves, loads and stores bits without a type."""

from __future__ import annotations

from collections.abc import Iterable

from tilewise.emu.lower.step import Step
from tilewise.ptx.ast import Register

MOVES = ("mov", "selp")
"""Opcodes whose result is one of their operands."""
PRIORITY = ("f64", "f32", "f16", "bf16", "s64", "s32", "s16", "u64", "u32", "u16")
"""Of the types that instructions take one register for, the one that says most: unsigned arithmetic serves any integer."""


def infer_types(steps: Iterable[Step]) -> dict[str, str]:
    """Return the PTX type of each register that some instruction takes for a number; registers that are moved share theirs."""
    types: dict[str, str] = {}
    moves: list[tuple[str, str]] = []
    for step in steps:
        operands = [(operand.name, type_) for operand, type_ in (*step.results, *step.sources) if isinstance(operand, Register)]
        for name, type_ in operands:
            if type_ in PRIORITY:
                types[name] = _better(types.get(name), type_)
        if step.instruction.opcode.partition(".")[0] in MOVES:
            results = {operand.name for operand, _ in step.results if isinstance(operand, Register)}
            moves += [(result, name) for result in results for name, type_ in operands if name not in results and type_ != "pred"]
    changed = True
    while changed:
        changed = False
        for pair in moves:
            known = [types[name] for name in pair if name in types]
            best = min(known, key=PRIORITY.index, default=None)
            for name in pair:
                if best is not None and types.get(name) != best:
                    types[name], changed = best, True
    return types


def _better(one: str | None, other: str) -> str:
    return other if one is None else min(one, other, key=PRIORITY.index)
