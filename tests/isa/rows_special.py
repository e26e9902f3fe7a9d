"""Rows of the approximations: the true value, and how far from it the PTX manual (ISA 9.0) lets a result be."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from exact import BF16, F16, F32, F64, Format, flush, round_to_format
from row import Within, row


def nearest(value: float, format_: Format) -> float:
    return round_to_format(Fraction(value), format_) if value and math.isfinite(value) else value


def relative(bound: float, least: float = 0.0) -> Within:
    """Off by so much of the true value; `least` is what rounding among subnormal numbers may add."""
    return lambda got, meant, *_: abs(got - meant) <= bound * abs(meant) + least


def absolute(bound: float) -> Within:
    return lambda got, meant, *_: abs(got - meant) <= bound


LEAST = math.ldexp(1.0, -149)
ULP = math.ldexp(1.0, -23)


def of_f32(function: Callable[..., float], *operands: float, ftz: str) -> float:
    if ftz:
        operands = tuple(flush(operand, F32) for operand in operands)
    result = nearest(function(*operands), F32)
    return flush(result, F32) if ftz else result


def quotient(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def inverse_root(a: float) -> float:
    if a == 0:
        return math.copysign(math.inf, a)
    return math.nan if a < 0 or math.isnan(a) else 1 / math.sqrt(a)


@row("rcp.approx{.ftz}.f32 d, a", within=relative(ULP, LEAST))
def rcp(a: float, *, ftz: str) -> float:
    return of_f32(lambda x: quotient(1.0, x), a, ftz=ftz)


@row("sqrt.approx{.ftz}.f32 d, a", within=relative(ULP, LEAST))
def sqrt(a: float, *, ftz: str) -> float:
    return of_f32(lambda x: x if x == 0 else math.sqrt(x) if x > 0 else math.nan, a, ftz=ftz)


@row("rsqrt.approx{.ftz}.f32 d, a", within=relative(2**-22.9))
def rsqrt(a: float, *, ftz: str) -> float:
    return of_f32(inverse_root, a, ftz=ftz)


@row("rsqrt.approx.f64 d, a", within=relative(2.0**-20))
def rsqrt_f64(a: float) -> float:
    return inverse_root(a)


def upper_half(a: float) -> float:
    """The 32 lower bits dropped, a subnormal number flushed."""
    a = flush(a, F64)
    word = int.from_bytes(struct.pack("<d", a), "little") & ~0xFFFFFFFF
    return float(struct.unpack("<d", word.to_bytes(8, "little"))[0])


@row("rcp.approx.ftz.f64 d, a", within=relative(2.0**-20))
def rcp_f64(a: float) -> float:
    return flush(quotient(1.0, upper_half(a)), F64)


@row("rsqrt.approx.ftz.f64 d, a", within=relative(2.0**-20))
def rsqrt_f64_upper(a: float) -> float:
    return inverse_root(upper_half(a))


@row("div.full{.ftz}.f32 d, a, b", within=relative(2 * ULP, LEAST))
def div_full(a: float, b: float, *, ftz: str) -> float:
    return of_f32(quotient, a, b, ftz=ftz)


@row("div.approx{.ftz}.f32 d, a, b", within=relative(2 * ULP, LEAST))
def div_approx(a: float, b: float, *, ftz: str) -> float:
    """Past 2**126 the divisor's reciprocal counts as 0."""

    def divide(a: float, b: float) -> float:
        return a * math.copysign(0.0, b) if abs(b) > 2.0**126 else quotient(a, b)

    return of_f32(divide, a, b, ftz=ftz)


# -- powers, logarithms, waves


def power_of_2(a: float) -> float:
    return math.inf if a > 1000 else 2.0**a


def logarithm(a: float) -> float:
    return -math.inf if a == 0 else math.nan if a < 0 or math.isnan(a) else math.log2(a)


def close_logarithm(got: float, meant: float, a: float) -> bool:
    return abs(got - meant) <= 2**-22 if 0.5 < a < 2 else abs(got - meant) <= 2**-22 * abs(meant)


def close_wave(got: float, meant: float, a: float) -> bool:
    """Bounds by the argument's size; past 100 pi any value that a sine can have."""
    size = abs(a)
    if size > 100 * math.pi:
        return abs(got) <= 1
    return abs(got - meant) <= (2**-20.5 if size <= 2 * math.pi else 2**-14.7)


@row("ex2.approx{.ftz}.f32 d, a", within=relative(2**-22, LEAST))
def ex2(a: float, *, ftz: str) -> float:
    return of_f32(power_of_2, a, ftz=ftz)


@row("lg2.approx{.ftz}.f32 d, a", within=close_logarithm)
def lg2(a: float, *, ftz: str) -> float:
    return of_f32(logarithm, a, ftz=ftz)


@row("sin.approx{.ftz}.f32 d, a", within=close_wave)
def sin(a: float, *, ftz: str) -> float:
    return of_f32(lambda x: math.nan if math.isinf(x) else math.sin(x), a, ftz=ftz)


@row("cos.approx{.ftz}.f32 d, a", within=close_wave)
def cos(a: float, *, ftz: str) -> float:
    return of_f32(lambda x: math.nan if math.isinf(x) else math.cos(x), a, ftz=ftz)


@row("tanh.approx.f32 d, a", within=relative(2.0**-10.987, LEAST))
def tanh(a: float) -> float:
    return of_f32(math.tanh, a, ftz="")


def of_halves(function: Callable[[float], float], a: Any, type: str, ftz: str = "") -> Any:
    format_ = BF16 if type.startswith("b") else F16

    def operate(half: float) -> float:
        result = nearest(function(flush(half, format_) if ftz else half), format_)
        return flush(result, format_) if ftz else result

    return tuple(map(operate, a)) if type.endswith("x2") else operate(a)


@row("ex2.approx.TYPE d, a", TYPE="f16 f16x2", within=relative(2**-9.9, 2.0**-24))
def ex2_half(a: Any, *, type: str) -> Any:
    return of_halves(power_of_2, a, type)


@row("ex2.approx.ftz.TYPE d, a", TYPE="bf16 bf16x2", within=relative(2.0**-7), sm=90)
def ex2_bfloat(a: Any, *, type: str) -> Any:
    return of_halves(power_of_2, a, type, "ftz")


@row("tanh.approx.TYPE d, a", TYPE="f16 f16x2", within=absolute(2**-10.987))
@row("tanh.approx.TYPE d, a", TYPE="bf16 bf16x2", within=absolute(2.0**-8), sm=90)
def tanh_half(a: Any, *, type: str) -> Any:
    return of_halves(math.tanh, a, type)
