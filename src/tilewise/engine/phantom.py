"""Arrays that stand for memory elsewhere: NumPy knows their shape, strides and address, and nobody reads them.

So that views, broadcasting and overlap of a GPU's arrays follow NumPy's own rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewise.core.launch import Slot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

_BUFFER_BITS = 44
"""A buffer's addresses differ in fewer bits: 16 TiB, more than a GPU has."""


class _Interface:
    """NumPy's array interface, version 3."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "typestr": "<f4",
            "data": (address, False),
            "shape": shape,
            "strides": strides,
        }


def phantom_at(address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return an array whose first element is at an address, for looking at overlap."""
    return np.asarray(_Interface(address, shape, strides))


def phantom(buffer: int, low_bits: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return an array that stands for buffer number `buffer` of a call; its address ends in `low_bits`, below 256."""
    return phantom_at(_base(buffer) + low_bits, shape, strides)


def slot(array: Array, low_bits: tuple[int, ...]) -> Slot:
    """Return where a view of a phantom begins; `low_bits` are those of each buffer."""
    address = int(array.__array_interface__["data"][0])
    buffer = (address >> _BUFFER_BITS) - 1
    return Slot(buffer, address - _base(buffer) - low_bits[buffer])


def _base(buffer: int) -> int:
    """The middle of a buffer's addresses: strides may be negative."""
    return (buffer + 1 << _BUFFER_BITS) + (1 << _BUFFER_BITS - 1)
