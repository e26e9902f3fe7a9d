"""Video instructions on one number: bytes, halves or words, worked on exactly, clamped, combined with c or merged into it.

The PTX manual, Scalar Video Instructions. Numbers are held in 64 bits, which keep every intermediate result.
Operands of vmad have no minus.
"""

from __future__ import annotations

from tilewise.core.errors import TilewiseError
from tilewise.emu.isa.compare import ORDERED
from tilewise.emu.isa.spec import PARTS, op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

WORDS = "u32 s32"
SECOND = "add min max"
_PLAIN = "vadd vsub vabsdiff vmin vmax"


def _register_plain(name: str) -> None:
    @op(f"{name}.DTYPE.ATYPE.BTYPE{{.sat}} d:DTYPE, a:ATYPE, b:BTYPE", DTYPE=WORDS, ATYPE=WORDS, BTYPE=WORDS)
    def video(lanes: Lanes, a: Value, b: Value, *, sat: str, dtype: str, atype: str, btype: str, dsel: str) -> Value:
        result = _operate(lanes, name, _wide(lanes, a, atype), _wide(lanes, b, btype))
        return _finish(lanes, _saturate(lanes, result, sat, dtype, dsel), None, "", dtype, dsel)

    @op(
        f"{name}.DTYPE.ATYPE.BTYPE{{.sat}}{{.OP}} d:DTYPE, a:ATYPE, b:BTYPE, c:DTYPE",
        DTYPE=WORDS,
        ATYPE=WORDS,
        BTYPE=WORDS,
        OP=SECOND,
    )
    def video_with_c(
        lanes: Lanes, a: Value, b: Value, c: Value, *, sat: str, dtype: str, atype: str, btype: str, op: str, dsel: str
    ) -> Value:
        result = _operate(lanes, name, _wide(lanes, a, atype), _wide(lanes, b, btype))
        return _finish(lanes, _saturate(lanes, result, sat, dtype, dsel), c, op, dtype, dsel)


for _name in _PLAIN.split():
    _register_plain(_name)


# -- shifts, by at most 32 or by the last five bits of b


def _register_shift(name: str) -> None:
    @op(f"{name}.DTYPE.ATYPE.u32{{.sat}}.MODE d:DTYPE, a:ATYPE, b:u32", DTYPE=WORDS, ATYPE=WORDS, MODE="clamp wrap")
    def shift(lanes: Lanes, a: Value, b: Value, *, sat: str, dtype: str, atype: str, mode: str, dsel: str) -> Value:
        result = _shift(lanes, name, a, b, mode, sat, (atype, dtype), dsel)
        return _finish(lanes, result, None, "", dtype, dsel)

    @op(
        f"{name}.DTYPE.ATYPE.u32{{.sat}}.MODE{{.OP}} d:DTYPE, a:ATYPE, b:u32, c:DTYPE",
        DTYPE=WORDS,
        ATYPE=WORDS,
        MODE="clamp wrap",
        OP=SECOND,
    )
    def shift_with_c(
        lanes: Lanes, a: Value, b: Value, c: Value, *, sat: str, dtype: str, atype: str, mode: str, op: str, dsel: str
    ) -> Value:
        result = _shift(lanes, name, a, b, mode, sat, (atype, dtype), dsel)
        return _finish(lanes, result, c, op, dtype, dsel)


for _name in ("vshl", "vshr"):
    _register_shift(_name)


def _shift(lanes: Lanes, name: str, a: Value, b: Value, mode: str, sat: str, types: tuple[str, str], dsel: str) -> Value:
    wide, most = _wide(lanes, a, types[0]), lanes.constant("i32", 32 if mode == "clamp" else 31)
    by = lanes.intrinsic("llvm.umin", b, most) if mode == "clamp" else lanes.binary("and", b, most)
    far = lanes.extend("zext", "i64", by)
    if name == "vshr":
        return _saturate(lanes, lanes.binary("ashr", wide, far), sat, types[1], dsel)
    moved = lanes.binary("shl", wide, far)
    if not sat:
        return moved
    low, high = _range(types[1], dsel)
    positive = lanes.intrinsic("llvm.umin", moved, lanes.constant("i64", high))  # of 64 bits without a sign
    negative = lanes.intrinsic("llvm.smax", moved, lanes.constant("i64", low))
    return lanes.select(lanes.compare("icmp slt", wide, lanes.constant("i64", 0)), negative, positive)


# -- comparisons: 1 or 0


@op("vset.ATYPE.BTYPE.CMP d:u32, a:ATYPE, b:BTYPE", ATYPE=WORDS, BTYPE=WORDS, CMP=ORDERED)
def vset(lanes: Lanes, a: Value, b: Value, *, atype: str, btype: str, cmp: str, dsel: str) -> Value:
    return _finish(lanes, _compare(lanes, a, b, atype, btype, cmp), None, "", "u32", dsel)


@op("vset.ATYPE.BTYPE.CMP{.OP} d:u32, a:ATYPE, b:BTYPE, c:u32", ATYPE=WORDS, BTYPE=WORDS, CMP=ORDERED, OP=SECOND)
def vset_with_c(lanes: Lanes, a: Value, b: Value, c: Value, *, atype: str, btype: str, cmp: str, op: str, dsel: str) -> Value:
    return _finish(lanes, _compare(lanes, a, b, atype, btype, cmp), c, op, "u32", dsel)


def _compare(lanes: Lanes, a: Value, b: Value, atype: str, btype: str, cmp: str) -> Value:
    name = cmp if cmp in ("eq", "ne") else f"s{cmp}"
    holds = lanes.compare(f"icmp {name}", _wide(lanes, a, atype), _wide(lanes, b, btype))
    return lanes.convert("zext", "i64", holds)


# -- a * b + c, shifted


@op(
    "vmad.DTYPE.ATYPE.BTYPE{.po}{.sat}{.SCALE} d:DTYPE, a:ATYPE, b:BTYPE, c:DTYPE",
    DTYPE=WORDS,
    ATYPE=WORDS,
    BTYPE=WORDS,
    SCALE="shr7 shr15",
)
def vmad(
    lanes: Lanes, a: Value, b: Value, c: Value, *, po: str, sat: str, scale: str, dtype: str, atype: str, btype: str, dsel: str
) -> Value:
    """Signed if a or b is; .po adds one more."""
    if dsel:
        raise TilewiseError("vmad writes whole registers.")
    signed = "s" in atype[0] + btype[0]
    total = lanes.binary("mul", _wide(lanes, a, atype), _wide(lanes, b, btype))
    total = lanes.binary("add", total, _wide(lanes, c, "s32" if signed else "u32"))
    if po:
        total = lanes.binary("add", total, lanes.constant("i64", 1))
    if scale:
        total = lanes.binary("ashr" if signed else "lshr", total, lanes.constant("i64", int(scale[3:])))
    if sat:
        low, high = _range("s32" if signed else "u32", "")
        if signed:
            total = lanes.intrinsic("llvm.smax", total, lanes.constant("i64", low))
        total = lanes.intrinsic("llvm.smin" if signed else "llvm.umin", total, lanes.constant("i64", high))
    return lanes.truncate("i32", total)


# -- the steps that all of them take


def _wide(lanes: Lanes, a: Value, type_: str) -> Value:
    return lanes.extend("sext" if type_[0] == "s" else "zext", "i64", a)


def _operate(lanes: Lanes, name: str, a: Value, b: Value) -> Value:
    match name:
        case "vadd":
            return lanes.binary("add", a, b)
        case "vsub":
            return lanes.binary("sub", a, b)
        case "vabsdiff":
            gap = lanes.binary("sub", a, b)
            return lanes.intrinsic("llvm.smax", gap, lanes.binary("sub", lanes.constant("i64", 0), gap))
    return lanes.intrinsic("llvm.s" + name[1:], a, b)


def _range(type_: str, dsel: str) -> tuple[int, int]:
    """The least and the greatest number of a type in a part of a register."""
    bits = PARTS[dsel][1] if dsel else 32
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)


def _saturate(lanes: Lanes, a: Value, sat: str, type_: str, dsel: str) -> Value:
    if not sat:
        return a
    low, high = _range(type_, dsel)
    above = lanes.intrinsic("llvm.smax", a, lanes.constant("i64", low))
    return lanes.intrinsic("llvm.smin", above, lanes.constant("i64", high))


def _finish(lanes: Lanes, wide: Value, c: Value | None, op_: str, type_: str, dsel: str) -> Value:
    """Combine a result with c, or put its last bits in place of a part of c.

    Raises TilewiseError where a part is written and there is no c to hold the others, or another use for it.
    """
    result = lanes.truncate("i32", wide)
    if dsel and (c is None or op_):
        raise TilewiseError("a video instruction that writes a part of a register takes the others from a fourth operand.")
    if c is None:
        return result
    if op_ == "add":
        return lanes.binary("add", result, c)
    if op_:
        return lanes.intrinsic(f"llvm.{'s' if type_[0] == 's' else 'u'}{op_}", result, c)
    if not dsel:
        return result
    start, bits = PARTS[dsel]
    mask = (1 << bits) - 1
    part = lanes.binary("shl", lanes.binary("and", result, lanes.constant("i32", mask)), lanes.constant("i32", start))
    return lanes.binary("or", lanes.binary("and", c, lanes.constant("i32", ~(mask << start))), part)
