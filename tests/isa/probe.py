"""What is tried of a row: each probe is one instruction on operands of the shapes that the lane analysis tells apart.

One warp a block, block by block other cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from row import Row
from typed import Bits, decode, describe, edges, encode, is_float, is_nan, random_bits, width

BLOCKS = 8
LANES = 32
CASES = BLOCKS * LANES
PROBES_A_KERNEL = 25
"""Kernels stay short: the time to generate code grows faster than their length."""
MANY_SPELLINGS = 12
PROBES_A_ROW = 40
"""About so many, beside those that every spelling has."""


@dataclass(frozen=True, slots=True)
class Source:
    """One operand: how the kernel gets it, and its bits in every thread."""

    shape: str
    """full, uniform, constant, literal, or the name of a pattern."""
    bits: Bits
    scalars: Bits
    """What the kernel loads for it (a value a thread or a block), or the constant."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One instruction on operands of given shapes."""

    row: Row
    opcode: str
    modifiers: dict[str, str]
    sources: tuple[Source, ...]
    typed: bool
    """Whether registers are declared with the instruction's types; else as plain bits."""
    paired: bool
    """Whether both results of a `p|q` are asked for."""

    @property
    def source_types(self) -> list[str]:
        types = [operand.resolve(self.modifiers) for operand in self.row.sources]
        return [*types, "pred"] if "in" in self.row.form.carry else types

    @property
    def result_types(self) -> list[str]:
        types = [operand.resolve(self.modifiers, part) for operand in self.row.results for part in range(1 + self.paired)]
        return [*types, "pred"] if "out" in self.row.form.carry else types

    def expected(self) -> list[Bits]:
        """Each result's bits in every thread, by the row's meaning; worked out once for operands that come again."""
        columns = [decode(type_, source.bits) for type_, source in zip(self.source_types, self.sources, strict=True)]
        held = [container(type_) for type_ in self.result_types]
        several = self.row.gives_several
        known: dict[tuple[int, ...], tuple[int, ...]] = {}
        results = []
        keys = zip(*(source.bits.tolist() for source in self.sources), strict=True)
        for key, arguments in zip(keys, zip(*columns, strict=True), strict=True):
            result = known.get(key)
            if result is None:
                value: Any = self.row.form.emit(*arguments, **self.modifiers)
                values = value if several else (value,)
                result = known[key] = tuple(encode(type_, part) for type_, part in zip(held, values, strict=False))
            results.append(result)
        return [np.array(column, np.uint64) for column in zip(*results, strict=True)]


def container(type_: str) -> str:
    """The type of the register that holds a value: bytes live in 32 bits, extended by their sign."""
    return {"s8": "s32", "u8": "u32", "b8": "b32"}.get(type_, type_)


# -- which probes


PATTERNS = {
    "loaded + lane": lambda scalar, lane, block: scalar + lane,
    "loaded * 32 + lane": lambda scalar, lane, block: scalar * 32 + lane,
    "block * 4096 + lane * 4": lambda scalar, lane, block: block * 4096 + lane * 4,
    "loaded - lane * 3": lambda scalar, lane, block: scalar - lane * 3,
    "lane": lambda scalar, lane, block: lane,
}


def probes_of(row: Row, spellings: list[str], *, quick: bool = False) -> Iterator[Probe]:
    """A row's probes of some of its spellings: full and uniform operands, and by turns the other shapes that the analysis knows.

    Where spellings are many each has either full or uniform operands; `quick` leaves out the other shapes.
    """
    rng = np.random.default_rng(len(row.form.syntax))
    carried = ["pred"] if "in" in row.form.carry else []
    names = [operand.name for operand in row.sources] + ["carry"] * len(carried)
    few, more = _shapes(len(names))
    share = -(-len(spellings) * len(more) // PROBES_A_ROW)
    for number, opcode in enumerate(spellings):
        modifiers = row.form.match(opcode)
        assert modifiers is not None, opcode
        types = [operand.resolve(modifiers) for operand in row.sources] + carried
        tried = few if len(spellings) <= MANY_SPELLINGS else few[number % 2 : number % 2 + 1]
        if not quick:
            tried = tried + more[number % share :: share]
        for index, shapes in enumerate(tried):
            forced = [_allowed(row, name, shape) for name, shape in zip(names, shapes, strict=True)]
            columns = _columns(row, names, types, rng)
            sources = tuple(_source(*operand) for operand in zip(forced, types, columns, strict=True))
            turn = number + index
            name = row.results[0].name
            paired = name == "d|p" or (name == "p|q" and turn % 2 == 0)
            yield Probe(row, opcode, modifiers, sources, typed=turn // 2 % 2 == 0, paired=paired)


def some(spellings: Iterable[str], limit: int) -> list[str]:
    """At most so many of them, any that there are equally likely, the same every time."""
    listed = list(spellings)
    chosen = np.random.default_rng(limit).permutation(len(listed))[:limit]
    return [listed[index] for index in sorted(chosen)]


def batches(probes: Iterable[Probe]) -> Iterator[list[Probe]]:
    """The probes in lists of at most PROBES_A_KERNEL."""
    rest = iter(probes)
    while batch := list(islice(rest, PROBES_A_KERNEL)):
        yield batch


def _allowed(row: Row, name: str, shape: str) -> str:
    """The shape an operand can have: one of given values alone is no pattern."""
    if name in row.literal:
        return "literal"
    return "full" if name in row.only and shape in PATTERNS else shape


def _shapes(count: int) -> tuple[list[list[str]], list[list[str]]]:
    """The operands' shapes to try always, and those to try beside them."""
    names = list(PATTERNS)
    few = [["full"] * count, ["uniform"] * count]
    more = [[names[(turn + i) % len(names)] for i in range(count)] for turn in range(2 if count > 1 else 4)]
    more += [["constant"] * count] * 2
    if count > 1:
        for turn in range(3):
            more.append(["full"] + ["constant"] * (count - 1))
            more.append([names[turn]] + ["constant"] * (count - 1))
            more.append(["constant"] * (count - 1) + [names[turn + 1]])
        more.append(["full"] + ["uniform"] * (count - 1))
        more.append(["uniform"] * (count - 1) + ["full"])
        more.append(["uniform", names[1]] + ["full"] * (count - 2))
        more.append([names[0], "uniform"] + ["uniform"] * (count - 2))
    return few, more


def _columns(row: Row, names: list[str], types: list[str], rng: np.random.Generator) -> list[Bits]:
    """A value a thread for each operand: edges with edges first, then random ones."""
    choices = []
    for name, type_ in zip(names, types, strict=True):
        listed = list(row.values.get(name, ()))
        choices.append(np.array(listed if name in row.only else listed + edges(type_), np.uint64))
    product = int(np.prod([len(choice) for choice in choices]))
    every = rng.permutation(product)[: CASES * 2 // 3] if product < 1 << 24 else rng.integers(0, product, CASES * 2 // 3)
    columns = []
    for name, type_, choice in zip(names, types, choices, strict=True):
        every, picks = np.divmod(every, len(choice))
        more = CASES - len(picks)
        tail = choice[rng.integers(0, len(choice), more)] if name in row.only else random_bits(container(type_), more, rng)
        columns.append(np.concatenate([choice[picks], tail]))
    order = rng.permutation(CASES)
    return [column[order] for column in columns]


def _source(shape: str, type_: str, column: Bits) -> Source:
    patterned = shape in PATTERNS
    if patterned and (is_float(type_) or type_[0] not in "bus" or "x2" in type_ or width(type_) < 16):
        shape, patterned = "full", False
    if shape == "full":
        return Source(shape, column, column)
    if shape in ("constant", "literal"):
        return Source(shape, np.full(CASES, column[0]), column[:1])
    scalars = column[:BLOCKS]
    if shape == "uniform":
        return Source(shape, np.repeat(scalars, LANES), scalars)
    block, lane = np.divmod(np.arange(CASES, dtype=np.uint64), np.uint64(LANES))
    bits = PATTERNS[shape](np.repeat(scalars, LANES), lane, block) & np.uint64((1 << width(type_)) - 1)
    return Source(shape, bits, scalars)


# -- comparing


def complaint(probe: Probe, type_: str, got: Bits, wanted: Bits) -> str:
    """What is wrong with a result, "" for nothing."""
    wrong = got != wanted
    packed = type_.endswith("x2")
    part = type_[:-2] if packed else type_
    if wrong.any() and is_float(part):
        size = width(part)
        mask = np.uint64((1 << size) - 1)
        wrong = np.zeros(len(got), bool)
        for place in range(1 + packed):
            shift = np.uint64(place * size)
            wrong |= _differs(probe, part, place if packed else None, (got >> shift) & mask, (wanted >> shift) & mask)
    return _describe(probe, type_, got, wanted, wrong) if wrong.any() else ""


def _differs(probe: Probe, type_: str, place: int | None, got: Bits, wanted: Bits) -> npt.NDArray[np.bool_]:
    """Where floats differ by more than the row allows; any NaN is any other. `place` is which of a packed pair they are."""
    nans, wanted_nans = is_nan(type_, got), is_nan(type_, wanted)
    wrong: npt.NDArray[np.bool_] = (got != wanted) & ~(nans & wanted_nans)
    if probe.row.within is None or not wrong.any():
        return wrong
    operands = [decode(kind, source.bits) for kind, source in zip(probe.source_types, probe.sources, strict=True)]
    values = zip(decode(type_, got), decode(type_, wanted), *operands, strict=True)
    cases = enumerate(values)
    for case, (value, meant, *arguments) in cases:
        if wrong[case] and not nans[case] and not wanted_nans[case]:
            at = [argument if place is None else argument[place] for argument in arguments]
            wrong[case] = not probe.row.within(value, meant, *at)
    return wrong


def _describe(probe: Probe, type_: str, got: Bits, wanted: Bits, wrong: npt.NDArray[np.bool_]) -> str:
    worst = int(np.flatnonzero(wrong)[0])
    operands = ", ".join(
        f"{describe(kind, int(source.bits[worst]))} [{source.shape}]"
        for kind, source in zip(probe.source_types, probe.sources, strict=True)
    )
    held = container(type_)
    return (
        f"{probe.opcode}: {int(wrong.sum())} of {CASES} wrong; of {operands} it makes {describe(held, int(got[worst]))}, "
        f"which should be {describe(held, int(wanted[worst]))}"
    )
