"""Rows of the formats of 8 bits and fewer, by a list of all their numbers, and of tf32."""

from __future__ import annotations

import bisect
import functools
import math
from fractions import Fraction
from typing import Any

from exact import BF16, F16, Format, round_to_format
from row import row
from typed import edges

TYPES = "e4m3x2 e5m2x2"
TINY_TYPES = "e2m3x2 e3m2x2"
BOTH = "f16x2 bf16x2"


@functools.cache
def numbers(type: str) -> tuple[float, ...]:
    """The numbers that codes 0, 1, 2, ... stand for, infinity and NaN left out."""
    exponent_bits, fraction_bits = int(type[1]), int(type[3])
    bias = 2 ** (exponent_bits - 1) - 1
    codes = {"e4m3x2": 0x7F, "e5m2x2": 0x7C}.get(type, 1 << exponent_bits + fraction_bits)
    result = []
    for code in range(codes):
        exponent, fraction = divmod(code, 1 << fraction_bits)
        lead = 1 << fraction_bits if exponent else 0
        result.append(math.ldexp(lead + fraction, max(exponent, 1) - bias - fraction_bits))
    return tuple(result)


def encode(a: float, type: str, relu: str) -> int:
    """The code of the nearest number, of two the even one."""
    listed = numbers(type)
    sign = 1 << int(type[1]) + int(type[3])
    if math.isnan(a):
        return 0x7F if type in TYPES else len(listed) - 1
    if relu and a <= 0:
        return 0
    size = min(abs(a), listed[-1])
    above = bisect.bisect_left(listed, size)
    below = max(0, above - 1)
    up, down = listed[above] - size, size - listed[below]
    code = above if up < down or (up == down and above % 2 == 0) else below
    return code | (sign if math.copysign(1, a) < 0 else 0)


def decode(code: int, type: str, relu: str) -> float:
    listed = numbers(type)
    sign = 1 << int(type[1]) + int(type[3])
    size = code & sign - 1
    beyond = math.inf if type == "e5m2x2" and size == 0x7C else math.nan
    value = listed[size] if size < len(listed) else beyond
    value = -value if code & sign else value
    return 0.0 if relu and value <= 0 else value


@row("cvt.rn.satfinite{.relu}.DTYPE.f32 d:b16, a:f32, b:f32", DTYPE=TYPES, sm=89)
@row("cvt.rn.satfinite{.relu}.DTYPE.f32 d:b16, a:f32, b:f32", DTYPE=TINY_TYPES, sm=100)
def cvt_small_f32(a: float, b: float, *, relu: str, dtype: str) -> int:
    return encode(a, dtype, relu) << 8 | encode(b, dtype, relu)


@row("cvt.rn.satfinite{.relu}.DTYPE.f16x2 d:b16, a:f16x2", DTYPE=TYPES, sm=89)
@row("cvt.rn.satfinite{.relu}.DTYPE.f16x2 d:b16, a:f16x2", DTYPE=TINY_TYPES, sm=100)
@row("cvt.rn.satfinite{.relu}.DTYPE.bf16x2 d:b16, a:bf16x2", DTYPE=f"{TYPES} {TINY_TYPES}", sm=100)
def cvt_small_halves(a: Any, *, relu: str, dtype: str) -> int:
    low, high = a
    return encode(high, dtype, relu) << 8 | encode(low, dtype, relu)


@row("cvt.rn{.relu}.f16x2.ATYPE d:f16x2, a:b16", ATYPE=TYPES, sm=89)
@row("cvt.rn{.relu}.f16x2.ATYPE d:f16x2, a:b16", ATYPE=TINY_TYPES, sm=100)
def cvt_halves_small(a: int, *, relu: str, atype: str) -> tuple[float, float]:
    return decode(a & 255, atype, relu), decode(a >> 8, atype, relu)


@row("cvt.rn{.LIMIT}.bf16x2.ATYPE d:bf16x2, a:b16", LIMIT="relu satfinite satfinite.relu", ATYPE=f"{TYPES} {TINY_TYPES}", sm=100)
def cvt_bfloats_small(a: int, *, limit: str, atype: str) -> tuple[float, ...]:
    values = (decode(a & 255, atype, "relu" if "relu" in limit else ""), decode(a >> 8, atype, "relu" if "relu" in limit else ""))
    most = float.fromhex("0x1.fep127")
    return tuple(math.copysign(most, v) if "satfinite" in limit and math.isinf(v) else v for v in values)


# -- four bits: in registers of 8 bits, which only the emulator takes wider


@row("cvt.rn.satfinite{.relu}.e2m1x2.f32 d:b8, a:f32, b:f32", sm=100, portable=False)
def cvt_e2m1_f32(a: float, b: float, *, relu: str) -> int:
    return encode(a, "e2m1x2", relu) << 4 | encode(b, "e2m1x2", relu)


@row("cvt.rn.satfinite{.relu}.e2m1x2.ATYPE d:b8, a:ATYPE", ATYPE=BOTH, sm=100, portable=False)
def cvt_e2m1_halves(a: Any, *, relu: str) -> int:
    low, high = a
    return encode(high, "e2m1x2", relu) << 4 | encode(low, "e2m1x2", relu)


@row("cvt.rn{.relu}.DTYPE.e2m1x2 d:DTYPE, a:b8", DTYPE=BOTH, sm=100, portable=False)
def cvt_halves_e2m1(a: int, *, relu: str) -> tuple[float, float]:
    return decode(a & 15, "e2m1x2", relu), decode(a >> 4 & 15, "e2m1x2", relu)


# -- ue8m0: the exponent alone


def exponent_code(a: float, rnd: str, satfinite: str) -> int:
    """The code of the power of two below, or above, a number's size."""
    if math.isnan(a):
        return 255
    if math.isinf(a):
        return 254 if satfinite else 255
    powers = [Fraction(2) ** (code - 127) for code in range(256)]
    size = Fraction(abs(a))
    code = bisect.bisect_left(powers, size) if rnd == "rp" else max(bisect.bisect_right(powers, size) - 1, 0)
    return min(code, 254) if satfinite else min(code, 255)


@row("cvt.RND{.satfinite}.ue8m0x2.f32 d:b16, a:f32, b:f32", RND="rz rp", sm=100)
def cvt_scale_f32(a: float, b: float, *, rnd: str, satfinite: str) -> int:
    return exponent_code(a, rnd, satfinite) << 8 | exponent_code(b, rnd, satfinite)


@row("cvt.RND{.satfinite}.ue8m0x2.bf16x2 d:b16, a:bf16x2", RND="rz rp", sm=100)
def cvt_scale_bfloats(a: Any, *, rnd: str, satfinite: str) -> int:
    low, high = (exponent_code(part, rnd, satfinite) for part in a)
    return high << 8 | low


@row("cvt.rn.bf16x2.ue8m0x2 d:bf16x2, a:b16", sm=100)
def cvt_bfloats_scale(a: int) -> tuple[float, ...]:
    return tuple(math.nan if code == 255 else 2.0 ** (code - 127) for code in (a & 255, a >> 8))


# -- stochastic rounding: away from zero where random bits and what is cut off make a unit


def round_stochastically(a: float, random: int, random_bits: int, format_: Format, limit: str) -> float:
    if math.isnan(a):
        return a
    size = abs(a)
    if math.isfinite(a) and a:
        exponent = max(math.frexp(size)[1] - 1, format_.least_exponent)
        unit = Fraction(2) ** (exponent - format_.precision + 1)
        whole, rest = divmod(Fraction(size), unit)
        up = math.floor(rest / unit * 2**random_bits) + random >= 2**random_bits
        rounded = (whole + up) * unit
        size = math.inf if rounded > format_.maximum else float(rounded)
    if "satfinite" in limit and math.isinf(size):
        size = format_.maximum
    return 0.0 if "relu" in limit and math.copysign(1, a) < 0 else math.copysign(size, a)


@row("cvt.rs{.LIMIT}.DTYPE.f32 d:DTYPE, a:f32, b:f32, c:b32", LIMIT="relu satfinite relu.satfinite", DTYPE=BOTH, sm=100)
def cvt_stochastic(a: float, b: float, c: int, *, limit: str, dtype: str) -> tuple[float, float]:
    format_, random_bits = (F16, 13) if dtype == "f16x2" else (BF16, 16)
    mask = (1 << random_bits) - 1
    return (
        round_stochastically(b, c & mask, random_bits, format_, limit),
        round_stochastically(a, c >> 16 & mask, random_bits, format_, limit),
    )


# -- tf32: a float whose last 13 bits are 0. Signalling NaNs are not tried: the hardware's rna takes some for infinity

TF32 = Format("tf32", 19, 11)
NUMBERS = tuple(bits for bits in edges("f32") if bits & 0x7FFFFFFF != 0x7F800001) + tuple(range(0x3F7FE000, 0x3F806000, 0x800))


def cut(a: float, rnd: str, limit: str) -> float:
    if math.isnan(a):
        return a
    result = round_to_format(Fraction(a), TF32, rnd) if a and math.isfinite(a) else a
    if "satfinite" in limit and math.isinf(result):
        result = math.copysign(TF32.maximum, result)
    return 0.0 if "relu" in limit and result <= 0 else result


@row("cvt.rna{.satfinite}.tf32.f32 d:tf32, a:f32", values={"a": NUMBERS}, only="a", sm=80)
def cvt_tf32_away(a: float, *, satfinite: str) -> float:
    return cut(a, "rna", satfinite)


@row("cvt.RND{.LIMIT}.tf32.f32 d:tf32, a:f32", RND="rn rz", LIMIT="relu", sm=90)
@row("cvt.RND.LIMIT.tf32.f32 d:tf32, a:f32", RND="rn rz", LIMIT="satfinite satfinite.relu", sm=100)
def cvt_tf32(a: float, *, rnd: str, limit: str = "") -> float:
    return cut(a, rnd, limit)
