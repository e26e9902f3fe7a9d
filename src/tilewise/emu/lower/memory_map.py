"""Where a module's variables and functions stand in the virtual address space. All but arguments' buffers do at compile time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError
from tilewise.emu.isa.spec import BYTES
from tilewise.emu.windows import (
    BUFFER_ALIGN,
    CODE_STEP,
    CODE_WINDOW,
    CONSTANT_BASE,
    CONSTANT_GAP,
    GLOBAL_BASE,
    GLOBAL_GAP,
)
from tilewise.ptx.ast import (
    Address,
    Arguments,
    Function,
    Instruction,
    Operand,
    PtxModule,
    Register,
    Relocation,
    Symbol,
    Variable,
    Vector,
)

DYNAMIC_SHARED_ALIGN = 16
LOCAL_WORD = 4
"""Bytes of a thread's local memory that stand together; the next such bytes come after those of the warp's other lanes."""
GRID_WORKSPACE = "grid workspace"
"""What a driver gives a cooperative launch: its size, then the count of blocks that came to grid.sync() [cooperative_groups]."""
GRID_WORKSPACE_SHIFTS = {"%envreg1": 32, "%envreg2": 0}
"""The registers that hold its address, and how far right each has it shifted."""
_GRID_WORKSPACE = Variable(GRID_WORKSPACE, "global", "b32", 2, align=8, initial=bytes([8, 0, 0, 0]))


@dataclass(frozen=True, slots=True)
class PlacedVariable:
    """A module variable: bytes from `address` on, the first ones as `initial` has them, the others zero."""

    name: str
    address: int
    size: int
    """Bytes."""
    initial: bytes
    writable: bool


def size_of(variable: Variable) -> int:
    """Bytes of a variable or parameter."""
    return BYTES[variable.type] * (1 if variable.count is None else variable.count)


def layout(variables: Iterable[Variable]) -> tuple[dict[str, int], int]:
    """Return each variable's byte offset, one after another at its alignment, and the bytes of all."""
    offsets, end = {}, 0
    for variable in variables:
        end = -(-end // variable.align) * variable.align
        offsets[variable.name] = end
        end += size_of(variable)
    return offsets, end


def shared_layout(variables: Iterable[Variable]) -> tuple[dict[str, int], int]:
    """Static variables first; all `extern` arrays begin together where the static ones end."""
    shared = [variable for variable in variables if variable.space == "shared"]
    offsets, end = layout(variable for variable in shared if not variable.external)
    dynamic = [variable for variable in shared if variable.external]
    if dynamic:
        align = max(DYNAMIC_SHARED_ALIGN, *(variable.align for variable in dynamic))
        end = -(-end // align) * align
        offsets.update({variable.name: end for variable in dynamic})
    return offsets, end


def code_addresses(module: PtxModule) -> dict[str, int]:
    """Each function's address: what a function pointer holds."""
    return {function.name: CODE_WINDOW + CODE_STEP * (index + 1) for index, function in enumerate(module.functions)}


def variable_addresses(module: PtxModule) -> dict[str, int]:
    """The address of each module variable in global or constant memory, and of the grid's workspace."""
    places, ends = {}, {"const": CONSTANT_BASE, "global": GLOBAL_BASE}
    for variable in (*module.variables, _GRID_WORKSPACE):
        if variable.space in ends:
            step = max(variable.align, BUFFER_ALIGN)
            start = -(-ends[variable.space] // step) * step
            places[variable.name] = start
            ends[variable.space] = start + size_of(variable) + (CONSTANT_GAP if variable.space == "const" else GLOBAL_GAP)
    return places


def placed_variables(module: PtxModule, function: Function, addresses: dict[str, int]) -> tuple[PlacedVariable, ...]:
    """Return the module variables that a function can reach, by name or by an address in another's initial value.

    `addresses` holds those of variables and functions. Raises TilewiseError for a variable without a definition.
    """
    variables = (*module.variables, _GRID_WORKSPACE)
    known = {variable.name: variable for variable in variables if variable.space in ("global", "const")}
    waiting, found = [name for name in symbols_of(function) if name in known], {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = known[name]
            waiting += [relocation.symbol for relocation in known[name].relocations if relocation.symbol in known]
    return tuple(_place(variable, addresses) for name, variable in known.items() if name in found)


def _place(variable: Variable, addresses: dict[str, int]) -> PlacedVariable:
    if variable.external:
        raise TilewiseError(f"the module declares {variable.name} and does not define it: link it with the module that does.")
    initial = bytearray(variable.initial or b"")
    for relocation in variable.relocations:
        _relocate(initial, relocation, variable, addresses)
    return PlacedVariable(variable.name, addresses[variable.name], size_of(variable), bytes(initial), variable.space == "global")


def _relocate(initial: bytearray, relocation: Relocation, variable: Variable, addresses: dict[str, int]) -> None:
    if relocation.symbol not in addresses:
        raise TilewiseError(f"{variable.name} holds the address of {relocation.symbol}, which the module does not define.")
    address = addresses[relocation.symbol] + relocation.addend
    if relocation.byte is not None:
        initial[relocation.offset] = address >> 8 * relocation.byte & 0xFF
        return
    size = BYTES[variable.type]
    initial[relocation.offset : relocation.offset + size] = (address & (1 << 8 * size) - 1).to_bytes(size, "little")


def symbols_of(function: Function) -> set[str]:
    """All names of variables, labels and functions in a function's instructions, the grid's workspace included."""
    return {
        name for item in function.body if isinstance(item, Instruction) for operand in item.operands for name in _symbols(operand)
    }


def _symbols(operand: Operand) -> Iterator[str]:
    match operand:
        case Symbol(name, _):
            yield name
        case Register(name, special=True) if name in GRID_WORKSPACE_SHIFTS:
            yield GRID_WORKSPACE
        case Address(base, _):
            yield from _symbols(base)
        case Vector(elements) | Arguments(elements):
            for element in elements:
                yield from _symbols(element)
