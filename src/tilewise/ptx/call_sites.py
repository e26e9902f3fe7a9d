"""A copy of each called function for each call, so that its instructions know where they were called from."""

from __future__ import annotations

from dataclasses import replace

from tilewise.ptx.ast import Function, Instruction, Label, Operand, Position, PtxModule, Symbol

INSTRUCTIONS = 20_000
"""At most so many are copied; calls past that share their function."""
CALLS = ("call", "call.uni")


def copy_called(module: PtxModule, kernel: str) -> PtxModule:
    """Return the module with a copy of a function for each call by name that `kernel` reaches.

    The positions in a copy have the call's in the chain of callers, as if the compiler had inlined it. Functions that call
    themselves, that hold shared variables or that are called by address stay shared.
    """
    entry = next((function for function in module.functions if function.name == kernel and function.is_entry), None)
    if entry is None:
        return module
    copier = _Copier({function.name: function for function in module.functions if not function.is_entry})
    called = copier.copy(entry, kernel, None, frozenset())
    kept = tuple(called if function.name == kernel else function for function in module.functions)
    return replace(module, functions=(*kept, *copier.copies))


class _Copier:
    def __init__(self, functions: dict[str, Function]) -> None:
        self.copies: list[Function] = []
        self._functions = functions
        self._left = INSTRUCTIONS

    def copy(self, function: Function, name: str, call: Position | None, path: frozenset[str]) -> Function:
        """Return a function under a name, its calls led to copies; `call` is where it is called, `path` who leads there."""
        inside = path | {function.name}
        body = tuple(self._copy_item(item, function, call, inside) for item in function.body)
        return replace(function, name=name, body=body)

    def _copy_item(
        self, item: Instruction | Label, function: Function, call: Position | None, path: frozenset[str]
    ) -> Instruction | Label:
        if isinstance(item, Label):
            return item
        position = item.position if call is None else _called_from(item.position, function.name, call)
        operands = item.operands
        if item.opcode in CALLS:
            operands = tuple(self._copy_target(operand, position, path) for operand in operands)
        return replace(item, operands=operands, position=position)

    def _copy_target(self, operand: Operand, call: Position | None, path: frozenset[str]) -> Operand:
        called = self._functions.get(operand.name) if isinstance(operand, Symbol) else None
        if called is None or call is None or called.name in path or any(v.space == "shared" for v in called.variables):
            return operand
        if len(called.body) > self._left:
            return operand
        self._left -= len(called.body)
        name = f"{called.name} of call {len(self.copies)}"  # no name of the text has a blank in it
        place = len(self.copies)
        self.copies.append(called)
        self.copies[place] = self.copy(called, name, call, path)
        return Symbol(name)


def _called_from(position: Position | None, function: str, call: Position) -> Position:
    """A position in a function with the call behind its own chain; the call's where the function has no source, as CUDA's own."""
    if position is None:
        return call
    if position.inlined_at is not None:
        return replace(position, inlined_at=_called_from(position.inlined_at, function, call))
    return replace(position, function=position.function or function, inlined_at=call)
