"""A launch's arguments as the kernel sees them: buffers at virtual addresses, and the bytes of its parameters."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch
from tilewise.emu import abi
from tilewise.emu.blueprint import Blueprint, Parameter
from tilewise.ptx.declarations import TYPE_BYTES

if TYPE_CHECKING:
    import numpy as np

FIRST_ADDRESS = 0x7F00_0000_0000
BUFFER_ALIGN = 512
"""Where cudaMalloc starts a buffer: sectors then do not depend on where NumPy put an array."""
GAP_BYTES = 1 << 20
"""Unmapped addresses after each buffer, so that running past one does not end in the next."""

_PACK = {"f32": "<f", "f64": "<d"}


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
    if len(parameters) != len(launch.args):
        raise TilewiseError(
            f"{launch.kernel} has {len(parameters)} parameters and was given {len(launch.args)} arguments: "
            f"it takes {', '.join(_describe(parameter) for parameter in parameters) or 'none'}."
        )
    block = bytearray(blueprint.parameter_bytes)
    buffers: list[BoundBuffer] = []
    next_address = FIRST_ADDRESS
    for index, (parameter, argument) in enumerate(zip(parameters, launch.args, strict=True)):
        if isinstance(argument, np.ndarray):
            buffer, pointer = _bind_array(index, argument, next_address)
            if parameter.type not in ("u64", "b64", "s64") or parameter.count is not None:
                raise TilewiseError(
                    f"argument {index} is an array, but parameter {index} is a {_describe(parameter)}: give a number."
                )
            next_address = -(-(buffer.high + GAP_BYTES) // BUFFER_ALIGN) * BUFFER_ALIGN
            buffers.append(buffer)
            data = struct.pack("<Q", pointer)
        else:
            data = _pack_number(index, parameter, argument)
        block[parameter.offset : parameter.offset + len(data)] = data
    return Arguments(bytes(block), tuple(buffers), launch.args)


def _bind_array(index: int, array: np.ndarray[Any, Any], low: int) -> tuple[BoundBuffer, int]:
    """Place an array at `low`; return its buffer and the address of its first element."""
    from numpy.lib.array_utils import byte_bounds

    first, end = byte_bounds(array) if array.size else (array.ctypes.data, array.ctypes.data)
    buffer = BoundBuffer(index, low, low + end - first, first, array.flags.writeable)
    return buffer, low + array.ctypes.data - first


def _pack_number(index: int, parameter: Parameter, argument: Any) -> bytes:
    import numpy as np

    type_, bits = parameter.type, 8 * TYPE_BYTES[parameter.type]
    if parameter.count is not None:
        size = parameter.count * TYPE_BYTES[parameter.type]
        data = argument.tobytes() if isinstance(argument, np.generic) else b""
        if len(data) != size:
            raise TilewiseError(
                f"argument {index} = {argument!r} has {len(data)} bytes, and parameter {index} is a structure of {size}, "
                f"passed by value: give a NumPy scalar of that size, such as np.void(array.tobytes())."
            )
        return data
    if type_ in _PACK:
        try:
            return struct.pack(_PACK[type_], float(argument))
        except (TypeError, ValueError, OverflowError):
            raise TilewiseError(f"argument {index} = {argument!r} is not a number that {type_} holds.") from None
    try:
        number = int(argument)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != argument or not -(1 << bits - 1) <= number < 1 << bits:
        raise TilewiseError(f"argument {index} = {argument!r} is not a whole number of {bits} bits, as parameter {index} wants.")
    return (number & ((1 << bits) - 1)).to_bytes(bits // 8, "little")


def _describe(parameter: Parameter) -> str:
    return f".{parameter.type}" if parameter.count is None else f".{parameter.type}[{parameter.count}]"


def buffer_table(buffers: tuple[BoundBuffer, ...]) -> ctypes.Array[abi.Buffer]:
    """The buffers as the runtime reads them."""
    mask = (1 << 64) - 1
    return (abi.Buffer * max(1, len(buffers)))(
        *(abi.Buffer(buffer.low, buffer.high, (buffer.host - buffer.low) & mask, buffer.writable) for buffer in buffers)
    )
