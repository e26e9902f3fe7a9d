"""f16 and bf16, single and packed by two: widening, narrowing and arithmetic. Values are held as their bits, in i16 and i32.

Arithmetic goes through single precision, whose 24 bits are enough for one rounding of a sum or product (24 >= 2 * 11 + 2: S. A.
Figueroa, When is double rounding innocuous?, 1995); a multiply-add is rounded to odd first. Any NaN result is the canonical
0x7FFF.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewise.emu.isa.compare import BOOL, FLOAT_ORDERED, Both, as_number, combine, compare_floats
from tilewise.emu.isa.float import add_f32, fma_f32, sub_f32
from tilewise.emu.isa.rounding import NEAREST, ROUNDINGS, bits, double, saturate, step, to_odd, two_sum
from tilewise.emu.isa.spec import op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

HALVES = "f16 bf16"
PAIRS = "f16x2 bf16x2"
XORSIGN = "xorsign.abs"
_NAN = 0x7FFF
_OUT_OF_BOUNDS, _MAGNITUDE = 0x7FF7, 0x7FFF
"""OOB-NaN in 16 bits, whose value the manual does not tell: an sm_120 fills in 0x7FF7; an H200 takes 0xFFF7 for it too (driver
580, 2026-11-30)."""
_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80}
_LEAST_NORMAL = {"f16": 0x0400, "bf16": 0x0080}
_LEAST_NOT_FLUSHED = 0x387F_F000
"""The float 2**-14 - 2**-26, from which 11 bits round to the least normal f16."""


# -- to and from single precision


def widen(lanes: Lanes, a: Value, type_: str) -> Value:
    """A half as a float, exactly."""
    if type_ == "f16":
        return lanes.convert("fpext", "float", lanes.convert("bitcast", "half", a))
    return lanes.bitcast("float", lanes.binary("shl", lanes.extend("zext", "i32", a), lanes.constant("i32", 16)))


def narrow(lanes: Lanes, a: Value, type_: str, mode: str = "rn") -> Value:
    """A float rounded to a half; a NaN becomes the canonical one."""
    if type_ == "f16":
        nearest = lanes.convert("bitcast", "i16", lanes.convert("fptrunc", "half", a))
    else:
        nearest = _nearest_bfloat(lanes, a)
    if mode not in NEAREST:
        nearest = step(lanes, nearest, lanes.operation("fsub", a, widen(lanes, nearest, type_)), mode)
    return lanes.select(lanes.compare("fcmp uno", a, a), lanes.constant("i16", _NAN), nearest)


def _nearest_bfloat(lanes: Lanes, a: Value) -> Value:
    """The upper half of a float's bits, a tie going to the even one."""
    word = bits(lanes, a)
    last = lanes.binary("and", lanes.binary("lshr", word, lanes.constant("i32", 16)), lanes.constant("i32", 1))
    rounded = lanes.binary("add", lanes.binary("add", word, lanes.constant("i32", 0x7FFF)), last)
    return lanes.truncate("i16", lanes.binary("lshr", rounded, lanes.constant("i32", 16)))


def single_to_odd(lanes: Lanes, a: Value) -> Value:
    """A double as a float rounded to odd."""
    nearest = lanes.convert("fptrunc", "float", a)
    return to_odd(lanes, nearest, lanes.operation("fsub", a, double(lanes, nearest)))


def limit(lanes: Lanes, a: Value, type_: str, what: str) -> Value:
    """What `satfinite` (no infinity) and `relu` (nothing below 0) do to a half."""
    if "satfinite" in what:
        size = lanes.binary("and", a, lanes.constant("i16", 0x7FFF))
        infinite = lanes.compare("icmp eq", size, lanes.constant("i16", _INFINITY[type_]))
        a = lanes.select(infinite, lanes.binary("sub", a, lanes.constant("i16", 1)), a)
    if "relu" in what:
        a = lanes.select(lanes.compare("icmp slt", a, lanes.constant("i16", 0)), lanes.constant("i16", 0), a)
    return a


# -- both halves of a pair


def split(lanes: Lanes, a: Value) -> tuple[Value, Value]:
    """The lower and the upper half."""
    return lanes.truncate("i16", a), lanes.truncate("i16", lanes.binary("lshr", a, lanes.constant("i32", 16)))


def pack(lanes: Lanes, low: Value, high: Value) -> Value:
    """Two halves as an i32."""
    upper = lanes.binary("shl", lanes.extend("zext", "i32", high), lanes.constant("i32", 16))
    return lanes.binary("or", lanes.extend("zext", "i32", low), upper)


def by_halves(lanes: Lanes, type_: str, operate: Callable[..., Value], *operands: Value) -> Value:
    """Do to a half, or to both of a pair, what `operate` does to halves of the type it is given."""
    if not type_.endswith("x2"):
        return operate(type_, *operands)
    parts = [split(lanes, operand) for operand in operands]
    low, high = (operate(type_[:-2], *(part[side] for part in parts)) for side in (0, 1))
    return pack(lanes, low, high)


# -- arithmetic


@op("add{.rn}{.ftz}{.sat}.TYPE d, a, b", TYPE="f16 f16x2", no_effect="rn")
def add_half(lanes: Lanes, a: Value, b: Value, *, ftz: str, sat: str, type: str) -> Value:
    return _arithmetic(lanes, "fadd", a, b, type, ftz, sat)


@op("sub{.rn}{.ftz}{.sat}.TYPE d, a, b", TYPE="f16 f16x2", no_effect="rn")
def sub_half(lanes: Lanes, a: Value, b: Value, *, ftz: str, sat: str, type: str) -> Value:
    return _arithmetic(lanes, "fsub", a, b, type, ftz, sat)


@op("mul{.rn}{.ftz}{.sat}.TYPE d, a, b", TYPE="f16 f16x2", no_effect="rn")
def mul_half(lanes: Lanes, a: Value, b: Value, *, ftz: str, sat: str, type: str) -> Value:
    return _arithmetic(lanes, "fmul", a, b, type, ftz, sat)


@op("add{.rn}.TYPE d, a, b", TYPE="bf16 bf16x2", no_effect="rn")
def add_bfloat(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return _arithmetic(lanes, "fadd", a, b, type)


@op("sub{.rn}.TYPE d, a, b", TYPE="bf16 bf16x2", no_effect="rn")
def sub_bfloat(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return _arithmetic(lanes, "fsub", a, b, type)


@op("mul{.rn}.TYPE d, a, b", TYPE="bf16 bf16x2", no_effect="rn")
def mul_bfloat(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return _arithmetic(lanes, "fmul", a, b, type)


@op("fma.rn{.ftz}{.LIMIT}.TYPE d, a, b, c", LIMIT="sat relu", TYPE="f16 f16x2", counts_fma=True)
def fma_half(lanes: Lanes, a: Value, b: Value, c: Value, *, ftz: str, limit: str, type: str) -> Value:
    return _multiply_add(lanes, a, b, c, type, ftz, limit)


@op("fma.rn.oob{.relu}.TYPE d, a:b16, b:b16, c:b16", TYPE=HALVES, counts_fma=True)
@op("fma.rn.oob{.relu}.TYPE d, a:b32, b:b32, c:b32", TYPE=PAIRS, counts_fma=True)
def fma_out_of_bounds(lanes: Lanes, a: Value, b: Value, c: Value, *, relu: str, type: str) -> Value:
    """0 where a or b is the NaN with which tensor copies fill what is out of bounds, whatever its sign."""

    def operate(half: str, a: Value, b: Value, c: Value) -> Value:
        result = _multiply_add(lanes, a, b, c, half, "", relu)
        for value in (a, b):
            magnitude = lanes.binary("and", value, lanes.constant("i16", _MAGNITUDE))
            outside = lanes.compare("icmp eq", magnitude, lanes.constant("i16", _OUT_OF_BOUNDS))
            result = lanes.select(outside, lanes.constant("i16", 0), result)
        return result

    return by_halves(lanes, type, operate, a, b, c)


@op("fma.rn{.relu}.TYPE d, a, b, c", TYPE="bf16 bf16x2", counts_fma=True)
def fma_bfloat(lanes: Lanes, a: Value, b: Value, c: Value, *, relu: str, type: str) -> Value:
    return _multiply_add(lanes, a, b, c, type, "", relu)


def _arithmetic(lanes: Lanes, name: str, a: Value, b: Value, type_: str, ftz: str = "", sat: str = "") -> Value:
    def operate(half: str, a: Value, b: Value) -> Value:
        wide = [widen(lanes, flush_half(lanes, value, half, ftz), half) for value in (a, b)]
        return _finish(lanes, lanes.operation(name, *wide), half, ftz, "sat" if sat else "")

    return by_halves(lanes, type_, operate, a, b)


def _multiply_add(lanes: Lanes, a: Value, b: Value, c: Value, type_: str, ftz: str, limit_: str) -> Value:
    """The product is exact in single precision for f16, in double precision for bf16."""

    def operate(half: str, a: Value, b: Value, c: Value) -> Value:
        x, y, z = (widen(lanes, flush_half(lanes, value, half, ftz), half) for value in (a, b, c))
        if half == "bf16":
            x, y, z = (double(lanes, value) for value in (x, y, z))
        odd = to_odd(lanes, *two_sum(lanes, lanes.operation("fmul", x, y), z))
        return _finish(lanes, single_to_odd(lanes, odd) if half == "bf16" else odd, half, ftz, limit_)

    return by_halves(lanes, type_, operate, a, b, c)


def _finish(lanes: Lanes, a: Value, half: str, ftz: str, limit_: str) -> Value:
    """Round a float to a half and do what the modifiers say."""
    if limit_ == "sat":
        a = saturate(lanes, a)
    result = narrow(lanes, a, half)
    if ftz:  # as an H200 decides: by the size rounded to 11 bits whatever the exponent
        tiny = lanes.compare("fcmp olt", lanes.intrinsic("llvm.fabs", a), lanes.float_constant("float", _LEAST_NOT_FLUSHED))
        result = lanes.select(tiny, lanes.binary("and", result, lanes.constant("i16", 0x8000)), result)
    return limit(lanes, result, half, limit_)


def flush_half(lanes: Lanes, a: Value, half: str, ftz: str) -> Value:
    """A subnormal half as the 0 of its sign, where `ftz` is given."""
    if not ftz:
        return a
    size = lanes.binary("and", a, lanes.constant("i16", 0x7FFF))
    subnormal = lanes.compare("icmp ult", size, lanes.constant("i16", _LEAST_NORMAL[half]))
    return lanes.select(subnormal, lanes.binary("and", a, lanes.constant("i16", 0x8000)), a)


# -- signs, minima and maxima


@op("neg{.ftz}.TYPE d, a", TYPE="f16 f16x2")
def neg_half(lanes: Lanes, a: Value, *, ftz: str, type: str) -> Value:
    flushed = by_halves(lanes, type, lambda half, a: flush_half(lanes, a, half, ftz), a) if ftz else a
    return lanes.binary("xor", flushed, _in_each_half(lanes, a, 0x8000))


@op("neg.TYPE d, a", TYPE="bf16 bf16x2")
def neg_bfloat(lanes: Lanes, a: Value) -> Value:
    return lanes.binary("xor", a, _in_each_half(lanes, a, 0x8000))


@op("abs{.ftz}.TYPE d, a", TYPE="f16 f16x2")
def abs_half(lanes: Lanes, a: Value, *, ftz: str, type: str) -> Value:
    flushed = by_halves(lanes, type, lambda half, a: flush_half(lanes, a, half, ftz), a) if ftz else a
    return lanes.binary("and", flushed, _in_each_half(lanes, a, 0x7FFF))


@op("abs.TYPE d, a", TYPE="bf16 bf16x2")
def abs_bfloat(lanes: Lanes, a: Value) -> Value:
    return lanes.binary("and", a, _in_each_half(lanes, a, 0x7FFF))


@op("min{.ftz}{.NaN}{.XORSIGN}.TYPE d, a, b", XORSIGN=XORSIGN, TYPE="f16 f16x2")
def min_half(lanes: Lanes, a: Value, b: Value, *, ftz: str, NaN: str, xorsign: str, type: str) -> Value:
    return _extreme(lanes, "slt", a, b, type, ftz, NaN, xorsign)


@op("max{.ftz}{.NaN}{.XORSIGN}.TYPE d, a, b", XORSIGN=XORSIGN, TYPE="f16 f16x2")
def max_half(lanes: Lanes, a: Value, b: Value, *, ftz: str, NaN: str, xorsign: str, type: str) -> Value:
    return _extreme(lanes, "sgt", a, b, type, ftz, NaN, xorsign)


@op("min{.NaN}{.XORSIGN}.TYPE d, a, b", XORSIGN=XORSIGN, TYPE="bf16 bf16x2")
def min_bfloat(lanes: Lanes, a: Value, b: Value, *, NaN: str, xorsign: str, type: str) -> Value:
    return _extreme(lanes, "slt", a, b, type, "", NaN, xorsign)


@op("max{.NaN}{.XORSIGN}.TYPE d, a, b", XORSIGN=XORSIGN, TYPE="bf16 bf16x2")
def max_bfloat(lanes: Lanes, a: Value, b: Value, *, NaN: str, xorsign: str, type: str) -> Value:
    return _extreme(lanes, "sgt", a, b, type, "", NaN, xorsign)


def _in_each_half(lanes: Lanes, like: Value, pattern: int) -> Value:
    return lanes.constant(like.type, pattern if like.type == "i16" else pattern << 16 | pattern)


def _extreme(lanes: Lanes, order: str, a: Value, b: Value, type_: str, ftz: str, nan: str, xorsign: str) -> Value:
    """The lesser or greater of two halves; of a number and a NaN the number, with `nan` the canonical NaN; -0 is below +0."""

    def operate(half: str, a: Value, b: Value) -> Value:
        a, b = flush_half(lanes, a, half, ftz), flush_half(lanes, b, half, ftz)
        sign = lanes.binary("and", lanes.binary("xor", a, b), lanes.constant("i16", 0x8000))
        sizes = [lanes.binary("and", value, lanes.constant("i16", 0x7FFF)) for value in (a, b)]
        if xorsign:
            a, b = sizes
        keys = [_sort_key(lanes, value) for value in (a, b)]
        result = lanes.select(lanes.compare(f"icmp {order}", *keys), a, b)
        no_a, no_b = (lanes.compare("icmp ugt", size, lanes.constant("i16", _INFINITY[half])) for size in sizes)
        none = lanes.operation("or" if nan else "and", no_a, no_b)
        result = lanes.select(no_a, b, lanes.select(no_b, a, result))
        if xorsign:
            result = lanes.binary("or", result, sign)
        return lanes.select(none, lanes.constant("i16", _NAN), result)

    return by_halves(lanes, type_, operate, a, b)


def _sort_key(lanes: Lanes, a: Value) -> Value:
    """An i16 that orders as the half does: the size turned over where it is negative."""
    sign = lanes.binary("ashr", a, lanes.constant("i16", 15))
    return lanes.binary("xor", a, lanes.binary("and", sign, lanes.constant("i16", 0x7FFF)))


# -- comparisons; of pairs p is of the lower halves and q of the upper


@op("setp.CMP{.BOOL}{.ftz}.f16 p:pred, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_half(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, ftz: str) -> Value:
    return combine(lanes, _compare(lanes, a, b, "f16", cmp, ftz), c, bool)


@op("setp.CMP{.BOOL}.bf16 p:pred, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_bfloat(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str) -> Value:
    return combine(lanes, _compare(lanes, a, b, "bf16", cmp), c, bool)


@op("setp.CMP{.BOOL}{.ftz}.f16x2 p|q:pred, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_halves(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, ftz: str) -> Both:
    return _compare_pairs(lanes, a, b, c, "f16", cmp, bool, ftz)


@op("setp.CMP{.BOOL}.bf16x2 p|q:pred, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_bfloats(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str) -> Both:
    return _compare_pairs(lanes, a, b, c, "bf16", cmp, bool, "")


@op("set.CMP{.BOOL}{.ftz}.RESULT.f16 d:RESULT, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL, RESULT="f16 bf16 u16 s16 u32 s32")
def set_half(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, ftz: str, result: str) -> Value:
    return as_number(lanes, combine(lanes, _compare(lanes, a, b, "f16", cmp, ftz), c, bool), result)


@op("set.CMP{.BOOL}.RESULT.bf16 d:RESULT, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL, RESULT="bf16 u16 s16 u32 s32")
def set_bfloat(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, result: str) -> Value:
    return as_number(lanes, combine(lanes, _compare(lanes, a, b, "bf16", cmp), c, bool), result)


@op("set.CMP{.BOOL}{.ftz}.f16x2.f16x2 d, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL)
def set_halves(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, ftz: str) -> Value:
    low, high = _compare_pairs(lanes, a, b, c, "f16", cmp, bool, ftz)
    return pack(lanes, as_number(lanes, low, "f16"), as_number(lanes, high, "f16"))


@op("set.CMP{.BOOL}.bf16x2.bf16x2 d, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL)
def set_bfloats(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str) -> Value:
    low, high = _compare_pairs(lanes, a, b, c, "bf16", cmp, bool, "")
    return pack(lanes, as_number(lanes, low, "bf16"), as_number(lanes, high, "bf16"))


def _compare(lanes: Lanes, a: Value, b: Value, half: str, cmp: str, ftz: str = "") -> Value:
    a, b = (widen(lanes, flush_half(lanes, value, half, ftz), half) for value in (a, b))
    return compare_floats(lanes, a, b, cmp)


def _compare_pairs(
    lanes: Lanes, a: Value, b: Value, c: Value | None, half: str, cmp: str, bool_: str, ftz: str
) -> tuple[Value, Value]:
    parts = zip(split(lanes, a), split(lanes, b), strict=True)
    low, high = (combine(lanes, _compare(lanes, x, y, half, cmp, ftz), c, bool_) for x, y in parts)
    return low, high


# -- single precision with an operand that is a half


@op("add{.RND}{.sat}.f32.ATYPE d:f32, a:ATYPE, c:f32", RND=ROUNDINGS, ATYPE=HALVES)
def add_half_to_single(lanes: Lanes, a: Value, c: Value, *, rnd: str, sat: str, atype: str) -> Value:
    return add_f32(lanes, widen(lanes, a, atype), c, rnd=rnd, ftz="", sat=sat)


@op("sub{.RND}{.sat}.f32.ATYPE d:f32, a:ATYPE, c:f32", RND=ROUNDINGS, ATYPE=HALVES)
def sub_single_from_half(lanes: Lanes, a: Value, c: Value, *, rnd: str, sat: str, atype: str) -> Value:
    return sub_f32(lanes, widen(lanes, a, atype), c, rnd=rnd, ftz="", sat=sat)


@op("fma.RND{.sat}.f32.ATYPE d:f32, a:ATYPE, b:ATYPE, c:f32", RND=ROUNDINGS, ATYPE=HALVES, counts_fma=True)
def fma_halves_to_single(lanes: Lanes, a: Value, b: Value, c: Value, *, rnd: str, sat: str, atype: str) -> Value:
    return fma_f32(lanes, widen(lanes, a, atype), widen(lanes, b, atype), c, rnd=rnd, ftz="", sat=sat)
