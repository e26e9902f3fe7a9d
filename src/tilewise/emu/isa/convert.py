"""Moves and conversions: between integers, between floats, and from each to the other, in every rounding."""

from __future__ import annotations

import struct

from tilewise.emu.isa import half
from tilewise.emu.isa.rounding import NEAREST, ROUNDINGS, double, finish, flush_if, narrow, saturate, step, to_odd, two_sum
from tilewise.emu.isa.spec import BITS, BYTES, FLOATS, INTEGERS, op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value, bits_of

WHOLE = ("u8", "s8", *INTEGERS)
LIMITS = "relu satfinite relu.satfinite"
WHOLE_ROUNDINGS = "rni rzi rmi rpi"
_TO_WHOLE = {"rni": "llvm.roundeven", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}


@op("mov.b128 d, a")
@op("mov.TYPE d, a", TYPE=("pred", *BITS, *INTEGERS, *FLOATS))
def mov(lanes: Lanes, a: Value) -> Value:
    return a


# -- integers


@op("cvt{.sat}.DTYPE.ATYPE d:DTYPE, a:ATYPE", DTYPE=WHOLE, ATYPE=WHOLE)
def cvt_integer(lanes: Lanes, a: Value, *, sat: str, dtype: str, atype: str) -> Value:
    """Extend by the source's sign, or keep the low bits; with .sat the nearest number that the result can be."""
    if sat:
        a = _into_range(lanes, a, atype, dtype)
    to_bits, from_bits = 8 * BYTES[dtype], 8 * BYTES[atype]
    if to_bits > from_bits:
        return lanes.extend("sext" if atype[0] == "s" else "zext", f"i{to_bits}", a)
    return a if to_bits == from_bits else lanes.truncate(f"i{to_bits}", a)


def _range_of(type_: str) -> tuple[int, int]:
    bits = 8 * BYTES[type_]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)


def _into_range(lanes: Lanes, a: Value, from_type: str, to_type: str) -> Value:
    """The nearest number to a (of from_type) that to_type holds."""
    (low, high), (least, most) = _range_of(from_type), _range_of(to_type)
    sign = "s" if from_type[0] == "s" else "u"
    if least > low:
        a = lanes.intrinsic(f"llvm.{sign}max", a, lanes.constant(a.type, least))
    if most < high:
        a = lanes.intrinsic(f"llvm.{sign}min", a, lanes.constant(a.type, most))
    return a


@op("cvt.pack.sat.DTYPE.s32 d:b32, a:s32, b:s32", DTYPE="u16 s16")
def cvt_pack(lanes: Lanes, a: Value, b: Value, *, dtype: str) -> Value:
    """Both in range, a in the upper half."""
    low, high = (lanes.truncate("i16", _into_range(lanes, value, "s32", dtype)) for value in (b, a))
    return half.pack(lanes, low, high)


@op("cvt.pack.sat.DTYPE.s32.b32 d:b32, a:s32, b:s32, c:b32", DTYPE="u8 s8 u4 s4 u2 s2")
def cvt_pack_onto(lanes: Lanes, a: Value, b: Value, c: Value, *, dtype: str) -> Value:
    """Both in range in the lowest places, b lowest, and c moved up to make room."""
    bits = int(dtype[1:])
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "s" else (0, (1 << bits) - 1)
    result = lanes.binary("shl", c, lanes.constant("i32", 2 * bits))
    for value, place in ((a, bits), (b, 0)):
        inside = lanes.intrinsic("llvm.smax", value, lanes.constant("i32", least))
        inside = lanes.intrinsic("llvm.smin", inside, lanes.constant("i32", most))
        field = lanes.binary("and", inside, lanes.constant("i32", (1 << bits) - 1))
        result = lanes.binary("or", result, lanes.binary("shl", field, lanes.constant("i32", place)))
    return result


# -- floats to integers: a result out of range is the nearest in range; a NaN gives 0, but from f64 or to 64 bits the sign bit


@op("cvt.RND{.ftz}{.sat}.DTYPE.f32 d:DTYPE, a:f32", RND=WHOLE_ROUNDINGS, DTYPE=WHOLE, no_effect="sat")
def cvt_whole_f32(lanes: Lanes, a: Value, *, rnd: str, ftz: str, dtype: str) -> Value:
    return to_whole(lanes, flush_if(lanes, ftz, a), rnd, dtype)


@op("cvt.RND{.sat}.DTYPE.f64 d:DTYPE, a:f64", RND=WHOLE_ROUNDINGS, DTYPE=WHOLE, no_effect="sat")
def cvt_whole_f64(lanes: Lanes, a: Value, *, rnd: str, dtype: str) -> Value:
    return to_whole(lanes, a, rnd, dtype)


@op("cvt.RND{.sat}.DTYPE.f16 d:DTYPE, a:f16", RND=WHOLE_ROUNDINGS, DTYPE=WHOLE, no_effect="sat")
def cvt_whole_f16(lanes: Lanes, a: Value, *, rnd: str, dtype: str) -> Value:
    return to_whole(lanes, half.widen(lanes, a, "f16"), rnd, dtype)


@op("cvt.RND.DTYPE.bf16 d:DTYPE, a:bf16", RND=WHOLE_ROUNDINGS, DTYPE=WHOLE)
def cvt_whole_bf16(lanes: Lanes, a: Value, *, rnd: str, dtype: str) -> Value:
    return to_whole(lanes, half.widen(lanes, a, "bf16"), rnd, dtype)


def to_whole(lanes: Lanes, a: Value, rnd: str, dtype: str) -> Value:
    """A float or double as an integer.

    What is out of range is replaced before: there LLVM leaves the conversion undefined, and its saturating one goes lane by lane.
    """
    if rnd != "rzi":  # the conversion below cuts off by itself
        a = lanes.intrinsic(_TO_WHOLE[rnd], a)
    bits = 8 * BYTES[dtype]
    wide, signed = max(bits, 32), dtype[0] == "s" or bits < 32
    least, past = (-(2.0 ** (wide - 1)), 2.0 ** (wide - 1)) if signed else (0.0, 2.0**wide)
    lower, upper, zero = (number(lanes, a.type, value) for value in (least, past, 0.0))
    inside = lanes.select(lanes.compare("fcmp olt", a, upper), a, zero)  # a NaN too becomes 0
    inside = lanes.select(lanes.compare("fcmp ogt", inside, lower), inside, lower)
    whole = lanes.convert("fptosi" if signed else "fptoui", f"i{wide}", inside)
    most = lanes.constant(whole.type, (1 << wide - signed) - 1)
    whole = lanes.select(lanes.compare("fcmp oge", a, upper), most, whole)
    if bits < 32:
        whole = lanes.truncate(f"i{bits}", _into_range(lanes, whole, "s32", dtype))
    if a.type == "double" or bits == 64:
        whole = lanes.select(lanes.compare("fcmp uno", a, a), lanes.constant(whole.type, 1 << bits - 1), whole)
    return whole


# -- integers to floats


@op("cvt.RND.bf16.ATYPE d:bf16, a:ATYPE", RND=ROUNDINGS, ATYPE=WHOLE)
def cvt_bf16_from_whole(lanes: Lanes, a: Value, *, rnd: str, atype: str) -> Value:
    return cvt_from_whole(lanes, a, rnd=rnd, sat="", dtype="bf16", atype=atype)


@op("cvt.RND{.sat}.DTYPE.ATYPE d:DTYPE, a:ATYPE", RND=ROUNDINGS, DTYPE="f16 f32 f64", ATYPE=WHOLE)
def cvt_from_whole(lanes: Lanes, a: Value, *, rnd: str, sat: str, dtype: str, atype: str) -> Value:
    signed = atype[0] == "s"
    if rnd in NEAREST and dtype in ("f32", "f64"):
        result = lanes.convert("sitofp" if signed else "uitofp", "float" if dtype == "f32" else "double", a)
        return saturate(lanes, result) if sat else result
    nearest, error = _whole_as_double(lanes, a, signed)
    if dtype == "f64":
        result = step(lanes, nearest, error, rnd) if error is not None and rnd not in NEAREST else nearest
        return saturate(lanes, result) if sat else result
    exact = nearest if error is None else to_odd(lanes, nearest, error)
    if dtype == "f32":
        return finish(lanes, narrow(lanes, exact, rnd), "", sat)
    single = half.single_to_odd(lanes, exact)
    return half.narrow(lanes, saturate(lanes, single) if sat else single, dtype, rnd)


def _whole_as_double(lanes: Lanes, a: Value, signed: bool) -> tuple[Value, Value | None]:
    """An integer rounded to nearest and what that lacks; None where it lacks nothing."""
    to_float = "sitofp" if signed else "uitofp"
    if bits_of(a.type) < 64:
        return lanes.convert(to_float, "double", a), None
    upper = lanes.binary("ashr" if signed else "lshr", a, lanes.constant("i64", 32))
    high = lanes.convert(to_float, "double", lanes.truncate("i32", upper))
    high = lanes.operation("fmul", high, lanes.float_constant("double", 0x41F0_0000_0000_0000))  # 2**32
    return two_sum(lanes, high, lanes.convert("uitofp", "double", lanes.truncate("i32", a)))


# -- floats


@op("cvt{.RND}{.ftz}{.sat}.f32.f32 d, a", RND=WHOLE_ROUNDINGS)
def cvt_f32(lanes: Lanes, a: Value, *, rnd: str, ftz: str, sat: str) -> Value:
    return finish(lanes, _whole(lanes, flush_if(lanes, ftz, a), rnd), "", sat)


@op("cvt{.RND}{.sat}.f64.f64 d, a", RND=WHOLE_ROUNDINGS)
def cvt_f64(lanes: Lanes, a: Value, *, rnd: str, sat: str) -> Value:
    return finish(lanes, _whole(lanes, a, rnd), "", sat)


@op("cvt{.RND}{.sat}.f16.f16 d, a", RND=WHOLE_ROUNDINGS)
def cvt_f16(lanes: Lanes, a: Value, *, rnd: str, sat: str) -> Value:
    return half.narrow(lanes, finish(lanes, _whole(lanes, half.widen(lanes, a, "f16"), rnd), "", sat), "f16")


@op("cvt{.RND}.bf16.bf16 d, a", RND=WHOLE_ROUNDINGS)
def cvt_bf16(lanes: Lanes, a: Value, *, rnd: str) -> Value:
    return half.narrow(lanes, _whole(lanes, half.widen(lanes, a, "bf16"), rnd), "bf16")


@op("cvt{.ftz}{.sat}.f64.f32 d:f64, a:f32")
def cvt_f64_f32(lanes: Lanes, a: Value, *, ftz: str, sat: str) -> Value:
    return finish(lanes, double(lanes, flush_if(lanes, ftz, a)), "", sat)


@op("cvt.RND{.ftz}{.sat}.f32.f64 d:f32, a:f64", RND=ROUNDINGS)
def cvt_f32_f64(lanes: Lanes, a: Value, *, rnd: str, ftz: str, sat: str) -> Value:
    return finish(lanes, narrow(lanes, a, rnd), ftz, sat)


@op("cvt{.ftz}{.sat}.f32.f16 d:f32, a:f16")
def cvt_f32_f16(lanes: Lanes, a: Value, *, ftz: str, sat: str) -> Value:
    return finish(lanes, half.widen(lanes, a, "f16"), ftz, sat)


@op("cvt{.ftz}.f32.bf16 d:f32, a:bf16")
def cvt_f32_bf16(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return flush_if(lanes, ftz, half.widen(lanes, a, "bf16"))


@op("cvt{.sat}.f64.f16 d:f64, a:f16")
def cvt_f64_f16(lanes: Lanes, a: Value, *, sat: str) -> Value:
    return finish(lanes, double(lanes, half.widen(lanes, a, "f16")), "", sat)


@op("cvt.f64.bf16 d:f64, a:bf16")
def cvt_f64_bf16(lanes: Lanes, a: Value) -> Value:
    return double(lanes, half.widen(lanes, a, "bf16"))


@op("cvt.RND{.ftz}{.sat}.f16.f32 d:f16, a:f32", RND=ROUNDINGS, no_effect="ftz")
def cvt_f16_f32(lanes: Lanes, a: Value, *, rnd: str, sat: str) -> Value:
    """An H200 flushes nothing here, which shows in rm and rp alone."""
    return half.narrow(lanes, finish(lanes, a, "", sat), "f16", rnd)


@op("cvt.RND{.ftz}.bf16.f32 d:bf16, a:f32", RND=ROUNDINGS)
def cvt_bf16_f32(lanes: Lanes, a: Value, *, rnd: str, ftz: str) -> Value:
    return half.narrow(lanes, flush_if(lanes, ftz, a), "bf16", rnd)


@op("cvt.RND.LIMIT.DTYPE.f32 d:DTYPE, a:f32", RND="rn rz", LIMIT=LIMITS, DTYPE=half.HALVES)
def cvt_half_limited(lanes: Lanes, a: Value, *, rnd: str, limit: str, dtype: str) -> Value:
    return half.limit(lanes, half.narrow(lanes, a, dtype, rnd), dtype, limit)


@op("cvt.RND{.sat}.f16.f64 d:f16, a:f64", RND=ROUNDINGS)
def cvt_f16_f64(lanes: Lanes, a: Value, *, rnd: str, sat: str) -> Value:
    return half.narrow(lanes, finish(lanes, half.single_to_odd(lanes, a), "", sat), "f16", rnd)


@op("cvt.RND.bf16.f64 d:bf16, a:f64", RND=ROUNDINGS)
def cvt_bf16_f64(lanes: Lanes, a: Value, *, rnd: str) -> Value:
    return half.narrow(lanes, half.single_to_odd(lanes, a), "bf16", rnd)


@op("cvt.RND.f16.bf16 d:f16, a:bf16", RND=ROUNDINGS)
def cvt_f16_bf16(lanes: Lanes, a: Value, *, rnd: str) -> Value:
    return half.narrow(lanes, half.widen(lanes, a, "bf16"), "f16", rnd)


@op("cvt.RND.bf16.f16 d:bf16, a:f16", RND=ROUNDINGS)
def cvt_bf16_f16(lanes: Lanes, a: Value, *, rnd: str) -> Value:
    return half.narrow(lanes, half.widen(lanes, a, "f16"), "bf16", rnd)


@op("cvt.RND{.LIMIT}.DTYPE.f32 d:DTYPE, a:f32, b:f32", RND="rn rz", LIMIT=LIMITS, DTYPE=half.PAIRS)
def cvt_halves_f32(lanes: Lanes, a: Value, b: Value, *, rnd: str, limit: str, dtype: str) -> Value:
    """a in the upper half."""
    kind = dtype[:-2]
    low, high = (half.limit(lanes, half.narrow(lanes, value, kind, rnd), kind, limit) for value in (b, a))
    return half.pack(lanes, low, high)


def number(lanes: Lanes, type_: str, value: float) -> Value:
    """A float or double constant."""
    code = "<f" if type_ == "float" else "<d"
    return lanes.float_constant(type_, int.from_bytes(struct.pack(code, value), "little"))


def _whole(lanes: Lanes, a: Value, rnd: str) -> Value:
    """A float rounded to a whole number, where a rounding is given."""
    return lanes.intrinsic(_TO_WHOLE[rnd], a) if rnd else a
