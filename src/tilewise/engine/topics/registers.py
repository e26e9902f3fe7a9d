"""`explain registers`: what several outputs a thread save of shared memory's words, and what they take of the register file."""

from __future__ import annotations

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
from tilewise.cost.occupancy import occupancy
from tilewise.engine.topics.measure import Measured, countable, describe_run, measure
from tilewise.hw.banks import BANKS
from tilewise.hw.device import WARP_LANES, Device
from tilewise.kernels.ladder import rung

SIDE = 16
"""Threads down and across the block, whatever each computes."""
DEPTH = 8
WORD_BYTES = 4
THREAD_TILES = ((1, 1), (8, 1), (4, 4), (8, 8))

PICTURE = Picture(
    (
        "              b_frag, TN words",
        "              +--+--+--+--+",
        "              |  |  |  |  |",
        "              +--+--+--+--+",
        "  a_frag  +-+ +--+--+--+--+",
        "   TM     | | |  |  |  |  |   every word of a_frag meets",
        "   words  +-+ +--+--+--+--+   every word of b_frag:",
        "          | | |  |  |  |  |   TM + TN words read,",
        "          +-+ +--+--+--+--+   TM x TN FMAs done",
    )
)


def explain_registers(question: Question) -> Lesson:
    """Return the words and registers of a thread tile, its occupancy on the device, and the count of r04 with it."""
    TM, TN = question.thread_tile or (8, 8)
    plan = TilePlan(SIDE * TM, SIDE * TN, DEPTH, TM, TN)
    sizes = question.sizes(256)
    ran = countable(sizes, plan)
    measured = measure(rung("r04"), plan, Problem(*ran), question)
    return Lesson(
        "registers",
        f"Registers: {TM} x {TN} outputs a thread",
        (
            *_words(TM, TN, question.device),
            *_registers(plan, measured, question.device),
            *_occupancy(plan, measured, question.device),
            _count(sizes, ran, plan, measured),
        ),
    )


def _words(TM: int, TN: int, device: Device) -> tuple[Part, ...]:
    tiles = sorted({*THREAD_TILES, (TM, TN)}, key=lambda tile: (tile[0] * tile[1], tile))
    rows = tuple((f"{m} x {n}", str(m + n), str(m * n), f"{(m + n) / (m * n):.4g}") for m, n in tiles)
    words_a_clock = BANKS * device.shared_wavefronts_per_sm_per_clock
    return (
        Heading("Shared words for an FMA"),
        Paragraph(
            "A thread with one output reads a word of A and a word of B from shared memory for every FMA. On the "
            f"{device.name}, shared memory gives an SM {words_a_clock:g} words a clock: enough for {words_a_clock / 2:g} such "
            f"FMAs, where the SM could do {device.fp32_fmas_per_sm_per_clock}. A thread with TM x TN outputs uses each word it "
            "has read TM or TN times."
        ),
        PICTURE,
        Equation("words an FMA", ("(TM + TN) / (TM TN)", f"({TM} + {TN}) / ({TM} x {TN})"), (TM + TN) / (TM * TN)),
        Table(("thread tile", "words read", "FMAs", "words an FMA"), rows),
    )


def _registers(plan: TilePlan, measured: Measured, device: Device) -> tuple[Part, ...]:
    TM, TN = plan.TM, plan.TN
    least = TM * TN + TM + TN
    return (
        Heading("Registers for them"),
        Paragraph(
            "Outputs are summed up in registers, the accumulators, and the words of the moment, the fragments, stand beside "
            "them. Addresses and counters come on top; a thread has at most 255 registers."
        ),
        Equation("at the least", ("TM TN + TM + TN", f"{TM * TN} + {TM} + {TN}"), least, "registers a thread"),
        Equation(
            "the assembler took", (f"r04, {plan.BM} x {plan.BN} x {plan.BK}",), measured.resources.registers, f"({device.arch})"
        ),
        Paragraph(
            "For a square tile T x T the words fall as 2 / T and the registers grow as T^2: half the words, four times the "
            "registers."
        ),
    )


def _occupancy(plan: TilePlan, measured: Measured, device: Device) -> tuple[Part, ...]:
    registers, shared = measured.resources.registers, measured.resources.static_shared_bytes
    fits = occupancy(device, plan.threads, registers, shared)
    unit = device.register_allocation_unit
    of_warp = -(-registers * WARP_LANES // unit) * unit
    warps = -(-plan.threads // WARP_LANES)
    rows = tuple((limiter, str(blocks)) for limiter, blocks in fits.limits)
    return (
        Heading(f"Occupancy on the {device.name}"),
        Equation("registers of a warp", (f"32 x {registers}, up to a multiple of {unit}",), of_warp),
        Equation(
            "warps by registers",
            (f"{device.registers_per_sm:,} / {of_warp:,}, by sub-partitions of the SM",),
            device.warp_allocation_granularity * (device.registers_per_sm // device.warp_allocation_granularity // of_warp),
            f"of {device.warps_per_sm} ({warps} a block)",
        ),
        Table(("limited by", "blocks an SM"), rows),
        Equation(
            "occupancy",
            (f"{fits.blocks_per_sm} blocks x {warps} warps / {device.warps_per_sm}",),
            fits.fraction,
            f"(limiter: {fits.limiter})",
        ),
        Paragraph(
            f"Fewer warps are left to hide waiting behind. A thread tile makes up for it: its {plan.TM * plan.TN} FMAs a step "
            "do not wait for each other, so one warp alone keeps the units busy for a while. Low occupancy is no fault in "
            "itself."
        ),
    )


def _count(sizes: tuple[int, int, int], ran: tuple[int, int, int], plan: TilePlan, measured: Measured) -> Count:
    blocks = -(-ran[0] // plan.BM) * -(-ran[1] // plan.BN)
    steps = -(-ran[2] // plan.BK) * plan.BK  # kk, over all k-steps
    threads = blocks * plan.threads
    counters = measured.counters
    return Count(
        describe_run(f"r04 with thread tiles of {plan.TM} x {plan.TN}, {SIDE} x {SIDE} threads", sizes, ran),
        (
            Check(
                "shared words loaded", threads * steps * (plan.TM + plan.TN), counters.shared_load_bytes // WORD_BYTES, "words"
            ),
            Check("FMAs", threads * steps * plan.TM * plan.TN, counters.fma),
            Check(
                "words an FMA",
                (plan.TM + plan.TN) / (plan.TM * plan.TN),
                counters.shared_load_bytes / WORD_BYTES / counters.fma,
            ),
        ),
    )


register(
    Topic(
        "registers",
        "several outputs a thread: fewer shared words, more registers, less occupancy",
        "ideas",
        frozenset({"sizes", "thread_tile"}),
        explain_registers,
    )
)
