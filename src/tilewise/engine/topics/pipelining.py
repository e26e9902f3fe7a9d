"""`explain pipelining`: how a second pair of tiles hides the wait for the first, and what cp.async changes.

That loads from device memory take hundreds of clocks is the CUDA Programming Guide's figure, section Multiprocessor Level.
"""

from __future__ import annotations

from tilewise.core.lesson import Check, Count, Equation, Heading, Lesson, Paragraph, Part, Picture, Question, Topic, register
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.engine.topics.measure import countable, describe_run, measure
from tilewise.hw.device import Device
from tilewise.kernels.ladder import Rung, rung, shared_bytes

WORD_BYTES = 4

ONE_PAIR = Picture(
    (
        "one pair    |copy 0 ..wait..|compute 0|copy 1 ..wait..|compute 1|",
        "                            ^         ^                         ",
        "                            barrier   barrier",
    )
)
TWO_PAIRS = Picture(
    (
        "pair 0      |copy 0 ..wait..|compute 0|copy 2 ..|compute 2|",
        "pair 1                      |copy 1 ..|compute 1|copy 3 ..|",
        "                            ^         ^         ^",
        "                            one barrier a k-step",
    )
)


def explain_pipelining(question: Question) -> Lesson:
    """Return what a k-step computes and copies on the device, and the count of r05 (one pair of tiles) and r06 (two)."""
    plan = rung("r06").default_plan
    sizes = question.sizes(256)
    return Lesson(
        "pipelining",
        "Pipelining: computing on one pair of tiles while the next is on its way",
        (*_wait(), *_clocks(plan, question.device), *_copies(plan), _count(sizes, plan, question)),
    )


def _wait() -> tuple[Part, ...]:
    return (
        Heading("The wait"),
        Paragraph(
            "A load from device memory takes hundreds of clocks to arrive, however little it brings. Up to r05 a block copies, "
            "waits, computes, and only then copies again: during the wait its FMA units stand still, unless the SM has other "
            "blocks to run."
        ),
        ONE_PAIR,
        Paragraph(
            "With two pairs of tiles in shared memory the block starts the copy of the next k-step before it computes on this "
            "one. The copy has all the time that computing takes:"
        ),
        TWO_PAIRS,
        Paragraph(
            "One barrier is enough. At the top of a k-step it says two things at once: everyone's copies of this step are in, "
            "and everyone is done with the pair that is copied over next."
        ),
    )


def _clocks(plan: TilePlan, device: Device) -> tuple[Part, ...]:
    fmas = plan.BM * plan.BN * plan.BK
    compute = fmas / device.fp32_fmas_per_sm_per_clock
    step_bytes = WORD_BYTES * plan.BK * (plan.BM + plan.BN)
    share = device.hbm_bandwidth_bytes_per_s / device.sms / device.clock_hz
    copy = step_bytes / share
    tile = f"{plan.BM} x {plan.BN} x {plan.BK}"
    left = compute - copy
    verdict = (
        f"the copy is done after {copy:.0f} clocks and what latency adds to it, and {left:.0f} clocks of latency can hide "
        "behind the FMAs"
        if left > 0
        else "even without any latency the copy takes longer than the FMAs, so bandwidth binds, unless the L2 holds the operands"
    )
    return (
        Heading(f"A k-step in clocks of an SM of the {device.name}"),
        Equation(
            "computing",
            ("BM BN BK / FMAs a clock", f"{tile} / {device.fp32_fmas_per_sm_per_clock}"),
            compute,
            "clocks at the least",
        ),
        Equation(
            "bytes copied",
            ("b BK (BM + BN)", f"{WORD_BYTES} x {plan.BK} x ({plan.BM} + {plan.BN})"),
            step_bytes,
            "B",
        ),
        Equation(
            "an SM's share of HBM",
            (
                "bandwidth / SMs / clock",
                f"{device.hbm_bandwidth_bytes_per_s / 1e12:.3g} TB/s / {device.sms} / {device.clock_hz / 1e9:.3g} GHz",
            ),
            share,
            "B a clock",
        ),
        Equation("copying", (f"{step_bytes:,} / {share:.3g}",), copy, "clocks, all from HBM, latency aside"),
        Paragraph(f"One after the other they add up. Overlapped, the longer one counts: {verdict}."),
    )


def _copies(plan: TilePlan) -> tuple[Part, ...]:
    one, two = shared_bytes(rung("r05"), plan), shared_bytes(rung("r06"), plan)
    return (
        Heading("What cp.async changes"),
        Paragraph(
            "An ordinary load brings a word into a register, and the store to shared memory that follows waits for it: to keep "
            "a tile on its way, threads need registers for it, and the compiler must keep load and store apart. cp.async names "
            "both addresses and goes on. The word takes no register, and what lies past an edge is filled with zeros without "
            "being asked for."
        ),
        Paragraph(
            "Nothing says that such a copy has arrived until the thread asks. cp.async.commit_group closes a group of copies, "
            "cp.async.wait_group n waits until at most n of the thread's own groups are under way. Others' copies it does not "
            "know: that takes the barrier after it."
        ),
        Equation("shared memory, r05", ("one pair of tiles",), one, "B a block"),
        Equation("shared memory, r06", ("two pairs",), two, "B a block"),
        Paragraph(
            "More pairs, a ring of stages, let copies run further ahead: worth it where a step's computing is shorter than the "
            "latency, as with tensor cores. Each costs another pair of tiles."
        ),
    )


def _count(sizes: tuple[int, int, int], plan: TilePlan, question: Question) -> Count:
    ran = countable(sizes, plan)
    r05, r06 = (measure(row, plan, Problem(*ran), question) for row in _pair())
    steps = -(-ran[0] // plan.BM) * -(-ran[1] // plan.BN) * -(-ran[2] // plan.BK)
    copied = steps * WORD_BYTES * plan.BK * (plan.BM + plan.BN)
    one, two = (shared_bytes(row, plan) for row in _pair())
    return Count(
        describe_run("r05 and r06 with the same plan", sizes, ran),
        (
            Check("r05, barriers", 2 * steps, r05.counters.barriers),
            Check("r06, barriers", steps, r06.counters.barriers),
            Check("r05, stored to tiles through registers", copied, r05.counters.shared_store_bytes, "B"),
            Check("r06, stored to tiles through registers", 0, r06.counters.shared_store_bytes, "B"),
            Check("r06, stored to tiles by cp.async", copied, r06.counters.shared_async_store_bytes, "B"),
            Check("r05, shared memory", one, r05.resources.static_shared_bytes, "B a block"),
            Check("r06, shared memory", two, r06.resources.static_shared_bytes, "B a block"),
        ),
    )


def _pair() -> tuple[Rung, Rung]:
    return rung("r05"), rung("r06")


register(
    Topic(
        "pipelining",
        "how a second pair of tiles hides the wait for the first, and what cp.async changes",
        "ideas",
        frozenset({"sizes"}),
        explain_pipelining,
    )
)
