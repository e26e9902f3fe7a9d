"""Arithmetic, logic, comparison and selection. NVRTC contracts and rounds at compile time; here each rounding is its own form."""

from __future__ import annotations

from tilewise.emu.isa.spec import BITS, FLOATS, INTEGERS, SIGNED, op
from tilewise.emu.lanes import Lanes, Value, bits_of

# -- integers


@op("add.TYPE d, a, b", TYPE=INTEGERS)
def add(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.binary("add", a, b)


@op("sub.TYPE d, a, b", TYPE=INTEGERS)
def sub(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.binary("sub", a, b)


@op("mul.lo.TYPE d, a, b", TYPE=INTEGERS)
def mul_lo(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.binary("mul", a, b)


@op("mul.wide.TYPE d:wide(TYPE), a, b", TYPE="u16 u32 s16 s32")
def mul_wide(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return lanes.binary("mul", _widen(lanes, a, type), _widen(lanes, b, type))


@op("mul.hi.TYPE d, a, b", TYPE=INTEGERS)
def mul_hi(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    product = lanes.binary("mul", _widen(lanes, a, type), _widen(lanes, b, type))
    high = lanes.binary("lshr", product, lanes.constant(product.type, bits_of(a.type)))
    return lanes.truncate(a.type, high)


@op("mad.lo.TYPE d, a, b, c", TYPE=INTEGERS)
def mad_lo(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    return lanes.binary("add", lanes.binary("mul", a, b), c)


@op("mad.wide.TYPE d:wide(TYPE), a, b, c:wide(TYPE)", TYPE="u16 u32 s16 s32")
def mad_wide(lanes: Lanes, a: Value, b: Value, c: Value, *, type: str) -> Value:
    return lanes.binary("add", mul_wide(lanes, a, b, type=type), c)  # type: ignore[arg-type]


@op("neg.TYPE d, a", TYPE=SIGNED)
def neg(lanes: Lanes, a: Value) -> Value:
    return lanes.binary("sub", lanes.constant(a.type, 0), a)


@op("abs.TYPE d, a", TYPE=SIGNED)
def absolute(lanes: Lanes, a: Value) -> Value:
    return lanes.intrinsic("llvm.smax", a, neg(lanes, a))  # type: ignore[arg-type]


@op("min.TYPE d, a, b", TYPE=INTEGERS)
def minimum(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return lanes.intrinsic(f"llvm.{_sign(type)}min", a, b)


@op("max.TYPE d, a, b", TYPE=INTEGERS)
def maximum(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return lanes.intrinsic(f"llvm.{_sign(type)}max", a, b)


@op("and.TYPE d, a, b", TYPE=("pred", *BITS))
def and_(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return _logic(lanes, "and", a, b, type)


@op("or.TYPE d, a, b", TYPE=("pred", *BITS))
def or_(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return _logic(lanes, "or", a, b, type)


@op("xor.TYPE d, a, b", TYPE=("pred", *BITS))
def xor(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return _logic(lanes, "xor", a, b, type)


@op("not.TYPE d, a", TYPE=("pred", *BITS))
def not_(lanes: Lanes, a: Value, *, type: str) -> Value:
    return _logic(lanes, "xor", a, lanes.constant(a.type, -1), type)


@op("shl.TYPE d, a, b:u32", TYPE=BITS)
def shl(lanes: Lanes, a: Value, b: Value) -> Value:
    return _shift(lanes, "shl", a, b)


@op("shr.TYPE d, a, b:u32", TYPE=BITS + INTEGERS)
def shr(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return _shift(lanes, "ashr" if type[0] == "s" else "lshr", a, b)


# -- floating point: IEEE round to nearest even, subnormals kept


@op("add{.rn}.TYPE d, a, b", TYPE=FLOATS, no_effect="rn")
def add_float(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.operation("fadd", a, b)


@op("sub{.rn}.TYPE d, a, b", TYPE=FLOATS, no_effect="rn")
def sub_float(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.operation("fsub", a, b)


@op("mul{.rn}.TYPE d, a, b", TYPE=FLOATS, no_effect="rn")
def mul_float(lanes: Lanes, a: Value, b: Value) -> Value:
    return lanes.operation("fmul", a, b)


@op("fma.rn.TYPE d, a, b, c", TYPE=FLOATS, counts_fma=True)
def fma(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    return lanes.fma(a, b, c)


# -- comparison and selection

INTEGER_COMPARISONS = "eq ne lt le gt ge"
FLOAT_COMPARISONS = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"
_FCMP = {
    **{name: f"fcmp o{name}" for name in ("eq", "lt", "le", "gt", "ge", "ne")},
    **{f"{name}u": f"fcmp u{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "num": "fcmp ord",
    "nan": "fcmp uno",
}


@op("setp.CMP.TYPE p:pred, a, b", CMP=INTEGER_COMPARISONS, TYPE=INTEGERS)
def setp(lanes: Lanes, a: Value, b: Value, *, cmp: str, type: str) -> Value:
    return lanes.compare(f"icmp {cmp if cmp in ('eq', 'ne') else _sign(type) + cmp}", a, b)


@op("setp.CMP.TYPE p:pred, a, b", CMP="eq ne", TYPE=BITS)
def setp_bits(lanes: Lanes, a: Value, b: Value, *, cmp: str) -> Value:
    return lanes.compare(f"icmp {cmp}", a, b)


@op("setp.CMP.TYPE p:pred, a, b", CMP=FLOAT_COMPARISONS, TYPE=FLOATS)
def setp_float(lanes: Lanes, a: Value, b: Value, *, cmp: str) -> Value:
    return lanes.compare(_FCMP[cmp], a, b)


@op("selp.TYPE d, a, b, c:pred", TYPE=BITS + INTEGERS + FLOATS)
def selp(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    return lanes.select(c, a, b)


# -- helpers


def _sign(type_: str) -> str:
    return "s" if type_[0] == "s" else "u"


def _widen(lanes: Lanes, a: Value, type_: str) -> Value:
    return lanes.extend("sext" if type_[0] == "s" else "zext", f"i{2 * bits_of(a.type)}", a)


def _logic(lanes: Lanes, op_name: str, a: Value, b: Value, type_: str) -> Value:
    return lanes.operation(op_name, a, b) if type_ == "pred" else lanes.binary(op_name, a, b)


def _shift(lanes: Lanes, op_name: str, a: Value, count: Value) -> Value:
    """Counts past the width give 0 (or the sign): PTX clamps them, LLVM leaves them undefined."""
    bits = bits_of(a.type)
    if count.constant is not None and count.is_uniform:
        amount = count.constant & 0xFFFFFFFF
        if amount < bits:
            return lanes.binary(op_name, a, lanes.constant(a.type, amount))
        return lanes.binary("ashr", a, lanes.constant(a.type, bits - 1)) if op_name == "ashr" else lanes.constant(a.type, 0)
    limit = lanes.constant("i32", bits - 1 if op_name == "ashr" else bits)
    clamped = _resize(lanes, lanes.intrinsic("llvm.umin", count, limit), a.type)
    if op_name == "ashr":
        return lanes.binary(op_name, a, clamped)
    inside = lanes.compare("icmp ult", clamped, lanes.constant(a.type, bits))
    masked = lanes.binary("and", clamped, lanes.constant(a.type, bits - 1))
    return lanes.select(inside, lanes.binary(op_name, a, masked), lanes.constant(a.type, 0))


def _resize(lanes: Lanes, a: Value, type_: str) -> Value:
    """Zero-extend or truncate to an integer type."""
    if bits_of(a.type) == bits_of(type_):
        return a
    return lanes.extend("zext", type_, a) if bits_of(a.type) < bits_of(type_) else lanes.truncate(type_, a)
