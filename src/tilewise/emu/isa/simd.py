"""Several small numbers in one register: dot products, packed 16-bit integers, packed floats, video instructions."""

from __future__ import annotations

from collections.abc import Callable

from tilewise.emu.isa.float import add_f32, fma_f32, mul_f32, sub_f32
from tilewise.emu.isa.half import pack, split
from tilewise.emu.isa.rounding import ROUNDINGS
from tilewise.emu.isa.spec import op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

WORDS = "u32 s32"
HALFWORDS = "u16x2 s16x2"


# -- dot products, added to c


@op("dp4a.ATYPE.BTYPE d:b32, a:ATYPE, b:BTYPE, c:b32", ATYPE=WORDS, BTYPE=WORDS)
def dp4a(lanes: Lanes, a: Value, b: Value, c: Value, *, atype: str, btype: str) -> Value:
    for place in range(4):
        x, y = _field(lanes, a, 8 * place, 8, atype), _field(lanes, b, 8 * place, 8, btype)
        c = lanes.binary("add", c, lanes.binary("mul", x, y))
    return c


@op("dp2a.PART.ATYPE.BTYPE d:b32, a:ATYPE, b:BTYPE, c:b32", PART="lo hi", ATYPE=WORDS, BTYPE=WORDS)
def dp2a(lanes: Lanes, a: Value, b: Value, c: Value, *, part: str, atype: str, btype: str) -> Value:
    """Both halves of a times the lower, or upper, two bytes of b."""
    for place in range(2):
        byte = 8 * place + (16 if part == "hi" else 0)
        x, y = _field(lanes, a, 16 * place, 16, atype), _field(lanes, b, byte, 8, btype)
        c = lanes.binary("add", c, lanes.binary("mul", x, y))
    return c


def _field(lanes: Lanes, a: Value, start: int, width: int, type_: str) -> Value:
    """Some bits of an i32, extended by their sign or by 0."""
    up = lanes.binary("shl", a, lanes.constant("i32", 32 - start - width))
    return lanes.binary("ashr" if type_[0] == "s" else "lshr", up, lanes.constant("i32", 32 - width))


# -- two 16-bit integers


@op("add.TYPE d, a, b", TYPE=HALFWORDS)
def add_halfwords(lanes: Lanes, a: Value, b: Value) -> Value:
    return _by_halfwords(lanes, lambda x, y: lanes.binary("add", x, y), a, b)


@op("min{.relu}.s16x2 d, a, b")
def min_signed_halfwords(lanes: Lanes, a: Value, b: Value, *, relu: str) -> Value:
    return _extreme_halfwords(lanes, "smin", a, b, relu)


@op("max{.relu}.s16x2 d, a, b")
def max_signed_halfwords(lanes: Lanes, a: Value, b: Value, *, relu: str) -> Value:
    return _extreme_halfwords(lanes, "smax", a, b, relu)


@op("min.u16x2 d, a, b")
def min_halfwords(lanes: Lanes, a: Value, b: Value) -> Value:
    return _extreme_halfwords(lanes, "umin", a, b, "")


@op("max.u16x2 d, a, b")
def max_halfwords(lanes: Lanes, a: Value, b: Value) -> Value:
    return _extreme_halfwords(lanes, "umax", a, b, "")


def _by_halfwords(lanes: Lanes, operate: Callable[[Value, Value], Value], a: Value, b: Value) -> Value:
    return pack(lanes, *(operate(x, y) for x, y in zip(split(lanes, a), split(lanes, b), strict=True)))


def _extreme_halfwords(lanes: Lanes, name: str, a: Value, b: Value, relu: str) -> Value:
    def operate(x: Value, y: Value) -> Value:
        result = lanes.intrinsic(f"llvm.{name}", x, y)
        return lanes.intrinsic("llvm.smax", result, lanes.constant("i16", 0)) if relu else result

    return _by_halfwords(lanes, operate, a, b)


# -- two floats


@op("add{.RND}{.ftz}.f32x2 d, a, b", RND=ROUNDINGS)
def add_floats(lanes: Lanes, a: Value, b: Value, *, rnd: str, ftz: str) -> Value:
    return _by_floats(lanes, lambda x, y: add_f32(lanes, x, y, rnd=rnd, ftz=ftz, sat=""), a, b)


@op("sub{.RND}{.ftz}.f32x2 d, a, b", RND=ROUNDINGS)
def sub_floats(lanes: Lanes, a: Value, b: Value, *, rnd: str, ftz: str) -> Value:
    return _by_floats(lanes, lambda x, y: sub_f32(lanes, x, y, rnd=rnd, ftz=ftz, sat=""), a, b)


@op("mul{.RND}{.ftz}.f32x2 d, a, b", RND=ROUNDINGS)
def mul_floats(lanes: Lanes, a: Value, b: Value, *, rnd: str, ftz: str) -> Value:
    return _by_floats(lanes, lambda x, y: mul_f32(lanes, x, y, rnd=rnd, ftz=ftz, sat=""), a, b)


@op("fma.RND{.ftz}.f32x2 d, a, b, c", RND=ROUNDINGS)
def fma_floats(lanes: Lanes, a: Value, b: Value, c: Value, *, rnd: str, ftz: str) -> Value:
    return _by_floats(lanes, lambda x, y, z: fma_f32(lanes, x, y, z, rnd=rnd, ftz=ftz, sat=""), a, b, c)


def _by_floats(lanes: Lanes, operate: Callable[..., Value], *operands: Value) -> Value:
    parts = []
    for place in (0, 32):
        shifted = (lanes.binary("lshr", operand, lanes.constant("i64", place)) for operand in operands)
        result = operate(*(lanes.bitcast("float", lanes.truncate("i32", value)) for value in shifted))
        parts.append(lanes.extend("zext", "i64", lanes.bitcast("i32", result)))
    return lanes.binary("or", parts[0], lanes.binary("shl", parts[1], lanes.constant("i64", 32)))


# -- video instructions: two halves or four bytes at once, their results side by side, or summed up and added to c

_VIDEO = "vadd vsub vavrg vabsdiff vmin vmax"


def _register_video(name: str, count: int) -> None:
    @op(
        f"{name}{count}.DTYPE.ATYPE.BTYPE{{.MODE}} d:DTYPE, a:ATYPE, b:BTYPE, c:DTYPE",
        DTYPE=WORDS,
        ATYPE=WORDS,
        BTYPE=WORDS,
        MODE="sat add",
    )
    def video(lanes: Lanes, a: Value, b: Value, c: Value, *, dtype: str, atype: str, btype: str, mode: str) -> Value:
        width = 32 // count
        total = c if mode == "add" else lanes.constant("i32", 0)
        for place in range(0, 32, width):
            x, y = _field(lanes, a, place, width, atype), _field(lanes, b, place, width, btype)
            result = _video_result(lanes, name, x, y)
            if mode == "add":
                total = lanes.binary("add", total, result)
                continue
            if mode == "sat":
                result = _clamp(lanes, result, width, dtype)
            field = lanes.binary("and", result, lanes.constant("i32", (1 << width) - 1))
            total = lanes.binary("or", total, lanes.binary("shl", field, lanes.constant("i32", place)))
        return total


for _name in _VIDEO.split():
    for _count in (2, 4):
        _register_video(_name, _count)


def _video_result(lanes: Lanes, name: str, x: Value, y: Value) -> Value:
    """On numbers extended to 32 bits."""
    match name:
        case "vadd":
            return lanes.binary("add", x, y)
        case "vsub":
            return lanes.binary("sub", x, y)
        case "vavrg":  # the mean, a half away from 0
            total = lanes.binary("add", x, y)
            up = lanes.convert("zext", "i32", lanes.compare("icmp sge", total, lanes.constant("i32", 0)))
            return lanes.binary("ashr", lanes.binary("add", total, up), lanes.constant("i32", 1))
        case "vabsdiff":
            gap = lanes.binary("sub", x, y)
            return lanes.intrinsic("llvm.smax", gap, lanes.binary("sub", lanes.constant("i32", 0), gap))
    return lanes.intrinsic("llvm.s" + name[1:], x, y)


def _clamp(lanes: Lanes, a: Value, width: int, type_: str) -> Value:
    least, most = (-(1 << width - 1), (1 << width - 1) - 1) if type_[0] == "s" else (0, (1 << width) - 1)
    above = lanes.intrinsic("llvm.smax", a, lanes.constant(a.type, least))
    return lanes.intrinsic("llvm.smin", above, lanes.constant(a.type, most))
