"""Rows of single and double precision, in exact fractions rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable

import exact
from exact import F32, F64, flush, saturate
from row import row

ROUNDINGS = "rn rz rm rp"


def single(operation: Callable[..., float], *operands: float, rnd: str, ftz: str, sat: str = "") -> float:
    """An operation in f32 with what its modifiers do to operands and result."""
    if ftz:
        result = exact.flushing(operation, *operands, format_=F32, mode=rnd or "rn")
    else:
        result = operation(*operands, F32, rnd or "rn")
    return saturate(result) if sat else result


@row("add{.RND}{.ftz}{.sat}.f32 d, a, b", RND=ROUNDINGS)
def add_f32(a: float, b: float, *, rnd: str, ftz: str, sat: str) -> float:
    return single(exact.add, a, b, rnd=rnd, ftz=ftz, sat=sat)


@row("sub{.RND}{.ftz}{.sat}.f32 d, a, b", RND=ROUNDINGS)
def sub_f32(a: float, b: float, *, rnd: str, ftz: str, sat: str) -> float:
    return single(exact.add, a, -b, rnd=rnd, ftz=ftz, sat=sat)


@row("mul{.RND}{.ftz}{.sat}.f32 d, a, b", RND=ROUNDINGS)
def mul_f32(a: float, b: float, *, rnd: str, ftz: str, sat: str) -> float:
    return single(exact.mul, a, b, rnd=rnd, ftz=ftz, sat=sat)


@row("fma.RND{.ftz}{.sat}.f32 d, a, b, c", RND=ROUNDINGS)
@row("mad.RND{.ftz}{.sat}.f32 d, a, b, c", RND=ROUNDINGS)
def fma_f32(a: float, b: float, c: float, *, rnd: str, ftz: str, sat: str) -> float:
    return single(exact.fma, a, b, c, rnd=rnd, ftz=ftz, sat=sat)


@row("add{.RND}.f64 d, a, b", RND=ROUNDINGS)
def add_f64(a: float, b: float, *, rnd: str) -> float:
    return exact.add(a, b, F64, rnd or "rn")


@row("sub{.RND}.f64 d, a, b", RND=ROUNDINGS)
def sub_f64(a: float, b: float, *, rnd: str) -> float:
    return exact.add(a, -b, F64, rnd or "rn")


@row("mul{.RND}.f64 d, a, b", RND=ROUNDINGS)
def mul_f64(a: float, b: float, *, rnd: str) -> float:
    return exact.mul(a, b, F64, rnd or "rn")


@row("fma.RND.f64 d, a, b, c", RND=ROUNDINGS)
@row("mad.RND.f64 d, a, b, c", RND=ROUNDINGS)
def fma_f64(a: float, b: float, c: float, *, rnd: str) -> float:
    return exact.fma(a, b, c, F64, rnd)


@row("div.RND{.ftz}.f32 d, a, b", RND=ROUNDINGS)
def div_f32(a: float, b: float, *, rnd: str, ftz: str) -> float:
    return single(exact.div, a, b, rnd=rnd, ftz=ftz)


@row("div.RND.f64 d, a, b", RND=ROUNDINGS)
def div_f64(a: float, b: float, *, rnd: str) -> float:
    return exact.div(a, b, F64, rnd)


@row("rcp.RND{.ftz}.f32 d, a", RND=ROUNDINGS)
def rcp_f32(a: float, *, rnd: str, ftz: str) -> float:
    return single(exact.div, 1.0, a, rnd=rnd, ftz=ftz)


@row("rcp.RND.f64 d, a", RND=ROUNDINGS)
def rcp_f64(a: float, *, rnd: str) -> float:
    return exact.div(1.0, a, F64, rnd)


@row("sqrt.RND{.ftz}.f32 d, a", RND=ROUNDINGS)
def sqrt_f32(a: float, *, rnd: str, ftz: str) -> float:
    return single(exact.sqrt, a, rnd=rnd, ftz=ftz)


@row("sqrt.RND.f64 d, a", RND=ROUNDINGS)
def sqrt_f64(a: float, *, rnd: str) -> float:
    return exact.sqrt(a, F64, rnd)


@row("neg{.ftz}.f32 d, a")
def neg_f32(a: float, *, ftz: str) -> float:
    return -(flush(a, F32) if ftz else a)


@row("neg.f64 d, a")
def neg_f64(a: float) -> float:
    return -a


@row("abs{.ftz}.f32 d, a")
def abs_f32(a: float, *, ftz: str) -> float:
    return abs(flush(a, F32) if ftz else a)


@row("abs.f64 d, a")
def abs_f64(a: float) -> float:
    return abs(a)


@row("copysign.TYPE d, a, b", TYPE="f32 f64")
def copysign(a: float, b: float) -> float:
    return math.copysign(b, a)


@row("testp.KIND.TYPE p:pred, a", KIND="finite infinite number notanumber normal subnormal", TYPE="f32 f64")
def testp(a: float, *, kind: str, type: str) -> bool:
    least = (F32 if type == "f32" else F64).least_normal
    return {
        "finite": math.isfinite(a),
        "infinite": math.isinf(a),
        "number": not math.isnan(a),
        "notanumber": math.isnan(a),
        "normal": math.isfinite(a) and (abs(a) >= least or a == 0),
        "subnormal": 0 < abs(a) < least,
    }[kind]


# -- minima and maxima


def extreme(name: str, operands: tuple[float, ...], nan: str) -> float:
    """min or max of numbers, -0 below +0; of none, or with `nan` of any NaN, a NaN."""
    numbers = [operand for operand in operands if not math.isnan(operand)]
    if not numbers or (nan and len(numbers) < len(operands)):
        return math.nan
    return {"min": min, "max": max}[name](numbers, key=lambda value: (value, math.copysign(1, value)))


def extreme_f32(name: str, *operands: float, ftz: str, nan: str, xorsign: str = "") -> float:
    if ftz:
        operands = tuple(flush(operand, F32) for operand in operands)
    if not xorsign:
        return extreme(name, operands, nan)
    sign = math.prod(math.copysign(1, operand) for operand in operands)
    return math.copysign(extreme(name, tuple(map(abs, operands)), nan), sign)


@row("min{.ftz}{.NaN}{.XORSIGN}.f32 d, a, b", XORSIGN="xorsign.abs", sm=86)
def min_f32(a: float, b: float, *, ftz: str, NaN: str, xorsign: str) -> float:
    return extreme_f32("min", a, b, ftz=ftz, nan=NaN, xorsign=xorsign)


@row("max{.ftz}{.NaN}{.XORSIGN}.f32 d, a, b", XORSIGN="xorsign.abs", sm=86)
def max_f32(a: float, b: float, *, ftz: str, NaN: str, xorsign: str) -> float:
    return extreme_f32("max", a, b, ftz=ftz, nan=NaN, xorsign=xorsign)


@row("min{.ftz}{.NaN}{.abs}.f32 d, a, b, c", sm=100)
def min_of_three(a: float, b: float, c: float, *, ftz: str, NaN: str, abs: str) -> float:
    values = map(math.fabs, (a, b, c)) if abs else (a, b, c)
    return extreme_f32("min", *values, ftz=ftz, nan=NaN)


@row("max{.ftz}{.NaN}{.abs}.f32 d, a, b, c", sm=100)
def max_of_three(a: float, b: float, c: float, *, ftz: str, NaN: str, abs: str) -> float:
    values = map(math.fabs, (a, b, c)) if abs else (a, b, c)
    return extreme_f32("max", *values, ftz=ftz, nan=NaN)


@row("min.f64 d, a, b")
def min_f64(a: float, b: float) -> float:
    return extreme("min", (a, b), "")


@row("max.f64 d, a, b")
def max_f64(a: float, b: float) -> float:
    return extreme("max", (a, b), "")
