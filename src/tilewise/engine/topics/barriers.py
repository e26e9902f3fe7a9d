"""`explain barriers`: what the two barriers of r03's k-step are for, and what becomes of C without one of them."""

from __future__ import annotations

from dataclasses import replace

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
from tilewise.engine.topics.measure import Measured, countable, describe_run, measure
from tilewise.kernels.ladder import rung

BARRIER = "__syncthreads();"

AS_WRITTEN = Picture(
    (
        "both        warp 0   copy    |1| compute     |2| copy   |1|",
        "            warp 1     copy  |1|   compute   |2|  copy  |1|",
    )
)
WITHOUT_FIRST = Picture(
    (
        "without 1   warp 0   copy compute     |2|",
        "            warp 1     ...   copy     |2|",
        "                          ^ reads rows of the tiles that",
        "                            warp 1 has not copied yet",
    )
)
WITHOUT_SECOND = Picture(
    (
        "without 2   warp 0   compute copy    |1|",
        "            warp 1   ...  compute    |1|",
        "                             ^ reads words of the next tiles,",
        "                               which warp 0 has copied already",
    )
)


def explain_barriers(question: Question) -> Lesson:
    """Return why r03 has two barriers a k-step, with the count of it and of two copies that lack one each."""
    sizes = question.sizes(64)
    plan = tiled_plan(question.tile or 32)
    return Lesson(
        "barriers",
        "Barriers: the two of a k-step",
        (*_needs(sizes, plan.BM), *_each(), *_count(sizes, plan, question)),
    )


def without_barrier(source: KernelSource, index: int) -> KernelSource:
    """Return a source that lacks one of its barriers, numbered as they stand."""
    pieces = source.text.split(BARRIER)
    kept = BARRIER.join(pieces[: index + 1]) + BARRIER.join(pieces[index + 1 :])
    return replace(source, text=kept)


def _needs(sizes: tuple[int, int, int], S: int) -> tuple[Part, ...]:
    rows, columns, steps = (-(-size // S) for size in sizes)
    return (
        Heading("Threads use what others copied"),
        Paragraph(
            "In a k-step each thread of a block copies one word of A and one of B into the shared tiles, then reads S of "
            "either, a row of one tile and a column of the other. All but two of these words were copied by other threads."
        ),
        Equation("words read", ("2 S", f"2 x {S}"), 2 * S, "words a thread"),
        Equation("copied by others", ("2 S - 2",), 2 * S - 2, "words"),
        Paragraph(
            "The warps of a block run at their own pace. Only a barrier makes one wait for another: no thread passes it before "
            "all have reached it, and what was stored before it can be read after it."
        ),
        Equation("barriers", ("blocks x 2 ceil(K/S)", f"{rows:,} x {columns:,} x 2 x {steps:,}"), 2 * rows * columns * steps),
    )


def _each() -> tuple[Part, ...]:
    return (
        Heading("What each of them keeps apart"),
        AS_WRITTEN,
        Paragraph(
            "Barrier 1 stands between copying and computing: the tiles are whole when anybody reads them. Without it a fast warp "
            "reads words that a slow one has yet to store, a read after write that comes too early:"
        ),
        WITHOUT_FIRST,
        Paragraph(
            "Barrier 2 stands between computing and the next copy: nobody reads the tiles any more when they are overwritten. "
            "Without it a fast warp's next copy destroys what a slow one still reads, a write after read that comes too early:"
        ),
        WITHOUT_SECOND,
        Paragraph(
            "Either mistake depends on timing: the product may come out right a thousand times and wrong once. A second pair of "
            "tiles makes one barrier enough, since the next copy then goes where nobody reads (explain pipelining)."
        ),
    )


def _count(sizes: tuple[int, int, int], plan: TilePlan, question: Question) -> tuple[Part, ...]:
    ran = countable(sizes, plan)
    rows, columns, steps = (-(-size // plan.BM) for size in ran)
    problem, tiled = Problem(*ran), rung("r03")
    whole = measure(tiled, plan, problem, question)
    lacking = [measure(tiled, plan, problem, question, lambda source, i=index: without_barrier(source, i)) for index in (0, 1)]  # type: ignore[misc]  # the default binds the index
    barriers = rows * columns * steps
    return (
        Count(
            describe_run("r03 as it is, and twice with one barrier taken out", sizes, ran),
            (
                Check("r03, barriers", 2 * barriers, whole.counters.barriers),
                Check("r03, wrong elements of C", 0, whole.comparison.wrong),
                Check("without 1, barriers", barriers, lacking[0].counters.barriers),
                Check("without 2, barriers", barriers, lacking[1].counters.barriers),
            ),
        ),
        Table(
            ("", "wrong elements of C", "max relative error"),
            tuple(map(_row, ("r03", "without 1", "without 2"), (whole, *lacking))),
        ),
        Paragraph(
            "The emulator runs a block's warps one after the other from barrier to barrier, in one of the many orders that a "
            "GPU may take: what is wrong here is wrong in this order, and what is right here is not safe."
        ),
    )


def _row(name: str, measured: Measured) -> tuple[str, ...]:
    c = measured.comparison
    return name, f"{c.wrong:,}", f"{c.max_relative_error:.1e}"


register(
    Topic("barriers", "what the two barriers of a k-step keep apart", "ideas", frozenset({"sizes", "tile"}), explain_barriers)
)
