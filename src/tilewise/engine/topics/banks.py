"""`explain banks`: how strides meet in the 32 banks of shared memory, and what padding a row does about it."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType

from tilewise.core.lesson import (
    Check,
    Count,
    Equation,
    Heading,
    Lesson,
    Paragraph,
    Part,
    Picture,
    Question,
    Table,
    Topic,
    register,
)
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.core.source import KernelSource
from tilewise.engine.choice import tiled_plan
from tilewise.engine.topics.measure import countable, describe_run, measure, show_sizes
from tilewise.hw.banks import BANKS, FULL_MASK, WORD_BYTES, conflict_ways, wavefronts
from tilewise.hw.device import WARP_LANES
from tilewise.kernels.ladder import bank_pad, rung

UNPADDED = "#pragma once\n__device__ constexpr int bank_pad(int) { return 0; }\n"

PICTURE = Picture(
    (
        "bank      0   1   2   3   4  ..  31",
        "        +---+---+---+---+---+--+----+",
        "words   | 0 | 1 | 2 | 3 | 4 |..| 31 |",
        "        |32 |33 |34 |35 |36 |..| 63 |",
        "        |64 |65 |66 |67 |68 |..| 95 |",
        "",
        "stride  1: 0 1 2 3 ..      32 banks, one pass",
        "stride  2: 0 2 4 6 ..      16 banks, two passes",
        "stride 32: 0 32 64 96 ..   1 bank, 32 passes",
        "stride 33: 0 33 66 99 ..   32 banks, one pass",
    )
)


def explain_banks(question: Question) -> Lesson:
    """Return how a transposing store of S x S tiles meets in the banks, unpadded and padded, and the count of both."""
    sizes = question.sizes(128)
    plan = tiled_plan(question.tile or 32)
    return Lesson(
        "banks",
        "Banks: 32 words at once, or one after the other",
        (*_rule(), *_strides(plan.BM), *_transposed(plan.BM), *_totals(sizes, plan.BM), _count(sizes, plan, question)),
    )


def transposing_store(S: int, pad: int) -> list[int]:
    """Return where the lanes of r03's first warp store a column-major tile, in bytes: down S rows, then on to the next column."""
    return [WORD_BYTES * (lane % S * (S + pad) + lane // S) for lane in range(WARP_LANES)]


def _rule() -> tuple[Part, ...]:
    return (
        Heading("What an access costs"),
        Paragraph(
            "Shared memory has 32 banks, each a word wide: word w lies in bank w mod 32. In one pass, a wavefront, every bank "
            "gives one word, to any number of lanes. Lanes that want different words of one bank take turns; the most "
            "different words in one bank are the ways of the conflict, and the wavefronts of the access."
        ),
        PICTURE,
    )


def _strides(S: int) -> tuple[Part, ...]:
    strides = sorted({1, 2, 4, 8, 16, 32, 33, S, S + bank_pad(S)})
    rows = []
    for stride in strides:
        ways = conflict_ways([WORD_BYTES * stride * lane for lane in range(WARP_LANES)], FULL_MASK, WORD_BYTES, "load")
        rows.append((str(stride), str(BANKS // math.gcd(stride, BANKS)), str(math.gcd(stride, BANKS)), str(ways)))
    return (
        Heading("Strides"),
        Paragraph(
            "Lanes that stand s words apart use banks 0, s, 2 s .. mod 32. These are 32 / gcd(s, 32) different ones, so 32 "
            "lanes meet gcd(s, 32) ways. The last column is what hw/banks.py, the rule that the counters follow, says of the "
            "same addresses."
        ),
        Table(("stride in words", "banks used", "ways, gcd(s, 32)", "ways, by the rule"), tuple(rows)),
    )


def _transposed(S: int) -> tuple[Part, ...]:
    pad = bank_pad(S)
    columns = WARP_LANES // S
    plain, padded = (conflict_ways(transposing_store(S, words), FULL_MASK, WORD_BYTES, "store") for words in (0, pad))
    return (
        Heading(f"r03's tile of a column-major A, S = {S}"),
        Paragraph(
            "So that its loads coalesce, a warp walks down the columns of a column-major A. It stores what it gets into "
            f"a_tile[row][k], each lane a row further: a stride of one row of the tile, {S} words. A warp takes {columns} "
            f"{'column' if columns == 1 else 'columns'} of the tile at once."
        ),
        Equation("banks, rows of S words", ("(32/S)^2", f"{columns} x {columns}"), columns * columns),
        Equation("ways", ("32 / banks", f"32 / {columns * columns}"), plain),
        Paragraph(
            "Padding moves each row on by a few words that nobody uses. With 32/S of them, the S rows begin 32/S banks apart "
            "and the columns fill the gaps between: all 32 banks, once each."
        ),
        Equation("padding", ("32 / S", f"32 / {S}"), pad, "words a row"),
        Equation("ways", ("32 lanes / 32 banks",), padded),
        Equation("price", ("S x 32/S x 4 B",), S * pad * WORD_BYTES, "B of shared memory more"),
    )


def store_wavefronts(sizes: tuple[int, int, int], S: int, pad: int) -> int:
    """Return the wavefronts of r03's stores to its tiles, A column-major and B row-major."""
    rows, columns, steps = (-(-size // S) for size in sizes)
    requests = rows * columns * steps * S * S // WARP_LANES  # of either tile
    return requests * (wavefronts(transposing_store(S, pad), FULL_MASK, WORD_BYTES, "store") + 1)


def _totals(sizes: tuple[int, int, int], S: int) -> tuple[Part, ...]:
    rows, columns, steps = (-(-size // S) for size in sizes)
    pad, requests = bank_pad(S), rows * columns * steps * S * S // WARP_LANES
    ways = conflict_ways(transposing_store(S, 0), FULL_MASK, WORD_BYTES, "store")
    return (
        Heading(f"For M x N x K = {show_sizes(sizes)}"),
        Equation(
            "requests for either tile",
            ("blocks x k-steps x S^2 / 32", f"{rows:,} x {columns:,} x {steps:,} x {S} x {S} / 32"),
            requests,
        ),
        Equation(
            "store wavefronts, no padding", ("requests x (ways + 1)", f"{requests:,} x {ways + 1}"), store_wavefronts(sizes, S, 0)
        ),
        Equation("store wavefronts, padded", ("requests x (1 + 1)", f"{requests:,} x 2"), store_wavefronts(sizes, S, pad)),
        Paragraph("The second term is B's: row-major, its words go into the tile as they come, without conflict."),
    )


def _count(sizes: tuple[int, int, int], plan: TilePlan, question: Question) -> Count:
    ran, S = countable(sizes, plan), plan.BM
    problem = Problem(*ran, layout="cr")
    padded, plain = (measure(rung("r03"), plan, problem, question, change).counters for change in (lambda source: source, _unpad))
    store = [transposing_store(S, pad) for pad in (bank_pad(S), 0)]
    ways = [conflict_ways(addresses, FULL_MASK, WORD_BYTES, "store") for addresses in store]
    return Count(
        describe_run("r03 with A column-major, as it is and without its padding", sizes, ran),
        (
            Check("no padding, worst conflict", ways[1], plain.worst_bank_conflict_ways, "ways"),
            Check("no padding, store wavefronts", store_wavefronts(ran, S, 0), plain.shared_store_wavefronts),
            Check("padded, worst conflict", ways[0], padded.worst_bank_conflict_ways, "ways"),
            Check("padded, store wavefronts", store_wavefronts(ran, S, bank_pad(S)), padded.shared_store_wavefronts),
        ),
    )


def _unpad(source: KernelSource) -> KernelSource:
    return replace(source, headers=MappingProxyType({**source.headers, "banks.cuh": UNPADDED}))


register(
    Topic(
        "banks",
        "how strides meet in shared memory's 32 banks, and what padding does",
        "ideas",
        frozenset({"sizes", "tile"}),
        explain_banks,
    )
)
