"""Double precision in the directed roundings, where no wider format helps.

Operands are split into a factor of 1 to 2 and a power of two, so that no error term underflows; the result is rounded as asked
among the factors, then once more where it is subnormal (two roundings in one direction are one).
"""

from __future__ import annotations

from tilewise.emu.isa.rounding import bits, negative, signed_zero, step, to_odd, two_sum
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

_INFINITY = 0x7FF0_0000_0000_0000
_ONE = 0x3FF0_0000_0000_0000
_SIGN_AND_FRACTION = 0x800F_FFFF_FFFF_FFFF
_FRACTION_BITS, _BIAS = 52, 1023
_APART = 200
"""Binary places past which a smaller term is no more than a sign beside 53 bits, with room for its own 106."""


def sum_directed(lanes: Lanes, a: Value, b: Value, mode: str) -> Value:
    """a + b, rounded rz, rm or rp. What a sum lacks is a double, unless it is past all numbers: then it is less than infinity."""
    total, error = two_sum(lanes, a, b)
    infinity = _number(lanes, _INFINITY)
    finite = lanes.constant("i1", 1)
    for operand in (a, b):
        finite = lanes.operation("and", finite, lanes.compare("fcmp olt", lanes.intrinsic("llvm.fabs", operand), infinity))
    overflows = lanes.operation("and", finite, lanes.compare("fcmp oeq", lanes.intrinsic("llvm.fabs", total), infinity))
    error = lanes.select(overflows, negative(lanes, total), error)
    return step(lanes, signed_zero(lanes, total, a, b, mode), error, mode)


def quotient_directed(lanes: Lanes, a: Value, b: Value, mode: str) -> Value:
    """a / b, rounded rz, rm or rp."""
    (m, k), (n, j) = _split(lanes, a), _split(lanes, b)
    quotient = lanes.operation("fdiv", m, n)
    rest = lanes.intrinsic("llvm.fma", negative(lanes, quotient), n, m)
    is_negative = lanes.compare("fcmp olt", n, _number(lanes, 0))
    error = lanes.select(is_negative, negative(lanes, rest), rest)
    result = _settle(lanes, quotient, error, lanes.binary("sub", k, j), mode)
    return lanes.select(_ordinary(lanes, a, b), result, lanes.operation("fdiv", a, b))


def root_directed(lanes: Lanes, a: Value, mode: str) -> Value:
    """The square root of a, rounded rz, rm or rp."""
    m, k = _split(lanes, a)
    odd = lanes.binary("and", k, lanes.constant("i64", 1))
    m = lanes.operation("fmul", m, _power(lanes, odd))
    root = lanes.intrinsic("llvm.sqrt", m)
    error = lanes.intrinsic("llvm.fma", negative(lanes, root), root, m)
    half = lanes.binary("ashr", lanes.binary("sub", k, odd), lanes.constant("i64", 1))
    positive = lanes.operation("and", _ordinary(lanes, a), lanes.compare("fcmp ogt", a, _number(lanes, 0)))
    return lanes.select(positive, _settle(lanes, root, error, half, mode), lanes.intrinsic("llvm.sqrt", a))


def product_directed(lanes: Lanes, a: Value, b: Value, mode: str) -> Value:
    """a * b, rounded rz, rm or rp."""
    (m, k), (n, j) = _split(lanes, a), _split(lanes, b)
    result = _settle(lanes, *_product(lanes, m, n), lanes.binary("add", k, j), mode)
    return lanes.select(_ordinary(lanes, a, b), result, lanes.operation("fmul", a, b))


def fma_directed(lanes: Lanes, a: Value, b: Value, c: Value, mode: str) -> Value:
    """a * b + c, rounded rz, rm or rp."""
    (m, k), (n, j), (o, i) = _split(lanes, a), _split(lanes, b), _split(lanes, c)
    k = lanes.binary("add", k, j)
    scale = lanes.intrinsic("llvm.smax", k, i)
    down, down_c = (_no_less(lanes, lanes.binary("sub", exponent, scale), -_APART) for exponent in (k, i))
    high, low = (lanes.operation("fmul", part, _power(lanes, down)) for part in _product(lanes, m, n))
    total, first = two_sum(lanes, high, lanes.operation("fmul", o, _power(lanes, down_c)))
    rest, second = two_sum(lanes, first, low)
    nearest, error = two_sum(lanes, total, to_odd(lanes, rest, second))
    zero = lanes.float_constant("double", 1 << 63 if mode == "rm" else 0)
    cancels = lanes.compare("fcmp oeq", nearest, _number(lanes, 0))
    result = lanes.select(cancels, zero, _settle(lanes, nearest, error, scale, mode))
    simple = lanes.intrinsic("llvm.fma", a, b, c)
    simple = signed_zero(lanes, simple, lanes.operation("fmul", a, b), c, mode)
    finite = lanes.compare("fcmp olt", lanes.intrinsic("llvm.fabs", c), _number(lanes, _INFINITY))
    return lanes.select(lanes.operation("and", _ordinary(lanes, a, b), finite), result, simple)


def _number(lanes: Lanes, word: int) -> Value:
    return lanes.float_constant("double", word)


def _ordinary(lanes: Lanes, *values: Value) -> Value:
    """Whether all are finite and none is 0."""
    result = lanes.constant("i1", 1)
    for value in values:
        size = lanes.intrinsic("llvm.fabs", value)
        for op, limit in (("fcmp ogt", 0), ("fcmp olt", _INFINITY)):
            result = lanes.operation("and", result, lanes.compare(op, size, _number(lanes, limit)))
    return result


def _split(lanes: Lanes, a: Value) -> tuple[Value, Value]:
    """m and k with a = m * 2**k and 1 <= |m| < 2. 0 gives 0 and a k below all others; infinities and NaNs give anything."""
    size = lanes.intrinsic("llvm.fabs", a)
    subnormal = lanes.compare("fcmp olt", size, _number(lanes, 1 << _FRACTION_BITS))
    up = 64
    scaled = lanes.operation("fmul", a, _number(lanes, (_BIAS + up) << _FRACTION_BITS))
    word = bits(lanes, lanes.select(subnormal, scaled, a))
    exponent = lanes.binary("lshr", word, lanes.constant("i64", _FRACTION_BITS))
    exponent = lanes.binary("and", exponent, lanes.constant("i64", 0x7FF))
    less = lanes.select(subnormal, lanes.constant("i64", _BIAS + up), lanes.constant("i64", _BIAS))
    fraction = lanes.binary("and", word, lanes.constant("i64", _SIGN_AND_FRACTION))
    factor = lanes.bitcast("double", lanes.binary("or", fraction, lanes.constant("i64", _ONE)))
    is_zero = lanes.compare("fcmp oeq", a, _number(lanes, 0))
    power = lanes.select(is_zero, lanes.constant("i64", -10_000), lanes.binary("sub", exponent, less))
    return lanes.select(is_zero, a, factor), power


def _power(lanes: Lanes, exponent: Value) -> Value:
    """2**exponent, for exponents of normal numbers."""
    biased = lanes.binary("add", exponent, lanes.constant("i64", _BIAS))
    return lanes.bitcast("double", lanes.binary("shl", biased, lanes.constant("i64", _FRACTION_BITS)))


def _no_less(lanes: Lanes, a: Value, low: int) -> Value:
    return lanes.intrinsic("llvm.smax", a, lanes.constant("i64", low))


def _no_more(lanes: Lanes, a: Value, high: int) -> Value:
    return lanes.intrinsic("llvm.smin", a, lanes.constant("i64", high))


def _scale(lanes: Lanes, a: Value, exponent: Value) -> Value:
    """a * 2**exponent, rounded once: after the first factor it is still normal, and what the second lacks is past all numbers."""
    first = _no_more(lanes, _no_less(lanes, exponent, -1000), 1000)
    second = _no_more(lanes, _no_less(lanes, lanes.binary("sub", exponent, first), -1022), 1023)
    return lanes.operation("fmul", lanes.operation("fmul", a, _power(lanes, first)), _power(lanes, second))


def _product(lanes: Lanes, m: Value, n: Value) -> tuple[Value, Value]:
    """m * n as the sum of two doubles."""
    high = lanes.operation("fmul", m, n)
    return high, lanes.intrinsic("llvm.fma", m, n, negative(lanes, high))


def _settle(lanes: Lanes, nearest: Value, error: Value, exponent: Value, mode: str) -> Value:
    """(nearest + error) * 2**exponent rounded; nearest is not 0."""
    m, k = _split(lanes, step(lanes, nearest, error, mode))
    exponent = lanes.binary("add", exponent, k)
    result = _scale(lanes, m, exponent)
    back = _scale(lanes, result, lanes.binary("sub", lanes.constant("i64", 0), exponent))
    return step(lanes, result, lanes.operation("fsub", m, back), mode)
