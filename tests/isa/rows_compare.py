"""Rows of comparisons and selections."""

from __future__ import annotations

import math
import operator
from typing import Any

from exact import F32, flush
from row import row

SIGNED, UNSIGNED, BITS = "s16 s32 s64", "u16 u32 u64", "b16 b32 b64"
ORDERED = "eq ne lt le gt ge"
UNSIGNED_ORDERED = ORDERED + " lo ls hi hs"
FLOAT_ORDERED = ORDERED + " equ neu ltu leu gtu geu num nan"
BOOL = "and or xor"
COMBINE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
SYNONYMS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def compares(a: float, b: float, cmp: str, ftz: str = "") -> bool:
    if ftz:
        a, b = flush(a, F32), flush(b, F32)
    unordered = math.isnan(a) or math.isnan(b)
    if cmp in ("num", "nan"):
        return unordered == (cmp == "nan")
    if unordered:
        return cmp.endswith("u")
    return bool(getattr(operator, SYNONYMS.get(cmp, cmp)[:2])(a, b))


def pair(holds: bool, c: bool | None = None, bool_: str = "") -> tuple[bool, bool]:
    return (holds, not holds) if c is None else (COMBINE[bool_](holds, c), COMBINE[bool_](not holds, c))


def number(holds: bool, result: str) -> float:
    return float(holds) if result in ("f32", "f16", "bf16") else -int(holds)


@row("setp.CMP.TYPE p|q:pred, a, b", CMP=ORDERED, TYPE=SIGNED)
@row("setp.CMP.TYPE p|q:pred, a, b", CMP=UNSIGNED_ORDERED, TYPE=UNSIGNED)
@row("setp.CMP.TYPE p|q:pred, a, b", CMP="eq ne", TYPE=BITS)
@row("setp.CMP.f64 p|q:pred, a, b", CMP=FLOAT_ORDERED)
def setp(a: Any, b: Any, *, cmp: str) -> tuple[bool, bool]:
    return pair(compares(a, b, cmp))


@row("setp.CMP{.ftz}.f32 p|q:pred, a, b", CMP=FLOAT_ORDERED)
def setp_f32(a: float, b: float, *, cmp: str, ftz: str) -> tuple[bool, bool]:
    return pair(compares(a, b, cmp, ftz))


@row("setp.CMP.BOOL.TYPE p|q:pred, a, b, c:pred", CMP=ORDERED, BOOL=BOOL, TYPE=SIGNED)
@row("setp.CMP.BOOL.TYPE p|q:pred, a, b, c:pred", CMP=UNSIGNED_ORDERED, BOOL=BOOL, TYPE=UNSIGNED)
@row("setp.CMP.BOOL.TYPE p|q:pred, a, b, c:pred", CMP="eq ne", BOOL=BOOL, TYPE=BITS)
@row("setp.CMP.BOOL.f64 p|q:pred, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_bool(a: Any, b: Any, c: bool, *, cmp: str, bool: str) -> tuple[bool, bool]:
    return pair(compares(a, b, cmp), c, bool)


@row("setp.CMP.BOOL{.ftz}.f32 p|q:pred, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_f32_bool(a: float, b: float, c: bool, *, cmp: str, bool: str, ftz: str) -> tuple[bool, bool]:
    return pair(compares(a, b, cmp, ftz), c, bool)


@row("set.CMP.RESULT.TYPE d:RESULT, a, b", CMP=ORDERED, RESULT="u32 s32 f32 f16", TYPE=SIGNED)
@row("set.CMP.RESULT.TYPE d:RESULT, a, b", CMP=ORDERED, RESULT="bf16", TYPE=SIGNED, sm=90)
@row("set.CMP.RESULT.TYPE d:RESULT, a, b", CMP=UNSIGNED_ORDERED, RESULT="u32 s32 f32 f16", TYPE=UNSIGNED)
@row("set.CMP.RESULT.TYPE d:RESULT, a, b", CMP=UNSIGNED_ORDERED, RESULT="bf16", TYPE=UNSIGNED, sm=90)
@row("set.CMP.RESULT.TYPE d:RESULT, a, b", CMP="eq ne", RESULT="u32 s32 f32 f16", TYPE=BITS)
@row("set.CMP.RESULT.TYPE d:RESULT, a, b", CMP="eq ne", RESULT="bf16", TYPE=BITS, sm=90)
@row("set.CMP.RESULT.f64 d:RESULT, a, b", CMP=FLOAT_ORDERED, RESULT="u32 s32 f32 f16")
@row("set.CMP.RESULT.f64 d:RESULT, a, b", CMP=FLOAT_ORDERED, RESULT="bf16", sm=90)
def set_(a: Any, b: Any, *, cmp: str, result: str) -> float:
    return number(compares(a, b, cmp), result)


@row("set.CMP{.ftz}.RESULT.f32 d:RESULT, a, b", CMP=FLOAT_ORDERED, RESULT="u32 s32 f32 f16")
@row("set.CMP{.ftz}.RESULT.f32 d:RESULT, a, b", CMP=FLOAT_ORDERED, RESULT="bf16", sm=90, legal=lambda ftz, **rest: not ftz)
def set_f32(a: float, b: float, *, cmp: str, ftz: str, result: str) -> float:
    return number(compares(a, b, cmp, ftz), result)


@row("set.CMP.BOOL.RESULT.TYPE d:RESULT, a, b, c:pred", CMP=ORDERED, BOOL=BOOL, RESULT="u32 s32 f32 f16", TYPE=SIGNED)
@row("set.CMP.BOOL.RESULT.TYPE d:RESULT, a, b, c:pred", CMP=ORDERED, BOOL=BOOL, RESULT="bf16", TYPE=SIGNED, sm=90)
@row("set.CMP.BOOL.RESULT.TYPE d:RESULT, a, b, c:pred", CMP=UNSIGNED_ORDERED, BOOL=BOOL, RESULT="u32 s32 f32 f16", TYPE=UNSIGNED)
@row("set.CMP.BOOL.RESULT.TYPE d:RESULT, a, b, c:pred", CMP=UNSIGNED_ORDERED, BOOL=BOOL, RESULT="bf16", TYPE=UNSIGNED, sm=90)
@row("set.CMP.BOOL.RESULT.TYPE d:RESULT, a, b, c:pred", CMP="eq ne", BOOL=BOOL, RESULT="u32 s32 f32 f16", TYPE=BITS)
@row("set.CMP.BOOL.RESULT.TYPE d:RESULT, a, b, c:pred", CMP="eq ne", BOOL=BOOL, RESULT="bf16", TYPE=BITS, sm=90)
@row("set.CMP.BOOL.RESULT.f64 d:RESULT, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL, RESULT="u32 s32 f32 f16")
@row("set.CMP.BOOL.RESULT.f64 d:RESULT, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL, RESULT="bf16", sm=90)
def set_bool(a: Any, b: Any, c: bool, *, cmp: str, bool: str, result: str) -> float:
    return number(COMBINE[bool](compares(a, b, cmp), c), result)


@row("set.CMP.BOOL{.ftz}.RESULT.f32 d:RESULT, a, b, c:pred", CMP=FLOAT_ORDERED, BOOL=BOOL, RESULT="u32 s32 f32 f16")
@row(
    "set.CMP.BOOL{.ftz}.RESULT.f32 d:RESULT, a, b, c:pred",
    CMP=FLOAT_ORDERED,
    BOOL=BOOL,
    RESULT="bf16",
    sm=90,
    legal=lambda ftz, **rest: not ftz,
)
def set_f32_bool(a: float, b: float, c: bool, *, cmp: str, bool: str, ftz: str, result: str) -> float:
    return number(COMBINE[bool](compares(a, b, cmp, ftz), c), result)


@row("selp.TYPE d, a, b, c:pred", TYPE=f"{BITS} {SIGNED} {UNSIGNED} f32 f64")
def selp(a: Any, b: Any, c: bool) -> Any:
    return a if c else b


@row("slct.TYPE.s32 d, a, b, c:s32", TYPE=f"{BITS} {SIGNED} {UNSIGNED} f32 f64")
def slct(a: Any, b: Any, c: int) -> Any:
    return a if c >= 0 else b


@row("slct{.ftz}.TYPE.f32 d, a, b, c:f32", TYPE=f"{BITS} {SIGNED} {UNSIGNED} f32 f64")
def slct_by_float(a: Any, b: Any, c: float, *, ftz: str) -> Any:
    return a if compares(c, 0.0, "ge", ftz) else b
