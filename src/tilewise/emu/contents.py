"""What an array holds, kept to be put back: parts that are all zeros take no memory, and are not touched where they stay so.

A buffer of gigabytes of which a kernel is to touch a few bytes is often memory that nobody has touched yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PART_BYTES = 1 << 20


class Contents:
    """The contents of an array at the time this object is made."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self._whole = None if array.flags.c_contiguous else array.copy()
        self._parts: list[NDArray[np.uint8] | None] = []
        if self._whole is None:
            self._parts = [part.copy() if part.any() else None for part in _parts(array)]

    def put_back(self) -> None:
        """Make the array hold them again."""
        if self._whole is not None:
            self._array[...] = self._whole
            return
        for part, kept in zip(_parts(self._array), self._parts, strict=True):
            if kept is not None:
                part[...] = kept
            elif part.any():
                part[...] = 0


def _parts(array: NDArray[Any]) -> list[NDArray[np.uint8]]:
    """The bytes of an array whose elements lie side by side, as views."""
    import numpy as np

    data = array.reshape(-1).view(np.uint8)
    return [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)]
