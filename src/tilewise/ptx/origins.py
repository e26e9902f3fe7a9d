"""Where addresses come from: which parameter or variable each access of a function may go through.

Flow plays no part: a register may hold what any instruction leaves in it. What is loaded from memory, parameters apart, has no
origin here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from tilewise.core.place import Place
from tilewise.ptx.ast import Address, Function, Instruction, Operand, Position, Register, Symbol, Vector

WRITING = ("st", "atom", "red")
ACCESSING = ("ld", "ldu", "cp", *WRITING)

Origins = dict[int, frozenset[str]]


@functools.lru_cache(maxsize=64)
def _origins(key: _ById) -> Origins:
    return _trace(key.function)


class _ById:
    """A function as a key of a cache: by identity, since its registers are a dictionary."""

    __slots__ = ("function",)

    def __init__(self, function: Function) -> None:
        self.function = function

    def __hash__(self) -> int:
        return id(self.function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.function is self.function


def access_origins(function: Function) -> Origins:
    """Return the names of parameters and variables that each access's address may be made from, by its line in the PTX.

    A whole-number parameter that an index is made from is among them: the caller knows which of them are pointers. Of a copy, it
    is the address that it reads.
    """
    return _origins(_ById(function))


def writing_instructions(function: Function) -> Iterator[Instruction]:
    """Yield the instructions that write memory other than parameters."""
    for item in function.body:
        if isinstance(item, Instruction) and _name(item) in WRITING and ".param" not in item.opcode:
            yield item


def place_of(instruction: Instruction) -> Place:
    """Return where an instruction stands in the source, with the calls that were inlined to bring it there."""
    return place_at(instruction.position) if instruction.position else Place("", instruction.ptx_line)


def place_at(position: Position) -> Place:
    """Return a position as a place."""
    chain = [position]
    while (position_of_call := chain[-1].inlined_at) is not None:
        chain.append(position_of_call)
    places = [Place(one.file, one.line, one.column, one.function or "") for one in chain]
    head = places[0]
    return Place(head.file, head.line, head.column, head.function, tuple(places[1:]))


def _trace(function: Function) -> Origins:
    instructions = [item for item in function.body if isinstance(item, Instruction)]
    held: dict[str, frozenset[str]] = {}
    changed = True
    while changed:
        changed = False
        for instruction in instructions:
            found = _result(instruction, held)
            for name in _registers(instruction.operands[:1]):
                before = held.get(name, frozenset())
                if not found <= before:
                    held[name] = before | found
                    changed = True
    accesses = (instruction for instruction in instructions if _name(instruction) in ACCESSING)
    return {instruction.ptx_line: _of(_address(instruction), held) for instruction in accesses}


def _result(instruction: Instruction, held: dict[str, frozenset[str]]) -> frozenset[str]:
    """What an instruction's result may be made from."""
    name = _name(instruction)
    if name in WRITING and name != "atom":
        return frozenset()
    if name in ACCESSING:
        return _of(_address(instruction), held) if ".param" in instruction.opcode else frozenset()
    return frozenset().union(*(_of(operand, held) for operand in instruction.operands[1:]))


def _address(instruction: Instruction) -> Operand | None:
    """The operand that an access goes through; the one that it reads, of a copy."""
    found = [operand for operand in instruction.operands if isinstance(operand, Address)]
    return found[-1] if found else None


def _of(operand: Operand | None, held: dict[str, frozenset[str]]) -> frozenset[str]:
    match operand:
        case Address(base=base):
            return _of(base if isinstance(base, (Register, Symbol)) else None, held)
        case Symbol(name=name):
            return frozenset((name,))
        case Register(name=name):
            return held.get(name, frozenset())
        case _:
            return frozenset()


def _registers(operands: tuple[Operand, ...]) -> Iterator[str]:
    for operand in operands:
        match operand:
            case Register(name=name):
                yield name
            case Vector(elements=elements):
                yield from _registers(elements)


def _name(instruction: Instruction) -> str:
    return instruction.opcode.partition(".")[0]
