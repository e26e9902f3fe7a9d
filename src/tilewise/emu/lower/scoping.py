"""Names of a function that stand for nothing of any other: registers, labels, parameters and local variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewise.ptx.ast import (
    Address,
    Arguments,
    Function,
    Guard,
    Instruction,
    Label,
    Negated,
    Operand,
    Pair,
    Part,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Vector,
)


def scoped(function: Function) -> Function:
    """Return the function with its own names prefixed by its name; those of kernels stay as they are."""
    if function.is_entry:
        return function
    own = {variable.name for variable in (*function.parameters, *function.returns)}
    own |= {variable.name for variable in function.variables if variable.space != "shared"}
    own |= (
        {item.name for item in function.body if isinstance(item, Label)}
        | function.branch_targets.keys()
        | function.prototypes.keys()
    )

    def rename(name: str) -> str:
        return f"{function.name}:{name}"

    def swap(operand: Operand) -> Operand:
        match operand:
            case Register(name, False):
                return Register(rename(name))
            case Symbol(name, offset) if name in own:
                return Symbol(rename(name), offset)
        return operand

    variables = tuple(replace(v, name=rename(v.name)) if v.name in own else v for v in function.variables)
    return replace(
        function,
        parameters=tuple(replace(variable, name=rename(variable.name)) for variable in function.parameters),
        returns=tuple(replace(variable, name=rename(variable.name)) for variable in function.returns),
        registers={rename(name): type_ for name, type_ in function.registers.items()},
        variables=variables,
        body=tuple(
            Label(rename(item.name)) if isinstance(item, Label) else map_operands(item, swap, rename) for item in function.body
        ),
        branch_targets={rename(name): tuple(map(rename, labels)) for name, labels in function.branch_targets.items()},
        prototypes={rename(name): prototype for name, prototype in function.prototypes.items()},
    )


def map_operands(
    instruction: Instruction, swap: Callable[[Operand], Operand], rename: Callable[[str], str] | None = None
) -> Instruction:
    """Return an instruction with `swap` applied to its registers and symbols, wherever they stand, and `rename` to its guard."""
    operands = tuple(_map(operand, swap) for operand in instruction.operands)
    guard = instruction.guard
    if guard is not None and rename is not None:
        guard = Guard(rename(guard.register), guard.negated)
    return replace(instruction, operands=operands, guard=guard)


def _map(operand: Operand, swap: Callable[[Operand], Operand]) -> Operand:
    def register(old: Register) -> Register:
        new = swap(old)
        assert isinstance(new, Register)
        return new

    match operand:
        case Address(base, offset):
            moved = swap(base)
            assert isinstance(moved, Register | Symbol) or moved is base
            return Address(moved, offset)
        case Vector(elements):
            return Vector(tuple(_map(element, swap) for element in elements))
        case Arguments(elements):
            return Arguments(tuple(_map(element, swap) for element in elements))
        case Part(old, selector):
            return Part(register(old), selector)
        case Negated(old):
            return Negated(register(old))
        case Pair(first, second):
            return Pair(*(half if isinstance(half, Sink) else register(half) for half in (first, second)))
        case TensorAddress(base, sampler, coordinates):
            moved_base = _map(base, swap)
            assert isinstance(moved_base, Address)
            moved_sampler = None if sampler is None else _map(sampler, swap)
            return TensorAddress(moved_base, moved_sampler, tuple(_map(part, swap) for part in coordinates))
    return swap(operand)
