"""Indices that do not fit 32 bits, beside indices that are merely too large."""

from __future__ import annotations

import pytest

import tilewise


def kinds(body: str, **numbers: int) -> dict[str, set[str]]:
    """The kinds found, with the builds that have them."""
    names = ", ".join(f"int {name}" for name in numbers)
    source = f'extern "C" __global__ void k(float* x, {names}) {{\n  {body}\n}}\n'
    report = tilewise.check(source, grid=1, block=32, args={"x": "f32[64]:zeros", **numbers})
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
    ],
)
def test_index_that_wraps_is_found(body: str, numbers: dict[str, int]) -> None:
    found = kinds(body, **numbers)
    assert "optimised" in found["overflow.index"]


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("x[(long long)row * columns + threadIdx.x] = 1;", {"row": 65536, "columns": 32768}),
        ("x[row + (int)threadIdx.x] = 1;", {"row": 1 << 30}),
        ("x[row - 100 + (int)threadIdx.x] = 1;", {"row": 0}),
        ("x[-row] = 1;", {"row": 1 << 30}),
        ("x[row * columns + threadIdx.x] = 1;", {"row": 65536, "columns": 32768}),  # unsigned, and fits that
    ],
)
def test_index_that_is_merely_bad_is_out_of_bounds(body: str, numbers: dict[str, int]) -> None:
    assert set(kinds(body, **numbers)) == {"oob.global.write"}
