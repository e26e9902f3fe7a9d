"""Bits of the floats that NumPy does not have, against their definition in exact fractions."""

from __future__ import annotations

import bisect
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.dtypes import ALIASES, DTYPES, dtype_named
from tilewise.core.encoding import decode, encode
from tilewise.core.errors import TilewiseError

LAYOUTS = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "bf16": (8, 7, 127), "tf32": (8, 10, 127)}
"""Exponent bits, fraction bits and bias: OCP 8-bit Floating Point Specification 1.0, table 1; PTX ISA for the others."""
OFTEN_SHORT = st.floats(width=32) | st.integers(-70000, 70000).map(lambda n: n / 64) | st.sampled_from([464.0, 448.0, 61440.0])


def value_of(code: int, name: str) -> Fraction | float:
    """What a code without its sign stands for, by the definition of its format."""
    exponent_bits, fraction_bits, bias = LAYOUTS[name]
    field, fraction = divmod(code, 2**fraction_bits)
    if field == 2**exponent_bits - 1 and name != "e4m3":
        return math.nan if fraction else math.inf
    if code == 0x7F and name == "e4m3":
        return math.nan
    scale = max(field, 1) - bias
    return (Fraction(fraction, 2**fraction_bits) + (1 if field else 0)) * (2**scale if scale >= 0 else Fraction(1, 2**-scale))


def finite_values(name: str) -> list[Fraction]:
    """What the finite codes without a sign stand for, by code: ascending."""
    values = [value_of(code, name) for code in range(2 ** sum(LAYOUTS[name][:2]))]
    return [value for value in values if isinstance(value, Fraction)]


VALUES = {name: finite_values(name) for name in ("e4m3", "e5m2", "bf16")}


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "bf16"])
def test_every_code_reads_as_defined(name: str) -> None:
    dtype = DTYPES[name]
    codes = np.arange(2 ** (8 * dtype.bytes)).astype(dtype.storage)
    half = len(codes) // 2
    expected = [float(value_of(code, name)) for code in range(half)]
    np.testing.assert_array_equal(decode(codes, dtype), np.array(expected + [-value for value in expected], np.float32))


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "bf16"])
@given(number=OFTEN_SHORT)
def test_numbers_round_to_the_nearest_code_and_ties_to_even(name: str, number: float) -> None:
    (code,) = encode(np.array([number]), DTYPES[name])
    sign, magnitude = divmod(int(code), 2 ** sum(LAYOUTS[name][:2]))
    if math.isnan(number):
        assert math.isnan(value_of(magnitude, name))
        return
    assert sign == (math.copysign(1, number) < 0)
    values = VALUES[name]
    next_up = 2 * values[-1] - values[-2]  # where the next code would stand
    if math.isinf(number) or abs(Fraction(number)) >= (values[-1] + next_up) / 2:
        assert magnitude == (len(values) if name == "bf16" else len(values) - 1)
        return
    exact = abs(Fraction(number))
    above = bisect.bisect(values, exact)
    near = [code for code in (above - 1, above) if code < len(values)]
    assert magnitude == min(near, key=lambda code: (abs(values[code] - exact), code % 2))


@given(number=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_tf32_keeps_ten_bits_of_the_fraction(number: float) -> None:
    (bits,) = encode(np.array([number]), DTYPES["tf32"])
    assert bits % 2**13 == 0
    (value,) = decode(np.array([bits]), DTYPES["tf32"])
    if math.isfinite(value):
        exponent = max(math.frexp(number)[1], -125)
        unit = Fraction(2) ** (exponent - 11)
        assert abs(Fraction(float(value)) - Fraction(number)) <= unit / 2
        assert Fraction(float(value)) % unit == 0


def test_integers_wrap() -> None:
    assert encode(np.array([255, 256, -1]), DTYPES["u8"]).tolist() == [255, 0, 255]
    assert encode(np.array([127, 128, 257]), DTYPES["s8"]).tolist() == [127, -128, 1]


def test_types_and_aliases_have_their_width_and_storage() -> None:
    for name, dtype in DTYPES.items():
        assert name == dtype.name
        assert np.dtype(dtype.storage).itemsize == dtype.bytes
        assert name.endswith(str(8 * dtype.bytes)) or dtype.bytes == 1 or name == "tf32"
    for alias, name in ALIASES.items():
        assert dtype_named(alias) is DTYPES[name]
    for alias in ("float64", "float32", "float16", "int8", "int64", "uint16"):
        assert dtype_named(alias).storage == alias


def test_unknown_type_gets_the_nearest() -> None:
    with pytest.raises(TilewiseError, match=r"'fp31' is no element type\. Did you mean"):
        dtype_named("fp31")
