"""What is known of a value in all 32 lanes before the kernel runs: the static lane analysis.

A value is *uniform* (one scalar for the warp), *patterned* (a run-time scalar plus a compile-time offset a lane) or *full*.
Only sound facts live here: a rule that could be wrong for some run-time scalar does not exist. Emission is left to `lanes`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

LANES = 32
ALL_ZERO_BITS = 64
"""Trailing zeros of the constant 0: more than any width."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a register wherever it is read.

    `offsets` is the lane vector of a patterned value, None of a uniform one; `full` overrides both. `zeros` counts the scalar's
    known trailing zero bits; `low` and `high` bound it as a signed number (None: unknown); `constant` is its value where it has
    just one.
    """

    full: bool = False
    offsets: tuple[int, ...] | None = None
    zeros: int = 0
    low: int | None = None
    high: int | None = None
    constant: int | None = None


FULL = Shape(full=True)


def join(old: Shape, new: Shape, *, widen: bool) -> Shape:
    """Return what holds for a register that may have either shape. With `widen`, a bound that moved is given up at once."""
    if old == new:
        return old
    if old.full or new.full or old.offsets != new.offsets:
        return FULL
    low, high = _join_bounds(old, new, widen)
    constant = old.constant if old.constant == new.constant else None
    return Shape(False, old.offsets, min(old.zeros, new.zeros), low, high, constant)


def _join_bounds(old: Shape, new: Shape, widen: bool) -> tuple[int | None, int | None]:
    if old.low is None or new.low is None or old.high is None or new.high is None:
        return None, None
    low, high = min(old.low, new.low), max(old.high, new.high)
    return (None, None) if widen and (low, high) != (old.low, old.high) else (low, high)


def allow_zero(shape: Shape) -> Shape:
    """Return what also holds where the register was never written: its slot is then 0. A constant has no slot."""
    if shape.low is None or shape.high is None or shape.constant is not None:
        return shape
    return replace(shape, low=min(shape.low, 0), high=max(shape.high, 0))


def trailing_zeros(value: int) -> int:
    """The zero bits below the lowest one of `value`."""
    return ALL_ZERO_BITS if value == 0 else (value & -value).bit_length() - 1


def wrap(value: int, bits: int) -> int:
    """Return `value` modulo 2**bits as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def fits_below(offsets: tuple[int, ...], zeros: int) -> bool:
    """Whether no offset touches a bit that the scalar may have set: scalar + offset is then scalar | offset, with no carry."""
    return min(offsets) >= 0 and max(offsets) < (1 << zeros)


def is_repeated(offsets: tuple[int, ...], step: int) -> bool:
    """Whether the second half of the lanes stands where the first does, side by side in steps."""
    half = offsets[: LANES // 2]
    return offsets[LANES // 2 :] == half and all(offset == half[0] + lane * step for lane, offset in enumerate(half))


def is_contiguous(offsets: tuple[int, ...], step: int) -> bool:
    """Whether lane l stands `l * step` past lane 0."""
    first = offsets[0]
    return all(offset == first + lane * step for lane, offset in enumerate(offsets))
