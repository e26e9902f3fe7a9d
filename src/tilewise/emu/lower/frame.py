"""Where a warp's state stands in its struct tw_warp: masks after the words, then the registers that live across blocks."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from tilewise.emu.abi import Warp
from tilewise.emu.isa.spec import LLVM_TYPES
from tilewise.emu.lower.program import Program
from tilewise.emu.lower.step import CARRY
from tilewise.emu.patterns import LANES, Shape
from tilewise.emu.value import bits_of

VECTOR_ALIGN = 64
WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class Frame:
    """Byte offsets within struct tw_warp."""

    words: int
    """64-bit words that hold one bit a block."""
    slots: dict[str, int]
    bytes: int

    @property
    def pending(self) -> int:
        """The words with a bit for each block that lanes are pending at."""
        return ctypes.sizeof(Warp)

    @property
    def yielded(self) -> int:
        """The words with a bit for each block at which lanes let others go first; before them those of lanes that meet others."""
        return self.pending + 2 * self.words * 8

    @property
    def masks(self) -> int:
        """The lane mask of each block."""
        return self.yielded + self.words * 8


def lay_out(program: Program, shapes: dict[str, Shape]) -> Frame:
    """Return a frame with a slot for each register that is live at a block's start: a vector where it is full, else a scalar."""
    words = -(-len(program.steps) // WORD_BITS)
    end = ctypes.sizeof(Warp) + 3 * 8 * words + 4 * len(program.steps)
    slots = {}
    for name in sorted(frozenset().union(*program.live_in)):
        shape = shapes.get(name)
        if shape is None or (shape.constant is not None and not shape.full):
            continue
        bits = bits_of(register_type(program, name))
        size = -(-(LANES * bits if shape.full else max(bits, 8)) // 8)
        align = min(size, VECTOR_ALIGN)
        end = -(-end // align) * align
        slots[name] = end
        end += size
    return Frame(words, slots, -(-end // VECTOR_ALIGN) * VECTOR_ALIGN)


def register_type(program: Program, name: str) -> str:
    """The LLVM type of a register."""
    return "i1" if name == CARRY else LLVM_TYPES[program.function.registers[name]]
