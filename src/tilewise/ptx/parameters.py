"""Numbers as a kernel's parameters: the bytes of one argument, and where all of them stand in a block of parameters."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Protocol

from tilewise.core.errors import TilewiseError
from tilewise.ptx.declarations import TYPE_BYTES

POINTER_TYPES = ("u64", "b64", "s64")
"""What the compiler declares a pointer as."""
_PACK = {"f32": "<f", "f64": "<d"}


class Parameter(Protocol):
    """What is asked of a parameter: its PTX type, and its elements where it is a structure passed by value, else None."""

    @property
    def type(self) -> str: ...  # noqa: D102

    @property
    def count(self) -> int | None: ...  # noqa: D102


class Placed(Parameter, Protocol):
    """A parameter with its alignment in bytes."""

    @property
    def align(self) -> int: ...  # noqa: D102


def parameter_offsets(parameters: Sequence[Placed]) -> tuple[int, ...]:
    """Return the byte at which each parameter starts, one behind the other at its own alignment."""
    offsets, end = [], 0
    for parameter in parameters:
        offsets.append(-(-end // parameter.align) * parameter.align)
        end = offsets[-1] + parameter_bytes(parameter)
    return tuple(offsets)


def parameter_bytes(parameter: Parameter) -> int:
    """Return the bytes of one parameter."""
    return TYPE_BYTES[parameter.type] * (1 if parameter.count is None else parameter.count)


def is_pointer(parameter: Parameter) -> bool:
    """Return whether a pointer may be passed."""
    return parameter.type in POINTER_TYPES and parameter.count is None


def check_count(kernel: str, parameters: Sequence[Parameter], arguments: int) -> None:
    """Raise TilewiseError unless a kernel gets as many arguments as it has parameters."""
    if len(parameters) != arguments:
        raise TilewiseError(
            f"{kernel} has {len(parameters)} parameters and was given {arguments} arguments: "
            f"it takes {', '.join(describe(parameter) for parameter in parameters) or 'none'}."
        )


def pack_number(index: int, parameter: Parameter, argument: Any) -> bytes:
    """Return argument `index`, a number or a NumPy scalar, as the bytes of its parameter.

    Raises TilewiseError for a number that the parameter's type cannot hold.
    """
    import numpy as np

    type_, bits = parameter.type, 8 * TYPE_BYTES[parameter.type]
    if parameter.count is not None:
        size = parameter_bytes(parameter)
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


def describe(parameter: Parameter) -> str:
    """Return the parameter's type as PTX writes it."""
    return f".{parameter.type}" if parameter.count is None else f".{parameter.type}[{parameter.count}]"
