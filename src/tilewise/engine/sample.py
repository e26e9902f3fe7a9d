"""A sample of a grid: some of its blocks run, and their counts stand for all. Exact where every block does the same."""

from __future__ import annotations

from dataclasses import replace

from tilewise.core.counters import Counters

UNSCALED = ("worst_bank_conflict_ways", "sites")
"""What is no sum over blocks."""


def spread_blocks(total: int, count: int) -> tuple[int, ...] | None:
    """Return `count` block numbers spread evenly over 0 .. total - 1, the first and the last among them; None for all of them.

    A single one lies in the middle.
    """
    if count >= total:
        return None
    if count == 1:
        return (total // 2,)
    return tuple((2 * index * (total - 1) + count - 1) // (2 * (count - 1)) for index in range(count))


def scale_counters(counters: Counters, total: int, count: int) -> Counters:
    """Return the totals of `count` blocks times total / count, to the nearest whole number; single sites are left out."""
    names = [name for name in Counters.__dataclass_fields__ if name not in UNSCALED]
    return replace(counters, sites=(), **{name: (2 * getattr(counters, name) * total + count) // (2 * count) for name in names})
