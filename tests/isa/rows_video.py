"""Rows of the video instructions on one number, as GPUs give them (docs/adr/0016). Parts of registers: test_video_parts.py."""

from __future__ import annotations

from row import row
from rows_compare import compares
from rows_simd import VIDEO

WORDS = "u32 s32"
SECOND = "add min max"
ORDERED = "eq ne lt le gt ge"
PLAIN = ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
SHIFTS = ("vshl", "vshr")


def clamp(value: int, type_: str) -> int:
    least, most = (-(1 << 31), (1 << 31) - 1) if type_[0] == "s" else (0, (1 << 32) - 1)
    return max(least, min(most, value))


def signed(value: int, bits: int = 32) -> int:
    """The last bits of a number, as one with a sign."""
    value %= 1 << bits
    return value - (1 << bits) if value >> bits - 1 else value


def saturated(name: str, result: int, dtype: str) -> int:
    if name == "vshl":
        return clamp(signed(result, 34), dtype)
    if dtype == "u32" and name in ("vadd", "vsub", "vabsdiff"):
        return max(result, 0)
    return clamp(result, dtype)


def second(result: int, c: int, op: str, dtype: str) -> int:
    number = signed(result, 64) if dtype == "s32" else result % (1 << 64)
    return {"": number, "add": number + c, "min": min(number, c), "max": max(number, c)}[op]


def with_c(name: str, result: int, c: int, sat: str, op: str, dtype: str) -> int:
    if sat:
        result = saturated(name, result, dtype)
    if name in ("vadd", "vsub") or (sat and name in SHIFTS):
        result = signed(result)
    return second(result, c, op, dtype)


def state_plain(name: str) -> None:
    operation = VIDEO[name]

    @row(f"{name}.DTYPE.ATYPE.BTYPE{{.sat}} d:DTYPE, a:ATYPE, b:BTYPE", DTYPE=WORDS, ATYPE=WORDS, BTYPE=WORDS)
    def video(a: int, b: int, *, sat: str, dtype: str) -> int:
        return saturated(name, operation(a, b), dtype) if sat else operation(a, b)

    @row(
        f"{name}.DTYPE.ATYPE.BTYPE{{.sat}}{{.OP}} d:DTYPE, a:ATYPE, b:BTYPE, c:DTYPE",
        DTYPE=WORDS,
        ATYPE=WORDS,
        BTYPE=WORDS,
        OP=SECOND,
        legal=lambda op, **rest: op != "",
    )
    def video_with_c(a: int, b: int, c: int, *, sat: str, dtype: str, op: str) -> int:
        return with_c(name, operation(a, b), c, sat, op, dtype)


for _name in PLAIN:
    state_plain(_name)


def shifted(name: str, a: int, b: int, mode: str) -> int:
    by = min(b, 32) if mode == "clamp" else b % 32
    return a << by if name == "vshl" else a >> by


def state_shift(name: str) -> None:
    @row(f"{name}.DTYPE.ATYPE.u32{{.sat}}.MODE d:DTYPE, a:ATYPE, b:u32", DTYPE=WORDS, ATYPE=WORDS, MODE="clamp wrap")
    def shift(a: int, b: int, *, sat: str, dtype: str, mode: str) -> int:
        result = shifted(name, a, b, mode)
        return saturated(name, result, dtype) if sat else result

    @row(
        f"{name}.DTYPE.ATYPE.u32{{.sat}}.MODE{{.OP}} d:DTYPE, a:ATYPE, b:u32, c:DTYPE",
        DTYPE=WORDS,
        ATYPE=WORDS,
        MODE="clamp wrap",
        OP=SECOND,
        legal=lambda op, **rest: op != "",
    )
    def shift_with_c(a: int, b: int, c: int, *, sat: str, dtype: str, mode: str, op: str) -> int:
        return with_c(name, shifted(name, a, b, mode), c, sat, op, dtype)


for _name in SHIFTS:
    state_shift(_name)


@row("vset.ATYPE.BTYPE.CMP d:u32, a:ATYPE, b:BTYPE", ATYPE=WORDS, BTYPE=WORDS, CMP=ORDERED)
def vset(a: int, b: int, *, cmp: str) -> int:
    return int(compares(a, b, cmp))


@row(
    "vset.ATYPE.BTYPE.CMP{.OP} d:u32, a:ATYPE, b:BTYPE, c:ATYPE",
    ATYPE=WORDS,
    BTYPE=WORDS,
    CMP=ORDERED,
    OP=SECOND,
    legal=lambda op, **rest: op != "",
)
def vset_with_c(a: int, b: int, c: int, *, cmp: str, op: str, atype: str) -> int:
    return second(int(compares(a, b, cmp)), c, op, atype)


@row(
    "vmad.DTYPE.ATYPE.BTYPE{.po}{.sat}{.SCALE} d:DTYPE, a:ATYPE, b:BTYPE, c:DTYPE",
    DTYPE=WORDS,
    ATYPE=WORDS,
    BTYPE=WORDS,
    SCALE="shr7 shr15",
)
def vmad(a: int, b: int, c: int, *, po: str, sat: str, scale: str, atype: str, btype: str) -> int:
    kind = "s32" if "s32" in (atype, btype) else "u32"
    total = signed(a) * signed(b) + signed(c) + bool(po)
    if scale:
        total = (total if kind == "s32" else total % (1 << 64)) >> int(scale[3:])
    return clamp(total, kind) if sat else total
