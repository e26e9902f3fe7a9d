"""What one form cannot say, as several instructions: guards that need a branch, results that come behind a barrier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilewise.emu.isa import find_form
from tilewise.emu.lower.special import BARRIER_LANES, BARRIER_ONES
from tilewise.ptx.ast import Function, Guard, Instruction, Integer, Label, Register, Sink, Symbol

TAKES_GUARD = ("branch", "exit")
"""Controls that are conditional themselves."""


def rewrite(function: Function, is_missing: Callable[[Instruction], bool]) -> Function:
    """Return the function in instructions that have a form each; those that are missing stay as they are."""
    body: list[Instruction | Label] = []
    for item in function.body:
        if not isinstance(item, Instruction):
            body.append(item)
            continue
        steps = list(_read_behind_barrier(item))
        if item.guard is not None and (is_missing(item) or _needs_branch(item)):
            body += branch_round(item.guard, steps, f"past {len(body)}")  # no label of the text has a blank in it
        else:
            body += steps
    ends = Instruction("ret", (), None, None, 0)  # where the text runs out; mostly nothing leads there
    return replace(function, body=(*body, ends))


def _needs_branch(instruction: Instruction) -> bool:
    """Whether only lanes for which the guard holds may come to the instruction: because they wait there, or because they stop."""
    found = find_form(instruction.opcode, len(instruction.operands))
    assert found is not None
    form, modifiers = found
    return form.kind == "warp_op" or (form.kind == "control" and form.emit(**modifiers) not in TAKES_GUARD)


def branch_round(guard: Guard, steps: list[Instruction], past: str) -> list[Instruction | Label]:
    """`@p bar.sync 0` as `@!p bra past; bar.sync 0; past:`."""
    branch = replace(steps[0], opcode="bra", operands=(Symbol(past),), guard=Guard(guard.register, not guard.negated))
    return [branch, *(replace(step, guard=None) for step in steps), Label(past)]


def _read_behind_barrier(instruction: Instruction) -> Iterator[Instruction]:
    """`bar.red` as a barrier, then its result read from what the barrier leaves."""
    result = instruction.operands[0] if ".red." in instruction.opcode and instruction.opcode.startswith("bar") else None
    if result is None:
        yield instruction
        return
    ones, lanes = Register(BARRIER_ONES, True), Register(BARRIER_LANES, True)
    opcode, operands = {
        "popc": ("mov.u32", (result, ones)),
        "and": ("setp.eq.u32", (result, ones, lanes)),
        "or": ("setp.ne.u32", (result, ones, Integer(0))),
    }[instruction.opcode.partition(".red.")[2].partition(".")[0]]
    yield replace(instruction, operands=(Sink(), *instruction.operands[1:]))
    yield replace(instruction, opcode=opcode, operands=operands)
