"""`explain r03` and its like: a rung in its source's own words, and each of its claims held against a run made on the spot."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilewise.core.counters import Counters
from tilewise.core.lesson import Check, Count, Heading, Lesson, Paragraph, Picture, Question, Table, Topic, register
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.cost.occupancy import occupancy
from tilewise.engine.topics.measure import Measured, describe_run, measure
from tilewise.hw.device import WARP_LANES, Device
from tilewise.kernels.header import read_header
from tilewise.kernels.ladder import LADDER, Claims, Rung, block

WORD_BYTES = 4
SIDE, DEPTH = 128, 64
"""Whole tiles of every rung, and rows that begin at a sector: what claims are of."""


def explain_rung(row: Rung, question: Question) -> Lesson:
    """Return the idea of a rung, the picture of its tiles, its plan on the device and its claims beside what a run counts."""
    header, plan = read_header(row), row.default_plan
    problem = Problem(SIDE, SIDE, DEPTH)
    measured = measure(row, plan, problem, question)
    sizes = (SIDE, SIDE, DEPTH)
    variants = [(name, variant, measure(row, variant, problem, question)) for name, variant in row.variants]
    return Lesson(
        row.name,
        f"{row.name} {header.title}: {header.idea}",
        (
            Picture(header.picture),
            Paragraph(f"Removes {header.removes}"),
            Paragraph(f"Leaves {header.leaves}"),
            Heading(f"Its plan, on the {question.device.name}"),
            _plans(row, [("", plan, measured), *variants], question.device),
            Heading("Its claims"),
            Count(
                describe_run(f"{row.name}, default plan, layout rr, whole tiles", sizes, sizes),
                tuple(_claims(row.claims, plan, problem, measured.counters)),
                claimed=True,
            ),
            Paragraph(f"Its source: {row.file}, beside that of the rung below; a diff of the two shows what is new."),
        ),
    )


def _plans(row: Rung, plans: list[tuple[str, TilePlan, Measured]], device: Device) -> Table:
    """A column a plan."""
    columns = []
    for name, plan, measured in plans:
        resources = measured.resources
        fits = occupancy(device, plan.threads, resources.registers, resources.static_shared_bytes)
        columns.append(
            (
                f"{row.name} {name}".rstrip(),
                f"{plan.BM} x {plan.BN} x {plan.BK}",
                f"{plan.TM} x {plan.TN}",
                " x ".join(str(size) for size in block(row, plan) if size > 1),
                str(resources.registers),
                f"{resources.static_shared_bytes:,} B",
                f"{100 * fits.fraction:.3g} %",
                fits.limiter,
            )
        )
    names = ("block tile", "thread tile", "threads", "registers a thread", "shared memory a block", "occupancy", "limited by")
    heads, *figures = zip(*columns, strict=True)
    return Table(("", *heads), tuple((name, *row) for name, row in zip(names, figures, strict=True)))


def _claims(claims: Claims, plan: TilePlan, problem: Problem, counters: Counters) -> Iterator[Check]:
    loads = [site for site in counters.sites if site.space == "global" and site.kind != "store" and site.requests]
    blocks, k_steps = problem.M // plan.BM * (problem.N // plan.BN), problem.K // plan.BK
    yield Check(
        "sectors a load request, fewest",
        min(claims.a_sectors, claims.b_sectors),
        min(site.transactions / site.requests for site in loads),
    )
    yield Check("sectors a load request, most", max(claims.a_sectors, claims.b_sectors), max(site.worst for site in loads))
    yield Check("sectors a store of C", claims.c_sectors, counters.global_store_sectors / counters.global_store_requests)
    yield Check("worst bank conflict", claims.conflict_ways, counters.worst_bank_conflict_ways, "ways")
    yield Check("barriers a k-step", claims.barriers_per_k_step, counters.barriers / blocks / k_steps)
    yield Check("shared words an FMA", claims.shared_words_per_fma, counters.shared_load_bytes / WORD_BYTES / counters.fma)
    yield Check(
        "shared-load wavefronts an FMA of a warp",
        claims.wavefronts_per_fma,
        counters.shared_load_wavefronts * WARP_LANES / counters.fma,
    )


for _row in LADDER:
    register(Topic(_row.name, f"{_row.title}: removes {_row.removes}", "rungs", frozenset(), partial(explain_rung, _row)))
