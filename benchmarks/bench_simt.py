"""Time the emulator on what is no matrix product: lanes that part, code that nobody optimised, atomics.

    python benchmarks/bench_simt.py [--processes 5] [--json]

Each of several fresh processes compiles, runs every case once to warm up and then in turns several times, on one thread,
counting. Times are CPU time without compiling, of one core; a process's figure is the median of its repetitions.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
from machine_facts import cpu_name

import tilewise
from tilewise.build.nvrtc import compile_source
from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.core.problem import Problem
from tilewise.core.source import KernelSource
from tilewise.emu.machine import emulate
from tilewise.engine.operands import as_matrix, product_launch
from tilewise.kernels.ladder import rung
from tilewise.kernels.source import kernel_source

SOURCE = Path(__file__).with_name("simt.cu")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Threads of BLAS wait for work in busy loops, and the checks use BLAS."""
REPETITIONS = 5
PACKAGES = ("numpy", "llvmlite", "nvidia-cuda-nvrtc")
COLLATZ_THREADS = 1 << 20
ATOMIC_THREADS, ATOMIC_ROUNDS, BINS = 1 << 16, 32, 1 << 20
SIZE = 256
UNOPTIMISED = {"-G": "--device-debug", "Ofast-compile": "--Ofast-compile=max"}


@dataclass(frozen=True, slots=True)
class Case:
    """A launch, what it has done once it ran, and how its figure follows from CPU seconds."""

    launch: Launch
    check: Callable[[], None]
    figure: Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Result:
    """All processes, and where they ran."""

    command: str
    date: str
    cpu: str
    versions: dict[str, str]
    load: float
    """Average over the minute before the start of processes that wanted a CPU."""
    figures: dict[str, list[float]]
    """By case and unit, a figure a process."""


def main() -> None:
    """Run the processes and print their result."""
    arguments = _parse_arguments()
    if arguments.child:
        print(json.dumps(measure()))
        return
    load = os.getloadavg()[0]
    samples = []
    for number in range(arguments.processes):
        command = [sys.executable, __file__, "--child"]
        child = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, check=True, text=True)
        samples.append(json.loads(child.stdout))
        print(f"process {number + 1} of {arguments.processes}: {samples[-1]}", file=sys.stderr)
    versions = {"tilewise": tilewise.__version__, "python": platform.python_version()}
    result = Result(
        command=" ".join(["python", *sys.argv]),
        date=datetime.now(UTC).date().isoformat(),
        cpu=cpu_name(),
        versions=versions | {name: version(name) for name in PACKAGES},
        load=load,
        figures={name: [sample[name] for sample in samples] for name in samples[0]},
    )
    print(json.dumps(asdict(result), indent=2) if arguments.json else format_table(result))


def measure() -> dict[str, float]:
    """Return one process's figures."""
    cases = {**_collatz(), **_unoptimised(), **_atomics()}
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        emulate(case.launch, threads=1)
        case.check()
    for _ in range(REPETITIONS):
        for name, case in cases.items():
            start = time.process_time()
            emulate(case.launch, threads=1)
            seconds[name].append(time.process_time() - start)
    return {name: case.figure(statistics.median(seconds[name])) for name, case in cases.items()}


def _collatz() -> dict[str, Case]:
    cases = {}
    for arch in ("sm_90a", "sm_100"):
        steps = np.zeros(COLLATZ_THREADS, np.uint32)
        launch = Launch(_module(arch), "collatz", _one(COLLATZ_THREADS // 256), _one(256), (steps, COLLATZ_THREADS))

        def check(steps: np.ndarray = steps) -> None:
            assert steps[26] == 111, "27 takes 111 steps"
            assert steps.argmax() == 837798, "of all below a million, 837799 takes longest"

        def figure(seconds: float, steps: np.ndarray = steps) -> float:
            return float(steps.sum(dtype=np.uint64)) / seconds / 1e9

        cases[f"collatz, {arch}: G active-lane iterations/s"] = Case(launch, check, figure)
    return cases


def _unoptimised() -> dict[str, Case]:
    row = rung("r03")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, SIZE, SIZE), dtype=np.float32)
    cases = {}
    for name, option in UNOPTIMISED.items():
        c = np.empty_like(a)
        module = compile_source(kernel_source(row, row.default_plan, "rr"), "sm_90a", (option,))
        operands = map(as_matrix, (a, b, c))
        launch = product_launch(module, row, row.default_plan, Problem(SIZE, SIZE, SIZE), *operands)

        def check(c: np.ndarray = c) -> None:
            np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=0, atol=1e-3)

        cases[f"r03 with {name}, {SIZE}^3: CPU seconds"] = Case(launch, check, lambda seconds: seconds)
    return cases


def _atomics() -> dict[str, Case]:
    cases = {}
    for name, spread in (("at random", BINS - 1), ("all in one place", 0)):
        bins = np.zeros(BINS, np.uint32)
        arguments = (bins, spread, ATOMIC_ROUNDS)
        launch = Launch(_module("sm_90a"), "add_to_bins", _one(ATOMIC_THREADS // 256), _one(256), arguments)

        def check(bins: np.ndarray = bins) -> None:
            assert bins.sum() == ATOMIC_THREADS * ATOMIC_ROUNDS

        def figure(seconds: float) -> float:
            return ATOMIC_THREADS * ATOMIC_ROUNDS / seconds / 1e6

        cases[f"global atomics, {name}: M/s"] = Case(launch, check, figure)
    return cases


def _module(arch: str) -> Module:
    return compile_source(KernelSource(SOURCE.read_text(), str(SOURCE)), arch)


def _one(size: int) -> tuple[int, int, int]:
    return size, 1, 1


def format_table(result: Result) -> str:
    """Return the result as text: median and range over the processes."""
    lines = [
        f"one thread, {len(next(iter(result.figures.values())))} fresh processes, {result.date}",
        f"{result.cpu}, load average {result.load:.1f} at the start",
        ", ".join(f"{name} {number}" for name, number in result.versions.items()),
        f"$ {result.command}",
        "",
        f"{'':52}{'median':>10}{'range':>22}",
    ]
    for name, figures in result.figures.items():
        spread = f"{min(figures):.3g} - {max(figures):.3g}"
        lines.append(f"{name:52}{statistics.median(figures):>10.3g}{spread:>22}")
    return "\n".join(lines)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
