"""The climb on a GPU: each rung is built, checked in float64 and timed in turns with the others and with cuBLAS."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewise.core.compare import Comparison
from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch, Slot
from tilewise.core.problem import Problem
from tilewise.cost.occupancy import occupancy
from tilewise.engine.built import build_auxiliary, build_rung, require_compiler
from tilewise.engine.choice import Choice, choose, refuse_unfit
from tilewise.engine.gpu_operands import GpuOperands
from tilewise.engine.gpu_row import COUNTED, GpuRow
from tilewise.engine.operands import Matrix, Order, product_launch
from tilewise.engine.peers import has_cublas, open_peers, true_float32
from tilewise.engine.rung_objects import from_objects
from tilewise.gpu.counters import count_launches
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import Gpu, open_gpu
from tilewise.gpu.memory import Memory
from tilewise.gpu.timing import Effort, Timing, Work, ratios, time_interleaved
from tilewise.kernels.auxiliary import BLOCKS_PER_SM, THREADS, fma_peak
from tilewise.kernels.source import SYMBOL

if TYPE_CHECKING:
    from tilewise.core.module import Module
    from tilewise.gpu.prepared import Prepared
    from tilewise.hw.device import Device

CUBLAS = "cublas"
PEAK = "multiply-adds alone"
PEAK_ROUNDS = 4000
"""Of fma_peak: some 10 ms on any GPU of the catalogue."""

Progress = Callable[[str, int, int], None]
"""Is told what comes next, and how many of how many steps are behind it."""


def ladder_on_gpu(
    problem: Problem,
    *,
    rungs: Sequence[str] | None = None,
    tile: int | None = None,
    seed: int = 0,
    ordinal: int = 0,
    counters: bool = False,
    emulated: Mapping[str, Mapping[str, int]] | None = None,
    effort: Effort | None = None,
    progress: Progress | None = None,
) -> list[GpuRow]:
    """Climb the ladder on C = A B on GPU `ordinal`: a row for each plan of `rungs`, by default all that it runs.

    Operands are random and dense. With `counters` every rung is also launched once under Nsight Compute; `emulated` are counts
    of the emulator, by label, to stand beside (see `read_emulated`). Raises TilewiseError for no GPU, too little of its memory,
    choices that cannot be, and counters that cannot be read.
    """
    gpu, device = open_gpu(ordinal), device_of(ordinal)
    require_compiler(device)
    choices = choose(rungs, device, tile)
    refuse_unfit(choices, device, problem)
    tell = progress or (lambda text, done, total: None)
    total = 2 * len(choices) + 1 + counters
    operands = GpuOperands(gpu, device, problem, seed=seed)
    modules, prepared, comparisons = {}, {}, {}
    for number, choice in enumerate(choices):
        tell(f"{choice.label} building", 2 * number, total)
        modules[choice.label] = build_rung(choice.rung.name, choice.plan, problem.layout, device.arch)
        prepared[choice.label] = gpu.prepare(rung_launch(modules[choice.label], choice, problem))
        tell(f"{choice.label} checking", 2 * number + 1, total)
        comparisons[choice.label] = _check(gpu, operands, prepared[choice.label])
    tell("timing", 2 * len(choices), total)
    work, peak_flops = peak_work(gpu, device)
    timings = _time(gpu, operands, prepared, {PEAK: work}, effort)
    peak = peak_flops / timings[PEAK].spread.median
    counted: dict[str, dict[str, int]] = {}
    if counters:
        tell("counting", total - 1, total)
        counted = _count(problem, choices, seed, ordinal)
    return [
        replace(
            _row(choice, problem, device, modules[choice.label], comparisons[choice.label], timings, peak),
            counted=counted.get(choice.label),
            emulated=None if emulated is None else dict(emulated.get(choice.label, {})) or None,
        )
        for choice in choices
    ]


def read_emulated(path: Path, problem: Problem) -> dict[str, dict[str, int]]:
    """Return the counts of a file that `tilewise ladder --json` or `--save` wrote, by label.

    Raises TilewiseError for another file, and for one of another problem.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        found = {f"{row['rung']} {row['variant']}".rstrip(): row for row in from_objects(rows) if row["on"] == "emulator"}
        problems = {(row["m"], row["n"], row["k"], row["layout"]) for row in found.values()}
        counts = {label: {name: int(row[name]) for name in COUNTED if name in row} for label, row in found.items()}
    except OSError as error:
        raise TilewiseError(f"{path} cannot be read ({error.strerror}): give what tilewise ladder --json printed.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TilewiseError(f"{path} is not what tilewise ladder --json prints ({error}).") from None
    wanted = (problem.M, problem.N, problem.K, problem.layout)
    if problems != {wanted}:
        raise TilewiseError(
            f"{path} holds counts of {_shown(problems)}, and this climb is {_shown({wanted})}: count the same product."
        )
    return counts


def rung_launch(module: Module, choice: Choice, problem: Problem) -> Launch:
    """Return the launch of a rung on dense operands in buffers 0 to 2."""
    M, N, K = problem.M, problem.N, problem.K
    sizes = ((M, K), (K, N), (M, N))
    orders: tuple[Order, ...] = ("r" if problem.a_row_major else "c", "r" if problem.b_row_major else "c", "r")
    a, b, c = (
        Matrix(Slot(number), order, size[1] if order == "r" else size[0])
        for number, (order, size) in enumerate(zip(orders, sizes, strict=True))
    )
    return product_launch(module, choice.rung, choice.plan, problem, a, b, c)


def peak_work(gpu: Gpu, device: Device) -> tuple[Work, int]:
    """Return work that does nothing but float32 multiply-adds, and the FLOPs of one call."""
    call, fmas = fma_peak(Slot(0), device.sms, PEAK_ROUNDS)
    module = build_auxiliary(call.kernel, device.arch)
    prepared = [gpu.prepare(Launch(module, call.kernel, call.grid, call.block, call.args))]
    sums = Memory(gpu, 4 * BLOCKS_PER_SM * THREADS * device.sms, gpu.own_stream)
    gpu.synchronize(gpu.own_stream)
    return lambda stream, number: gpu.enqueue(prepared, stream, (sums.address,)), 2 * fmas


def _check(gpu: Gpu, operands: GpuOperands, prepared: Prepared) -> Comparison:
    operands.poison()
    gpu.enqueue([prepared], operands.stream, operands.addresses(0))
    return operands.check()


def _time(
    gpu: Gpu, operands: GpuOperands, prepared: Mapping[str, Prepared], others: Mapping[str, Work], effort: Effort | None
) -> dict[str, Timing]:
    addresses = [operands.addresses(number) for number in range(operands.sets)]

    def work_of(one: Prepared) -> Work:
        launches = [one]
        return lambda stream, number: gpu.enqueue(launches, stream, addresses[number])

    works = {**others, **{label: work_of(one) for label, one in prepared.items()}}
    peers = open_peers([CUBLAS]) if has_cublas() else []
    with true_float32(peers):
        works |= {peer.name: peer.make_work(operands) for peer in peers}
        return time_interleaved(gpu, works, sets=operands.sets, effort=effort)


def _row(
    choice: Choice,
    problem: Problem,
    device: Device,
    module: Module,
    comparison: Comparison,
    timings: Mapping[str, Timing],
    peak: float,
) -> GpuRow:
    timing, cublas = timings[choice.label], timings.get(CUBLAS)
    seconds = timing.spread
    resources = next(kernel for kernel in module.resources if kernel.name == SYMBOL)
    fits = occupancy(device, choice.plan.threads, resources.registers, resources.static_shared_bytes)
    return GpuRow(
        rung=choice.rung.name,
        title=choice.rung.title,
        variant=choice.variant,
        m=problem.M,
        n=problem.N,
        k=problem.K,
        layout=problem.layout,
        tile=choice.plan,
        on="gpu",
        device=device.name,
        correct=comparison.correct,
        max_relative_error=comparison.max_relative_error,
        registers=resources.registers,
        shared_bytes=resources.static_shared_bytes,
        occupancy=fits.fraction,
        occupancy_limiter=fits.limiter,
        seconds=seconds.median,
        seconds_low=seconds.low,
        seconds_high=seconds.high,
        tflops=problem.flops / seconds.median / 1e12,
        fma_peak_tflops=peak / 1e12,
        percent_of_fma_peak=100 * problem.flops / seconds.median / peak,
        cublas_seconds=None if cublas is None else cublas.spread.median,
        percent_of_cublas=None if cublas is None else 100 * ratios(cublas, timing).median,
    )


def _count(problem: Problem, choices: Sequence[Choice], seed: int, ordinal: int) -> dict[str, dict[str, int]]:
    """Return ncu's counts of each choice, launched once each by a process of its own."""
    tile = next((choice.plan.BM for choice in choices if choice.rung.name == "r03"), None)
    task: dict[str, Any] = {
        "sizes": [problem.M, problem.N, problem.K],
        "layout": problem.layout,
        "rungs": [choice.rung.name for choice in choices],
        "tile": tile,
        "seed": seed,
        "ordinal": ordinal,
    }
    launches = count_launches([sys.executable, "-m", "tilewise.engine.counted", json.dumps(task)], f"^{SYMBOL}$")
    if len(launches) != len(choices):
        raise TilewiseError(f"ncu saw {len(launches)} launches of the {len(choices)} that were made.")
    return {choice.label: counts for choice, counts in zip(choices, launches, strict=True)}


def _shown(problems: set[tuple[int, int, int, str]]) -> str:
    return " and ".join(f"{m} x {n} x {k} {layout}" for m, n, k, layout in sorted(problems)) or "no emulated rung"
