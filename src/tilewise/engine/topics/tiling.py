"""`explain tiling`: why a tile of side S in shared memory divides the global traffic by S, and what that costs."""

from __future__ import annotations

from tilewise.core.lesson import Check, Count, Equation, Heading, Lesson, Paragraph, Part, Picture, Question, Topic, register
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.engine.choice import tiled_plan
from tilewise.engine.topics.measure import countable, describe_run, measure
from tilewise.kernels.ladder import rung

WORD_BYTES = 4

PICTURE = Picture(
    (
        "                 N",
        "            +---------+",
        "         K  |   :#:   |  B  S columns, down which an",
        "            |   : :   |     S x S tile moves",
        "     K      +---------+",
        "  +-----+   |   : :   |",
        "M |..#..|   |...:C:...|     the block's S x S tile of C",
        "  |     |   |   : :   |",
        "  +-----+   +---------+",
        "     A  S rows, along which an S x S tile moves",
    )
)


def explain_tiling(question: Question) -> Lesson:
    """Return the derivation of 2 M N K / S with the user's sizes, and the count of r02 and r03."""
    sizes = question.sizes(512)
    plan = tiled_plan(question.tile or 32)
    S = plan.BM
    return Lesson(
        "tiling",
        f"Tiling: a tile of side {S} in shared memory, and {S} times less global traffic",
        (*_without(sizes), *_shared(sizes, S), *_saved(sizes, S), _count(sizes, plan, question)),
    )


def loaded_words(sizes: tuple[int, int, int], S: int) -> int:
    """Return the words that S x S tiles bring from global memory: each word of A once a column of blocks, of B once a row."""
    M, N, K = sizes
    return M * K * -(-N // S) + K * N * -(-M // S)


def _without(sizes: tuple[int, int, int]) -> tuple[Part, ...]:
    M, N, K = sizes
    return (
        Heading("Without reuse"),
        Paragraph(
            "An element of C is the sum of K products, of a row of A and a column of B. A thread that computes it on its own "
            "loads 2 K words, and C has M N elements."
        ),
        Equation("words", ("2 M N K", f"2 x {M:,} x {N:,} x {K:,}"), 2 * M * N * K, "words"),
    )


def _shared(sizes: tuple[int, int, int], S: int) -> tuple[Part, ...]:
    M, N, K = sizes
    rows, columns, steps = (-(-size // S) for size in sizes)
    parts: list[Part] = [
        Heading("With a tile that a block shares"),
        Paragraph(
            "S x S neighbouring elements need the same S rows of A and the same S columns of B. So a block of S x S threads "
            "walks along K in steps of S: it copies one S x S tile of A and one of B into shared memory, a word of each a "
            "thread, and every thread then multiplies from there. Each word is loaded once and used S times."
        ),
        PICTURE,
        Equation("blocks", ("ceil(M/S) ceil(N/S)", f"{rows:,} x {columns:,}"), rows * columns),
        Equation("k-steps", ("ceil(K/S)",), steps),
        Equation("words of a whole step", ("2 S^2", f"2 x {S} x {S}"), 2 * S * S, "words"),
    ]
    if all(size % S == 0 for size in sizes):
        forms: tuple[str, ...] = ("blocks x k-steps x 2 S^2", "2 M N K / S", f"2 x {M:,} x {N:,} x {K:,} / {S}")
    else:
        parts.append(
            Paragraph(
                "Tiles at an edge are smaller, for nothing is loaded past it. Counted from the operands' side: every column of "
                "blocks loads all of A once, every row of blocks all of B."
            )
        )
        forms = ("M K ceil(N/S) + K N ceil(M/S)", f"{M:,} x {K:,} x {columns:,} + {K:,} x {N:,} x {rows:,}")
    return (*parts, Equation("words", forms, loaded_words(sizes, S), "words"))


def _saved(sizes: tuple[int, int, int], S: int) -> tuple[Part, ...]:
    M, N, K = sizes
    naive, tiled = 2 * M * N * K, loaded_words(sizes, S)
    exact = "S, for S divides M and N" if naive == S * tiled else "S at the most, where S divides M and N"
    return (
        Heading("What it saves, and what it costs"),
        Equation("reduction", (f"{naive:,} / {tiled:,}",), naive / tiled, f"x ({exact})"),
        Equation(
            "intensity",
            ("2 M N K FLOP / (b words)", f"{naive:,} / ({WORD_BYTES} x {tiled:,})"),
            naive / (WORD_BYTES * tiled),
            "FLOP/B (S/4 for whole tiles)",
        ),
        Equation("shared memory", ("2 S^2 b", f"2 x {S} x {S} x {WORD_BYTES}"), 2 * S * S * WORD_BYTES, "B a block"),
        Paragraph(
            "The reuse is bought with shared memory, which grows with S^2, and with two barriers a k-step (explain barriers). "
            "The threads of a block are S^2 too, and a block has at most 1,024 of them: S = 32 is the end of this road. "
            "explain registers shows the next one, more outputs a thread."
        ),
    )


def _count(sizes: tuple[int, int, int], plan: TilePlan, question: Question) -> Count:
    ran = countable(sizes, plan)
    M, N, K = ran
    S, naive_bytes, tiled_bytes = plan.BM, 2 * M * N * K * WORD_BYTES, loaded_words(ran, plan.BM) * WORD_BYTES
    problem = Problem(M, N, K)
    naive = measure(rung("r02"), rung("r02").default_plan, problem, question).counters
    tiled = measure(rung("r03"), plan, problem, question)
    counted = tiled.counters.requested_load_bytes
    return Count(
        describe_run("r02 without reuse and r03 with the tile", sizes, ran),
        (
            Check("r02, requested by loads", naive_bytes, naive.requested_load_bytes, "B"),
            Check("r03, requested by loads", tiled_bytes, counted, "B"),
            Check("reduction", naive_bytes / tiled_bytes, naive.requested_load_bytes / counted, "x"),
            Check("intensity", problem.flops / tiled_bytes, problem.flops / counted, "FLOP/B"),
            Check("shared memory", 2 * S * S * WORD_BYTES, tiled.resources.static_shared_bytes, "B a block"),
        ),
    )


register(
    Topic(
        "tiling",
        "why a tile of side S in shared memory divides global traffic by S",
        "ideas",
        frozenset({"sizes", "tile"}),
        explain_tiling,
    )
)
