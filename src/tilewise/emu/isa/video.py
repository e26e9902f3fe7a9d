"""Video instructions on one number: bytes, halves or words, worked on exactly, clamped, combined with c or merged into it.

The PTX manual, Scalar Video Instructions, but for these, in which GPUs agree with each other (docs/adr/0016):

- .sat of vadd, vsub and vabsdiff to u32 clamps from below alone. To a part of d, .sat of all but shifts makes the part's greatest
  number of every one that is negative or greater. Shifts clamp to 32 bits, whatever is written; vshl clamps the last 34 bits of
  what it shifted, as a number with a sign.
- .min and .max compare 64 bits, with c extended by d's type (vset: by a's). vadd, vsub and saturated shifts give them 32 bits,
  extended by their sign.
- vmad takes its operands' words as signed; their types only tell how it shifts and clamps.

Numbers are held in 64 bits, which keep every intermediate result. Operands of vmad have no minus.
"""

from __future__ import annotations

from tilewise.core.errors import TilewiseError
from tilewise.emu.isa.compare import ORDERED
from tilewise.emu.isa.spec import PARTS, op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

WORDS = "u32 s32"
SECOND = "add min max"
_SHIFTS = ("vshl", "vshr")
_PLAIN = "vadd vsub vabsdiff vmin vmax"
_RANGE = {"u32": (0, (1 << 32) - 1), "s32": (-(1 << 31), (1 << 31) - 1)}


def _register_plain(name: str) -> None:
    @op(f"{name}.DTYPE.ATYPE.BTYPE{{.sat}} d:DTYPE, a:ATYPE, b:BTYPE", DTYPE=WORDS, ATYPE=WORDS, BTYPE=WORDS)
    def video(lanes: Lanes, a: Value, b: Value, *, sat: str, dtype: str, atype: str, btype: str, dsel: str) -> Value:
        result = _operate(lanes, name, _wide(lanes, a, atype), _wide(lanes, b, btype))
        return _finish(lanes, _hand_on(lanes, name, result, sat, dtype, dsel), None, "", dtype, dsel)

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
        return _finish(lanes, _hand_on(lanes, name, result, sat, dtype, dsel), c, op, dtype, dsel)


for _name in _PLAIN.split():
    _register_plain(_name)


# -- shifts, by at most 32 or by the last five bits of b


def _register_shift(name: str) -> None:
    @op(f"{name}.DTYPE.ATYPE.u32{{.sat}}.MODE d:DTYPE, a:ATYPE, b:u32", DTYPE=WORDS, ATYPE=WORDS, MODE="clamp wrap")
    def shift(lanes: Lanes, a: Value, b: Value, *, sat: str, dtype: str, atype: str, mode: str, dsel: str) -> Value:
        result = _shift(lanes, name, _wide(lanes, a, atype), b, mode)
        return _finish(lanes, _hand_on(lanes, name, result, sat, dtype, dsel), None, "", dtype, dsel)

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
        result = _shift(lanes, name, _wide(lanes, a, atype), b, mode)
        return _finish(lanes, _hand_on(lanes, name, result, sat, dtype, dsel), c, op, dtype, dsel)


for _name in _SHIFTS:
    _register_shift(_name)


def _shift(lanes: Lanes, name: str, wide: Value, b: Value, mode: str) -> Value:
    most = lanes.constant("i32", 32 if mode == "clamp" else 31)
    by = lanes.intrinsic("llvm.umin", b, most) if mode == "clamp" else lanes.binary("and", b, most)
    return lanes.binary("shl" if name == "vshl" else "ashr", wide, lanes.extend("zext", "i64", by))


# -- comparisons: 1 or 0


@op("vset.ATYPE.BTYPE.CMP d:u32, a:ATYPE, b:BTYPE", ATYPE=WORDS, BTYPE=WORDS, CMP=ORDERED)
def vset(lanes: Lanes, a: Value, b: Value, *, atype: str, btype: str, cmp: str, dsel: str) -> Value:
    return _finish(lanes, _compare(lanes, a, b, atype, btype, cmp), None, "", "u32", dsel)


@op("vset.ATYPE.BTYPE.CMP{.OP} d:u32, a:ATYPE, b:BTYPE, c:ATYPE", ATYPE=WORDS, BTYPE=WORDS, CMP=ORDERED, OP=SECOND)
def vset_with_c(lanes: Lanes, a: Value, b: Value, c: Value, *, atype: str, btype: str, cmp: str, op: str, dsel: str) -> Value:
    return _finish(lanes, _compare(lanes, a, b, atype, btype, cmp), c, op, atype, dsel)


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
    """.po adds one more; the result is signed if a or b is."""
    if dsel:
        raise TilewiseError("vmad writes whole registers.")
    kind = "s32" if "s32" in (atype, btype) else "u32"
    total = lanes.binary("mul", _wide(lanes, a, "s32"), _wide(lanes, b, "s32"))
    total = lanes.binary("add", total, _wide(lanes, c, "s32"))
    if po:
        total = lanes.binary("add", total, lanes.constant("i64", 1))
    if scale:
        total = lanes.binary("ashr" if kind == "s32" else "lshr", total, lanes.constant("i64", int(scale[3:])))
    return lanes.truncate("i32", _clamp(lanes, total, *_RANGE[kind]) if sat else total)


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


def _hand_on(lanes: Lanes, name: str, result: Value, sat: str, dtype: str, dsel: str) -> Value:
    """An exact result as it is stored or combined with c."""
    low, high = _RANGE[dtype]
    if sat and name in _SHIFTS:
        result = _clamp(lanes, _sign_extend(lanes, result, 34) if name == "vshl" else result, low, high)
    elif sat and dsel:  # without a sign, negative numbers are the greatest
        result = lanes.intrinsic("llvm.umin", result, lanes.constant("i64", high >> 32 - PARTS[dsel][1]))
    elif sat and dtype == "u32":  # vmin and vmax stay below the greatest
        result = lanes.intrinsic("llvm.smax", result, lanes.constant("i64", low))
    elif sat:
        result = _clamp(lanes, result, low, high)
    if name in ("vadd", "vsub") or (sat and name in _SHIFTS):
        result = _sign_extend(lanes, result, 32)
    return result


def _clamp(lanes: Lanes, a: Value, low: int, high: int) -> Value:
    return lanes.intrinsic("llvm.smin", lanes.intrinsic("llvm.smax", a, lanes.constant("i64", low)), lanes.constant("i64", high))


def _sign_extend(lanes: Lanes, a: Value, bits: int) -> Value:
    """The last bits of a number, as one with a sign."""
    rest = lanes.constant("i64", 64 - bits)
    return lanes.binary("ashr", lanes.binary("shl", a, rest), rest)


def _finish(lanes: Lanes, wide: Value, c: Value | None, op_: str, type_: str, dsel: str) -> Value:
    """Combine a result with c, or put its last bits in place of a part of c.

    Raises TilewiseError where a part is written and there is no c to hold the others, or another use for it.
    """
    if dsel and (c is None or op_):
        raise TilewiseError("a video instruction that writes a part of a register takes the others from a fourth operand.")
    if c is not None and op_:
        third = _wide(lanes, c, type_)
        wide = lanes.binary("add", wide, third) if op_ == "add" else lanes.intrinsic(f"llvm.{type_[0]}{op_}", wide, third)
    result = lanes.truncate("i32", wide)
    if c is None or not dsel:
        return result
    start, bits = PARTS[dsel]
    mask = (1 << bits) - 1
    part = lanes.binary("shl", lanes.binary("and", result, lanes.constant("i32", mask)), lanes.constant("i32", start))
    return lanes.binary("or", lanes.binary("and", c, lanes.constant("i32", ~(mask << start))), part)
