"""`explain intensity`: FLOP a byte, the ridge point, and what caches have to do with it."""

from __future__ import annotations

import math

from tilewise.core.lesson import Check, Count, Equation, Heading, Lesson, Paragraph, Part, Picture, Question, Topic, register
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.cost.roofline import ridge_without_cache
from tilewise.engine.choice import TILES, tiled_plan
from tilewise.engine.topics.measure import countable, describe_run, measure
from tilewise.engine.topics.tiling import WORD_BYTES, loaded_words
from tilewise.hw.device import Device
from tilewise.kernels.ladder import rung

PICTURE = Picture(
    (
        "FLOP/s",
        "  ^            ridge",
        "  |              .-----------------  peak",
        "  |            .'|",
        "  |          .'  |",
        "  |        .'    |",
        "  |      .'      |     to the left bandwidth binds,",
        "  |    .'        |     to the right the FMA units",
        "  +--------------+---------------->  FLOP a byte",
    )
)


def explain_intensity(question: Question) -> Lesson:
    """Return intensities, the device's ridge and the side of tile that reaches it, and the count of r02 and r03."""
    sizes = question.sizes(256)
    plan = tiled_plan(question.tile or 32)
    return Lesson(
        "intensity",
        f"Intensity: FLOP a byte, and the ridge of the {question.device.name}",
        (*_rungs(plan.BM), *_ridge(question.device, plan.BM), *_caches(sizes, question.device), _count(sizes, plan, question)),
    )


def _rungs(S: int) -> tuple[Part, ...]:
    return (
        Heading("FLOP a byte"),
        Paragraph(
            "A multiply-add is two FLOP. What a kernel does for each byte that it asks memory for is its arithmetic intensity. "
            "Without reuse, a multiply-add asks for two words of b = 4 bytes:"
        ),
        Equation("no reuse", ("2 FLOP / 2 b", f"2 / (2 x {WORD_BYTES})"), 2 / (2 * WORD_BYTES), "FLOP/B"),
        Paragraph("A tile of side S uses each word S times (explain tiling), a BM x BN block tile by its harmonic mean:"),
        Equation("S x S tile", ("S / b", f"{S} / {WORD_BYTES}"), S / WORD_BYTES, "FLOP/B"),
        Equation(
            "BM x BN tile",
            ("2 BM BN / (b (BM + BN))", f"2 x 128 x 128 / ({WORD_BYTES} x 256) for 128 x 128"),
            2 * 128 * 128 / (WORD_BYTES * 256),
            "FLOP/B",
        ),
    )


def _ridge(device: Device, S: int) -> tuple[Part, ...]:
    peak, bandwidth, ridge = device.fp32_flops_per_s, device.hbm_bandwidth_bytes_per_s, ridge_without_cache(device)
    side = math.ceil(WORD_BYTES * ridge)
    where = "beyond it: the FMA units bind" if ridge <= S / WORD_BYTES else "short of it: without caches, bandwidth binds"
    return (
        Heading("The ridge"),
        PICTURE,
        Paragraph(
            "A kernel can do no more than the FMA units do, and no more than bandwidth feeds. The two lines meet at the ridge:"
        ),
        Equation(
            "ridge",
            ("peak / HBM bandwidth", f"{peak / 1e12:.1f} TFLOP/s / {bandwidth / 1e12:.3g} TB/s"),
            ridge,
            f"FLOP/B ({device.key})",
        ),
        Equation("side that reaches it", ("b x ridge, rounded up", f"{WORD_BYTES} x {ridge:.2f}"), side, "elements"),
        Paragraph(
            f"S = {S} gives {S / WORD_BYTES:g} FLOP/B and lies {where}. A block of one output a thread ends at S = "
            f"{TILES[-1]}; larger tiles take several outputs a thread (explain registers)."
        ),
    )


def _caches(sizes: tuple[int, int, int], device: Device) -> tuple[Part, ...]:
    M, N, K = sizes
    compulsory = WORD_BYTES * (M * K + K * N + M * N)
    return (
        Heading("What this leaves out: caches"),
        Paragraph(
            "The ridge counts as if every requested byte came from HBM. It need not: L1 and L2 hold what was loaded before, "
            "and what HBM must move at the least is each operand once and the result once:"
        ),
        Equation(
            "compulsory",
            ("b (M K + K N + M N)", f"{WORD_BYTES} x ({M * K:,} + {K * N:,} + {M * N:,})"),
            compulsory,
            "B",
        ),
        Equation("intensity of HBM, at the most", ("2 M N K / compulsory",), 2 * M * N * K / compulsory, "FLOP/B"),
        Paragraph(
            "So requested intensity tells what a kernel asks of the whole memory system, not what HBM does. An H200 ran the "
            "coalesced kernel without reuse, 0.25 FLOP/B, at 5.9 TFLOP/s at 4096^3 (measured 2026-11-29), where 0.25 FLOP/B x "
            "4.8 TB/s would be 1.2. Read it as the derivation does, without caches; tilewise ladder prints beside it the "
            "floors that do bind: HBM, L1 sectors, shared wavefronts, FMAs."
        ),
    )


def _count(sizes: tuple[int, int, int], plan: TilePlan, question: Question) -> Count:
    ran = countable(sizes, plan)
    M, N, K = ran
    problem = Problem(M, N, K)
    naive, tiled = (
        measure(row, p, problem, question).counters for row, p in ((rung("r02"), rung("r02").default_plan), (rung("r03"), plan))
    )
    return Count(
        describe_run("r02 without reuse and r03 with the tile", sizes, ran),
        (
            Check("r02, intensity", 0.25, problem.flops / naive.requested_load_bytes, "FLOP/B"),
            Check(
                f"r03, intensity, S = {plan.BM}",
                problem.flops / (WORD_BYTES * loaded_words(ran, plan.BM)),
                problem.flops / tiled.requested_load_bytes,
                "FLOP/B",
            ),
        ),
    )


register(
    Topic(
        "intensity",
        "FLOP a byte, the ridge point, and the caches between",
        "ideas",
        frozenset({"sizes", "tile"}),
        explain_intensity,
    )
)
