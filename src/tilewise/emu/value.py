"""One value in 32 lanes: the same in all of them, a scalar plus offsets, or a vector, perhaps still to be made.

Knows LLVM's scalar types; code that works on values is lanes.py's.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.emu.patterns import FULL, LANES, Shape

HALF = LANES // 2
FLOAT_BITS = {"half": 16, "float": 32, "double": 64}


def bits_of(type_: str) -> int:
    """Width of a scalar LLVM type."""
    return FLOAT_BITS.get(type_) or int(type_[1:])


def is_float(type_: str) -> bool:
    """Whether an LLVM type is a floating-point one."""
    return type_ in FLOAT_BITS


def vector_type(type_: str) -> str:
    """The vector of 32 of a scalar LLVM type."""
    return f"<{LANES} x {type_}>"


@dataclass(frozen=True, slots=True)
class Half:
    """Sixteen lanes of a value that need no register yet: an operand, or memory that stays as it is until the block's end."""

    operand: str = ""
    """A vector of 16, or, if empty, what stands at `pointer` + `offset`:"""
    pointer: str = ""
    offset: int = 0
    is_splat: bool = False
    """one element for all 16 lanes, instead of 16 side by side."""


@dataclass(frozen=True, slots=True)
class MultiplyAdd:
    """a * b + c, rounded once, not emitted yet."""

    a: Value
    b: Value
    c: Value


class Value:
    """One value in 32 lanes; see patterns.Shape for the three kinds. `scalar` and `vector` are LLVM operands.

    A full value without a vector is still to be made: from its two `halves`, or by its `fma`.
    """

    __slots__ = ("cast", "constant", "fma", "halves", "high", "low", "offsets", "scalar", "type", "vector", "zeros")

    def __init__(
        self,
        type_: str,
        scalar: str | None = None,
        *,
        vector: str | None = None,
        offsets: tuple[int, ...] | None = None,
        zeros: int = 0,
        low: int | None = None,
        high: int | None = None,
        constant: int | None = None,
        halves: tuple[Half, Half] | None = None,
        fma: MultiplyAdd | None = None,
    ) -> None:
        self.type = type_
        self.halves = halves
        self.fma = fma
        self.cast: Value | None = None
        """Its bits as another type, where somebody asked for that."""
        self.scalar = scalar
        self.vector = vector
        self.offsets = offsets
        self.zeros = zeros
        self.low = low
        self.high = high
        self.constant = constant

    @property
    def is_full(self) -> bool:
        """Whether nothing is known of the lanes."""
        return self.scalar is None

    @property
    def is_uniform(self) -> bool:
        """Whether all lanes are the same."""
        return self.scalar is not None and self.offsets is None

    @property
    def is_patterned(self) -> bool:
        """Whether the lanes are scalar + offsets."""
        return self.offsets is not None

    @property
    def shape(self) -> Shape:
        """What is known of the value."""
        if self.scalar is None:
            return FULL
        return Shape(False, self.offsets, self.zeros, self.low, self.high, self.constant)

    def base(self) -> Value:
        """The uniform part of a patterned value."""
        return Value(self.type, self.scalar, zeros=self.zeros, low=self.low, high=self.high, constant=self.constant)
