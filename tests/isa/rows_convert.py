"""Rows of moves and conversions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from exact import BF16, F16, F32, F64, Format, flush, round_to_format, round_to_integer, saturate
from row import row

WHOLE = "u8 s8 u16 u32 u64 s16 s32 s64"
ROUNDINGS = "rn rz rm rp"
WHOLE_ROUNDINGS = "rni rzi rmi rpi"
LIMITS = "relu satfinite relu.satfinite"
FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


def range_of(type: str) -> tuple[int, int]:
    bits = int(type[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type[0] == "s" else (0, (1 << bits) - 1)


def clamp(value: int, type: str) -> int:
    least, most = range_of(type)
    return max(least, min(most, value))


def loses(sat: str, dtype: str, atype: str, **_: str) -> bool:
    """Whether .sat has anything to do, as the assembler demands."""
    (least, most), (low, high) = range_of(dtype), range_of(atype)
    return not sat or low < least or most < high


def no_bytes(dtype: str = "", atype: str = "", **_: str) -> bool:
    """Whether no operand is a byte: beside bf16 the assembler wants registers of a byte, which there are not."""
    return "8" not in dtype + atype


def wrap(value: int, type: str) -> int:
    """As a register holds it that is wider: extended by the type's sign."""
    bits = int(type[1:])
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if type[0] == "s" and low >> bits - 1 else low


@row("mov.TYPE d, a", TYPE="pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64")
def mov(a: Any) -> Any:
    return a


@row("cvt{.sat}.DTYPE.ATYPE d:DTYPE, a:ATYPE", DTYPE=WHOLE, ATYPE=WHOLE, legal=loses)
def cvt_integer(a: int, *, sat: str, dtype: str) -> int:
    return clamp(a, dtype) if sat else wrap(a, dtype)


@row("cvt.pack.sat.DTYPE.s32 d:b32, a:s32, b:s32", DTYPE="u16 s16")
def cvt_pack(a: int, b: int, *, dtype: str) -> int:
    return clamp(a, dtype) << 16 | clamp(b, dtype) & 0xFFFF


@row("cvt.pack.sat.DTYPE.s32.b32 d:b32, a:s32, b:s32, c:b32", DTYPE="u8 s8 u4 s4 u2 s2")
def cvt_pack_onto(a: int, b: int, c: int, *, dtype: str) -> int:
    bits = int(dtype[1:])
    mask = (1 << bits) - 1
    return c << 2 * bits | (clamp(a, dtype) & mask) << bits | clamp(b, dtype) & mask


# -- floats to integers


def whole(a: float, rnd: str, dtype: str, source: str = "") -> int:
    """Of a NaN 0, but of a double and to 64 bits the sign bit alone."""
    if math.isnan(a):
        return wrap(1 << int(dtype[1:]) - 1, dtype) if source == "f64" or "64" in dtype else 0
    least, most = range_of(dtype)
    if math.isinf(a):
        return most if a > 0 else least
    return clamp(round_to_integer(a, rnd), dtype)


@row("cvt.RND{.ftz}{.sat}.DTYPE.f32 d:DTYPE, a:f32", RND=WHOLE_ROUNDINGS, DTYPE=WHOLE)
def cvt_whole_f32(a: float, *, rnd: str, ftz: str, dtype: str) -> int:
    return whole(flush(a, F32) if ftz else a, rnd, dtype)


@row("cvt.RND{.sat}.DTYPE.f64 d:DTYPE, a:f64", RND=WHOLE_ROUNDINGS, DTYPE=WHOLE)
def cvt_whole_f64(a: float, *, rnd: str, dtype: str) -> int:
    return whole(a, rnd, dtype, "f64")


@row("cvt.RND{.sat}.DTYPE.f16 d:DTYPE, a:f16", RND=WHOLE_ROUNDINGS, DTYPE=WHOLE)
@row("cvt.RND.DTYPE.bf16 d:DTYPE, a:bf16", RND=WHOLE_ROUNDINGS, DTYPE=WHOLE, sm=90, legal=no_bytes)
def cvt_whole_half(a: float, *, rnd: str, dtype: str) -> int:
    return whole(a, rnd, dtype)


# -- integers to floats


@row("cvt.RND{.sat}.DTYPE.ATYPE d:DTYPE, a:ATYPE", RND=ROUNDINGS, DTYPE="f16 f32 f64", ATYPE=WHOLE)
def cvt_from_whole(a: int, *, rnd: str, sat: str, dtype: str) -> float:
    result = round_to_format(Fraction(a), FORMATS[dtype], rnd) if a else 0.0
    return saturate(result) if sat else result


@row("cvt.RND.bf16.ATYPE d:bf16, a:ATYPE", RND=ROUNDINGS, ATYPE=WHOLE, sm=90, legal=no_bytes)
def cvt_bf16_from_whole(a: int, *, rnd: str) -> float:
    return cvt_from_whole(a, rnd=rnd, sat="", dtype="bf16")


# -- floats


def rounded(a: float, format_: Format, rnd: str) -> float:
    return round_to_format(Fraction(a), format_, rnd) if a and math.isfinite(a) else a


def rounded_whole(a: float, rnd: str) -> float:
    """A float rounded to a whole number that keeps its sign."""
    return math.copysign(float(round_to_integer(a, rnd)), a) if rnd and math.isfinite(a) else a


@row("cvt{.RND}{.ftz}{.sat}.f32.f32 d, a", RND=WHOLE_ROUNDINGS)
def cvt_f32(a: float, *, rnd: str, ftz: str, sat: str) -> float:
    result = rounded_whole(flush(a, F32) if ftz else a, rnd)
    return saturate(result) if sat else result


@row("cvt{.RND}{.sat}.f64.f64 d, a", RND=WHOLE_ROUNDINGS)
@row("cvt{.RND}{.sat}.f16.f16 d, a", RND=WHOLE_ROUNDINGS)
def cvt_same(a: float, *, rnd: str, sat: str) -> float:
    result = rounded_whole(a, rnd)
    return saturate(result) if sat else result


@row("cvt{.RND}.bf16.bf16 d, a", RND=WHOLE_ROUNDINGS, sm=90)
def cvt_bf16(a: float, *, rnd: str) -> float:
    return rounded_whole(a, rnd)


@row("cvt{.ftz}{.sat}.f64.f32 d:f64, a:f32")
@row("cvt{.ftz}{.sat}.f32.f16 d:f32, a:f16")
def cvt_wider(a: float, *, ftz: str, sat: str) -> float:
    result = flush(a, F32) if ftz else a
    return saturate(result) if sat else result


@row("cvt{.sat}.f64.f16 d:f64, a:f16")
def cvt_f64_f16(a: float, *, sat: str) -> float:
    return saturate(a) if sat else a


@row("cvt{.ftz}.f32.bf16 d:f32, a:bf16", sm=90)
def cvt_f32_bf16(a: float, *, ftz: str) -> float:
    return flush(a, F32) if ftz else a


@row("cvt.f64.bf16 d:f64, a:bf16", sm=90)
def cvt_f64_bf16(a: float) -> float:
    return a


@row("cvt.RND{.ftz}{.sat}.f32.f64 d:f32, a:f64", RND=ROUNDINGS)
def cvt_f32_f64(a: float, *, rnd: str, ftz: str, sat: str) -> float:
    result = rounded(a, F32, rnd)
    result = flush(result, F32) if ftz else result
    return saturate(result) if sat else result


@row("cvt.RND{.ftz}{.sat}.f16.f32 d:f16, a:f32", RND=ROUNDINGS)
def cvt_f16_f32(a: float, *, rnd: str, sat: str) -> float:
    result = rounded(a, F16, rnd)
    return saturate(result) if sat else result


@row("cvt.RND{.ftz}.bf16.f32 d:bf16, a:f32", RND=ROUNDINGS, sm=90)
def cvt_bf16_f32(a: float, *, rnd: str, ftz: str) -> float:
    return rounded(flush(a, F32) if ftz else a, BF16, rnd)


def limited(a: float, format_: Format, rnd: str, limit: str) -> float:
    """Rounded; without infinities by satfinite, without anything below 0 by relu."""
    result = rounded(a, format_, rnd)
    if "satfinite" in limit and math.isinf(result):
        result = math.copysign(format_.maximum, result)
    return 0.0 if "relu" in limit and result <= 0 else result


@row("cvt.RND.LIMIT.DTYPE.f32 d:DTYPE, a:f32", RND="rn rz", LIMIT=LIMITS, DTYPE="f16 bf16", sm=80)
def cvt_half_limited(a: float, *, rnd: str, limit: str, dtype: str) -> float:
    return limited(a, FORMATS[dtype], rnd, limit)


@row("cvt.RND{.LIMIT}.DTYPE.f32 d:DTYPE, a:f32, b:f32", RND="rn rz", LIMIT=LIMITS, DTYPE="f16x2 bf16x2", sm=80)
def cvt_halves_f32(a: float, b: float, *, rnd: str, limit: str, dtype: str) -> tuple[float, float]:
    format_ = FORMATS[dtype[:-2]]
    return limited(b, format_, rnd, limit), limited(a, format_, rnd, limit)


@row("cvt.RND{.sat}.f16.f64 d:f16, a:f64", RND=ROUNDINGS)
def cvt_f16_f64(a: float, *, rnd: str, sat: str) -> float:
    result = rounded(a, F16, rnd)
    return saturate(result) if sat else result


@row("cvt.RND.bf16.f64 d:bf16, a:f64", RND=ROUNDINGS, sm=90)
def cvt_bf16_f64(a: float, *, rnd: str) -> float:
    return rounded(a, BF16, rnd)


@row("cvt.RND.f16.bf16 d:f16, a:bf16", RND=ROUNDINGS, sm=90)
def cvt_f16_bf16(a: float, *, rnd: str) -> float:
    return rounded(a, F16, rnd)


@row("cvt.RND.bf16.f16 d:bf16, a:f16", RND=ROUNDINGS, sm=90)
def cvt_bf16_f16(a: float, *, rnd: str) -> float:
    return rounded(a, BF16, rnd)
