"""The climb in words: what each rung removed and what limits it now, derived from the rows' figures alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from tilewise.render.units import show_bytes, show_count, show_ratio, show_seconds

if TYPE_CHECKING:
    from tilewise.cost.roofline import Resource
    from tilewise.engine.row import LadderRow
    from tilewise.kernels.ladder import Rung

    Figure = tuple[str, Callable[[LadderRow], float], Callable[[LadderRow], str]]

LIMITS: dict[Resource, str] = {
    "hbm": "HBM bandwidth",
    "l1": "L1 sectors",
    "shared": "shared-memory wavefronts",
    "fma": "the FMA units",
}
"""What binds, by the name of a floor."""
LEAST_CHANGE = 1.05
"""A figure that falls by a smaller factor is not worth a word."""

PTX_NOTE = "are of the program as compiled to PTX; the assembler may still merge loads on their way to machine code."

FIGURES: tuple[Figure, ...] = (
    ("requested bytes", lambda row: row.requested_load_bytes, lambda row: show_bytes(row.requested_load_bytes)),
    ("L1 sectors", lambda row: row.global_load_sectors, lambda row: show_count(row.global_load_sectors)),
    ("shared words an FMA", lambda row: row.shared_words_per_fma, lambda row: show_ratio(row.shared_words_per_fma)),
    ("shared wavefronts", lambda row: _wavefronts(row), lambda row: show_count(_wavefronts(row))),
    ("bank-conflict ways", lambda row: row.worst_bank_conflict_ways, lambda row: str(row.worst_bank_conflict_ways)),
    ("barriers a k-step", lambda row: row.barriers_per_k_step, lambda row: show_ratio(row.barriers_per_k_step)),
)
"""What a rung may lower: its name, its value and how it is written."""


def describe_climb(
    rows: Sequence[LadderRow], tile: int | None = None, left_out: Sequence[Rung] = ()
) -> Iterator[tuple[str, str]]:
    """Yield pairs of a topic and a sentence on it: one for each rung, one on the intensities and one on what the counts are of.

    With `tile`, the side of r03's tile, the first says what the tile does to the requested bytes. `left_out` are the rungs that
    the device cannot run.
    """
    if tile is not None:
        yield from ((f"S = {tile}", _describe_tile(row, tile)) for row in rows if row.rung == "r03")
    for below, row in zip([None, *rows[:-1]], rows, strict=True):
        yield row.label, f"{_describe_change(below, row)}. {_describe_limit(row)}."
    if left_out:
        yield "left out", _describe_left_out(left_out, rows[0].device)
    yield "ridge", _describe_ridge(rows)
    sampled = [row for row in rows if row.sampled_blocks]
    if sampled:
        yield "sample", _describe_sample(sampled)
    yield "counts", PTX_NOTE


def _wavefronts(row: LadderRow) -> int:
    return row.shared_load_wavefronts + row.shared_store_wavefronts


def _describe_tile(row: LadderRow, side: int) -> str:
    naive_bytes = round(row.load_reduction_vs_naive * row.requested_load_bytes)
    exact = naive_bytes == side * row.requested_load_bytes
    fall = f"exactly {side} x" if exact else f"{row.load_reduction_vs_naive:.4g} x ({side} x where {side} divides M and N)"
    return (
        f"requested bytes fall {fall}, from {naive_bytes:,} to {row.requested_load_bytes:,}, "
        f"with 2 S^2 x 4 B = {2 * side * side * 4:,} B of shared memory a block."
    )


def _describe_change(below: LadderRow | None, row: LadderRow) -> str:
    if not row.correct:
        return f"WRONG RESULT, off by {row.max_relative_error:.1e}"
    if below is None:
        return f"requests {show_bytes(row.requested_load_bytes)} at {show_ratio(row.sectors_per_request)} sectors a request"
    moves = [_describe_fall(name, value(below), value(row), show(row)) for name, value, show in FIGURES]
    if row.worst_bank_conflict_ways > below.worst_bank_conflict_ways > 0:
        moves.append(f"bank-conflict ways rise from {below.worst_bank_conflict_ways} to {row.worst_bank_conflict_ways}")
    if row.shared_bytes > below.shared_bytes == 0:
        moves.append(
            f"for {row.shared_bytes:,} B of shared memory a block and {show_ratio(row.barriers_per_k_step)} barriers a k-step"
        )
    return ", ".join(filter(None, moves)) or f"no figure falls below {below.label}'s"


def _describe_fall(name: str, before: float, now: float, shown: str) -> str:
    if now == 0 or before / now < LEAST_CHANGE:
        return ""
    return f"{name} fall {show_ratio(before / now)} x to {shown}"


def _describe_limit(row: LadderRow) -> str:
    floor, fma = row.floors[row.bound], row.floors["fma"]
    above = "" if row.bound == "fma" else f", {show_ratio(floor / fma)} x the floor of its FMAs"
    return f"Limited now by {LIMITS[row.bound]}: {show_seconds(floor)} at the least{above}"


def _describe_ridge(rows: Sequence[LadderRow]) -> str:
    ridge, device = rows[0].ridge_without_cache, rows[0].device
    sides = {True: "above", False: "below"}
    intensities = ", ".join(
        f"{row.label} {show_ratio(row.arithmetic_intensity_requested)} ({sides[row.arithmetic_intensity_requested >= ridge]})"
        for row in rows
    )
    return (
        f"by the derivation that ignores caches, the {device} turns compute-bound at {show_ratio(ridge)} FLOP a requested byte, "
        f"its peak over its bandwidth: {intensities}. Caches serve many of these bytes, so a kernel can outrun that line."
    )


def _describe_left_out(rungs: Sequence[Rung], device: str) -> str:
    needed = ", ".join(f"{rung.name} ({'.'.join(map(str, rung.least_compute_capability))})" for rung in rungs)
    return f"rungs that need a higher compute capability than the {device} has: {needed}."


def _describe_sample(rows: Sequence[LadderRow]) -> str:
    ran = ", ".join(f"{row.label} {row.sampled_blocks:,} of {row.blocks:,}" for row in rows)
    return (
        f"not all blocks ran, but some spread evenly over the grid: {ran}. Counts are theirs times blocks / blocks that ran, "
        "exact where every block does the same. Only what these blocks wrote was checked."
    )
