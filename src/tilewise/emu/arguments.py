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
from tilewise.ptx.parameters import check_count, describe, is_pointer, pack_number

if TYPE_CHECKING:
    import numpy as np

FIRST_ADDRESS = 0x7F00_0000_0000
BUFFER_ALIGN = 512
"""Where cudaMalloc starts a buffer: sectors then do not depend on where NumPy put an array."""
GAP_BYTES = 1 << 20
"""Unmapped addresses after each buffer, so that running past one does not end in the next."""


@dataclass(frozen=True, slots=True)
class BoundBuffer:
    """An array argument: bytes low..high of the virtual address space are its bytes in this process."""

    argument: int
    low: int
    high: int
    host: int
    writable: bool


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameter block, and the buffers that it points to. Keeps the arrays alive."""

    parameters: bytes
    buffers: tuple[BoundBuffer, ...]
    arrays: tuple[Any, ...]


def bind(launch: Launch, blueprint: Blueprint) -> Arguments:
    """Return the launch's arguments bound to the kernel's parameters.

    Raises TilewiseError for a wrong number of arguments, an array where a number belongs (or the reverse), and a number that the
    parameter's type cannot hold.
    """
    import numpy as np

    parameters = blueprint.parameters
    check_count(launch.kernel, parameters, len(launch.args))
    block = bytearray(blueprint.parameter_bytes)
    buffers: list[BoundBuffer] = []
    next_address = FIRST_ADDRESS
    for index, (parameter, argument) in enumerate(zip(parameters, launch.args, strict=True)):
        if isinstance(argument, np.ndarray):
            buffer, pointer = _bind_array(index, argument, next_address)
            if not is_pointer(parameter):
                raise TilewiseError(
                    f"argument {index} is an array, but parameter {index} is a {describe(parameter)}: give a number."
                )
            next_address = -(-(buffer.high + GAP_BYTES) // BUFFER_ALIGN) * BUFFER_ALIGN
            buffers.append(buffer)
            data = struct.pack("<Q", pointer)
        else:
            data = pack_number(index, parameter, argument)
        block[parameter.offset : parameter.offset + len(data)] = data
    return Arguments(bytes(block), tuple(buffers), launch.args)


def _bind_array(index: int, array: np.ndarray[Any, Any], low: int) -> tuple[BoundBuffer, int]:
    """Place an array at `low`; return its buffer and the address of its first element."""
    from numpy.lib.array_utils import byte_bounds

    first, end = byte_bounds(array) if array.size else (array.ctypes.data, array.ctypes.data)
    buffer = BoundBuffer(index, low, low + end - first, first, array.flags.writeable)
    return buffer, low + array.ctypes.data - first


def buffer_table(buffers: tuple[BoundBuffer, ...]) -> ctypes.Array[abi.Buffer]:
    """The buffers as the runtime reads them."""
    mask = (1 << 64) - 1
    return (abi.Buffer * max(1, len(buffers)))(
        *(abi.Buffer(buffer.low, buffer.high, (buffer.host - buffer.low) & mask, buffer.writable) for buffer in buffers)
    )
