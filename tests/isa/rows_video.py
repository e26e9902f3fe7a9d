"""Rows of the video instructions on one number. Parts of registers are tried in test_video_parts.py."""

from __future__ import annotations

from typing import Any

from row import row
from rows_compare import compares
from rows_simd import VIDEO

WORDS = "u32 s32"
SECOND = "add min max"
ORDERED = "eq ne lt le gt ge"


def clamp(value: int, type_: str, bits: int = 32) -> int:
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)
    return max(least, min(most, value))


def as_word(value: int, type_: str) -> int:
    """The last 32 bits of a number, as one of that type."""
    bits = value & 0xFFFFFFFF
    return bits - (1 << 32) if type_[0] == "s" and bits >> 31 else bits


def second(result: int, c: int, op: str, dtype: str) -> int:
    word = as_word(result, dtype)
    return {"": word, "add": word + c, "min": min(word, c), "max": max(word, c)}[op]


def state_plain(name: str) -> None:
    operation = VIDEO[name]

    @row(f"{name}.DTYPE.ATYPE.BTYPE{{.sat}} d:DTYPE, a:ATYPE, b:BTYPE", DTYPE=WORDS, ATYPE=WORDS, BTYPE=WORDS)
    def video(a: int, b: int, *, sat: str, dtype: str) -> int:
        return clamp(operation(a, b), dtype) if sat else operation(a, b)

    @row(
        f"{name}.DTYPE.ATYPE.BTYPE{{.sat}}{{.OP}} d:DTYPE, a:ATYPE, b:BTYPE, c:DTYPE",
        DTYPE=WORDS,
        ATYPE=WORDS,
        BTYPE=WORDS,
        OP=SECOND,
        legal=lambda op, **rest: op != "",
    )
    def video_with_c(a: int, b: int, c: int, *, sat: str, dtype: str, op: str) -> int:
        return second(clamp(operation(a, b), dtype) if sat else operation(a, b), c, op, dtype)


for _name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
    state_plain(_name)


def shifted(name: str, a: int, b: int, mode: str, sat: str, dtype: str) -> int:
    by = min(b, 32) if mode == "clamp" else b % 32
    result = a << by if name == "vshl" else a >> by
    return clamp(result, dtype) if sat else result


def state_shift(name: str) -> None:
    @row(f"{name}.DTYPE.ATYPE.u32{{.sat}}.MODE d:DTYPE, a:ATYPE, b:u32", DTYPE=WORDS, ATYPE=WORDS, MODE="clamp wrap")
    def shift(a: int, b: int, *, sat: str, dtype: str, mode: str) -> int:
        return shifted(name, a, b, mode, sat, dtype)

    @row(
        f"{name}.DTYPE.ATYPE.u32{{.sat}}.MODE{{.OP}} d:DTYPE, a:ATYPE, b:u32, c:DTYPE",
        DTYPE=WORDS,
        ATYPE=WORDS,
        MODE="clamp wrap",
        OP=SECOND,
        legal=lambda op, **rest: op != "",
    )
    def shift_with_c(a: int, b: int, c: int, *, sat: str, dtype: str, mode: str, op: str) -> int:
        return second(shifted(name, a, b, mode, sat, dtype), c, op, dtype)


for _name in ("vshl", "vshr"):
    state_shift(_name)


@row("vset.ATYPE.BTYPE.CMP d:u32, a:ATYPE, b:BTYPE", ATYPE=WORDS, BTYPE=WORDS, CMP=ORDERED)
def vset(a: int, b: int, *, cmp: str) -> int:
    return int(compares(a, b, cmp))


@row(
    "vset.ATYPE.BTYPE.CMP{.OP} d:u32, a:ATYPE, b:BTYPE, c:u32",
    ATYPE=WORDS,
    BTYPE=WORDS,
    CMP=ORDERED,
    OP=SECOND,
    legal=lambda op, **rest: op != "",
)
def vset_with_c(a: int, b: int, c: int, *, cmp: str, op: str) -> int:
    return second(int(compares(a, b, cmp)), c, op, "u32")


@row(
    "vmad.DTYPE.ATYPE.BTYPE{.po}{.sat}{.SCALE} d:DTYPE, a:ATYPE, b:BTYPE, c:DTYPE",
    DTYPE=WORDS,
    ATYPE=WORDS,
    BTYPE=WORDS,
    SCALE="shr7 shr15",
)
def vmad(a: int, b: int, c: int, *, po: str, sat: str, scale: str, atype: str, btype: str) -> Any:
    kind = "s32" if "s" in atype[0] + btype[0] else "u32"
    total = a * b + as_word(c, kind) + bool(po)
    total >>= int(scale[3:]) if scale else 0
    return clamp(total, kind) if sat else total
