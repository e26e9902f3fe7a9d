"""Formats of 8 bits and fewer, packed by two, scales, and tf32: conversions only.

Formats by the OCP Microscaling Formats specification 1.0 (2023), sections 5.3 and 5.4, and OCP 8-bit Floating Point 1.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.emu.isa import half
from tilewise.emu.isa.rounding import bits
from tilewise.emu.isa.spec import op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value


@dataclass(frozen=True, slots=True)
class Small:
    """A format of few bits: sign, exponent, fraction. `most` is the code of the greatest number, `nan` of the canonical NaN."""

    exponent_bits: int
    fraction_bits: int
    most: int
    nan: int
    """For formats without NaN the greatest number: what .satfinite makes of one."""

    @property
    def bias(self) -> int:
        """Of the exponent."""
        return (1 << self.exponent_bits - 1) - 1

    @property
    def sign(self) -> int:
        """The sign's place."""
        return self.exponent_bits + self.fraction_bits


SMALL = {
    "e4m3x2": Small(4, 3, 0x7E, 0x7F),
    "e5m2x2": Small(5, 2, 0x7B, 0x7F),
    "e2m3x2": Small(2, 3, 0x1F, 0x1F),
    "e3m2x2": Small(3, 2, 0x1F, 0x1F),
}
"""In pairs of bytes."""
E2M1 = Small(2, 1, 0x7, 0x7)
"""In pairs of four bits."""
TYPES = tuple(SMALL)
_F32_BIAS, _F32_FRACTION = 127, 23


@op("cvt.rn.satfinite{.relu}.DTYPE.f32 d:b16, a:f32, b:f32", DTYPE=TYPES)
def cvt_small_f32(lanes: Lanes, a: Value, b: Value, *, relu: str, dtype: str) -> Value:
    """a in the upper byte."""
    return _pack(lanes, 8, *(_encode(lanes, value, SMALL[dtype], relu) for value in (b, a)))


@op("cvt.rn.satfinite{.relu}.DTYPE.ATYPE d:b16, a:ATYPE", DTYPE=TYPES, ATYPE=half.PAIRS)
def cvt_small_halves(lanes: Lanes, a: Value, *, relu: str, dtype: str, atype: str) -> Value:
    return _pack(lanes, 8, *(_encode(lanes, value, SMALL[dtype], relu) for value in _widen(lanes, a, atype)))


@op("cvt.rn{.relu}.f16x2.ATYPE d:f16x2, a:b16", ATYPE=TYPES)
def cvt_halves_small(lanes: Lanes, a: Value, *, relu: str, atype: str) -> Value:
    return _decode_pair(lanes, a, SMALL[atype], 8, "f16", relu)


@op("cvt.rn{.LIMIT}.bf16x2.ATYPE d:bf16x2, a:b16", LIMIT="relu satfinite satfinite.relu", ATYPE=TYPES)
def cvt_bfloats_small(lanes: Lanes, a: Value, *, limit: str, atype: str) -> Value:
    return _decode_pair(lanes, a, SMALL[atype], 8, "bf16", limit)


@op("cvt.rn.satfinite{.relu}.e2m1x2.f32 d:b8, a:f32, b:f32")
def cvt_e2m1_f32(lanes: Lanes, a: Value, b: Value, *, relu: str) -> Value:
    """a in the upper four bits."""
    return lanes.truncate("i8", _pack(lanes, 4, *(_encode(lanes, value, E2M1, relu) for value in (b, a))))


@op("cvt.rn.satfinite{.relu}.e2m1x2.ATYPE d:b8, a:ATYPE", ATYPE=half.PAIRS)
def cvt_e2m1_halves(lanes: Lanes, a: Value, *, relu: str, atype: str) -> Value:
    return lanes.truncate("i8", _pack(lanes, 4, *(_encode(lanes, value, E2M1, relu) for value in _widen(lanes, a, atype))))


@op("cvt.rn{.relu}.DTYPE.e2m1x2 d:DTYPE, a:b8", DTYPE=half.PAIRS)
def cvt_halves_e2m1(lanes: Lanes, a: Value, *, relu: str, dtype: str) -> Value:
    return _decode_pair(lanes, lanes.extend("zext", "i16", a), E2M1, 4, dtype[:-2], relu)


def _widen(lanes: Lanes, a: Value, type_: str) -> tuple[Value, Value]:
    """The floats of a pair of halves, the lower first."""
    low, high = half.split(lanes, a)
    return half.widen(lanes, low, type_[:-2]), half.widen(lanes, high, type_[:-2])


def _decode_pair(lanes: Lanes, a: Value, format_: Small, bits_: int, type_: str, limit: str) -> Value:
    """Two codes of so many bits as a pair of halves."""
    parts = (a, lanes.binary("lshr", a, lanes.constant("i16", bits_)))
    low, high = (half.narrow(lanes, _decode(lanes, part, format_), type_) for part in parts)
    return half.pack(lanes, half.limit(lanes, low, type_, limit), half.limit(lanes, high, type_, limit))


def _encode(lanes: Lanes, a: Value, format_: Small, relu: str) -> Value:
    """A float's nearest code in an i32: counted in units of the last place, the size is a whole number of steps of the code."""
    word = bits(lanes, a)
    size = lanes.binary("and", word, lanes.constant("i32", 0x7FFF_FFFF))
    exponent = lanes.binary("lshr", size, lanes.constant("i32", _F32_FRACTION))
    least = lanes.constant("i32", _F32_BIAS + 1 - format_.bias)
    exponent = lanes.intrinsic("llvm.umax", exponent, least)
    up = lanes.binary("sub", lanes.constant("i32", 2 * _F32_BIAS + format_.fraction_bits), exponent)
    units = lanes.bitcast("float", lanes.binary("shl", up, lanes.constant("i32", _F32_FRACTION)))
    count = lanes.intrinsic("llvm.roundeven", lanes.operation("fmul", lanes.bitcast("float", size), units))
    whole = lanes.convert("fptosi", "i32", lanes.intrinsic("llvm.minnum", count, lanes.float_constant("float", 0x4380_0000)))
    steps = lanes.binary("shl", lanes.binary("sub", exponent, least), lanes.constant("i32", format_.fraction_bits))
    code = lanes.intrinsic("llvm.umin", lanes.binary("add", whole, steps), lanes.constant("i32", format_.most))
    negative = lanes.compare("icmp slt", word, lanes.constant("i32", 0))
    signed = lanes.binary("or", code, lanes.constant("i32", 1 << format_.sign))
    code = lanes.select(negative, lanes.constant("i32", 0) if relu else signed, code)
    return lanes.select(lanes.compare("fcmp uno", a, a), lanes.constant("i32", format_.nan), code)


def _decode(lanes: Lanes, a: Value, format_: Small) -> Value:
    """The float of a code in the low bits of an i16: exponent and fraction moved to a float's places, then the bias made good."""
    code = lanes.extend("zext", "i32", a)
    size = lanes.binary("and", code, lanes.constant("i32", (1 << format_.sign) - 1))
    moved = lanes.binary("shl", size, lanes.constant("i32", _F32_FRACTION - format_.fraction_bits))
    scale = lanes.float_constant("float", 2 * _F32_BIAS - format_.bias << _F32_FRACTION)
    number = lanes.operation("fmul", lanes.bitcast("float", moved), scale)
    negative = lanes.binary("and", code, lanes.constant("i32", 1 << format_.sign))
    sign = lanes.binary("shl", negative, lanes.constant("i32", 31 - format_.sign))
    result = lanes.binary("or", bits(lanes, number), sign)
    for from_code, word in _specials(format_):
        above = lanes.compare("icmp uge", size, lanes.constant("i32", from_code))
        result = lanes.select(above, lanes.binary("or", lanes.constant("i32", word), sign), result)
    return lanes.bitcast("float", result)


def _specials(format_: Small) -> tuple[tuple[int, int], ...]:
    """From which code on a float's infinity or NaN stands for it."""
    if format_.most == 0x7B:
        return (0x7C, 0x7F80_0000), (0x7D, 0x7FC0_0000)
    return ((0x7F, 0x7FC0_0000),) if format_.most == 0x7E else ()


def _pack(lanes: Lanes, bits_: int, low: Value, high: Value) -> Value:
    """Two codes as an i16, the upper one from that bit on."""
    return lanes.truncate("i16", lanes.binary("or", low, lanes.binary("shl", high, lanes.constant("i32", bits_))))


# -- ue8m0: powers of two from 2**-127 on, without sign or zero; code 255 is NaN. The sign of what is converted is lost


@op("cvt.RND{.satfinite}.ue8m0x2.f32 d:b16, a:f32, b:f32", RND="rz rp")
def cvt_scale_f32(lanes: Lanes, a: Value, b: Value, *, rnd: str, satfinite: str) -> Value:
    """a in the upper byte."""
    return _pack(lanes, 8, *(_exponent(lanes, value, rnd, satfinite) for value in (b, a)))


@op("cvt.RND{.satfinite}.ue8m0x2.bf16x2 d:b16, a:bf16x2", RND="rz rp")
def cvt_scale_bfloats(lanes: Lanes, a: Value, *, rnd: str, satfinite: str) -> Value:
    return _pack(lanes, 8, *(_exponent(lanes, value, rnd, satfinite) for value in _widen(lanes, a, "bf16x2")))


@op("cvt.rn.bf16x2.ue8m0x2 d:bf16x2, a:b16")
def cvt_bfloats_scale(lanes: Lanes, a: Value) -> Value:
    parts = []
    for part in (lanes.binary("and", a, lanes.constant("i16", 0xFF)), lanes.binary("lshr", a, lanes.constant("i16", 8))):
        power = lanes.binary("shl", part, lanes.constant("i16", 7))
        least = lanes.compare("icmp eq", part, lanes.constant("i16", 0))
        power = lanes.select(least, lanes.constant("i16", 0x0040), power)  # 2**-127 is subnormal
        parts.append(
            lanes.select(lanes.compare("icmp eq", part, lanes.constant("i16", 0xFF)), lanes.constant("i16", 0x7FFF), power)
        )
    return half.pack(lanes, *parts)


def _exponent(lanes: Lanes, a: Value, rnd: str, satfinite: str) -> Value:
    """A float's exponent as its code in an i32, rounded down or up."""
    size = lanes.binary("and", bits(lanes, a), lanes.constant("i32", 0x7FFF_FFFF))
    if rnd == "rp":
        least = lanes.compare("icmp ule", size, lanes.constant("i32", 0x0040_0000))
        up = lanes.binary("add", size, lanes.constant("i32", (1 << _F32_FRACTION) - 1))
        size = lanes.select(least, lanes.constant("i32", 0), lanes.intrinsic("llvm.umin", up, lanes.constant("i32", 0x7F80_0000)))
    code = lanes.binary("lshr", size, lanes.constant("i32", _F32_FRACTION))
    if satfinite:
        code = lanes.intrinsic("llvm.umin", code, lanes.constant("i32", 0xFE))
    return lanes.select(lanes.compare("fcmp uno", a, a), lanes.constant("i32", 0xFF), code)


# -- tf32: a float whose last 13 bits are 0


@op("cvt.rna{.satfinite}.tf32.f32 d:tf32, a:f32")
def cvt_tf32_away(lanes: Lanes, a: Value, *, satfinite: str) -> Value:
    return _cut(lanes, a, "rna", "", satfinite)


@op("cvt.RND{.LIMIT}.tf32.f32 d:tf32, a:f32", RND="rn rz", LIMIT="relu satfinite satfinite.relu")
def cvt_tf32(lanes: Lanes, a: Value, *, rnd: str, limit: str) -> Value:
    return _cut(lanes, a, rnd, "relu" if "relu" in limit else "", "satfinite" if "satfinite" in limit else "")


def _cut(lanes: Lanes, a: Value, rnd: str, relu: str, satfinite: str) -> Value:
    word = bits(lanes, a)
    lost = 13
    if rnd == "rna":
        word = lanes.binary("add", word, lanes.constant("i32", 1 << lost - 1))
    elif rnd == "rn":
        last = lanes.binary("and", lanes.binary("lshr", word, lanes.constant("i32", lost)), lanes.constant("i32", 1))
        word = lanes.binary("add", lanes.binary("add", word, lanes.constant("i32", (1 << lost - 1) - 1)), last)
    word = lanes.binary("and", word, lanes.constant("i32", -1 << lost))
    if satfinite:
        size = lanes.binary("and", word, lanes.constant("i32", 0x7FFF_FFFF))
        infinite = lanes.compare("icmp eq", size, lanes.constant("i32", 0x7F80_0000))
        word = lanes.select(infinite, lanes.binary("sub", word, lanes.constant("i32", 1 << lost)), word)
    if relu:
        word = lanes.select(lanes.compare("icmp slt", word, lanes.constant("i32", 0)), lanes.constant("i32", 0), word)
    return lanes.select(lanes.compare("fcmp uno", a, a), lanes.constant("i32", 0x7FFF_E000), word)
