"""Moves and conversions."""

from __future__ import annotations

from tilewise.emu.isa.spec import BITS, BYTES, FLOATS, INTEGERS, op
from tilewise.emu.lanes import Lanes, Value

NARROW = ("u8", "s8")


@op("mov.TYPE d, a", TYPE=("pred", *BITS, *INTEGERS, *FLOATS))
def mov(lanes: Lanes, a: Value) -> Value:
    return a


@op("cvt.DTYPE.ATYPE d:DTYPE, a:ATYPE", DTYPE=NARROW + INTEGERS, ATYPE=NARROW + INTEGERS)
def cvt_integer(lanes: Lanes, a: Value, *, dtype: str, atype: str) -> Value:
    """Extend by the source's sign, or keep the low bits."""
    to_bits, from_bits = 8 * BYTES[dtype], 8 * BYTES[atype]
    if to_bits > from_bits:
        return lanes.extend("sext" if atype[0] == "s" else "zext", f"i{to_bits}", a)
    return a if to_bits == from_bits else lanes.truncate(f"i{to_bits}", a)


@op("cvta{.to}.SPACE.TYPE d, a", SPACE="global", TYPE="u64", no_effect="space to")
def cvta_global(lanes: Lanes, a: Value) -> Value:
    """Global addresses are generic addresses as they stand."""
    return a
