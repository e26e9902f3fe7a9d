"""Time the emulator, counting, against NumPy's float32 product on one thread.

    python benchmarks/bench_emulator.py [--size 512] [--rungs r03] [--processes 7] [--json]

Each of several fresh processes builds the rungs, warms up and then takes turns: every rung, then NumPy, on the same random input,
several times. A process's figure is the median of its repetitions; the table shows the median over the processes and their range.
Emulation alone is timed, with exact counting, without compiling or checking. BLAS and emulator have one thread each.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import tilewise

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Workarounds that some machines set, and that slow NumPy down."""
REPETITIONS = 5
NUMPY = "numpy"
PACKAGES = ("numpy", "llvmlite", "cuda-bindings", "nvidia-cuda-nvrtc")


@dataclass(frozen=True, slots=True)
class Sample:
    """One process: GFLOP/s of each contestant (a rung or NumPy), and what BLAS ran."""

    gflops: dict[str, float]
    blas: str


@dataclass(frozen=True, slots=True)
class Result:
    """All processes, and where they ran."""

    command: str
    date: str
    cpu: str
    blas: str
    versions: dict[str, str]
    load: float
    """Average over the minute before the start of processes that wanted a CPU: more than a little, and the figures mean less."""
    size: int
    gflops: dict[str, list[float]]
    """Of each contestant, a figure a process."""

    def ratios(self, rung: str) -> list[float]:
        """Return the rung's speed over NumPy's, process by process."""
        return [ours / theirs for ours, theirs in zip(self.gflops[rung], self.gflops[NUMPY], strict=True)]


def main() -> None:
    """Run the processes and print their result."""
    arguments = _parse_arguments()
    rungs = arguments.rungs.split(",")
    if arguments.child:
        print(json.dumps(asdict(measure(rungs, arguments.size))))
        return
    load = os.getloadavg()[0]
    samples = []
    for number in range(arguments.processes):
        samples.append(_run_child(rungs, arguments.size))
        print(f"process {number + 1} of {arguments.processes}: {_show(samples[-1])}", file=sys.stderr)
    result = Result(
        command=" ".join(["python", *sys.argv]),
        date=datetime.now(UTC).date().isoformat(),
        cpu=_cpu_name(),
        blas=samples[0].blas,
        versions={
            "tilewise": tilewise.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        load=load,
        size=arguments.size,
        gflops={name: [sample.gflops[name] for sample in samples] for name in (*rungs, NUMPY)},
    )
    print(json.dumps(asdict(result), indent=2) if arguments.json else format_table(result))


def measure(rungs: list[str], size: int) -> Sample:
    """Return one process's sample at size^3: medians of repetitions, contestants interleaved."""
    import time

    import numpy as np
    from threadpoolctl import threadpool_info

    from tilewise.build.nvrtc import compile_source
    from tilewise.core.problem import Problem
    from tilewise.emu.machine import emulate
    from tilewise.engine.operands import as_matrix, product_launch
    from tilewise.kernels.ladder import rung
    from tilewise.kernels.source import kernel_source

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size), dtype=np.float32) for _ in range(2))
    c = np.empty_like(a)
    problem = Problem(size, size, size)
    matrices = as_matrix(a), as_matrix(b), as_matrix(c)
    launches = {}
    for name in rungs:
        row, plan = rung(name), rung(name).default_plan
        launches[name] = product_launch(compile_source(kernel_source(row, plan, "rr")), row, plan, problem, *matrices)
    seconds: dict[str, list[float]] = {name: [] for name in (*rungs, NUMPY)}
    for _ in range(REPETITIONS + 1):
        for name, launch in launches.items():
            seconds[name].append(emulate(launch, threads=1).seconds)
        start = time.perf_counter()
        np.matmul(a, b, out=c)
        seconds[NUMPY].append(time.perf_counter() - start)
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}  # the first of each warms up
    blas = "; ".join(
        f"{pool['internal_api']} {pool['version']}, {pool.get('architecture')} kernels, {pool['num_threads']} thread(s)"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    )
    return Sample({name: problem.flops / median / 1e9 for name, median in medians.items()}, blas)


def format_table(result: Result) -> str:
    """Return the result as text: median and range over the processes of each contestant, and its ratio to NumPy."""
    lines = [
        f"{result.size}^3, float32, one thread, {len(result.gflops[NUMPY])} fresh processes, {result.date}",
        f"{result.cpu}, load average {result.load:.1f} at the start; {result.blas}",
        ", ".join(f"{name} {number}" for name, number in result.versions.items()),
        f"$ {result.command}",
        "",
        f"{'':10}{'GFLOP/s, median':>18}{'range':>18}{'of NumPy':>12}{'range':>16}",
    ]
    for name, gflops in result.gflops.items():
        ratios = [1.0] * len(gflops) if name == NUMPY else result.ratios(name)
        lines.append(
            f"{name:10}{statistics.median(gflops):18.1f}{f'{min(gflops):.1f} - {max(gflops):.1f}':>18}"
            f"{statistics.median(ratios):12.3f}{f'{min(ratios):.3f} - {max(ratios):.3f}':>16}"
        )
    return "\n".join(lines)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--rungs", default="r03", help="such as r01,r03")
    parser.add_argument("--processes", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _run_child(rungs: list[str], size: int) -> Sample:
    environment = {name: value for name, value in os.environ.items() if name not in UNSET} | ONE_THREAD
    command = [sys.executable, __file__, "--child", "--size", str(size), "--rungs", ",".join(rungs)]
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return Sample(**json.loads(child.stdout))


def _show(sample: Sample) -> str:
    return ", ".join(f"{name} {gflops:.1f} GFLOP/s" for name, gflops in sample.gflops.items())


def _cpu_name() -> str:
    """The CPU's name, and its clock as the kernel last saw it."""
    facts = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        facts[name.strip()] = value.strip()
    clock = facts.get("cpu MHz")
    return facts.get("model name", platform.processor()) + (f" at {float(clock):.0f} MHz" if clock else "")


if __name__ == "__main__":
    main()
