"""Special functions and fast quotients: .approx and .full, within the manual's bounds.

Computed in double precision and rounded once, so far nearer the true value than the hardware's tables, whose last bits no
document tells. Polynomials are plain series: of 2**f to degree 9, of the logarithm by (m - 1) / (m + 1) to degree 13, of sine
and cosine to degrees 11 and 10; each leaves an error under 2**-30.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from tilewise.emu.isa import half
from tilewise.emu.isa.rounding import bits, double, flush_if, negative
from tilewise.emu.isa.spec import op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

_UPPER_HALF = 0xFFFF_FFFF_0000_0000
_FRACTION_BITS, _BIAS = 52, 1023
_ROOT_2_FRACTION = 0x6A09E_667F3BCD
"""The fraction of the square root of 2."""

Function = Callable[[Lanes, Value], Value]


# -- quotients and roots


@op("rcp.approx{.ftz}.f32 d, a")
def rcp(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return flush_if(lanes, ftz, lanes.operation("fdiv", lanes.float_constant("float", 0x3F80_0000), flush_if(lanes, ftz, a)))


@op("sqrt.approx{.ftz}.f32 d, a")
def sqrt(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return lanes.intrinsic("llvm.sqrt", flush_if(lanes, ftz, a))


@op("rsqrt.approx{.ftz}.f32 d, a")
def rsqrt(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return lanes.convert("fptrunc", "float", _inverse_root(lanes, double(lanes, flush_if(lanes, ftz, a))))


@op("rsqrt.approx.f64 d, a")
def rsqrt_f64(lanes: Lanes, a: Value) -> Value:
    return _inverse_root(lanes, a)


@op("rcp.approx.ftz.f64 d, a")
def rcp_f64(lanes: Lanes, a: Value) -> Value:
    """Of the upper 32 bits, and no more of the result either."""
    inverse = lanes.operation("fdiv", _number(lanes, 1.0), _upper_half(lanes, flush_if(lanes, "ftz", a)))
    return _upper_half(lanes, flush_if(lanes, "ftz", inverse))


@op("rsqrt.approx.ftz.f64 d, a")
def rsqrt_f64_upper(lanes: Lanes, a: Value) -> Value:
    return _upper_half(lanes, _inverse_root(lanes, _upper_half(lanes, flush_if(lanes, "ftz", a))))


@op("div.approx{.ftz}.f32 d, a, b")
def div_approx(lanes: Lanes, a: Value, b: Value, *, ftz: str) -> Value:
    """a times the reciprocal of b, which is 0 where |b| is past 2**126."""
    a, b = flush_if(lanes, ftz, a), flush_if(lanes, ftz, b)
    quotient = lanes.operation("fdiv", a, b)
    size = lanes.intrinsic("llvm.fabs", b)
    past = lanes.compare("fcmp ogt", size, lanes.float_constant("float", 253 << 23))
    zero = lanes.intrinsic("llvm.copysign", lanes.float_constant("float", 0), b)
    return flush_if(lanes, ftz, lanes.select(past, lanes.operation("fmul", a, zero), quotient))


@op("div.full{.ftz}.f32 d, a, b")
def div_full(lanes: Lanes, a: Value, b: Value, *, ftz: str) -> Value:
    return flush_if(lanes, ftz, lanes.operation("fdiv", flush_if(lanes, ftz, a), flush_if(lanes, ftz, b)))


def _inverse_root(lanes: Lanes, a: Value) -> Value:
    return lanes.operation("fdiv", _number(lanes, 1.0), lanes.intrinsic("llvm.sqrt", a))


def _upper_half(lanes: Lanes, a: Value) -> Value:
    return lanes.bitcast("double", lanes.binary("and", bits(lanes, a), lanes.constant("i64", _UPPER_HALF)))


# -- powers and logarithms of 2, circular and hyperbolic functions


@op("ex2.approx{.ftz}.f32 d, a")
def ex2(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return flush_if(lanes, ftz, _single(lanes, _power_of_2(lanes, double(lanes, flush_if(lanes, ftz, a)))))


@op("lg2.approx{.ftz}.f32 d, a")
def lg2(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return _single(lanes, _logarithm(lanes, double(lanes, flush_if(lanes, ftz, a))))


@op("sin.approx{.ftz}.f32 d, a")
def sin(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return flush_if(lanes, ftz, _single(lanes, _wave(lanes, double(lanes, flush_if(lanes, ftz, a)), 0)))


@op("cos.approx{.ftz}.f32 d, a")
def cos(lanes: Lanes, a: Value, *, ftz: str) -> Value:
    return flush_if(lanes, ftz, _single(lanes, _wave(lanes, double(lanes, flush_if(lanes, ftz, a)), 1)))


@op("tanh.approx.f32 d, a")
def tanh(lanes: Lanes, a: Value) -> Value:
    return _single(lanes, _hyperbolic_tangent(lanes, double(lanes, a)))


@op("ex2.approx.TYPE d, a", TYPE="f16 f16x2")
def ex2_half(lanes: Lanes, a: Value, *, type: str) -> Value:
    return half.by_halves(lanes, type, lambda kind, part: _of_half(lanes, kind, part, _power_of_2), a)


@op("ex2.approx.ftz.TYPE d, a", TYPE="bf16 bf16x2")
def ex2_bfloat(lanes: Lanes, a: Value, *, type: str) -> Value:
    def operate(kind: str, part: Value) -> Value:
        part = half.flush_half(lanes, part, kind, "ftz")
        return half.flush_half(lanes, _of_half(lanes, kind, part, _power_of_2), kind, "ftz")

    return half.by_halves(lanes, type, operate, a)


@op("tanh.approx.TYPE d, a", TYPE="f16 f16x2 bf16 bf16x2")
def tanh_half(lanes: Lanes, a: Value, *, type: str) -> Value:
    return half.by_halves(lanes, type, lambda kind, part: _of_half(lanes, kind, part, _hyperbolic_tangent), a)


def _of_half(lanes: Lanes, kind: str, a: Value, function: Function) -> Value:
    return half.narrow(lanes, _single(lanes, function(lanes, double(lanes, half.widen(lanes, a, kind)))), kind)


def _power_of_2(lanes: Lanes, a: Value) -> Value:
    inside = lanes.intrinsic("llvm.minnum", lanes.intrinsic("llvm.maxnum", a, _number(lanes, -300.0)), _number(lanes, 300.0))
    whole = lanes.intrinsic("llvm.roundeven", inside)
    fraction = lanes.operation("fsub", inside, whole)
    series = _polynomial(lanes, fraction, [math.log(2) ** k / math.factorial(k) for k in range(10)])
    biased = lanes.binary("add", lanes.convert("fptosi", "i64", whole), lanes.constant("i64", _BIAS))
    scale = lanes.bitcast("double", lanes.binary("shl", biased, lanes.constant("i64", _FRACTION_BITS)))
    return _keep_nan(lanes, a, lanes.operation("fmul", series, scale))


def _logarithm(lanes: Lanes, a: Value) -> Value:
    """Of a number that is no subnormal double."""
    word = bits(lanes, a)
    fraction = lanes.binary("and", word, lanes.constant("i64", (1 << _FRACTION_BITS) - 1))
    upper = lanes.compare("icmp ugt", fraction, lanes.constant("i64", _ROOT_2_FRACTION))
    exponent = lanes.binary("ashr", word, lanes.constant("i64", _FRACTION_BITS))
    exponent = lanes.binary("add", exponent, lanes.convert("zext", "i64", upper))
    bias = lanes.select(upper, lanes.constant("i64", _BIAS - 1), lanes.constant("i64", _BIAS))
    factor = lanes.binary("or", fraction, lanes.binary("shl", bias, lanes.constant("i64", _FRACTION_BITS)))
    m = lanes.bitcast("double", factor)
    one = _number(lanes, 1.0)
    s = lanes.operation("fdiv", lanes.operation("fsub", m, one), lanes.operation("fadd", m, one))
    series = _polynomial(lanes, lanes.operation("fmul", s, s), [2 / math.log(2) / (2 * k + 1) for k in range(7)])
    whole = lanes.convert("sitofp", "double", lanes.truncate("i32", lanes.binary("sub", exponent, lanes.constant("i64", _BIAS))))
    result = lanes.intrinsic("llvm.fma", s, series, whole)
    zero, infinity = _number(lanes, 0.0), _number(lanes, math.inf)
    result = lanes.select(lanes.compare("fcmp oeq", a, zero), _number(lanes, -math.inf), result)
    result = lanes.select(lanes.compare("fcmp olt", a, zero), _number(lanes, math.nan), result)
    return _keep_nan(lanes, a, lanes.select(lanes.compare("fcmp oeq", a, infinity), infinity, result))


def _wave(lanes: Lanes, a: Value, quarters: int) -> Value:
    """The sine of a + quarters * pi / 2. From 2**53 on the argument's turns are lost and the result is any from -1 to 1."""
    turns = lanes.intrinsic("llvm.roundeven", lanes.operation("fmul", a, _number(lanes, 2 / math.pi)))
    back = negative(lanes, turns)
    rest = lanes.intrinsic("llvm.fma", back, _number(lanes, math.pi / 2), a)
    rest = lanes.intrinsic("llvm.fma", back, _number(lanes, 6.123233995736766e-17), rest)  # pi / 2 beyond a double
    rest = lanes.intrinsic("llvm.minnum", lanes.intrinsic("llvm.maxnum", rest, _number(lanes, -1.0)), _number(lanes, 1.0))
    square = lanes.operation("fmul", rest, rest)
    sine = _polynomial(lanes, square, [(-1) ** k / math.factorial(2 * k + 1) for k in range(6)])
    cosine = _polynomial(lanes, square, [(-1) ** k / math.factorial(2 * k) for k in range(6)])
    quarter = lanes.intrinsic("llvm.floor", lanes.operation("fmul", turns, _number(lanes, 0.25)))
    quarter = lanes.intrinsic("llvm.fma", quarter, _number(lanes, -4.0), turns)  # 0, 1, 2 or 3
    count = lanes.binary("add", lanes.convert("fptosi", "i32", quarter), lanes.constant("i32", quarters))
    odd = lanes.convert("trunc", "i1", count)
    result = lanes.select(odd, cosine, lanes.operation("fmul", sine, rest))
    sign = lanes.binary("shl", lanes.extend("zext", "i64", count), lanes.constant("i64", 62))
    sign = lanes.binary("and", sign, lanes.constant("i64", 1 << 63))
    result = lanes.bitcast("double", lanes.binary("xor", bits(lanes, result), sign))
    infinite = lanes.compare("fcmp oeq", lanes.intrinsic("llvm.fabs", a), _number(lanes, math.inf))
    return _keep_nan(lanes, a, lanes.select(infinite, _number(lanes, math.nan), result))


def _hyperbolic_tangent(lanes: Lanes, a: Value) -> Value:
    """1 - 2 / (exp(2a) + 1), or near 0 its series."""
    inside = lanes.intrinsic("llvm.minnum", lanes.intrinsic("llvm.maxnum", a, _number(lanes, -30.0)), _number(lanes, 30.0))
    power = _power_of_2(lanes, lanes.operation("fmul", inside, _number(lanes, 2 / math.log(2))))
    share = lanes.operation("fdiv", _number(lanes, 2.0), lanes.operation("fadd", power, _number(lanes, 1.0)))
    far = lanes.operation("fsub", _number(lanes, 1.0), share)
    near = lanes.operation("fmul", a, _polynomial(lanes, lanes.operation("fmul", a, a), [1.0, -1 / 3, 2 / 15]))
    small = lanes.compare("fcmp olt", lanes.intrinsic("llvm.fabs", a), _number(lanes, 1 / 32))
    return _keep_nan(lanes, a, lanes.select(small, near, far))


def _polynomial(lanes: Lanes, x: Value, coefficients: list[float]) -> Value:
    """c0 + c1 x + c2 x**2 + ..."""
    result = _number(lanes, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = lanes.intrinsic("llvm.fma", result, x, _number(lanes, coefficient))
    return result


def _keep_nan(lanes: Lanes, a: Value, result: Value) -> Value:
    return lanes.select(lanes.compare("fcmp uno", a, a), a, result)


def _single(lanes: Lanes, a: Value) -> Value:
    return lanes.convert("fptrunc", "float", a)


def _number(lanes: Lanes, value: float) -> Value:
    return lanes.float_constant("double", int.from_bytes(struct.pack("<d", value), "little"))
