"""Rows of f16 and bf16: the exact result rounded once to the half's own format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import exact
import numpy as np
from exact import BF16, F16, Format, flush, saturate
from row import row
from rows_compare import BOOL, COMBINE, FLOAT_ORDERED, compares
from rows_float import extreme, single
from typed import decode

XORSIGN = "xorsign.abs"
FORMATS = {"f16": F16, "bf16": BF16}


def by_halves(type_: str, meaning: Callable[..., Any], *operands: Any) -> Any:
    """The meaning of halves, for a half or for a tuple of two."""
    if not type_.endswith("x2"):
        return meaning(FORMATS[type_], *operands)
    return tuple(meaning(FORMATS[type_[:-2]], *part) for part in zip(*operands, strict=True))


def computed(operation: Callable[..., float], *operands: Any, type: str, ftz: str = "", limit: str = "") -> Any:
    def of_halves(format_: Format, *halves: float) -> float:
        result = exact.flushing(operation, *halves, format_=format_) if ftz else operation(*halves, format_)
        if "sat" in limit:
            return saturate(result)
        return 0.0 if "relu" in limit and result <= 0 else result

    return by_halves(type, of_halves, *operands)


def subtract(a: float, b: float, format_: Format, mode: str = "rn") -> float:
    return exact.add(a, -b, format_, mode)


@row("add{.rn}{.ftz}{.sat}.TYPE d, a, b", TYPE="f16 f16x2")
def add_half(a: Any, b: Any, *, ftz: str, sat: str, type: str) -> Any:
    return computed(exact.add, a, b, type=type, ftz=ftz, limit=sat)


@row("sub{.rn}{.ftz}{.sat}.TYPE d, a, b", TYPE="f16 f16x2")
def sub_half(a: Any, b: Any, *, ftz: str, sat: str, type: str) -> Any:
    return computed(subtract, a, b, type=type, ftz=ftz, limit=sat)


@row("mul{.rn}{.ftz}{.sat}.TYPE d, a, b", TYPE="f16 f16x2")
def mul_half(a: Any, b: Any, *, ftz: str, sat: str, type: str) -> Any:
    return computed(exact.mul, a, b, type=type, ftz=ftz, limit=sat)


@row("add{.rn}.TYPE d, a, b", TYPE="bf16 bf16x2", sm=90)
def add_bfloat(a: Any, b: Any, *, type: str) -> Any:
    return computed(exact.add, a, b, type=type)


@row("sub{.rn}.TYPE d, a, b", TYPE="bf16 bf16x2", sm=90)
def sub_bfloat(a: Any, b: Any, *, type: str) -> Any:
    return computed(subtract, a, b, type=type)


@row("mul{.rn}.TYPE d, a, b", TYPE="bf16 bf16x2", sm=90)
def mul_bfloat(a: Any, b: Any, *, type: str) -> Any:
    return computed(exact.mul, a, b, type=type)


@row("fma.rn{.ftz}{.LIMIT}.TYPE d, a, b, c", LIMIT="sat relu", TYPE="f16 f16x2", sm=80)
def fma_half(a: Any, b: Any, c: Any, *, ftz: str, limit: str, type: str) -> Any:
    return computed(exact.fma, a, b, c, type=type, ftz=ftz, limit=limit)


@row("fma.rn{.relu}.TYPE d, a, b, c", TYPE="bf16 bf16x2", sm=80)
def fma_bfloat(a: Any, b: Any, c: Any, *, relu: str, type: str) -> Any:
    return computed(exact.fma, a, b, c, type=type, limit=relu)


OUT_OF_BOUNDS = 0x7FF7  # and 0xFFF7: measured on an H200
FILLED = dict.fromkeys("abc", (OUT_OF_BOUNDS, OUT_OF_BOUNDS ^ 0x8000, OUT_OF_BOUNDS - 1, 0x7EFF))
FILLED_PAIRS = dict.fromkeys("abc", tuple(bits | 0x3C00 << 16 for bits in FILLED["a"]))


def value_of(bits: int, type: str) -> float:
    return float(decode(type, np.array([bits], np.uint64))[0])


@row("fma.rn.oob{.relu}.TYPE d, a:b16, b:b16, c:b16", TYPE="f16 bf16", values=FILLED, sm=90)
def fma_out_of_bounds(a: int, b: int, c: int, *, relu: str, type: str) -> Any:
    if OUT_OF_BOUNDS in (a % 0x8000, b % 0x8000):
        return 0.0
    return computed(exact.fma, *(value_of(bits, type) for bits in (a, b, c)), type=type, limit=relu)


@row("fma.rn.oob{.relu}.TYPE d, a:b32, b:b32, c:b32", TYPE="f16x2 bf16x2", values=FILLED_PAIRS, sm=90)
def fma_out_of_bounds_pairs(a: int, b: int, c: int, *, relu: str, type: str) -> Any:
    parts = [tuple(word >> place & 0xFFFF for word in (a, b, c)) for place in (0, 16)]
    return tuple(fma_out_of_bounds(*part, relu=relu, type=type[:-2]) for part in parts)


# -- signs, minima and maxima


@row("neg{.ftz}.TYPE d, a", TYPE="f16 f16x2")
def neg_half(a: Any, *, ftz: str, type: str) -> Any:
    return by_halves(type, lambda format_, half: -(flush(half, format_) if ftz else half), a)


@row("neg.TYPE d, a", TYPE="bf16 bf16x2", sm=80)
def neg_bfloat(a: Any, *, type: str) -> Any:
    return by_halves(type, lambda format_, half: -half, a)


@row("abs{.ftz}.TYPE d, a", TYPE="f16 f16x2")
def abs_half(a: Any, *, ftz: str, type: str) -> Any:
    return by_halves(type, lambda format_, half: abs(flush(half, format_) if ftz else half), a)


@row("abs.TYPE d, a", TYPE="bf16 bf16x2", sm=80)
def abs_bfloat(a: Any, *, type: str) -> Any:
    return by_halves(type, lambda format_, half: abs(half), a)


def extremes(name: str, a: Any, b: Any, *, type: str, ftz: str = "", nan: str, xorsign: str) -> Any:
    def of_halves(format_: Format, x: float, y: float) -> float:
        if ftz:
            x, y = flush(x, format_), flush(y, format_)
        if not xorsign:
            return extreme(name, (x, y), nan)
        negative = exact.is_negative(x) != exact.is_negative(y)
        size = extreme(name, (abs(x), abs(y)), nan)
        return -size if negative else size

    return by_halves(type, of_halves, a, b)


@row("min{.ftz}{.NaN}{.XORSIGN}.TYPE d, a, b", XORSIGN=XORSIGN, TYPE="f16 f16x2", sm=86)
def min_half(a: Any, b: Any, *, ftz: str, NaN: str, xorsign: str, type: str) -> Any:
    return extremes("min", a, b, type=type, ftz=ftz, nan=NaN, xorsign=xorsign)


@row("max{.ftz}{.NaN}{.XORSIGN}.TYPE d, a, b", XORSIGN=XORSIGN, TYPE="f16 f16x2", sm=86)
def max_half(a: Any, b: Any, *, ftz: str, NaN: str, xorsign: str, type: str) -> Any:
    return extremes("max", a, b, type=type, ftz=ftz, nan=NaN, xorsign=xorsign)


@row("min{.NaN}{.XORSIGN}.TYPE d, a, b", XORSIGN=XORSIGN, TYPE="bf16 bf16x2", sm=86)
def min_bfloat(a: Any, b: Any, *, NaN: str, xorsign: str, type: str) -> Any:
    return extremes("min", a, b, type=type, nan=NaN, xorsign=xorsign)


@row("max{.NaN}{.XORSIGN}.TYPE d, a, b", XORSIGN=XORSIGN, TYPE="bf16 bf16x2", sm=86)
def max_bfloat(a: Any, b: Any, *, NaN: str, xorsign: str, type: str) -> Any:
    return extremes("max", a, b, type=type, nan=NaN, xorsign=xorsign)


# -- comparisons


def compares_half(a: float, b: float, format_: Format, cmp: str, ftz: str = "") -> bool:
    return compares(flush(a, format_), flush(b, format_), cmp) if ftz else compares(a, b, cmp)


def number(holds: bool, result: str) -> float:
    return float(holds) if result in FORMATS else -int(holds)


@row("setp.CMP{.ftz}.f16 p:pred, a, b", CMP=FLOAT_ORDERED)
def setp_half(a: float, b: float, *, cmp: str, ftz: str) -> bool:
    return compares_half(a, b, F16, cmp, ftz)


@row("setp.CMP.BOOL{.ftz}.f16 p:pred, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_half_bool(a: float, b: float, c: bool, *, cmp: str, bool: str, ftz: str) -> int:
    return int(COMBINE[bool](compares_half(a, b, F16, cmp, ftz), c))


@row("setp.CMP.bf16 p:pred, a, b", CMP=FLOAT_ORDERED, sm=90)
def setp_bfloat(a: float, b: float, *, cmp: str) -> bool:
    return compares(a, b, cmp)


@row("setp.CMP.BOOL.bf16 p:pred, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL, sm=90)
def setp_bfloat_bool(a: float, b: float, c: bool, *, cmp: str, bool: str) -> int:
    return int(COMBINE[bool](compares(a, b, cmp), c))


@row("setp.CMP{.ftz}.f16x2 p|q:pred, a, b", CMP=FLOAT_ORDERED)
def setp_halves(a: Any, b: Any, *, cmp: str, ftz: str) -> tuple[bool, ...]:
    return tuple(compares_half(x, y, F16, cmp, ftz) for x, y in zip(a, b, strict=True))


@row("setp.CMP.BOOL{.ftz}.f16x2 p|q:pred, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_halves_bool(a: Any, b: Any, c: bool, *, cmp: str, bool: str, ftz: str) -> tuple[bool, ...]:
    return tuple(COMBINE[bool](compares_half(x, y, F16, cmp, ftz), c) for x, y in zip(a, b, strict=True))


@row("setp.CMP.bf16x2 p|q:pred, a, b", CMP=FLOAT_ORDERED, sm=90)
def setp_bfloats(a: Any, b: Any, *, cmp: str) -> tuple[bool, ...]:
    return tuple(compares(x, y, cmp) for x, y in zip(a, b, strict=True))


@row("setp.CMP.BOOL.bf16x2 p|q:pred, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL, sm=90)
def setp_bfloats_bool(a: Any, b: Any, c: bool, *, cmp: str, bool: str) -> tuple[bool, ...]:
    return tuple(COMBINE[bool](compares(x, y, cmp), c) for x, y in zip(a, b, strict=True))


@row("set.CMP{.ftz}.RESULT.f16 d:RESULT, a, b", CMP=FLOAT_ORDERED, RESULT="f16 u16 s16 u32 s32")
@row("set.CMP{.ftz}.RESULT.f16 d:RESULT, a, b", CMP=FLOAT_ORDERED, RESULT="bf16", sm=90, legal=lambda ftz, **rest: not ftz)
def set_half(a: float, b: float, *, cmp: str, ftz: str, result: str) -> float:
    return number(compares_half(a, b, F16, cmp, ftz), result)


@row("set.CMP.BOOL{.ftz}.RESULT.f16 d:RESULT, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL, RESULT="f16 u16 s16 u32 s32")
@row(
    "set.CMP.BOOL{.ftz}.RESULT.f16 d:RESULT, a, b, c:pred",
    CMP=FLOAT_ORDERED,
    BOOL=BOOL,
    RESULT="bf16",
    sm=90,
    legal=lambda ftz, **rest: not ftz,
)
def set_half_bool(a: float, b: float, c: bool, *, cmp: str, bool: str, ftz: str, result: str) -> float:
    return number(COMBINE[bool](compares_half(a, b, F16, cmp, ftz), c), result)


@row("set.CMP.RESULT.bf16 d:RESULT, a, b", CMP=FLOAT_ORDERED, RESULT="bf16 u16 s16 u32 s32", sm=90)
def set_bfloat(a: float, b: float, *, cmp: str, result: str) -> float:
    return number(compares(a, b, cmp), result)


@row("set.CMP.BOOL.RESULT.bf16 d:RESULT, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL, RESULT="bf16 u16 s16 u32 s32", sm=90)
def set_bfloat_bool(a: float, b: float, c: bool, *, cmp: str, bool: str, result: str) -> float:
    return number(COMBINE[bool](compares(a, b, cmp), c), result)


@row("set.CMP{.ftz}.f16x2.f16x2 d, a, b", CMP=FLOAT_ORDERED)
def set_halves(a: Any, b: Any, *, cmp: str, ftz: str) -> tuple[float, ...]:
    return tuple(float(compares_half(x, y, F16, cmp, ftz)) for x, y in zip(a, b, strict=True))


@row("set.CMP.BOOL{.ftz}.f16x2.f16x2 d, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL)
def set_halves_bool(a: Any, b: Any, c: bool, *, cmp: str, bool: str, ftz: str) -> tuple[float, ...]:
    return tuple(float(COMBINE[bool](compares_half(x, y, F16, cmp, ftz), c)) for x, y in zip(a, b, strict=True))


@row("set.CMP.bf16x2.bf16x2 d, a, b", CMP=FLOAT_ORDERED, sm=90)
def set_bfloats(a: Any, b: Any, *, cmp: str) -> tuple[float, ...]:
    return tuple(float(compares(x, y, cmp)) for x, y in zip(a, b, strict=True))


@row("set.CMP.BOOL.bf16x2.bf16x2 d, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL, sm=90)
def set_bfloats_bool(a: Any, b: Any, c: bool, *, cmp: str, bool: str) -> tuple[float, ...]:
    return tuple(float(COMBINE[bool](compares(x, y, cmp), c)) for x, y in zip(a, b, strict=True))


# -- single precision with an operand that is a half


@row("add{.RND}{.sat}.f32.ATYPE d:f32, a:ATYPE, c:f32", RND="rn rz rm rp", ATYPE="f16 bf16", sm=100)
def add_half_to_single(a: float, c: float, *, rnd: str, sat: str) -> float:
    return single(exact.add, a, c, rnd=rnd, ftz="", sat=sat)


@row("sub{.RND}{.sat}.f32.ATYPE d:f32, a:ATYPE, c:f32", RND="rn rz rm rp", ATYPE="f16 bf16", sm=100)
def sub_single_from_half(a: float, c: float, *, rnd: str, sat: str) -> float:
    return single(exact.add, a, -c, rnd=rnd, ftz="", sat=sat)


@row("fma.RND{.sat}.f32.ATYPE d:f32, a:ATYPE, b:ATYPE, c:f32", RND="rn rz rm rp", ATYPE="f16 bf16", sm=100)
def fma_halves_to_single(a: float, b: float, c: float, *, rnd: str, sat: str) -> float:
    return single(exact.fma, a, b, c, rnd=rnd, ftz="", sat=sat)
