"""Rows of integer arithmetic. Operands are exact Python integers; the harness wraps results to the destination's width."""

from __future__ import annotations

from row import row

INTEGERS = "u16 u32 u64 s16 s32 s64"
SIGNED = "s16 s32 s64"
CARRYING = "u32 s32 u64 s64"


def clamp(value: int) -> int:
    """Into the range of s32."""
    return max(-(1 << 31), min((1 << 31) - 1, value))


@row("add.TYPE d, a, b", TYPE=INTEGERS)
def add(a: int, b: int) -> int:
    return a + b


@row("add.sat.s32 d, a, b")
def add_saturating(a: int, b: int) -> int:
    return clamp(a + b)


@row("sub.TYPE d, a, b", TYPE=INTEGERS)
def sub(a: int, b: int) -> int:
    return a - b


@row("sub.sat.s32 d, a, b")
def sub_saturating(a: int, b: int) -> int:
    return clamp(a - b)


@row("mul.PART.TYPE d, a, b", PART="lo hi", TYPE=INTEGERS)
def mul(a: int, b: int, *, part: str, type: str) -> int:
    return a * b >> (int(type[1:]) if part == "hi" else 0)


@row("mul.wide.TYPE d:wide(TYPE), a, b", TYPE="u16 u32 s16 s32")
def mul_wide(a: int, b: int) -> int:
    return a * b


@row("mad.PART.TYPE d, a, b, c", PART="lo hi", TYPE=INTEGERS)
def mad(a: int, b: int, c: int, *, part: str, type: str) -> int:
    return mul(a, b, part=part, type=type) + c


@row("mad.hi.sat.s32 d, a, b, c")
def mad_saturating(a: int, b: int, c: int) -> int:
    return clamp((a * b >> 32) + c)


@row("mad.wide.TYPE d:wide(TYPE), a, b, c:wide(TYPE)", TYPE="u16 u32 s16 s32")
def mad_wide(a: int, b: int, c: int) -> int:
    return a * b + c


def low_24_bits(a: int, type: str) -> int:
    low = a & 0xFFFFFF
    return low - (1 << 24) if type[0] == "s" and low >> 23 else low


@row("mul24.PART.TYPE d, a, b", PART="lo hi", TYPE="u32 s32")
def mul24(a: int, b: int, *, part: str, type: str) -> int:
    product = low_24_bits(a, type) * low_24_bits(b, type)
    return product >> (16 if part == "hi" else 0)


@row("mad24.PART.TYPE d, a, b, c", PART="lo hi", TYPE="u32 s32")
def mad24(a: int, b: int, c: int, *, part: str, type: str) -> int:
    return mul24(a, b, part=part, type=type) + c


@row("mad24.hi.sat.s32 d, a, b, c")
def mad24_saturating(a: int, b: int, c: int) -> int:
    return clamp(mul24(a, b, part="hi", type="s32") + c)


@row("sad.TYPE d, a, b, c", TYPE=INTEGERS)
def sad(a: int, b: int, c: int) -> int:
    return c + abs(a - b)


@row("div.TYPE d, a, b", TYPE=INTEGERS)
def div(a: int, b: int) -> int:
    """Towards 0; by 0 as an H200 divides."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@row("rem.TYPE d, a, b", TYPE=INTEGERS)
def rem(a: int, b: int) -> int:
    return a - b * div(a, b) if b else -1


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


@row("min.relu.s32 d, a, b", sm=90)
def minimum_relu(a: int, b: int) -> int:
    return max(0, min(a, b))


@row("max.relu.s32 d, a, b", sm=90)
def maximum_relu(a: int, b: int) -> int:
    return max(0, a, b)


# -- the carry flag: set by a sum that carries and by a difference that borrows nothing


def carry_out(total: int, type: str) -> tuple[int, bool]:
    bits = int(type[1:])
    return total, not 0 <= total < 1 << bits


def unsigned(a: int, type: str) -> int:
    return a & ((1 << int(type[1:])) - 1)


@row("add.cc.TYPE d, a, b", TYPE=CARRYING, carry="out")
def add_cc(a: int, b: int, *, type: str) -> tuple[int, bool]:
    return carry_out(unsigned(a, type) + unsigned(b, type), type)


@row("addc.TYPE d, a, b", TYPE=CARRYING, carry="in")
def addc(a: int, b: int, carry: bool) -> int:
    return a + b + carry


@row("addc.cc.TYPE d, a, b", TYPE=CARRYING, carry="in out")
def addc_cc(a: int, b: int, carry: bool, *, type: str) -> tuple[int, bool]:
    return carry_out(unsigned(a, type) + unsigned(b, type) + carry, type)


@row("sub.cc.TYPE d, a, b", TYPE=CARRYING, carry="out")
def sub_cc(a: int, b: int, *, type: str) -> tuple[int, bool]:
    return a - b, unsigned(a, type) >= unsigned(b, type)


@row("subc.TYPE d, a, b", TYPE=CARRYING, carry="in")
def subc(a: int, b: int, carry: bool) -> int:
    return a - b - (not carry)


@row("subc.cc.TYPE d, a, b", TYPE=CARRYING, carry="in out")
def subc_cc(a: int, b: int, carry: bool, *, type: str) -> tuple[int, bool]:
    return a - b - (not carry), unsigned(a, type) >= unsigned(b, type) + (not carry)


@row("mad.PART.cc.TYPE d, a, b, c", PART="lo hi", TYPE=CARRYING, carry="out")
def mad_cc(a: int, b: int, c: int, *, part: str, type: str) -> tuple[int, bool]:
    return add_cc(mul(a, b, part=part, type=type), c, type=type)


@row("madc.PART.TYPE d, a, b, c", PART="lo hi", TYPE=CARRYING, carry="in")
def madc(a: int, b: int, c: int, carry: bool, *, part: str, type: str) -> int:
    return mul(a, b, part=part, type=type) + c + carry


@row("madc.PART.cc.TYPE d, a, b, c", PART="lo hi", TYPE=CARRYING, carry="in out")
def madc_cc(a: int, b: int, c: int, carry: bool, *, part: str, type: str) -> tuple[int, bool]:
    return addc_cc(mul(a, b, part=part, type=type), c, carry, type=type)
