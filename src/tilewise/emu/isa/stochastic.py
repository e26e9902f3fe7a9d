"""Stochastic rounding: random bits, added to those that are cut off, decide whether a number is rounded away from zero.

cvt.rs of the PTX manual, to f16x2 and bf16x2. Of results below the normal numbers more is cut off than there are random bits:
these then stand at the upper end of it. To four numbers of 8 bits and fewer, which share their bits in a way that only a picture
of the manual shows, there is no form.
"""

from __future__ import annotations

from tilewise.emu.isa import half
from tilewise.emu.isa.rounding import bits
from tilewise.emu.isa.spec import op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

_F16_LEAST = 113
"""The exponent of f16's least normal number, biased as a float's."""


@op("cvt.rs{.LIMIT}.DTYPE.f32 d:DTYPE, a:f32, b:f32, c:b32", LIMIT="relu satfinite relu.satfinite", DTYPE=half.PAIRS)
def cvt_stochastic(lanes: Lanes, a: Value, b: Value, c: Value, *, limit: str, dtype: str) -> Value:
    """a in the upper half; of the random bits c the upper 16 are for a, of which f16 takes the lower 13."""
    type_ = dtype[:-2]
    round_ = _to_f16 if type_ == "f16" else _to_bf16
    upper = lanes.binary("lshr", c, lanes.constant("i32", 16))
    lower = lanes.binary("and", c, lanes.constant("i32", 0xFFFF))
    low, high = (half.limit(lanes, round_(lanes, value, extra), type_, limit) for value, extra in ((b, lower), (a, upper)))
    return half.pack(lanes, low, high)


def _to_bf16(lanes: Lanes, a: Value, extra: Value) -> Value:
    word = bits(lanes, a)
    size = lanes.binary("and", word, lanes.constant("i32", 0x7FFF_FFFF))
    finite = lanes.compare("icmp ult", size, lanes.constant("i32", 0x7F80_0000))
    rounded = lanes.select(finite, lanes.binary("add", word, extra), word)
    result = lanes.truncate("i16", lanes.binary("lshr", rounded, lanes.constant("i32", 16)))
    return lanes.select(lanes.compare("fcmp uno", a, a), lanes.constant("i16", 0x7FFF), result)


def _to_f16(lanes: Lanes, a: Value, extra: Value) -> Value:
    word = bits(lanes, a)
    size = lanes.binary("and", word, lanes.constant("i32", 0x7FFF_FFFF))
    exponent = lanes.binary("lshr", size, lanes.constant("i32", 23))
    fraction = lanes.binary(
        "or", lanes.binary("and", size, lanes.constant("i32", 0x007F_FFFF)), lanes.constant("i32", 0x0080_0000)
    )
    below = lanes.intrinsic(
        "llvm.smax", lanes.binary("sub", lanes.constant("i32", _F16_LEAST), exponent), lanes.constant("i32", 0)
    )
    moved = lanes.binary("lshr", fraction, lanes.intrinsic("llvm.umin", below, lanes.constant("i32", 31)))
    is_normal = lanes.compare("icmp uge", exponent, lanes.constant("i32", _F16_LEAST))
    kept = lanes.select(is_normal, lanes.binary("sub", size, lanes.constant("i32", _F16_LEAST - 1 << 23)), moved)
    added = lanes.binary("add", kept, lanes.binary("and", extra, lanes.constant("i32", 0x1FFF)))
    code = lanes.intrinsic("llvm.umin", lanes.binary("lshr", added, lanes.constant("i32", 13)), lanes.constant("i32", 0x7C00))
    sign = lanes.binary("and", lanes.binary("lshr", word, lanes.constant("i32", 16)), lanes.constant("i32", 0x8000))
    result = lanes.truncate("i16", lanes.binary("or", code, sign))
    return lanes.select(lanes.compare("fcmp uno", a, a), lanes.constant("i16", 0x7FFF), result)
