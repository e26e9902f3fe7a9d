"""A kernel and the functions that it calls, made ready to be one program: what they pass goes through registers.

Each function keeps its own registers, under names of its own, so that a call is a jump and a return a jump to one of the places
behind calls, by its number. A function that may call itself again, in whatever way, puts what it needs later on its thread's
stack. What functions of one *interface* take and give passes through the same registers: functions whose address somebody takes
share the interface of their parameters' sizes, any other has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewise.emu.isa.spec import BYTES
from tilewise.emu.lower.callgraph import Call, CallGraph, called_signature, is_call, read_call
from tilewise.emu.lower.memory_map import size_of
from tilewise.emu.lower.passing import (
    ParameterAccess,
    Passing,
    Range,
    as_operand,
    parameter_access,
    parameter_variables,
    piece_register,
    piece_type,
    whole,
)
from tilewise.emu.lower.rewriting import branch_round
from tilewise.emu.lower.scoping import map_operands
from tilewise.ptx.ast import (
    Address,
    Function,
    Instruction,
    Integer,
    Label,
    Operand,
    Register,
    Sink,
    Symbol,
    Variable,
)

STACK = "stack pointer"
"""The register, and the name of the address, of a thread's stack."""
_SAVED_PREDICATE = "saved predicate"
Saves = Mapping[tuple[str, str, int], Sequence[tuple[str, str]]]
"""Registers with their types that a caller needs behind a call of itself: by caller, interface and number of the call."""


class Caller:
    """Rewrites the bodies of one call graph."""

    def __init__(self, graph: CallGraph, saves: Saves) -> None:
        self.graph = graph
        self.registers: dict[str, str] = {}
        """Those that calls need, with their types."""
        self._saves = saves
        self._numbers: dict[str, int] = {}
        self._passing = Passing()
        for function in graph.functions.values():
            self._collect(function)
        self._passing.cut()

    # -- what is passed

    def _collect(self, function: Function) -> None:
        """Make a function's parameters known, and join them with what its calls pass."""
        names = {variable.name for variable in parameter_variables(function)}
        for item in function.body:
            if not isinstance(item, Instruction):
                continue
            found = parameter_access(item, names)
            if found is not None:
                self._passing.add((function.name, found.name), (element for element, _ in found.elements))
            elif is_call(item) and (interface := self._interface(call := read_call(item, function), function)) is not None:
                for side, operands in (("result", call.returns), ("argument", call.arguments)):
                    for index, operand in enumerate(operands):
                        if isinstance(operand, Symbol):
                            self._passing.join((interface, side, index), (function.name, operand.name))
        if not function.is_entry:
            interface = self.graph.interface_of(function.name)
            for side, variables in (("result", function.returns), ("argument", function.parameters)):
                for index, variable in enumerate(variables):
                    if variable.space == "reg":
                        is_predicate = variable.type == "pred"
                        self._passing.add((interface, side, index), [whole(variable)], is_predicate=is_predicate)
                    else:
                        self._passing.join((interface, side, index), (function.name, variable.name))

    def _interface(self, call: Call, function: Function) -> str | None:
        """The interface of what is called; None if nobody knows it."""
        if isinstance(call.target, Register):
            return called_signature(call, function)
        return self.graph.interface_of(call.target.name) if call.target.name in self.graph.functions else None

    # -- bodies

    def rewrite(self, function: Function) -> Function:
        """Return a function in which calls and returns are the emulator's own, and parameters registers."""
        body: list[Instruction | Label] = [] if function.is_entry else list(self._enter(function))
        names = {variable.name for variable in parameter_variables(function)}
        for item in function.body:
            if not isinstance(item, Instruction):
                body.append(item)
            elif (found := parameter_access(item, names)) is not None:
                body += self._access(function, found)
            elif is_call(item):
                body += self._call(function, read_call(item, function))
            elif item.opcode in ("ret", "ret.uni") and not function.is_entry:
                body += _guarded(item, list(self._leave(function, item)), f"past return {function.name} {len(body)}")
            else:
                body.append(item)
        if not function.is_entry:  # where the text runs out
            body += self._leave(function, Instruction("ret", (), None, None, 0))
        body = self._with_stack(function, body)
        return replace(function, body=tuple(body))

    def _access(self, function: Function, found: ParameterAccess) -> Iterator[Instruction]:
        type_ = found.step.instruction.opcode.rpartition(".")[2]
        for element, operand in found.elements:
            place = self._pieces((function.name, found.name), f"{function.name} {found.name}", element)
            if place is None or isinstance(operand, Sink):
                continue
            operands = (place, operand) if found.is_store else (operand, place)
            yield replace(found.step.instruction, opcode=f"Pass.{type_}", operands=operands)

    def _pieces(self, name: tuple[object, ...], scope: str, element: Range) -> Operand | None:
        """The registers of an element of a parameter."""
        group = self._passing.group(name)
        pieces = group.within(element)
        registers = [piece_register(scope, piece) for piece in pieces]
        self.registers |= {register: piece_type(group, piece) for register, piece in zip(registers, pieces, strict=True)}
        return as_operand(registers) if registers else None

    def _move(self, like: Instruction, name: tuple[object, ...], to: str, source: str) -> Iterator[Instruction]:
        """Move all pieces of a parameter from one scope to another."""
        group = self._passing.group(name)
        for piece in group.pieces:
            registers = [piece_register(scope, piece) for scope in (to, source)]
            self.registers |= dict.fromkeys(registers, piece_type(group, piece))
            operands = tuple(map(Register, registers))
            yield replace(like, opcode=f"Pass.{piece_type(group, piece)}", operands=operands, guard=None)

    def _operand(
        self, like: Instruction, name: tuple[object, ...], scope: str, operand: Operand, *, is_result: bool
    ) -> Iterator[Instruction]:
        """Pass a register or number at a call as all of a parameter that somebody reads."""
        group = self._passing.group(name)
        size = max((first + size for first, size in group.pieces), default=0)
        place = self._pieces(name, scope, (0, size))
        if place is not None:
            operands = (operand, place) if is_result else (place, operand)
            yield replace(like, opcode=f"Pass.{piece_type(group, (0, size))}", operands=operands, guard=None)

    def _side(
        self,
        function: Function,
        like: Instruction,
        interface: str,
        side: str,
        operands: Sequence[Operand | Variable],
        *,
        inwards: bool,
    ) -> Iterator[Instruction]:
        """Move parameters between a function's own registers and the interface's (`inwards`: into the function)."""
        for index, operand in enumerate(operands):
            name, common = (interface, side, index), f"{interface} {side} {index}"
            match operand:
                case Variable(space="reg"):
                    yield from self._operand(like, name, common, Register(operand.name), is_result=inwards)
                case Variable() | Symbol():
                    own = f"{function.name} {operand.name}"
                    yield from self._move(like, name, *((own, common) if inwards else (common, own)))
                case Sink():
                    pass
                case _:
                    yield from self._operand(like, name, common, operand, is_result=inwards)

    def _call(self, function: Function, call: Call) -> list[Instruction | Label]:
        interface, like = self._interface(call, function), call.instruction
        if isinstance(call.target, Symbol) and call.target.name in SYSTEM_CALLS and call.target.name not in self.graph.functions:
            return _guarded(like, [self._system_call(function, call, call.target.name)], f"past call {like.ptx_line}")
        if interface is None:  # to nobody knows whom: an error if it is reached
            return [replace(like, operands=(call.target,))]
        number = self._numbers.setdefault(interface, 0)
        self._numbers[interface] += 1
        back = Register(_return_register(interface))
        self.registers[back.name] = "u32"
        saved = self._saves.get((function.name, interface, number), ())
        steps = [*self._push(like, saved)]
        steps += self._side(function, like, interface, "argument", call.arguments, inwards=False)
        steps.append(replace(like, opcode="mov.u32", operands=(back, Integer(number)), guard=None))
        where = (Symbol(interface), Integer(number))
        opcode = "Call" if isinstance(call.target, Symbol) else "Call.b64"
        steps.append(replace(like, opcode=opcode, operands=(call.target, *where), guard=None))
        steps += self._pop(like, saved)
        steps += self._side(function, like, interface, "result", call.returns, inwards=True)
        return _guarded(like, steps, f"past call {interface} {number}")

    def _system_call(self, function: Function, call: Call, name: str) -> Instruction:
        """A call of the system's as one instruction."""
        opcode, sizes = SYSTEM_CALLS[name]
        operands: list[Operand] = []
        if opcode.startswith("Print"):
            found = None
            if call.returns and isinstance(call.returns[0], Symbol):
                found = self._pieces((function.name, call.returns[0].name), f"{function.name} {call.returns[0].name}", (0, 4))
            operands.append(found or Sink())
        for operand, size in zip(call.arguments, sizes, strict=False):
            if isinstance(operand, Symbol):
                found = self._pieces((function.name, operand.name), f"{function.name} {operand.name}", (0, size))
                operands.append(found or Integer(0))
            else:
                operands.append(operand)
        return replace(call.instruction, opcode=opcode, operands=tuple(operands), guard=None)

    def _enter(self, function: Function) -> Iterator[Instruction]:
        like = Instruction("Pass.b32", (), None, function.position, 0)
        interface = self.graph.interface_of(function.name)
        if function.name in self.graph.recursive:
            yield from self._take_stack(function, like)
        yield from self._side(function, like, interface, "argument", function.parameters, inwards=True)

    def _leave(self, function: Function, like: Instruction) -> Iterator[Instruction]:
        interface = self.graph.interface_of(function.name)
        yield from self._side(function, like, interface, "result", function.returns, inwards=False)
        if function.name in self.graph.recursive and (size := _local_bytes(function)):
            yield self._move_stack(like, -size)
        back = Register(_return_register(interface))
        self.registers[back.name] = "u32"
        yield replace(like, opcode="Return.u32", operands=(back, Symbol(interface)), guard=None)

    # -- the stack

    def _take_stack(self, function: Function, like: Instruction) -> Iterator[Instruction]:
        """Local variables of a function that calls itself stand on the stack: from one register each."""
        start = 0
        for variable in _local_variables(function):
            name = local_register(variable.name)
            self.registers[name] = "b64"
            operands = (Register(name), Register(STACK), Integer(start))
            yield replace(like, opcode="add.u64", operands=operands)
            start += _stack_bytes(variable)
        if start:
            yield self._move_stack(like, start)
            yield replace(like, opcode="Push.b32", operands=(_slot(-1), Integer(0)))  # looks whether there is room

    def _with_stack(self, function: Function, body: list[Instruction | Label]) -> list[Instruction | Label]:
        """A body whose local variables stand on the stack, if it calls itself; a kernel's, with the stack made ready."""
        if function.name in self.graph.recursive:
            own = {variable.name for variable in _local_variables(function)}
            return [item if isinstance(item, Label) else _on_stack(item, own) for item in body]
        if function.is_entry and self.graph.recursive:
            self.registers[STACK] = "b64"
            return [Instruction("mov.u64", (Register(STACK), Symbol(STACK)), None, function.position, 0), *body]
        return body

    def _move_stack(self, like: Instruction, by: int) -> Instruction:
        self.registers[STACK] = "b64"
        return replace(like, opcode="add.s64", operands=(Register(STACK), Register(STACK), Integer(by)), guard=None)

    def _push(self, like: Instruction, saved: Sequence[tuple[str, str]]) -> Iterator[Instruction]:
        for index, (name, type_) in enumerate(saved):
            register = Register(name)
            if type_ == "pred":
                register = Register(_SAVED_PREDICATE)
                self.registers[register.name] = "b32"
                yield replace(like, opcode="selp.b32", operands=(register, Integer(1), Integer(0), Register(name)), guard=None)
            yield replace(like, opcode=f"Push.{_bits(type_)}", operands=(_slot(index), register), guard=None)
        if saved:
            yield self._move_stack(like, SLOT_BYTES * len(saved))

    def _pop(self, like: Instruction, saved: Sequence[tuple[str, str]]) -> Iterator[Instruction]:
        if saved:
            yield self._move_stack(like, -SLOT_BYTES * len(saved))
        for index, (name, type_) in enumerate(saved):
            is_predicate = type_ == "pred"
            register = Register(_SAVED_PREDICATE if is_predicate else name)
            yield replace(like, opcode=f"Pop.{_bits(type_)}", operands=(register, _slot(index)), guard=None)
            if is_predicate:
                yield replace(like, opcode="setp.ne.u32", operands=(Register(name), register, Integer(0)), guard=None)


SYSTEM_CALLS = {"vprintf": ("Print.b32", (8, 8)), "__assertfail": ("Assert", (8, 8, 4, 8))}
"""Functions that no module defines: what they become, and the sizes of the arguments that matter."""
SLOT_BYTES = 16
"""Of the stack, for each register saved."""


def _guarded(item: Instruction, steps: list[Instruction], past: str) -> list[Instruction | Label]:
    """Instructions in place of one, under its guard."""
    return list(steps) if item.guard is None else branch_round(item.guard, steps, past)


def _on_stack(item: Instruction, own: set[str]) -> Instruction:
    """An instruction with local variables by their registers."""
    for place, operand in enumerate(item.operands):
        if isinstance(operand, Symbol) and operand.name in own and operand.offset:
            base = (item.operands[0], Register(local_register(operand.name)), Integer(operand.offset))
            return replace(item, opcode="add.s64", operands=base) if place == 1 and item.opcode.startswith("mov.") else item

    def swap(operand: Operand) -> Operand:
        is_own = isinstance(operand, Symbol) and operand.name in own
        return Register(local_register(operand.name)) if is_own else operand  # type: ignore[union-attr]

    return map_operands(item, swap)


def local_register(variable: str) -> str:
    """The register that holds where a local variable stands on the stack."""
    return f"address of {variable}"


def _return_register(interface: str) -> str:
    return f"{interface} return"


def _slot(index: int) -> Address:
    return Address(Register(STACK), SLOT_BYTES * index)


def _bits(type_: str) -> str:
    """The type that holds a register's bits on the stack."""
    return "b32" if type_ == "pred" else f"b{8 * BYTES[type_]}"


def _local_variables(function: Function) -> list[Variable]:
    return [variable for variable in function.variables if variable.space == "local"]


def _stack_bytes(variable: Variable) -> int:
    step = max(variable.align, SLOT_BYTES)
    return -(-size_of(variable) // step) * step


def _local_bytes(function: Function) -> int:
    return sum(map(_stack_bytes, _local_variables(function)))
