"""`tilewise bench`: products on a GPU beside other libraries', checked first and then timed in turns."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import tilewise
from tilewise.engine.gpu_operands import GpuOperands
from tilewise.engine.matmul_gpu import make_ready
from tilewise.engine.operands import WORD_BYTES
from tilewise.engine.peers import Peer, open_peers, peer_versions, true_float32
from tilewise.engine.results import BenchResult, BenchRow
from tilewise.engine.rules import rank
from tilewise.engine.suites import Shape
from tilewise.gpu.clocks import Clocks, watch_clocks
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import Gpu, open_gpu
from tilewise.gpu.memory import Memory
from tilewise.gpu.timing import Effort, Timing, Work, ratios, time_interleaved

OURS = "tilewise"
Progress = Callable[[str, int, int], None]
"""Is told what comes next, and how many of how many products are behind it."""


@dataclass(frozen=True, slots=True)
class Contest:
    """One product, timed: ours and the peers'."""

    shape: Shape
    kernel: str
    errors: dict[str, float]
    """Largest relative error of each contestant."""
    correct: dict[str, bool]
    timings: dict[str, Timing]


def bench(
    shapes: Sequence[Shape],
    *,
    vs: Sequence[str] = ("cublas",),
    ordinal: int = 0,
    effort: Effort | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> BenchResult:
    """Time products on GPU `ordinal` beside the peers of these names, and return a row for each product and peer.

    Every contestant's result is checked in float64 before it is timed; operands are random, dense, and change past the L2 cache.
    `command` is kept with the result. Raises TilewiseError for no GPU, unknown or missing peers and sizes beyond its memory.
    """
    gpu = open_gpu(ordinal)
    peers = open_peers(vs)
    rows: list[BenchRow] = []
    with watch_clocks(gpu) as clocks, true_float32(peers):
        for done, shape in enumerate(shapes):
            if progress is not None:
                problem = shape.problem
                progress(f"{shape.suite} {problem.M} x {problem.N} x {problem.K}", done, len(shapes))
            rows += _rows(run_contest(gpu, shape, peers, effort), peers)
    return BenchResult(
        device=gpu.name,
        command=command,
        date=datetime.now(UTC).date().isoformat(),
        versions=versions(gpu, peers),
        clocks=clock_figures(clocks),
        rows=tuple(rows),
    )


def run_contest(gpu: Gpu, shape: Shape, peers: Sequence[Peer], effort: Effort | None = None) -> Contest:
    """Check and time one product: ours, by the table of rules, and the peers'."""
    device = device_of(gpu.ordinal)
    operands = GpuOperands(gpu, device, shape.problem)
    ready = make_ready(operands.geometries, (0, 0, 0), lambda problem: rank(problem, device).chosen)
    workspace = Memory(gpu, WORD_BYTES * ready.workspace, gpu.own_stream)
    gpu.synchronize(gpu.own_stream)
    addresses = [(*operands.addresses(number), workspace.address) for number in range(operands.sets)]

    def ours(stream: int, number: int) -> None:
        gpu.enqueue(ready.prepared, stream, addresses[number])

    works: dict[str, Work] = {OURS: ours, **{peer.name: peer.make_work(operands) for peer in peers}}
    errors, correct = {}, {}
    for name, work in works.items():
        operands.poison()
        work(operands.stream, 0)
        comparison = operands.check()
        errors[name], correct[name] = comparison.max_relative_error, comparison.correct
    timings = time_interleaved(gpu, works, sets=operands.sets, effort=effort)
    (chosen,) = ready.recipe.chosen
    return Contest(shape, chosen.label, errors, correct, timings)


def versions(gpu: Gpu, peers: Sequence[Peer]) -> dict[str, str]:
    """Return what took part, by name."""
    from tilewise.build.nvrtc_library import compiler_version

    return {
        "tilewise": tilewise.__version__,
        "python": platform.python_version(),
        "driver": "CUDA {}.{}".format(*gpu.driver_version),
        "compiler": compiler_version(),
        **peer_versions(peers),
    }


def clock_figures(clocks: Clocks) -> dict[str, dict[str, float]]:
    """Return the clocks as they stand in a result."""
    return {name: asdict(figure) for name, figure in clocks.figures.items()}


def _rows(contest: Contest, peers: Sequence[Peer]) -> Iterator[BenchRow]:
    shape, ours = contest.shape, contest.timings[OURS]
    problem = shape.problem
    common: dict[str, Any] = {
        "suite": shape.suite,
        "m": problem.M,
        "n": problem.N,
        "k": problem.K,
        "dtype": problem.dtype,
        "layout": problem.layout,
        "ours_us": 1e6 * ours.spread.median,
        "kernel": contest.kernel,
        "max_relative_error": contest.errors[OURS],
        "correct": contest.correct[OURS],
    }
    for peer in peers:
        timing = contest.timings[peer.name]
        ratio = ratios(timing, ours)
        yield BenchRow(
            **common,
            peer=peer.name,
            peer_us=1e6 * timing.spread.median,
            ratio=ratio.median,
            lo=ratio.low,
            hi=ratio.high,
            peer_correct=contest.correct[peer.name],
            method="graph" if {ours.method, timing.method} == {"graph"} else "events",
        )
    if not peers:
        yield BenchRow(**common, peer="", peer_us=0.0, ratio=0.0, lo=0.0, hi=0.0, peer_correct=True, method=ours.method)
