"""A launch: what the GPU runtime and the emulator both take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewise.core.errors import TilewiseError
from tilewise.core.module import Module

if TYPE_CHECKING:
    import numpy as np

Dim3 = tuple[int, int, int]

CHECKED_INSTRUCTIONS = 5_000_000_000
"""Warp instructions of PTX that a check runs a launch for where nobody says: one that never ends is among what it should find."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Stands among a launch's arguments for a pointer into a buffer that each call gives anew (only on a GPU)."""

    buffer: int
    """Which of the call's buffers."""
    offset: int = 0
    """Bytes from the buffer's address."""


if TYPE_CHECKING:
    Argument = np.ndarray | np.generic | int | float | Slot


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel of a module with its launch configuration and arguments.

    `grid` and `block` count blocks and threads along x, y, z; `args` stand in the order of the kernel's parameters: for a pointer
    an array (never copied), a GPU's address or a Slot, a number for a number.
    """

    module: Module
    kernel: str
    grid: Dim3
    block: Dim3
    args: tuple[Argument, ...]
    cluster: Dim3 = (1, 1, 1)
    dynamic_shared_bytes: int = 0

    def __post_init__(self) -> None:
        for name in ("grid", "block", "cluster"):
            object.__setattr__(self, name, as_dim3(name, getattr(self, name)))

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads_per_block(self) -> int:
        """Threads of a block, in whole warps or not."""
        return self.block[0] * self.block[1] * self.block[2]


def as_dim3(name: str, value: object) -> Dim3:
    """Return `value` (an int or one to three ints) as x, y, z.

    Raises TilewiseError for anything that is not one to three whole numbers of at least 1.
    """
    parts = value if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3 or not all(isinstance(part, int) and part >= 1 for part in parts):
        raise TilewiseError(f"{name} = {value!r} is not one to three whole numbers of at least 1, such as (4, 4) or 256.")
    x, y, z = (*parts, 1, 1)[:3]
    return x, y, z
