"""Arithmetic done exactly and rounded once: what IEEE 754 says, in fractions. Knows no PTX."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format; `precision` counts the leading bit."""

    name: str
    bits: int
    precision: int

    @property
    def bias(self) -> int:
        return (1 << self.bits - self.precision - 1) - 1

    @property
    def infinity_bits(self) -> int:
        return (2 * self.bias + 1) << self.precision - 1

    @property
    def least_exponent(self) -> int:
        """Of the least normal number."""
        return 1 - self.bias

    @property
    def maximum(self) -> float:
        return math.ldexp((1 << self.precision) - 1, self.bias - self.precision + 1)

    @property
    def least_normal(self) -> float:
        return math.ldexp(1.0, self.least_exponent)

    def encode_power(self, exponent: int) -> int:
        """The bits of 2**exponent."""
        return (exponent + self.bias) << self.precision - 1


F16 = Format("f16", 16, 11)
BF16 = Format("bf16", 16, 8)
F32 = Format("f32", 32, 24)
F64 = Format("f64", 64, 53)


def round_integer(numerator: int, denominator: int, mode: str) -> int:
    """numerator / denominator (both at least 0) as an integer: n to nearest even, na nearest with ties away, z down, a up."""
    whole, rest = divmod(numerator, denominator)
    twice = 2 * rest
    up = {
        "n": twice > denominator or (twice == denominator and whole & 1),
        "na": twice >= denominator,
        "z": False,
        "a": rest > 0,
    }[mode]
    return whole + bool(up)


def _magnitude_mode(mode: str, negative: bool) -> str:
    """A rounding of PTX as one of magnitudes."""
    return {"rn": "n", "rna": "na", "rz": "z", "rm": "a" if negative else "z", "rp": "z" if negative else "a"}[mode]


def round_to_format(value: Fraction, format_: Format, mode: str = "rn") -> float:
    """`value`, not 0, rounded once; past the greatest finite number to infinity or to that number, as the mode says."""
    numerator, denominator = abs(value.numerator), value.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(0, -exponent) < denominator << max(0, exponent):
        exponent -= 1
    last_place = max(exponent, format_.least_exponent) - format_.precision + 1
    towards = _magnitude_mode(mode, value < 0)
    scaled = round_integer(numerator << max(0, -last_place), denominator << max(0, last_place), towards)
    if scaled.bit_length() + last_place - 1 > format_.bias:
        magnitude = format_.maximum if towards == "z" else math.inf
    else:
        magnitude = math.ldexp(scaled, last_place)
    return -magnitude if value < 0 else magnitude


def round_to_integer(value: float, mode: str) -> int:
    """A finite float to a whole number: rni, rzi, rmi or rpi."""
    exact = Fraction(value)
    magnitude = round_integer(abs(exact.numerator), exact.denominator, _magnitude_mode(mode.removesuffix("i"), value < 0))
    return -magnitude if value < 0 else magnitude


def _finish(exact: Fraction, zero: float, format_: Format, mode: str) -> float:
    return round_to_format(exact, format_, mode) if exact else zero


def add(a: float, b: float, format_: Format, mode: str = "rn") -> float:
    """a + b; an exact 0 of operands with unlike signs is +0, and -0 towards minus infinity."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    zero = a if a == b == 0 and math.copysign(1, a) == math.copysign(1, b) else -0.0 if mode == "rm" else 0.0
    return _finish(Fraction(a) + Fraction(b), zero, format_, mode)


def mul(a: float, b: float, format_: Format, mode: str = "rn") -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b
    return _finish(Fraction(a) * Fraction(b), math.copysign(0.0, _sign(a) * _sign(b)), format_, mode)


def fma(a: float, b: float, c: float, format_: Format, mode: str = "rn") -> float:
    """a * b + c, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    product = Fraction(a) * Fraction(b)
    sign = _sign(a) * _sign(b)
    zero = -0.0 if mode == "rm" else 0.0
    if product == 0 == c and sign == _sign(c):
        zero = c
    return _finish(product + Fraction(c), zero, format_, mode)


def div(a: float, b: float, format_: Format, mode: str = "rn") -> float:
    sign = _sign(a) * _sign(b)
    if math.isnan(a) or math.isnan(b) or (a == 0 == b) or (math.isinf(a) and math.isinf(b)):
        return math.nan
    if b == 0 or math.isinf(a):
        return math.copysign(math.inf, sign)
    if a == 0 or math.isinf(b):
        return math.copysign(0.0, sign)
    return round_to_format(Fraction(a) / Fraction(b), format_, mode)


def sqrt(a: float, format_: Format, mode: str = "rn") -> float:
    """The root, by an integer root with bits to spare and a sticky one."""
    if a == 0 or math.isnan(a) or a == math.inf:
        return a
    if a < 0:
        return math.nan
    exact = Fraction(a)
    shift = 2 * (format_.bits * 2 + format_.bias)
    scaled = (exact.numerator << shift) // exact.denominator  # exact: a's denominator is a smaller power of two
    root = math.isqrt(scaled)
    sticky = root * root != scaled
    return round_to_format(Fraction(2 * root + sticky, 2 << shift // 2), format_, mode)


def _sign(value: float) -> float:
    return math.copysign(1.0, value)


def flush(value: float, format_: Format) -> float:
    """A subnormal number as a 0 of its sign."""
    return math.copysign(0.0, value) if 0 < abs(value) < format_.least_normal else value


def saturate(value: float) -> float:
    """Into 0..1, a NaN to 0."""
    return 0.0 if math.isnan(value) or value <= 0 else min(value, 1.0)


Operation = Callable[..., float]


def flushing(operation: Operation, *operands: float, format_: Format, mode: str = "rn") -> float:
    """An operation with subnormal operands and results flushed; whether one is subnormal shows after rounding to any exponent."""
    operands = tuple(flush(operand, format_) for operand in operands)
    any_exponent = Format("", format_.precision + 12, format_.precision)
    tiny = 0 < abs(operation(*operands, any_exponent, mode)) < format_.least_normal
    result = operation(*operands, format_, mode)
    return math.copysign(0.0, result) if tiny else result


def is_negative(value: float) -> bool:
    """By the sign, of a 0 and a NaN too."""
    return _sign(value) < 0
