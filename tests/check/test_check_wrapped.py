"""Indices that do not fit 32 bits, beside indices that are merely too large."""

from __future__ import annotations

import pytest

import tilewise


def kinds(body: str, **numbers: int) -> dict[str, set[str]]:
    """The kinds found, with the builds that have them."""
    names = ", ".join(f"int {name}" for name in numbers)
    source = f'extern "C" __global__ void k(float* x, {names}) {{\n  {body}\n}}\n'
    report = tilewise.check(source, grid=1, block=32, args={"x": "f32[64]:zeros", **numbers}, ignore=["perf.*"])
    found: dict[str, set[str]] = {}
    for finding in report.findings:
        found.setdefault(finding.kind, set()).update(["optimised", "unoptimised"] if finding.build == "both" else [finding.build])
    return found


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("x[row * columns + (int)threadIdx.x] = 1;", {"row": 65536, "columns": 32768}),
        ("int i = row * columns; x[i] = 1;", {"row": 50000, "columns": 50000}),
        ("x[(row << shift) + (int)threadIdx.x] = 1;", {"row": 3, "shift": 30}),
        ("int i = row; for (int k = 0; k < steps; ++k) i += row; x[i] = 1;", {"row": 1 << 30, "steps": 1}),
        ("unsigned i = row; x[i - 1] = 1;", {"row": 0}),
        ("int i = row * columns; float v = x[i]; x[threadIdx.x] = v;", {"row": 65536, "columns": 32768}),
        ("int i = row * columns; x[i] += 1;", {"row": 65536, "columns": 32768}),
        ("unsigned i = row * columns; x[i] = 1;", {"row": 65536, "columns": 65537}),  # wraps to 65536
        ("long long base = row; int i = columns * columns; x[base + i] = 1;", {"row": 7, "columns": 50000}),
        ("float* p = x + row * columns; p[(long long)row] = 1;", {"row": 65536, "columns": 32768}),
        ("unsigned i = threadIdx.x; x[(size_t)row * 2 + (i - 1)] = 1;", {"row": 3}),
        ("x[(size_t)(row * columns) * 2 + 1] = 1;", {"row": 65536, "columns": 32768}),
        ("int i = (int)((long long)row * columns); x[i] = 1;", {"row": 65536, "columns": 32768}),
        ("int i = min(row * columns, 63); x[i] = 1;", {"row": 65536, "columns": 32768}),
    ],
)
def test_index_that_wraps_is_found(body: str, numbers: dict[str, int]) -> None:
    found = kinds(body, **numbers)
    assert found == {"overflow.index": {"optimised", "unoptimised"}}


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("x[(long long)row * columns + threadIdx.x] = 1;", {"row": 65536, "columns": 32768}),
        ("x[row + (int)threadIdx.x] = 1;", {"row": 1 << 30}),
        ("x[row - 100 + (int)threadIdx.x] = 1;", {"row": 0}),
        ("x[-row] = 1;", {"row": 1 << 30}),
        ("x[row * columns + threadIdx.x] = 1;", {"row": 65536, "columns": 32768}),  # unsigned, and fits that
        ("if (threadIdx.x == 5) x[row + (int)threadIdx.x] = 1;", {"row": 1 << 30}),
        ("size_t i = (size_t)row * columns; x[i + threadIdx.x] = 1;", {"row": 65536, "columns": 65536}),
        ("int i = row + columns; if (i >= 0) x[(unsigned)i + 600000000u] = 1;", {"row": -5, "columns": 10}),
        ("unsigned h = row * 2654435761u; x[h % 1000 + 64] = 1;", {"row": 12345}),  # a hash, which is meant to wrap
        ("unsigned h = (row + threadIdx.x) * 2654435761u; x[(size_t)(h >> 8) * 300 + 1000] = 1;", {"row": 12345}),
        ("unsigned h = row * 2654435761u; h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; x[h] = 1;", {"row": 12345}),
        ("unsigned long long h = row * 0x9E3779B97F4A7C15ull; x[(unsigned)(h >> 40) + 64] = 1;", {"row": 12345}),
    ],
)
def test_index_that_is_merely_bad_is_out_of_bounds(body: str, numbers: dict[str, int]) -> None:
    assert set(kinds(body, **numbers)) == {"oob.global.write"}
