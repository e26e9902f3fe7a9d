"""Rows of integer arithmetic. Operands are exact Python integers; the harness wraps results to the destination's width."""

from __future__ import annotations

from row import row

INTEGERS = "u16 u32 u64 s16 s32 s64"
SIGNED = "s16 s32 s64"


@row("add.TYPE d, a, b", TYPE=INTEGERS)
def add(a: int, b: int) -> int:
    return a + b


@row("sub.TYPE d, a, b", TYPE=INTEGERS)
def sub(a: int, b: int) -> int:
    return a - b


@row("mul.lo.TYPE d, a, b", TYPE=INTEGERS)
def mul_lo(a: int, b: int) -> int:
    return a * b


@row("mul.hi.TYPE d, a, b", TYPE=INTEGERS)
def mul_hi(a: int, b: int, *, type: str) -> int:
    return a * b >> int(type[1:])


@row("mul.wide.TYPE d:wide(TYPE), a, b", TYPE="u16 u32 s16 s32")
def mul_wide(a: int, b: int) -> int:
    return a * b


@row("mad.lo.TYPE d, a, b, c", TYPE=INTEGERS)
def mad_lo(a: int, b: int, c: int) -> int:
    return a * b + c


@row("mad.wide.TYPE d:wide(TYPE), a, b, c:wide(TYPE)", TYPE="u16 u32 s16 s32")
def mad_wide(a: int, b: int, c: int) -> int:
    return a * b + c


@row("neg.TYPE d, a", TYPE=SIGNED)
def neg(a: int) -> int:
    return -a


@row("abs.TYPE d, a", TYPE=SIGNED)
def absolute(a: int) -> int:
    return abs(a)


@row("min.TYPE d, a, b", TYPE=INTEGERS)
def minimum(a: int, b: int) -> int:
    return min(a, b)


@row("max.TYPE d, a, b", TYPE=INTEGERS)
def maximum(a: int, b: int) -> int:
    return max(a, b)
