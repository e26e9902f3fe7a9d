"""Who calls whom, of the functions that a kernel reaches; which calls may lead to one and the same function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tilewise.emu.lower.memory_map import size_of, symbols_of
from tilewise.emu.lower.scoping import scoped
from tilewise.ptx.ast import (
    Arguments,
    Function,
    Instruction,
    Label,
    Operand,
    Prototype,
    PtxModule,
    Register,
    Symbol,
    Variable,
)
from tilewise.ptx.cursor import ptx_error


@dataclass(frozen=True, slots=True)
class Call:
    """One call as its text has it."""

    instruction: Instruction
    returns: tuple[Operand, ...]
    target: Symbol | Register
    arguments: tuple[Operand, ...]
    prototype: Prototype | None


@dataclass(frozen=True, slots=True)
class CallGraph:
    """Who calls whom, of the functions that a kernel reaches."""

    functions: dict[str, Function]
    """The kernel first."""
    interfaces: dict[str, tuple[str, ...]]
    """The functions of each interface."""
    callees: dict[str, frozenset[str]]
    """What each function calls."""
    recursive: frozenset[str]
    """Functions that may be called again before they have returned."""

    def interface_of(self, function: str) -> str:
        """The interface of a function."""
        return next(name for name, members in self.interfaces.items() if function in members)

    def calls_back(self, caller: str, interface: str) -> bool:
        """Whether a call to an interface may call its caller."""
        return any(caller in reach(self.callees, callee) for callee in self.interfaces.get(interface, ()))


def read_call(instruction: Instruction, function: Function) -> Call:
    """Return the parts of a call. Raises TilewiseError for one that is none."""
    operands = list(instruction.operands)
    returns = operands.pop(0) if operands and isinstance(operands[0], Arguments) else Arguments(())
    target = operands.pop(0) if operands else None
    arguments = operands.pop(0) if operands and isinstance(operands[0], Arguments) else Arguments(())
    name = operands[-1].name if operands and isinstance(operands[-1], Symbol) else ""
    if not (isinstance(returns, Arguments) and isinstance(arguments, Arguments) and isinstance(target, Symbol | Register)):
        raise ptx_error(f"{instruction.opcode} names no function: write (results), function, (arguments)", instruction.ptx_line)
    return Call(instruction, returns.elements, target, arguments.elements, function.prototypes.get(name))


def is_call(item: Instruction | Label) -> bool:
    """Whether an item of a body is a call."""
    return isinstance(item, Instruction) and item.opcode in ("call", "call.uni")


def call_graph(module: PtxModule, kernel: Function) -> CallGraph:
    """Return the functions that a kernel reaches."""
    bodies = {function.name: scoped(function) for function in module.functions if not function.is_entry}
    taken = {
        name for variable in module.variables for relocation in variable.relocations if (name := relocation.symbol) in bodies
    }
    functions, callees, waiting = {kernel.name: kernel}, {}, [kernel]
    for function in (kernel, *bodies.values()):
        taken |= symbols_of(replace(function, body=tuple(item for item in function.body if not is_call(item)))) & bodies.keys()
    while waiting:
        function = waiting.pop()
        found = {name for item in function.body if is_call(item) for name in _targets(item, function, bodies, taken)}  # type: ignore[arg-type]
        callees[function.name] = frozenset(found)
        waiting += [bodies[name] for name in sorted(found) if name not in functions]
        functions |= {name: bodies[name] for name in found}
    names: dict[str, list[str]] = {}
    for function in functions.values():
        if not function.is_entry:
            name = _signature(function.returns, function.parameters) if function.name in taken else function.name
            names.setdefault(name, []).append(function.name)
    interfaces = {name: tuple(sorted(members)) for name, members in names.items()}
    recursive = frozenset(name for name in functions if name in reach(callees, *callees[name]))
    return CallGraph(functions, interfaces, callees, recursive)


def reach(callees: Mapping[str, frozenset[str]], *starts: str) -> set[str]:
    """All functions that these call, directly or not, themselves included."""
    found, waiting = set(starts), list(starts)
    while waiting:
        for name in callees.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def _targets(item: Instruction, function: Function, bodies: Mapping[str, Function], taken: set[str]) -> Iterator[str]:
    call = read_call(item, function)
    if isinstance(call.target, Symbol):
        if call.target.name in bodies:
            yield call.target.name
        return
    wanted = called_signature(call, function)
    yield from (name for name in sorted(taken) if _signature(bodies[name].returns, bodies[name].parameters) == wanted)


def _signature(returns: Iterable[Variable], parameters: Iterable[Variable]) -> str:
    """The name of the interface of functions that take and give so many bytes each."""
    given, taken = (",".join(str(size_of(variable)) for variable in group) for group in (returns, parameters))
    return f"({given}) ({taken})"


def called_signature(call: Call, function: Function) -> str:
    """The name of the interface that a call by address takes its functions to have."""
    if call.prototype is not None:
        return _signature(call.prototype.returns, call.prototype.parameters)
    known = {variable.name: variable for variable in function.variables}
    returns, arguments = (
        [known[operand.name] for operand in group if isinstance(operand, Symbol)] for group in (call.returns, call.arguments)
    )
    return _signature(returns, arguments)
