"""Multiply-adds of a register tile, emitted accumulator by accumulator instead of k-step by k-step.

A thread tile has more accumulators than a processor has vector registers: in program order every multiply-add would load and
store one. Within a block the order between accumulators is free. So patches of a few rows and columns take all their k-steps at
once, in registers, and the order of each sum stays as written. Lanes.lazy keeps the multiply-adds back until the block's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewise.emu.lanes import Lanes
from tilewise.emu.lower.step import Step
from tilewise.emu.value import HALF, Half, Value, bits_of
from tilewise.ptx.ast import Register

ENOUGH_CHAINS = 8
"""Fewer accumulators than these stay in registers as they are."""
PATCH = {512: (2, 4), 256: (2, 1)}
"""Rows and columns of accumulators in registers at once, by the bits of a vector register: both halves of a warp, and room for
the operands of a column."""

Term = tuple[Value, Value]


@dataclass(frozen=True, slots=True)
class Chain:
    """One accumulator: start + the sum of its terms, for the register at `slot`."""

    slot: int
    start: Value
    terms: tuple[Term, ...]


def is_register_tile(steps: Sequence[Step]) -> bool:
    """Whether a block multiplies and adds into many accumulators, each several times."""
    written: set[str] = set()
    chains = links = 0
    for step in steps:
        if step.form is None or not step.form.counts_fma or step.instruction.guard is not None:
            continue
        addend, result = step.sources[-1][0], step.results[0][0]
        if isinstance(addend, Register) and isinstance(result, Register):
            chains += addend.name not in written
            links += 1
            written.add(result.name)
    return chains >= ENOUGH_CHAINS and links >= 2 * chains


def find_chain(slot: int, value: Value) -> Chain:
    """Return the chain that ends in a value that has not been emitted; a term's splat stands first, where it has one."""
    terms: list[Term] = []
    while value.vector is None and value.fma is not None:
        a, b = value.fma.a, value.fma.b
        terms.append((b, a) if _is_splat(b) and not _is_splat(a) else (a, b))
        value = value.fma.c
    return Chain(slot, value, tuple(reversed(terms)))


def pin(lanes: Lanes, chains: Iterable[Chain], overwritten: set[int]) -> None:
    """Load what chains still want of registers that are about to be overwritten, but for each chain's own accumulator."""
    for chain in chains:
        for value in (chain.start, *(value for term in chain.terms for value in term)):
            if value.fma is not None:
                lanes.vector(value)
            if value.halves is None or value.halves[0].pointer != "%warp" or value.halves[0].offset not in overwritten:
                continue
            if value is not chain.start or value.halves[0].offset != chain.slot:
                lanes.vector(value)
                value.halves = None


def emit_chains(lanes: Lanes, chains: Sequence[Chain], vector_bits: int) -> None:
    """Emit all chains, patch by patch, and store each accumulator to its slot."""
    rows: dict[tuple[int, ...], list[Chain]] = {}
    for chain in chains:
        rows.setdefault(tuple(id(a) for a, _ in chain.terms), []).append(chain)
    height, width = PATCH[vector_bits]
    grid = list(rows.values())
    for first_row in range(0, len(grid), height):
        band = grid[first_row : first_row + height]
        for first_column in range(0, max(map(len, band)), width):
            _emit_patch(lanes, [chain for row in band for chain in row[first_column : first_column + width]])


def _emit_patch(lanes: Lanes, chains: list[Chain]) -> None:
    """A basic block of its own, so that operands are loaded here and not kept from elsewhere."""
    name = lanes.fresh("patch")
    lanes.emit(f"br label %{name}")
    lanes.label(name)
    half = f"<{HALF} x float>"
    lanes.declare(f"{half} @llvm.fma.v{HALF}f32({half}, {half}, {half})")
    sums = {(chain.slot, index): lanes.half(chain.start, index) for chain in chains for index in range(2)}
    for step in range(max(len(chain.terms) for chain in chains)):
        loaded: dict[tuple[int, Half | int], str] = {}
        for index in range(2):
            for chain in chains:
                if step < len(chain.terms):
                    a, b = (_operand(lanes, value, index, loaded) for value in chain.terms[step])
                    old = sums[chain.slot, index]
                    sums[chain.slot, index] = lanes.define(
                        f"call {half} @llvm.fma.v{HALF}f32({half} {a}, {half} {b}, {half} {old})"
                    )
    for (slot, index), total in sums.items():
        lanes.emit(f"store {half} {total}, ptr {lanes.offset_pointer('%warp', slot + index * HALF * bits_of('float') // 8)}")


def _operand(lanes: Lanes, value: Value, index: int, loaded: dict[tuple[int, Half | int], str]) -> str:
    """Half of a term's operand, loaded once a k-step; halves that are the same are one."""
    key = (id(value), index if value.halves is None else value.halves[index])
    if key not in loaded:
        loaded[key] = lanes.half(value, index)
    return loaded[key]


def _is_splat(value: Value) -> bool:
    return value.is_uniform or (value.halves is not None and all(half.is_splat for half in value.halves))
