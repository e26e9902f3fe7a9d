"""Comparisons and what is chosen by them: setp, set, selp, slct."""

from __future__ import annotations

from tilewise.core.errors import TilewiseError
from tilewise.emu.isa.arith import sign_of
from tilewise.emu.isa.rounding import flush
from tilewise.emu.isa.spec import BITS, FLOATS, INTEGERS, SIGNED, UNSIGNED, op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

ORDERED = "eq ne lt le gt ge"
UNSIGNED_ORDERED = f"{ORDERED} lo ls hi hs"
"""lo, ls, hi and hs are other names of lt, le, gt and ge."""
FLOAT_ORDERED = f"{ORDERED} equ neu ltu leu gtu geu num nan"
"""Those with a u hold of a NaN too."""
BOOL = "and or xor"
RESULTS = "u32 s32 f32 f16 bf16"
"""What set gives: all ones or 1.0 where the comparison holds."""

_PREDICATES = {
    **{name: f"fcmp o{name}" for name in ("eq", "lt", "le", "gt", "ge", "ne")},
    **{f"{name}u": f"fcmp u{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "num": "fcmp ord",
    "nan": "fcmp uno",
}
_HALF_ONES = {"f16": 0x3C00, "bf16": 0x3F80}
_SYNONYMS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}

Both = tuple[Value, Value]


# -- setp: a predicate and, where asked for, that of the opposite comparison; both combined with a third, if given


@op("setp.CMP{.BOOL}.TYPE p|q:pred, a, b{, c:pred}", CMP=ORDERED, BOOL=BOOL, TYPE=SIGNED)
def setp_signed(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, type: str) -> Both:
    return both(lanes, compare_integers(lanes, a, b, cmp, type), c, bool)


@op("setp.CMP{.BOOL}.TYPE p|q:pred, a, b{, c:pred}", CMP=UNSIGNED_ORDERED, BOOL=BOOL, TYPE=UNSIGNED)
def setp_unsigned(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, type: str) -> Both:
    return both(lanes, compare_integers(lanes, a, b, cmp, type), c, bool)


@op("setp.CMP{.BOOL}.TYPE p|q:pred, a, b{, c:pred}", CMP="eq ne", BOOL=BOOL, TYPE=BITS)
def setp_bits(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, type: str) -> Both:
    return both(lanes, compare_integers(lanes, a, b, cmp, type), c, bool)


@op("setp.CMP{.BOOL}{.ftz}.f32 p|q:pred, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_f32(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, ftz: str) -> Both:
    return both(lanes, compare_floats(lanes, a, b, cmp, ftz), c, bool)


@op("setp.CMP{.BOOL}.f64 p|q:pred, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL)
def setp_f64(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str) -> Both:
    return both(lanes, compare_floats(lanes, a, b, cmp), c, bool)


# -- set: the same as a number


@op("set.CMP{.BOOL}.RESULT.TYPE d:RESULT, a, b{, c:pred}", CMP=ORDERED, BOOL=BOOL, RESULT=RESULTS, TYPE=SIGNED)
def set_signed(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, result: str, type: str) -> Value:
    return as_number(lanes, combine(lanes, compare_integers(lanes, a, b, cmp, type), c, bool), result)


@op("set.CMP{.BOOL}.RESULT.TYPE d:RESULT, a, b{, c:pred}", CMP=UNSIGNED_ORDERED, BOOL=BOOL, RESULT=RESULTS, TYPE=UNSIGNED)
def set_unsigned(
    lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, result: str, type: str
) -> Value:
    return as_number(lanes, combine(lanes, compare_integers(lanes, a, b, cmp, type), c, bool), result)


@op("set.CMP{.BOOL}.RESULT.TYPE d:RESULT, a, b{, c:pred}", CMP="eq ne", BOOL=BOOL, RESULT=RESULTS, TYPE=BITS)
def set_bits(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, result: str, type: str) -> Value:
    return as_number(lanes, combine(lanes, compare_integers(lanes, a, b, cmp, type), c, bool), result)


@op("set.CMP{.BOOL}{.ftz}.RESULT.f32 d:RESULT, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL, RESULT=RESULTS)
def set_f32(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, ftz: str, result: str) -> Value:
    return as_number(lanes, combine(lanes, compare_floats(lanes, a, b, cmp, ftz), c, bool), result)


@op("set.CMP{.BOOL}.RESULT.f64 d:RESULT, a, b{, c:pred}", CMP=FLOAT_ORDERED, BOOL=BOOL, RESULT=RESULTS)
def set_f64(lanes: Lanes, a: Value, b: Value, c: Value | None = None, *, cmp: str, bool: str, result: str) -> Value:
    return as_number(lanes, combine(lanes, compare_floats(lanes, a, b, cmp), c, bool), result)


# -- selection


@op("selp.TYPE d, a, b, c:pred", TYPE=BITS + INTEGERS + FLOATS)
def selp(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    return lanes.select(c, a, b)


@op("slct.TYPE.s32 d, a, b, c:s32", TYPE=BITS + INTEGERS + FLOATS)
def slct(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    return lanes.select(lanes.compare("icmp sge", c, lanes.constant("i32", 0)), a, b)


@op("slct{.ftz}.TYPE.f32 d, a, b, c:f32", TYPE=BITS + INTEGERS + FLOATS)
def slct_by_float(lanes: Lanes, a: Value, b: Value, c: Value, *, ftz: str) -> Value:
    return lanes.select(compare_floats(lanes, c, lanes.float_constant("float", 0), "ge", ftz), a, b)


# -- comparing


def compare_integers(lanes: Lanes, a: Value, b: Value, cmp: str, type_: str) -> Value:
    """A comparison of integers by its name in PTX."""
    name = _SYNONYMS.get(cmp, cmp)
    return lanes.compare(f"icmp {name if name in ('eq', 'ne') else sign_of(type_) + name}", a, b)


def compare_floats(lanes: Lanes, a: Value, b: Value, cmp: str, ftz: str = "") -> Value:
    """A comparison of floats by its name in PTX; with `ftz`, subnormal numbers are 0."""
    if ftz:
        a, b = flush(lanes, a), flush(lanes, b)
    return lanes.compare(_PREDICATES[cmp], a, b)


def combine(lanes: Lanes, holds: Value, c: Value | None, bool_: str) -> Value:
    """The comparison and, or, xor a predicate; or by itself.

    Raises TilewiseError where one of them is missing.
    """
    if (c is None) != (bool_ == ""):
        raise TilewiseError("a comparison combined by .and, .or or .xor takes a fourth operand, and any other takes none.")
    return holds if c is None else lanes.operation(bool_, holds, c)


def as_number(lanes: Lanes, holds: Value, type_: str) -> Value:
    """All ones, or 1.0, where `holds`."""
    if type_ in _HALF_ONES:
        return lanes.select(holds, lanes.constant("i16", _HALF_ONES[type_]), lanes.constant("i16", 0))
    if type_ == "f32":
        return lanes.select(holds, lanes.float_constant("float", 0x3F800000), lanes.float_constant("float", 0))
    return lanes.convert("sext", "i32", holds)


def both(lanes: Lanes, holds: Value, c: Value | None, bool_: str) -> Both:
    """The comparison and its opposite, each combined with c."""
    opposite = lanes.operation("xor", holds, lanes.constant("i1", 1))
    return combine(lanes, holds, c, bool_), combine(lanes, opposite, c, bool_)
