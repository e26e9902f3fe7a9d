"""Integer arithmetic: sums, products, quotients, and the carry flag of extended precision."""

from __future__ import annotations

from tilewise.emu.isa.spec import INTEGERS, SIGNED, op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value, bits_of

PART = "lo hi"
CARRYING = "u32 s32 u64 s64"
"""The types of extended-precision arithmetic."""


@op("add.TYPE d, a, b", TYPE=INTEGERS)
def add(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.binary("add", a, b)


@op("add.sat.s32 d, a, b")
def add_saturating(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.intrinsic("llvm.sadd.sat", a, b)


@op("sub.TYPE d, a, b", TYPE=INTEGERS)
def sub(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.binary("sub", a, b)


@op("sub.sat.s32 d, a, b")
def sub_saturating(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.intrinsic("llvm.ssub.sat", a, b)


@op("mul.PART.TYPE d, a, b", PART=PART, TYPE=INTEGERS)
def mul(lanes: Lanes, a: Value, b: Value, *, part: str, type: str) -> Value:
    if part == "lo":
        return lanes.binary("mul", a, b)
    product = lanes.binary("mul", widen(lanes, a, type), widen(lanes, b, type))
    return lanes.truncate(a.type, lanes.binary("lshr", product, lanes.constant(product.type, bits_of(a.type))))


@op("mul.wide.TYPE d:wide(TYPE), a, b", TYPE="u16 u32 s16 s32")
def mul_wide(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return lanes.binary("mul", widen(lanes, a, type), widen(lanes, b, type))


@op("mad.PART.TYPE d, a, b, c", PART=PART, TYPE=INTEGERS)
def mad(lanes: Lanes, a: Value, b: Value, c: Value, *, part: str, type: str) -> Value:
    return lanes.binary("add", mul(lanes, a, b, part=part, type=type), c)


@op("mad.hi.sat.s32 d, a, b, c")
def mad_saturating(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    return lanes.intrinsic("llvm.sadd.sat", mul(lanes, a, b, part="hi", type="s32"), c)


@op("mad.wide.TYPE d:wide(TYPE), a, b, c:wide(TYPE)", TYPE="u16 u32 s16 s32")
def mad_wide(lanes: Lanes, a: Value, b: Value, c: Value, *, type: str) -> Value:
    return lanes.binary("add", mul_wide(lanes, a, b, type=type), c)


@op("mul24.PART.TYPE d, a, b", PART=PART, TYPE="u32 s32")
def mul24(lanes: Lanes, a: Value, b: Value, *, part: str, type: str) -> Value:
    """The low 32 of the product's 48 bits, or the high 32."""
    product = lanes.binary("mul", *(widen(lanes, _low_24_bits(lanes, value, type), type) for value in (a, b)))
    return lanes.truncate("i32", product if part == "lo" else lanes.binary("lshr", product, lanes.constant("i64", 16)))


@op("mad24.PART.TYPE d, a, b, c", PART=PART, TYPE="u32 s32")
def mad24(lanes: Lanes, a: Value, b: Value, c: Value, *, part: str, type: str) -> Value:
    return lanes.binary("add", mul24(lanes, a, b, part=part, type=type), c)


@op("mad24.hi.sat.s32 d, a, b, c")
def mad24_saturating(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    return lanes.intrinsic("llvm.sadd.sat", mul24(lanes, a, b, part="hi", type="s32"), c)


@op("sad.TYPE d, a, b, c", TYPE=INTEGERS)
def sad(lanes: Lanes, a: Value, b: Value, c: Value, *, type: str) -> Value:
    return lanes.binary("add", c, lanes.binary("sub", maximum(lanes, a, b, type=type), minimum(lanes, a, b, type=type)))


@op("neg.TYPE d, a", TYPE=SIGNED)
def neg(lanes: Lanes, a: Value) -> Value:
    return lanes.binary("sub", lanes.constant(a.type, 0), a)


@op("abs.TYPE d, a", TYPE=SIGNED)
def absolute(lanes: Lanes, a: Value) -> Value:
    return lanes.intrinsic("llvm.smax", a, neg(lanes, a))


@op("min.TYPE d, a, b", TYPE=INTEGERS)
def minimum(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return lanes.intrinsic(f"llvm.{sign_of(type)}min", a, b)


@op("max.TYPE d, a, b", TYPE=INTEGERS)
def maximum(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return lanes.intrinsic(f"llvm.{sign_of(type)}max", a, b)


@op("min.relu.s32 d, a, b")
def minimum_relu(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.intrinsic("llvm.smax", lanes.intrinsic("llvm.smin", a, b), lanes.constant("i32", 0))


@op("max.relu.s32 d, a, b")
def maximum_relu(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.intrinsic("llvm.smax", lanes.intrinsic("llvm.smax", a, b), lanes.constant("i32", 0))


# -- quotients and remainders: by 0 the manual leaves them open; here as an H200 gives them, all ones


@op("div.TYPE d, a, b", TYPE=INTEGERS)
def div(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    if _divides_safely(b, type):
        return lanes.operation("sdiv" if type[0] == "s" else "udiv", a, b)
    if type[0] == "u":
        return _unsigned_quotient(lanes, a, b)
    size = _unsigned_quotient(lanes, absolute(lanes, a), absolute(lanes, b))
    zero = lanes.constant(a.type, 0)
    unlike = lanes.compare("icmp slt", lanes.binary("xor", a, b), zero)
    quotient = lanes.select(unlike, neg(lanes, size), size)
    return lanes.select(lanes.compare("icmp eq", b, zero), lanes.constant(a.type, -1), quotient)


@op("rem.TYPE d, a, b", TYPE=INTEGERS)
def rem(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    if _divides_safely(b, type):
        return lanes.operation("srem" if type[0] == "s" else "urem", a, b)
    rest = lanes.binary("sub", a, lanes.binary("mul", div(lanes, a, b, type=type), b))
    return lanes.select(lanes.compare("icmp eq", b, lanes.constant(b.type, 0)), lanes.constant(b.type, -1), rest)


def _divides_safely(b: Value, type_: str) -> bool:
    """Whether the divisor is a constant by which the processor's own division cannot trap."""
    return b.is_uniform and b.constant is not None and b.constant != 0 and (b.constant != -1 or type_[0] == "u")


def _unsigned_quotient(lanes: Lanes, a: Value, b: Value) -> Value:
    """a / b rounded down; all ones where b is 0.

    Up to 32 bits in double precision: a quotient of two such numbers is a whole number, or too far from the next one for rounding
    to reach it.
    """
    none = lanes.compare("icmp eq", b, lanes.constant(b.type, 0))
    divisor = lanes.select(none, lanes.constant(b.type, 1), b)
    if bits_of(a.type) == 64:
        quotient = lanes.operation("udiv", a, divisor)
    else:
        exact = lanes.operation("fdiv", lanes.convert("uitofp", "double", a), lanes.convert("uitofp", "double", divisor))
        quotient = lanes.convert("fptoui", a.type, exact)
    return lanes.select(none, lanes.constant(a.type, -1), quotient)


# -- extended precision: the carry flag is a hidden register. A subtraction adds the complement, as an H200 does: the flag is then
# -- set where nothing was borrowed. The manual only says that what sub.cc leaves is what subc takes.


@op("add.cc.TYPE d, a, b", TYPE=CARRYING, carry="out")
def add_cc(lanes: Lanes, a: Value, b: Value) -> tuple[Value, Value]:
    total = lanes.binary("add", a, b)
    return total, lanes.compare("icmp ult", total, a)


@op("addc.TYPE d, a, b", TYPE=CARRYING, carry="in")
def addc(lanes: Lanes, a: Value, b: Value, carry: Value) -> Value:
    return lanes.binary("add", lanes.binary("add", a, b), lanes.convert("zext", a.type, carry))


@op("addc.cc.TYPE d, a, b", TYPE=CARRYING, carry="in out")
def addc_cc(lanes: Lanes, a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    first, over = add_cc(lanes, a, b)
    total, again = add_cc(lanes, first, lanes.convert("zext", a.type, carry))
    return total, lanes.operation("or", over, again)


@op("sub.cc.TYPE d, a, b", TYPE=CARRYING, carry="out")
def sub_cc(lanes: Lanes, a: Value, b: Value) -> tuple[Value, Value]:
    return lanes.binary("sub", a, b), lanes.compare("icmp uge", a, b)


@op("subc.TYPE d, a, b", TYPE=CARRYING, carry="in")
def subc(lanes: Lanes, a: Value, b: Value, carry: Value) -> Value:
    return addc(lanes, a, _complement(lanes, b), carry)


@op("subc.cc.TYPE d, a, b", TYPE=CARRYING, carry="in out")
def subc_cc(lanes: Lanes, a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    return addc_cc(lanes, a, _complement(lanes, b), carry)


@op("mad.PART.cc.TYPE d, a, b, c", PART=PART, TYPE=CARRYING, carry="out")
def mad_cc(lanes: Lanes, a: Value, b: Value, c: Value, *, part: str, type: str) -> tuple[Value, Value]:
    return add_cc(lanes, mul(lanes, a, b, part=part, type=type), c)


@op("madc.PART.TYPE d, a, b, c", PART=PART, TYPE=CARRYING, carry="in")
def madc(lanes: Lanes, a: Value, b: Value, c: Value, carry: Value, *, part: str, type: str) -> Value:
    return addc(lanes, mul(lanes, a, b, part=part, type=type), c, carry)


@op("madc.PART.cc.TYPE d, a, b, c", PART=PART, TYPE=CARRYING, carry="in out")
def madc_cc(lanes: Lanes, a: Value, b: Value, c: Value, carry: Value, *, part: str, type: str) -> tuple[Value, Value]:
    return addc_cc(lanes, mul(lanes, a, b, part=part, type=type), c, carry)


# -- helpers


def sign_of(type_: str) -> str:
    """LLVM's letter for a type's signedness."""
    return "s" if type_[0] == "s" else "u"


def widen(lanes: Lanes, a: Value, type_: str) -> Value:
    """Twice as wide, extended as PTX type `type_` says."""
    return lanes.extend("sext" if type_[0] == "s" else "zext", f"i{2 * bits_of(a.type)}", a)


def _complement(lanes: Lanes, a: Value) -> Value:
    return lanes.binary("xor", a, lanes.constant(a.type, -1))


def _low_24_bits(lanes: Lanes, a: Value, type_: str) -> Value:
    up = lanes.binary("shl", a, lanes.constant("i32", 8))
    return lanes.binary("ashr" if type_[0] == "s" else "lshr", up, lanes.constant("i32", 8))
