"""Small runs made on the spot: a rung built, emulated and counted, at sizes that take no time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewise.build.nvrtc import compile_source
from tilewise.core.compare import Comparison
from tilewise.core.counters import Counters
from tilewise.core.lesson import Question
from tilewise.core.module import KernelResources
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.core.source import KernelSource
from tilewise.emu.machine import emulate
from tilewise.engine.choice import Choice, refuse_unfit
from tilewise.engine.drawn_product import DrawnProduct
from tilewise.kernels.ladder import Rung
from tilewise.kernels.source import kernel_source

MOST_PRODUCTS = 2**27
"""Multiply-adds of a run: a second or less, whatever the rung."""
LEAST_DEPTH = 64
"""An element of C takes as long as so many multiply-adds, if its sum is shorter."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run counted, what the assembler gave the kernel, and how far C is from float64."""

    counters: Counters
    resources: KernelResources
    comparison: Comparison


def measure(
    rung: Rung,
    plan: TilePlan,
    problem: Problem,
    question: Question,
    change: Callable[[KernelSource], KernelSource] = lambda source: source,
) -> Measured:
    """Return what a rung counts with a plan, built for the question's device; `change` may alter its source first.

    Raises TilewiseError for a plan or a device that the rung cannot have.
    """
    refuse_unfit([Choice(rung, plan)], question.device, problem)
    module = compile_source(change(kernel_source(rung, plan, problem.layout)), question.device.arch)
    product = DrawnProduct(problem)
    emulation = emulate(product.launch(module, rung, plan), threads=question.threads)
    return Measured(emulation.counters, module.resources[0], product.compare(plan))


def countable(sizes: tuple[int, int, int], plan: TilePlan) -> tuple[int, int, int]:
    """Return sizes that a run takes no time for: those given, or fewer whole tiles and the same parts of tiles at the edges.

    What is derived for the sizes then has the same form for these.
    """
    tiles = (plan.BM, plan.BN, plan.BK)
    reduced = list(sizes)
    while reduced[0] * reduced[1] * max(reduced[2], LEAST_DEPTH) > MOST_PRODUCTS:
        index = max(range(3), key=lambda index: reduced[index] // tiles[index])
        whole = reduced[index] // tiles[index]
        if whole < 2:
            break
        reduced[index] -= tiles[index] * (whole - whole // 2)
    return reduced[0], reduced[1], reduced[2]


def describe_run(rung: str, asked: tuple[int, int, int], ran: tuple[int, int, int]) -> str:
    """Return a sentence on what ran, and why it was smaller than what was asked about if it was."""
    here = "built and run on the emulator just now"
    if asked == ran:
        return f"{rung}, {here} at M x N x K = {show_sizes(ran)}:"
    return (
        f"{rung}, {here}. {show_sizes(asked)} would take long, so it ran at {show_sizes(ran)}: fewer whole tiles, and the same "
        "parts of tiles at the edges. The equations above, with these sizes, give what is derived:"
    )


def show_sizes(sizes: tuple[int, int, int]) -> str:
    """Return "1,024 x 64 x 64"."""
    return " x ".join(f"{size:,}" for size in sizes)
