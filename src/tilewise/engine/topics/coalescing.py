"""`explain coalescing`: why the same multiply touches 33 sectors in r01 and 5 in r02."""

from __future__ import annotations

from tilewise.core.lesson import Check, Count, Equation, Heading, Lesson, Paragraph, Part, Picture, Question, Topic, register
from tilewise.core.problem import Problem
from tilewise.engine.topics.measure import countable, describe_run, measure, show_sizes
from tilewise.hw.device import WARP_LANES
from tilewise.kernels.ladder import rung

SECTOR_WORDS = 8
"""32 bytes."""

DOWN = Picture(
    (
        "r01: lanes walk down a column of C",
        "",
        "  A, row after row      lane 0  [#.......]....  32 rows,",
        "                        lane 1  [#.......]....  32 sectors,",
        "                        lane 2  [#.......]....  one word",
        "                          ..                    used of each",
    )
)
ALONG = Picture(
    (
        "r02: lanes walk along a row of C",
        "",
        "  B, one row  [########][########][########][########]",
        "         lane  0......7  8.....15  16....23  24....31",
        "                        128 bytes in a run, 4 sectors",
    )
)


def explain_coalescing(question: Question) -> Lesson:
    """Return the sectors of r01's and r02's loads, derived request by request, and their counts."""
    sizes = question.sizes(256)
    return Lesson(
        "coalescing",
        "Coalescing: 33 sectors or 5 for one multiply of a warp",
        (*_rule(), *_both(), *_totals(sizes), _count(sizes, question)),
    )


def sectors_along_rows(sizes: tuple[int, int, int]) -> int:
    """Return the sectors of r01's loads: lanes take the words of up to 32 rows of A, K apart, and all one word of B."""
    M, N, K = sizes
    whole, rest = divmod(M, WARP_LANES)
    of_a = M * K  # rows are a sector apart or more, so every lane has its own, whatever k
    if K < SECTOR_WORDS:
        of_a = sum(whole * _strided_sectors(k, WARP_LANES, K) + _strided_sectors(k, rest, K) for k in range(K))
    return N * of_a + N * K * -(-M // WARP_LANES)


def sectors_along_columns(sizes: tuple[int, int, int]) -> int:
    """Return the sectors of r02's loads: lanes take all one word of A, and up to 32 neighbouring words of a row of B."""
    M, N, K = sizes
    whole, rest = divmod(N, WARP_LANES)
    by_row = [whole * _run_sectors(k * N, WARP_LANES) + _run_sectors(k * N, rest) for k in range(min(K, SECTOR_WORDS))]
    turns, left = divmod(K, SECTOR_WORDS)  # where rows begin within a sector repeats after 8 of them
    of_b = turns * sum(by_row) + sum(by_row[:left])
    return M * of_b + M * K * -(-N // WARP_LANES)


def _run_sectors(first: int, words: int) -> int:
    """Sectors of `words` words from word `first` on."""
    return (first + words - 1) // SECTOR_WORDS - first // SECTOR_WORDS + 1 if words else 0


def _strided_sectors(first: int, words: int, stride: int) -> int:
    """Sectors of `words` words, `stride` apart."""
    return len({(first + index * stride) // SECTOR_WORDS for index in range(words)})


def _rule() -> tuple[Part, ...]:
    return (
        Heading("What a request costs"),
        Paragraph(
            "The 32 lanes of a warp load together, in one request. Memory answers in sectors of 32 aligned bytes, 8 words: a "
            "request costs as many sectors as its lanes' words lie in, however few words of each it wants."
        ),
        Equation("fewest", ("32 lanes x 4 B / 32 B",), 4, "sectors for 32 different words"),
        Equation("most", ("a sector a lane",), 32, "sectors"),
        Paragraph("Lanes that ask for the same word share it: 1 sector."),
    )


def _both() -> tuple[Part, ...]:
    return (
        Heading("The same kernel, two ways to hand out threads"),
        DOWN,
        Paragraph("All lanes stand in one column, so the word of B is the same for all: 1 sector."),
        Equation("r01, a multiply of a warp", ("32 of A + 1 of B",), 33, "sectors"),
        ALONG,
        Paragraph("All lanes stand in one row, so the word of A is the same for all: 1 sector."),
        Equation("r02, a multiply of a warp", ("1 of A + 4 of B",), 5, "sectors"),
        Paragraph("Nothing else differs: same words, same number of requests, one index exchanged with the other."),
    )


def _totals(sizes: tuple[int, int, int]) -> tuple[Part, ...]:
    M, N, K = sizes
    down, along = sectors_along_rows(sizes), sectors_along_columns(sizes)
    heading = Heading(f"For M x N x K = {show_sizes(sizes)}")
    if M % WARP_LANES == N % WARP_LANES == K % SECTOR_WORDS == 0:
        numbers = f"{M:,} x {N:,} x {K:,} / 32"
        return (
            heading,
            Equation("multiplies of warps", ("M N K / 32", numbers), M * N * K // WARP_LANES),
            Equation("r01", ("33 M N K / 32",), down, "sectors"),
            Equation("r02", ("5 M N K / 32",), along, "sectors"),
            Equation("fewer by", ("33 / 5",), down / along, "x"),
        )
    return (
        heading,
        Paragraph(
            "These sizes leave warps that are not full (32 does not divide M or N) or rows that begin anywhere within a sector "
            "(8 does not divide K or N). The sum then runs over all requests: for a run of n words from word w of an operand "
            "on, floor((w + n - 1) / 8) - floor(w / 8) + 1 sectors."
        ),
        Equation("r01", ("sum over its requests",), down, "sectors"),
        Equation("r02", ("sum over its requests",), along, "sectors"),
        Equation("fewer by", (f"{down:,} / {along:,}",), down / along, "x"),
    )


def _count(sizes: tuple[int, int, int], question: Question) -> Count:
    first, second = rung("r01"), rung("r02")
    ran = countable(sizes, first.default_plan)
    down, along = (measure(row, row.default_plan, Problem(*ran), question).counters for row in (first, second))
    return Count(
        describe_run("r01 and r02", sizes, ran),
        (
            Check("r01, sectors loaded", sectors_along_rows(ran), down.global_load_sectors),
            Check("r02, sectors loaded", sectors_along_columns(ran), along.global_load_sectors),
            Check("r01, requests", 2 * ran[1] * ran[2] * -(-ran[0] // WARP_LANES), down.global_load_requests),
            Check("r02, requests", 2 * ran[0] * ran[2] * -(-ran[1] // WARP_LANES), along.global_load_requests),
        ),
    )


register(Topic("coalescing", "why lanes should load neighbouring words", "ideas", frozenset({"sizes"}), explain_coalescing))
