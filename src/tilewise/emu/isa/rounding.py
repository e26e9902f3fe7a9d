"""Rounding that the processor is not set to: error-free sums and products, and the last step that their error asks for.

The processor stays in round to nearest even throughout. Sources: T. J. Dekker, A floating-point technique for extending the
available precision (1971) for the error of a sum; S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums (2008)
for rounding to odd: a result whose last bit is 1 where it is not exact can be rounded again to at least two bits less, without
double rounding.
"""

from __future__ import annotations

from tilewise.emu.lanes import Lanes, spell
from tilewise.emu.value import Value, bits_of, is_float

NEAREST = ("", "rn")
DIRECTED = "rz rm rp"
ROUNDINGS = "rn rz rm rp"

SCALE_EXPONENT = 24

_LEAST_NORMAL = {"float": 0x0080_0000, "double": 0x0010_0000_0000_0000}
_ONE = {"float": 0x3F80_0000, "double": 0x3FF0_0000_0000_0000}


def bits(lanes: Lanes, a: Value) -> Value:
    """A float as an integer of the same bits."""
    return lanes.bitcast(f"i{bits_of(a.type)}", a) if is_float(a.type) else a


def flush(lanes: Lanes, a: Value) -> Value:
    """A subnormal number as the 0 of its sign."""
    word = bits(lanes, a)
    top = 1 << bits_of(a.type) - 1
    size = lanes.binary("and", word, lanes.constant(word.type, top - 1))
    subnormal = lanes.compare("icmp ult", size, lanes.constant(word.type, _LEAST_NORMAL[a.type]))
    zero = lanes.binary("and", word, lanes.constant(word.type, top))
    return lanes.bitcast(a.type, lanes.select(subnormal, zero, word))


def flush_if(lanes: Lanes, ftz: str, a: Value) -> Value:
    """The value, flushed where `ftz` is given."""
    return flush(lanes, a) if ftz else a


def saturate(lanes: Lanes, a: Value) -> Value:
    """Into 0..1; a NaN and -0 become +0."""
    zero, one = lanes.float_constant(a.type, 0), lanes.float_constant(a.type, _ONE[a.type])
    positive = lanes.select(lanes.compare("fcmp ogt", a, zero), a, zero)
    return lanes.select(lanes.compare("fcmp olt", positive, one), positive, one)


def finish(lanes: Lanes, a: Value, ftz: str, sat: str) -> Value:
    """What .ftz and .sat do to a result."""
    a = flush_if(lanes, ftz, a)
    return saturate(lanes, a) if sat else a


def flush_tiny(lanes: Lanes, result: Value, scaled: Value) -> Value:
    """A float, or the 0 of its sign where its size, rounded to 24 bits whatever the exponent, is under the least normal number.

    So an H200 decides; `scaled` is the result that the operation gives with 2**24 for a factor.
    """
    least = lanes.float_constant("float", _LEAST_NORMAL["float"] + (SCALE_EXPONENT << 23))
    tiny = lanes.compare("fcmp olt", lanes.intrinsic("llvm.fabs", scaled), least)
    zero = lanes.intrinsic("llvm.copysign", lanes.float_constant("float", 0), result)
    return lanes.select(tiny, zero, result)


def scale(lanes: Lanes, a: Value) -> Value:
    """A float or double times 2**24."""
    fraction_bits, bias = (23, 127) if a.type == "float" else (52, 1023)
    return lanes.operation("fmul", a, lanes.float_constant(a.type, SCALE_EXPONENT + bias << fraction_bits))


def step(lanes: Lanes, nearest: Value, error: Value, mode: str) -> Value:
    """The neighbour of `nearest` that `mode` asks for; the sign of `error` (of any float type) is that of exact - nearest."""
    word = bits(lanes, nearest)
    zero = lanes.float_constant(error.type, 0)
    negative = lanes.compare("icmp slt", word, lanes.constant(word.type, 0))
    below, above = lanes.compare("fcmp olt", error, zero), lanes.compare("fcmp ogt", error, zero)
    one, back = lanes.constant(word.type, 1), lanes.constant(word.type, -1)
    if mode == "rz":
        moves, move = lanes.select(negative, above, below), back
    elif mode == "rm":
        moves, move = below, lanes.select(negative, one, back)
    else:
        moves, move = above, lanes.select(negative, back, one)
    return lanes.bitcast(nearest.type, lanes.binary("add", word, lanes.select(moves, move, lanes.constant(word.type, 0))))


def to_odd(lanes: Lanes, nearest: Value, error: Value) -> Value:
    """Of the two neighbours of an inexact result, the one whose last bit is 1; `error` as in step."""
    word = bits(lanes, nearest)
    zero = lanes.float_constant(error.type, 0)
    inexact = lanes.compare("fcmp one", error, zero)
    even = lanes.compare("icmp eq", lanes.binary("and", word, lanes.constant(word.type, 1)), lanes.constant(word.type, 0))
    negative = lanes.compare("icmp slt", word, lanes.constant(word.type, 0))
    grows = lanes.operation("xor", lanes.compare("fcmp ogt", error, zero), negative)
    moved = lanes.binary("add", word, lanes.select(grows, lanes.constant(word.type, 1), lanes.constant(word.type, -1)))
    return lanes.bitcast(nearest.type, lanes.select(lanes.operation("and", inexact, even), moved, word))


def two_sum(lanes: Lanes, a: Value, b: Value) -> tuple[Value, Value]:
    """a + b rounded to nearest, and what it lacks, exactly (unless the sum overflows)."""
    larger = lanes.compare("fcmp oge", lanes.intrinsic("llvm.fabs", a), lanes.intrinsic("llvm.fabs", b))
    big, small = lanes.select(larger, a, b), lanes.select(larger, b, a)
    total = lanes.operation("fadd", a, b)
    return total, lanes.operation("fsub", small, lanes.operation("fsub", total, big))


def negative(lanes: Lanes, a: Value) -> Value:
    """-a, of a NaN too."""
    return lanes.elementwise(a.type, lambda wide, names: f"fneg {spell(wide, a.type)} {names[0]}", a)


def sum_to_odd(lanes: Lanes, a: Value, b: Value, mode: str) -> Value:
    """a + b (doubles) rounded to odd; an exact 0 has the sign that `mode` gives it."""
    total, error = two_sum(lanes, a, b)
    return signed_zero(lanes, to_odd(lanes, total, error), a, b, mode)


def signed_zero(lanes: Lanes, total: Value, a: Value, b: Value, mode: str) -> Value:
    """A sum with its sign right where it is 0: towards minus infinity -0, unless both terms are +0."""
    if mode != "rm":
        return total
    word = bits(lanes, total)
    top = lanes.constant(word.type, 1 << bits_of(word.type) - 1)
    sign = lanes.binary("and", lanes.binary("or", bits(lanes, a), bits(lanes, b)), top)
    is_zero = lanes.compare("fcmp oeq", total, lanes.float_constant(total.type, 0))
    return lanes.bitcast(total.type, lanes.select(is_zero, sign, word))


def narrow(lanes: Lanes, exact: Value, mode: str) -> Value:
    """A double, exact or rounded to odd, as a float."""
    nearest = lanes.convert("fptrunc", "float", exact)
    if mode in NEAREST:
        return nearest
    return step(lanes, nearest, lanes.operation("fsub", exact, lanes.convert("fpext", "double", nearest)), mode)


def double(lanes: Lanes, a: Value) -> Value:
    """A float as a double."""
    return lanes.convert("fpext", "double", a)
