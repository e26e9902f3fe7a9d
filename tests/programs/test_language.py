"""What C++ has beyond loops: recursion, calls through pointers, virtual methods, unions, bit-fields, printf."""

from __future__ import annotations

import numpy as np
import pytest
from running import blocks_for, in_every_build, program

pytestmark = in_every_build


def ackermann(m: int, n: int, depth: int, limit: int) -> tuple[int, int]:
    """The value, -1 past the limit, and the deepest call."""
    if depth > limit:
        return -1, depth
    if m == 0:
        return n + 1, depth
    if n == 0:
        value, deepest = ackermann(m - 1, 1, depth + 1, limit)
        return value, max(depth, deepest)
    inner, deepest = ackermann(m, n - 1, depth + 1, limit)
    if inner < 0:
        return -1, max(depth, deepest)
    value, deeper = ackermann(m - 1, inner, depth + 1, limit)
    return value, max(depth, deepest, deeper)


def test_ackermann_by_recursion_with_a_depth_limit(build: str) -> None:
    limit = 60
    m, n = (axis.ravel().astype(np.int32) for axis in np.meshgrid(np.arange(4), np.arange(5)))
    results, depths = np.zeros((2, len(m)), np.int32)
    program("recursion", build).run("ackermanns", 1, 24, m, n, results, depths, limit, len(m))
    expected = [ackermann(int(a), int(b), 0, limit) for a, b in zip(m, n, strict=True)]
    np.testing.assert_array_equal(results, [value for value, _ in expected])
    assert {-1, 29} < set(results)  # past the limit, and A(3, 2)
    np.testing.assert_array_equal(depths, [deepest for _, deepest in expected])


def test_calls_through_a_table_of_functions(build: str) -> None:
    n = 100
    random = np.random.default_rng(n)
    operations = random.integers(0, 4, n, dtype=np.int32)
    a, b = random.integers(-50, 50, (2, n), dtype=np.int32)
    results = np.zeros(n, np.int32)
    program("function_pointers", build).run("calculate", blocks_for(n, 48), 48, operations, a, b, results, n)
    quotients = np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b))).astype(np.int32)
    np.testing.assert_array_equal(results, np.choose(operations, [a + b, a - b, a * b, quotients]))


def test_virtual_methods(build: str) -> None:
    n = 90
    random = np.random.default_rng(n)
    kinds, sizes = random.integers(0, 3, n, dtype=np.int32), random.random(n, np.float32) + 1
    measures = np.zeros((n, 2), np.float32)
    program("function_pointers", build).run("measure_shapes", 2, 45, kinds, sizes, measures, n)
    s = sizes.astype(float)
    np.testing.assert_allclose(measures[:, 0], np.choose(kinds, [2 * s * s, s * s, np.pi * s * s]), rtol=1e-6)
    np.testing.assert_allclose(measures[:, 1], np.choose(kinds, [6 * s, 4 * s, 2 * np.pi * s]), rtol=1e-6)


@pytest.mark.parametrize(("shift", "negate"), [(3, 0), (-20, 1)])
def test_unions_take_floats_apart(build: str, shift: int, negate: int) -> None:
    values = np.random.default_rng(5).integers(0, 2**32, 200, dtype=np.uint32)
    values[:6] = [0, 0x80000000, 0x7F800000, 0x7FC00001, 0x00000001, 0x3F800000]
    out, lowest = np.zeros_like(values), np.zeros(len(values), np.uint8)
    program("bit_fields", build).run("scale_exponents", 5, 40, values, out, lowest, shift, negate, len(values))
    exponents = (values >> np.uint32(23) & np.uint32(255)).astype(int)
    moved = exponents + shift
    allowed = (exponents > 0) & (exponents < 255) & (moved > 0) & (moved < 255)
    kept = values & np.uint32(0x807FFFFF)
    expected = kept | (np.where(allowed, moved, exponents).astype(np.uint32) << np.uint32(23))
    np.testing.assert_array_equal(out, expected ^ np.uint32(negate << 31))
    np.testing.assert_array_equal(lowest, values & np.uint32(255))


def test_unsigned_bit_fields_of_pixels(build: str) -> None:
    pixels = np.random.default_rng(6).integers(0, 2**16, 111, dtype=np.uint16)
    colours = np.zeros((len(pixels), 3), np.uint8)
    program("bit_fields", build).run("widen", 3, 37, pixels, colours, len(pixels))
    red, green, blue = pixels >> 11, pixels >> 5 & 63, pixels & 31
    expected = np.stack([red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2], 1)
    np.testing.assert_array_equal(colours, expected)


def test_signed_bit_fields_extend_their_sign(build: str) -> None:
    values = np.random.default_rng(7).integers(0, 2**32, 64, dtype=np.uint32)
    sums = np.zeros(len(values), np.int32)
    program("bit_fields", build).run("add_signed_fields", 2, 32, values, sums, len(values))
    signed = values.view(np.int32)
    np.testing.assert_array_equal(sums, (signed << 27 >> 27) + (signed << 16 >> 21) + (signed >> 16))


def test_printf_by_some_lanes(build: str) -> None:
    n, base = 100, 2**40
    random = np.random.default_rng(9)
    values, weights = random.integers(-30, 30, n, dtype=np.int32), random.standard_normal(n) * 1e5
    printed = program("printing", build).run("report", 3, 40, values, weights, base, n).printed
    expected = []
    for i, (value, weight) in enumerate(zip(map(int, values), weights, strict=True)):
        if value % 3 == 0:
            kind, letter = "negative" if value < 0 else "positive", chr(ord("a") + i % 26)
            numbers = "%d: %5d %-6d|%08x %s %c %.3f %e %d 100%%"
            expected.append(numbers % (i, value, value, value & 0xFFFFFFFF, kind, letter, weight, weight, base + i))
        if value == 0:
            expected.append("nothing to add")
    assert sorted(printed.splitlines()) == sorted(expected)
