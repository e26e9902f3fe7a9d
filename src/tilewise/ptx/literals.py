"""Which literals a function's stores may write: moved, selected, converted, negated or passed on, with nothing else computed.

Flow plays no part: a register may hold what any instruction leaves in it, and all calls' parameters are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilewise.ptx.ast import Float, Function, Instruction, Integer, Operand, Register, Vector

Literal = Integer | Float

_COPYING = ("mov", "selp", "cvt", "neg", "ld", "st")
_WIDTHS = {".f64": 64, ".f32": 32, ".f16": 16, ".bf16": 16}
_PASSED = ".param"
"""A call's parameters, in the place of a register: names of registers begin with %."""


def stored_literals(function: Function) -> dict[int, frozenset[Literal]]:
    """Return the literals that each store to memory may write, by its line in the PTX."""
    copies = [item for item in function.body if isinstance(item, Instruction) and _is_copy(item)]
    held: dict[str, frozenset[Literal]] = {}
    changed = True
    while changed:
        changed = False
        for copy in copies:
            found = _copied(copy, held)
            for name in _results(copy):
                before = held.get(name, frozenset())
                if not found <= before:
                    held[name] = before | found
                    changed = True
    return {copy.ptx_line: _copied(copy, held) for copy in copies if copy.opcode.startswith("st.") and not _passes(copy)}


def _is_copy(instruction: Instruction) -> bool:
    name = instruction.opcode.partition(".")[0]
    return name in _COPYING and (name != "ld" or _passes(instruction))


def _passes(instruction: Instruction) -> bool:
    return ".param" in instruction.opcode


def _copied(copy: Instruction, held: dict[str, frozenset[Literal]]) -> frozenset[Literal]:
    """What a copy's result may be."""
    if copy.opcode.startswith("ld."):
        return held.get(_PASSED, frozenset())
    found = frozenset[Literal]().union(*(_of(operand, held) for operand in _flat(copy.operands[1:])))
    return frozenset(map(partial(_negated, copy.opcode), found)) if copy.opcode.startswith("neg.") else found


def _negated(opcode: str, literal: Literal) -> Literal:
    width = next((width for type_, width in _WIDTHS.items() if opcode.endswith(type_)), None)
    if width is None:
        return Integer(-literal.value) if isinstance(literal, Integer) else literal
    bits = literal.value % (1 << width) if isinstance(literal, Integer) else literal.bits
    return Float(bits ^ 1 << (width - 1), width)


def _results(copy: Instruction) -> Iterator[str]:
    """The registers that a copy writes, or what stands for a call's parameters; none of a store to memory."""
    if copy.opcode.startswith("st."):
        if _passes(copy):
            yield _PASSED
        return
    for operand in _flat(copy.operands[:1]):
        if isinstance(operand, Register):
            yield operand.name


def _of(operand: Operand, held: dict[str, frozenset[Literal]]) -> frozenset[Literal]:
    match operand:
        case Integer() | Float():
            return frozenset((operand,))
        case Register(name=name):
            return held.get(name, frozenset())
        case _:
            return frozenset()


def _flat(operands: tuple[Operand, ...]) -> Iterator[Operand]:
    for operand in operands:
        if isinstance(operand, Vector):
            yield from _flat(operand.elements)
        else:
            yield operand
