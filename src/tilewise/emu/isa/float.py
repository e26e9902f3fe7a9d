"""Single and double precision: arithmetic in every rounding, minima and maxima, signs and classes.

IEEE 754 with subnormal numbers unless .ftz flushes them (operands and results). Which NaN comes of arithmetic is left open, as
the manual leaves it; minima and maxima give the canonical one.
"""

from __future__ import annotations

from tilewise.emu.isa.double import fma_directed, product_directed, quotient_directed, root_directed, sum_directed
from tilewise.emu.isa.rounding import (
    NEAREST,
    ROUNDINGS,
    bits,
    double,
    finish,
    flush_if,
    flush_tiny,
    narrow,
    negative,
    scale,
    sum_to_odd,
    to_odd,
)
from tilewise.emu.isa.spec import op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

_CANONICAL_NAN = {"float": 0x7FFF_FFFF, "double": 0x7FF8_0000_0000_0000}
_KINDS = "finite infinite number notanumber normal subnormal"
_ONE = {"float": 0x3F80_0000, "double": 0x3FF0_0000_0000_0000}
_LIMITS = {"float": (0x0080_0000, 0x7F80_0000), "double": (0x0010_0000_0000_0000, 0x7FF0_0000_0000_0000)}
"""The least normal number, and infinity."""


# -- sums


@op("add{.RND}{.ftz}{.sat}.f32 d, a, b", RND=ROUNDINGS)
def add_f32(lanes: Lanes, a: Value, b: Value, *, rnd: str, ftz: str, sat: str) -> Value:
    a, b = flush_if(lanes, ftz, a), flush_if(lanes, ftz, b)
    return finish(lanes, _add_single(lanes, a, b, rnd), ftz, sat)


@op("sub{.RND}{.ftz}{.sat}.f32 d, a, b", RND=ROUNDINGS)
def sub_f32(lanes: Lanes, a: Value, b: Value, *, rnd: str, ftz: str, sat: str) -> Value:
    if rnd in NEAREST:
        a, b = flush_if(lanes, ftz, a), flush_if(lanes, ftz, b)
        return finish(lanes, lanes.operation("fsub", a, b), ftz, sat)
    return add_f32(lanes, a, negative(lanes, b), rnd=rnd, ftz=ftz, sat=sat)


@op("add{.RND}.f64 d, a, b", RND=ROUNDINGS)
def add_f64(lanes: Lanes, a: Value, b: Value, *, rnd: str) -> Value:
    return lanes.operation("fadd", a, b) if rnd in NEAREST else sum_directed(lanes, a, b, rnd)


@op("sub{.RND}.f64 d, a, b", RND=ROUNDINGS)
def sub_f64(lanes: Lanes, a: Value, b: Value, *, rnd: str) -> Value:
    if rnd in NEAREST:
        return lanes.operation("fsub", a, b)
    return add_f64(lanes, a, negative(lanes, b), rnd=rnd)


def _add_single(lanes: Lanes, a: Value, b: Value, rnd: str) -> Value:
    if rnd in NEAREST:
        return lanes.operation("fadd", a, b)
    return narrow(lanes, sum_to_odd(lanes, double(lanes, a), double(lanes, b), rnd), rnd)


# -- products


@op("mul{.RND}{.ftz}{.sat}.f32 d, a, b", RND=ROUNDINGS)
def mul_f32(lanes: Lanes, a: Value, b: Value, *, rnd: str, ftz: str, sat: str) -> Value:
    a, b = flush_if(lanes, ftz, a), flush_if(lanes, ftz, b)
    if rnd not in NEAREST:
        return _narrow(lanes, lanes.operation("fmul", double(lanes, a), double(lanes, b)), rnd, ftz, sat)  # 48 bits: exact
    result = lanes.operation("fmul", a, b)
    if ftz:
        result = flush_tiny(lanes, result, lanes.operation("fmul", scale(lanes, a), b))
    return finish(lanes, result, "", sat)


@op("mul{.RND}.f64 d, a, b", RND=ROUNDINGS)
def mul_f64(lanes: Lanes, a: Value, b: Value, *, rnd: str) -> Value:
    if rnd in NEAREST:
        return lanes.operation("fmul", a, b)
    return product_directed(lanes, a, b, rnd)


@op("fma.RND{.ftz}{.sat}.f32 d, a, b, c", RND=ROUNDINGS, counts_fma=True)
def fma_f32(lanes: Lanes, a: Value, b: Value, c: Value, *, rnd: str, ftz: str, sat: str) -> Value:
    a, b, c = (flush_if(lanes, ftz, value) for value in (a, b, c))
    if rnd not in NEAREST:
        a, b, c = (double(lanes, value) for value in (a, b, c))
        return _narrow(lanes, sum_to_odd(lanes, lanes.operation("fmul", a, b), c, rnd), rnd, ftz, sat)
    result = lanes.fma(a, b, c)  # lanes keeps it back in a register tile
    if ftz:
        result = flush_tiny(lanes, result, lanes.intrinsic("llvm.fma", scale(lanes, a), b, scale(lanes, c)))
    return finish(lanes, result, "", sat)


@op("mad.RND{.ftz}{.sat}.f32 d, a, b, c", RND=ROUNDINGS, counts_fma=True)
def mad_f32(lanes: Lanes, a: Value, b: Value, c: Value, *, rnd: str, ftz: str, sat: str) -> Value:
    return fma_f32(lanes, a, b, c, rnd=rnd, ftz=ftz, sat=sat)


@op("fma.RND.f64 d, a, b, c", RND=ROUNDINGS, counts_fma=True)
def fma_f64(lanes: Lanes, a: Value, b: Value, c: Value, *, rnd: str) -> Value:
    if rnd in NEAREST:
        return lanes.intrinsic("llvm.fma", a, b, c)
    return fma_directed(lanes, a, b, c, rnd)


@op("mad.RND.f64 d, a, b, c", RND=ROUNDINGS, counts_fma=True)
def mad_f64(lanes: Lanes, a: Value, b: Value, c: Value, *, rnd: str) -> Value:
    return fma_f64(lanes, a, b, c, rnd=rnd)


# -- quotients and roots


@op("div.RND{.ftz}.f32 d, a, b", RND=ROUNDINGS)
def div_f32(lanes: Lanes, a: Value, b: Value, *, rnd: str, ftz: str) -> Value:
    a, b = flush_if(lanes, ftz, a), flush_if(lanes, ftz, b)
    if rnd in NEAREST:
        result = lanes.operation("fdiv", a, b)
        return flush_tiny(lanes, result, lanes.operation("fdiv", scale(lanes, a), b)) if ftz else result
    a, b = double(lanes, a), double(lanes, b)
    quotient = lanes.operation("fdiv", a, b)
    rest = lanes.intrinsic("llvm.fma", negative(lanes, quotient), b, a)
    error = lanes.select(lanes.compare("fcmp olt", b, lanes.float_constant("double", 0)), negative(lanes, rest), rest)
    return _narrow(lanes, to_odd(lanes, quotient, error), rnd, ftz, "")


@op("div.RND.f64 d, a, b", RND=ROUNDINGS)
def div_f64(lanes: Lanes, a: Value, b: Value, *, rnd: str) -> Value:
    return lanes.operation("fdiv", a, b) if rnd in NEAREST else quotient_directed(lanes, a, b, rnd)


@op("rcp.RND{.ftz}.f32 d, a", RND=ROUNDINGS)
def rcp_f32(lanes: Lanes, a: Value, *, rnd: str, ftz: str) -> Value:
    return div_f32(lanes, lanes.float_constant("float", _ONE["float"]), a, rnd=rnd, ftz=ftz)


@op("rcp.RND.f64 d, a", RND=ROUNDINGS)
def rcp_f64(lanes: Lanes, a: Value, *, rnd: str) -> Value:
    return div_f64(lanes, lanes.float_constant("double", _ONE["double"]), a, rnd=rnd)


@op("sqrt.RND{.ftz}.f32 d, a", RND=ROUNDINGS)
def sqrt_f32(lanes: Lanes, a: Value, *, rnd: str, ftz: str) -> Value:
    a = flush_if(lanes, ftz, a)
    if rnd in NEAREST:
        return lanes.intrinsic("llvm.sqrt", a)
    a = double(lanes, a)
    root = lanes.intrinsic("llvm.sqrt", a)
    return narrow(lanes, to_odd(lanes, root, lanes.intrinsic("llvm.fma", negative(lanes, root), root, a)), rnd)


@op("sqrt.RND.f64 d, a", RND=ROUNDINGS)
def sqrt_f64(lanes: Lanes, a: Value, *, rnd: str) -> Value:
    return lanes.intrinsic("llvm.sqrt", a) if rnd in NEAREST else root_directed(lanes, a, rnd)


def _narrow(lanes: Lanes, exact: Value, rnd: str, ftz: str, sat: str) -> Value:
    """A double, exact or rounded to odd, as a float, with what .ftz and .sat do to it."""
    result = narrow(lanes, exact, rnd)
    if ftz:
        result = flush_tiny(lanes, result, narrow(lanes, scale(lanes, exact), rnd))
    return finish(lanes, result, "", sat)


# -- signs


@op("neg{.ftz}.f32 d, a")
def neg_f32(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return negative(lanes, flush_if(lanes, ftz, a))


@op("neg.f64 d, a")
def neg_f64(lanes: Lanes, a: Value) -> Value:
    return negative(lanes, a)


@op("abs{.ftz}.f32 d, a")
def abs_f32(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return lanes.intrinsic("llvm.fabs", flush_if(lanes, ftz, a))


@op("abs.f64 d, a")
def abs_f64(lanes: Lanes, a: Value) -> Value:
    return lanes.intrinsic("llvm.fabs", a)


@op("copysign.TYPE d, a, b", TYPE="f32 f64")
def copysign(lanes: Lanes, a: Value, b: Value) -> Value:
    """b with the sign of a."""
    return lanes.intrinsic("llvm.copysign", b, a)


@op("testp.KIND.TYPE p:pred, a", KIND=_KINDS, TYPE="f32 f64")
def testp(lanes: Lanes, a: Value, *, kind: str) -> Value:
    size = lanes.intrinsic("llvm.fabs", a)
    zero, least, infinity = (lanes.float_constant(a.type, word) for word in (0, *_LIMITS[a.type]))
    match kind:
        case "number":
            return lanes.compare("fcmp ord", a, a)
        case "notanumber":
            return lanes.compare("fcmp uno", a, a)
        case "finite":
            return lanes.compare("fcmp olt", size, infinity)
        case "infinite":
            return lanes.compare("fcmp oeq", size, infinity)
    subnormal = lanes.operation("and", lanes.compare("fcmp ogt", size, zero), lanes.compare("fcmp olt", size, least))
    if kind == "subnormal":
        return subnormal
    not_subnormal = lanes.operation("xor", subnormal, lanes.constant("i1", 1))
    return lanes.operation("and", not_subnormal, lanes.compare("fcmp olt", size, infinity))  # normal: 0 counts


# -- minima and maxima: of a number and a NaN the number, with .NaN the NaN; -0 is less than +0


@op("min{.ftz}{.NaN}{.XORSIGN}.f32 d, a, b", XORSIGN="xorsign.abs")
def min_f32(lanes: Lanes, a: Value, b: Value, *, ftz: str, NaN: str, xorsign: str) -> Value:
    return _extreme(lanes, "minimum", flush_if(lanes, ftz, a), flush_if(lanes, ftz, b), nan=NaN, xorsign=xorsign)


@op("max{.ftz}{.NaN}{.XORSIGN}.f32 d, a, b", XORSIGN="xorsign.abs")
def max_f32(lanes: Lanes, a: Value, b: Value, *, ftz: str, NaN: str, xorsign: str) -> Value:
    return _extreme(lanes, "maximum", flush_if(lanes, ftz, a), flush_if(lanes, ftz, b), nan=NaN, xorsign=xorsign)


@op("min{.ftz}{.NaN}{.abs}.f32 d, a, b, c")
def min_of_three(lanes: Lanes, a: Value, b: Value, c: Value, *, ftz: str, NaN: str, abs: str) -> Value:
    if abs:
        a, b, c = (lanes.intrinsic("llvm.fabs", value) for value in (a, b, c))
    return min_f32(lanes, min_f32(lanes, a, b, ftz=ftz, NaN=NaN, xorsign=""), c, ftz=ftz, NaN=NaN, xorsign="")


@op("max{.ftz}{.NaN}{.abs}.f32 d, a, b, c")
def max_of_three(lanes: Lanes, a: Value, b: Value, c: Value, *, ftz: str, NaN: str, abs: str) -> Value:
    if abs:
        a, b, c = (lanes.intrinsic("llvm.fabs", value) for value in (a, b, c))
    return max_f32(lanes, max_f32(lanes, a, b, ftz=ftz, NaN=NaN, xorsign=""), c, ftz=ftz, NaN=NaN, xorsign="")


@op("min.f64 d, a, b")
def min_f64(lanes: Lanes, a: Value, b: Value) -> Value:
    return _extreme(lanes, "minimum", a, b)


@op("max.f64 d, a, b")
def max_f64(lanes: Lanes, a: Value, b: Value) -> Value:
    return _extreme(lanes, "maximum", a, b)


def _extreme(lanes: Lanes, name: str, a: Value, b: Value, nan: str = "", xorsign: str = "") -> Value:
    """llvm.minimum or llvm.maximum (a NaN if there is one), then the number beside a NaN; with `xorsign` of |a| and |b|."""
    sign = lanes.binary("xor", bits(lanes, a), bits(lanes, b))
    if xorsign:
        a, b = lanes.intrinsic("llvm.fabs", a), lanes.intrinsic("llvm.fabs", b)
    result = lanes.intrinsic(f"llvm.{name}", a, b)
    no_a, no_b = lanes.compare("fcmp uno", a, a), lanes.compare("fcmp uno", b, b)
    if not nan:
        result = lanes.select(no_a, b, lanes.select(no_b, a, result))
    if xorsign:
        result = lanes.intrinsic("llvm.copysign", result, lanes.bitcast(a.type, sign))
    is_nan = lanes.compare("fcmp uno", result, result)
    return lanes.select(is_nan, lanes.float_constant(a.type, _CANONICAL_NAN[a.type]), result)
