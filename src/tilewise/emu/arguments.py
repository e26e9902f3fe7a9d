"""A launch's arguments as the kernel sees them: buffers at virtual addresses, and the bytes of its parameters."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch
from tilewise.emu import abi
from tilewise.emu.blueprint import Blueprint
from tilewise.emu.lower.memory_map import PlacedVariable
from tilewise.emu.windows import ARGUMENTS_BASE, BUFFER_ALIGN, GLOBAL_GAP, PARAMETER_WINDOW
from tilewise.ptx.parameters import check_count, describe, is_pointer, pack_number

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class BoundBuffer:
    """An array argument, a module variable or the parameters: bytes low..high of the virtual address space stand at `host`."""

    name: str
    """What it is, for a message."""
    space: str
    """global, const or param."""
    low: int
    high: int
    host: int
    writable: bool


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameter block, the buffers, and what they stand in."""

    parameters: ctypes.Array[ctypes.c_char]
    buffers: tuple[BoundBuffer, ...]
    variables: dict[str, np.ndarray[Any, Any]]
    """The bytes of each module variable."""
    arrays: tuple[Any, ...]


def bind(launch: Launch, blueprint: Blueprint) -> Arguments:
    """Return the launch's arguments bound to the kernel's parameters. Those with the same memory share a buffer.

    Raises TilewiseError for a wrong number of arguments, an array where a number belongs (or the reverse), and a number that the
    parameter's type cannot hold.
    """
    import numpy as np

    parameters = blueprint.parameters
    check_count(launch.kernel, parameters, len(launch.args))
    block = bytearray(blueprint.parameter_bytes)
    buffers: list[BoundBuffer] = []
    next_address = ARGUMENTS_BASE
    for index, (parameter, argument) in enumerate(zip(parameters, launch.args, strict=True)):
        if isinstance(argument, np.ndarray):
            buffer, pointer = _bind_array(index, argument, next_address)
            if not is_pointer(parameter):
                raise TilewiseError(
                    f"argument {index} is an array, but parameter {index} is a {describe(parameter)}: give a number."
                )
            same = next((known for known in buffers if _is_same_memory(known, buffer)), None)
            if same is None:
                next_address = -(-(buffer.high + GLOBAL_GAP) // BUFFER_ALIGN) * BUFFER_ALIGN
                buffers.append(buffer)
            data = struct.pack("<Q", pointer if same is None else pointer - buffer.low + same.low)
        else:
            data = pack_number(index, parameter, argument)
        block[parameter.offset : parameter.offset + len(data)] = data
    held = ctypes.create_string_buffer(bytes(block), len(block) + 8)
    start, place = PARAMETER_WINDOW, ctypes.addressof(held)
    buffers.append(BoundBuffer("the parameters", "param", start, start + len(block), place, writable=False))
    variables = {variable.name: _initial_bytes(variable) for variable in blueprint.variables}
    buffers += [_bind_variable(variable, variables[variable.name]) for variable in blueprint.variables]
    return Arguments(held, tuple(buffers), variables, launch.args)


def _initial_bytes(variable: PlacedVariable) -> np.ndarray[Any, Any]:
    import numpy as np

    held = np.zeros(variable.size, np.uint8)
    held[: len(variable.initial)] = np.frombuffer(variable.initial, np.uint8)
    return held


def _bind_variable(variable: PlacedVariable, held: np.ndarray[Any, Any]) -> BoundBuffer:
    space, low = "global" if variable.writable else "const", variable.address
    return BoundBuffer(f"variable {variable.name}", space, low, low + variable.size, held.ctypes.data, variable.writable)


def _bind_array(index: int, array: np.ndarray[Any, Any], low: int) -> tuple[BoundBuffer, int]:
    """Place an array at `low`; return its buffer and the address of its first element."""
    from numpy.lib.array_utils import byte_bounds

    first, end = byte_bounds(array) if array.size else (array.ctypes.data, array.ctypes.data)
    buffer = BoundBuffer(f"argument {index}", "global", low, low + end - first, first, array.flags.writeable)
    return buffer, low + array.ctypes.data - first


def _is_same_memory(one: BoundBuffer, other: BoundBuffer) -> bool:
    shape_one, shape_other = ((buffer.host, buffer.high - buffer.low, buffer.writable) for buffer in (one, other))
    return shape_one == shape_other and one.high > one.low


def buffer_table(buffers: tuple[BoundBuffer, ...]) -> ctypes.Array[abi.Buffer]:
    """The buffers as the runtime reads them."""
    mask = (1 << 64) - 1
    return (abi.Buffer * max(1, len(buffers)))(
        *(
            abi.Buffer(buffer.low, buffer.high, (buffer.host - buffer.low) & mask, abi.SPACES[buffer.space], buffer.writable)
            for buffer in buffers
        )
    )
