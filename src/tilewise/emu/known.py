"""What is known of an integer's result from what is known of its operands: constants, zeros at its end, bounds."""

from __future__ import annotations

from collections.abc import Callable

from tilewise.emu.patterns import LANES, fits_below, wrap
from tilewise.emu.value import Value, bits_of

FOLD: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "shl": lambda a, b, bits: a << b,
    "lshr": lambda a, b, bits: (a & ((1 << bits) - 1)) >> b,
    "ashr": lambda a, b, bits: a >> b,
}
"""An operation on two constants of so many bits; the result is still to be wrapped."""


def known_lanes(value: Value) -> tuple[int, ...]:
    """The lanes of a value whose scalar is a constant."""
    assert value.constant is not None
    bits = bits_of(value.type)
    return tuple(wrap(value.constant + offset, bits) for offset in value.offsets or (0,) * LANES)


def result_zeros(op: str, a: Value, b: Value) -> int:
    """Bits that are 0 at a result's end."""
    match op:
        case "add" | "sub" | "or" | "xor":
            return min(a.zeros, b.zeros)
        case "mul":
            return min(64, a.zeros + b.zeros)
        case "and":
            return max(a.zeros, b.zeros)
        case "shl" if b.constant is not None:
            return min(64, a.zeros + b.constant)
        case "lshr" | "ashr" if b.constant is not None:
            return max(0, a.zeros - b.constant)
    return 0


def result_bounds(op: str, a: Value, b: Value) -> tuple[int | None, int | None]:
    """Signed bounds of a uniform result, None where it may wrap or nothing is known."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        if op == "and" and b.constant is not None and b.constant >= 0:
            return 0, b.constant
        if op == "lshr" and b.constant:
            return 0, (1 << bits_of(a.type) - b.constant) - 1
        return None, None
    match op:
        case "add":
            low, high = a.low + b.low, a.high + b.high
        case "sub":
            low, high = a.low - b.high, a.high - b.low
        case "mul":
            corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            low, high = min(corners), max(corners)
        case "shl" if b.constant is not None:
            low, high = a.low << b.constant, a.high << b.constant
        case "ashr" if b.constant is not None:
            low, high = a.low >> b.constant, a.high >> b.constant
        case "lshr" if b.constant is not None and a.low >= 0:
            low, high = a.low >> b.constant, a.high >> b.constant
        case "and" if b.constant is not None and b.constant >= 0:
            low, high = 0, (min(a.high, b.constant) if a.low >= 0 else b.constant)
        case _:
            return None, None
    limit = 1 << bits_of(a.type) - 1
    return (low, high) if -limit <= low and high < limit else (None, None)


def extends_lanewise(op: str, a: Value, bits: int) -> bool:
    """Whether extending scalar + offset is extending the scalar and adding the offset, in every lane and for every scalar."""
    assert a.offsets is not None
    if fits_below(a.offsets, a.zeros):
        return True  # scalar | offset: the sign is the scalar's
    if a.low is None or a.high is None or (op == "zext" and a.low < 0):
        return False  # of a negative scalar, zext adds 2^bits, also where scalar + offset is positive
    low, high = a.low + min(a.offsets), a.high + max(a.offsets)
    return high < 1 << bits - 1 and low >= (0 if op == "zext" else -(1 << bits - 1))
