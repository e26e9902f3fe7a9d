"""Time the check: against Oclgrind on r03's kernel, against plain emulation, and cold from the command line.

    python benchmarks/bench_check.py [--processes 3] [--json]

Each of several fresh processes measures, on one thread, with an empty cache:

- r03 unoptimised with races, bounds and uninitialised reads looked for, at the first of 256^3, 512^3, ... that takes two seconds,
  in multiply-adds per CPU second, the compiling beside it;
- r03 and r05 optimised at 512^3, watched and not, in turns: the ratio of CPU times.

Then Oclgrind runs tiled.cl, r03 in OpenCL C, with --data-races --uninitialized, on a product that takes it two to five seconds;
its start and compiling, a product of almost no multiply-adds, are taken off. Last, `tilewise check` of a file, an empty cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
from machine_facts import cpu_name

import tilewise
from tilewise.build.nvrtc import compile_source
from tilewise.core.launch import Launch
from tilewise.core.problem import Problem
from tilewise.emu.machine import emulate
from tilewise.emu.observe import observe
from tilewise.engine.operands import as_matrix, product_launch
from tilewise.kernels.ladder import rung
from tilewise.kernels.source import kernel_source

FOLDER = Path(__file__).parent
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
PACKAGES = ("numpy", "llvmlite", "nvidia-cuda-nvrtc")
OCLGRIND = "oclgrind-kernel"
SIZES = (256, 512, 1024, 2048)
LEAST_SECONDS = 2.0
COMPARED_SIZE = 512
REPETITIONS = 5
OUTPUT = 2
"""The product's place among the arguments: nobody has written it before the launch."""

RATE, COMPILE = "r03 unoptimised, watched: M FMA per CPU second", "r03 unoptimised, watched: CPU seconds of compiling"
PEER_RATE, PEER_COMPILE = "Oclgrind: M FMA per CPU second", "Oclgrind: CPU seconds of start and compiling"
COLD, COLD_CPU = "tilewise check of a file, empty cache: seconds", "tilewise check of a file, empty cache: CPU seconds"


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
    """By name, a figure a process; none where a program is not installed."""


def main() -> None:
    """Run the processes and print their result."""
    arguments = _parse_arguments()
    if arguments.child:
        print(json.dumps(measure()))
        return
    load = os.getloadavg()[0]
    figures: dict[str, list[float]] = {}
    for number in range(arguments.processes):
        command = [sys.executable, __file__, "--child"]
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | ONE_THREAD | {"TILEWISE_CACHE_DIR": cache}
            child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
        sample = json.loads(child.stdout) | measure_oclgrind() | measure_cold()
        print(f"process {number + 1} of {arguments.processes}: {sample}", file=sys.stderr)
        for name, figure in sample.items():
            figures.setdefault(name, []).append(figure)
    versions = {"tilewise": tilewise.__version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES} | {"oclgrind": _oclgrind_version()}
    result = Result(
        command=" ".join(["python", *sys.argv]),
        date=datetime.now(UTC).date().isoformat(),
        cpu=cpu_name(),
        versions=versions,
        load=load,
        figures=figures,
    )
    print(json.dumps(asdict(result), indent=2) if arguments.json else format_table(result))


def measure() -> dict[str, float]:
    """Return one process's figures of ours."""
    return measure_rate() | {f"{name} optimised: watched / plain": measure_ratio(name) for name in ("r03", "r05")}


def measure_rate() -> dict[str, float]:
    """Return multiply-adds per CPU second of r03's unoptimised build, watched, and what its compiling took."""
    start = time.process_time()
    launch, problem = _launch("r03", 32, ("-G",)), None
    _watch(launch)
    compiling = time.process_time() - start
    for size in SIZES:
        launch, problem = _launch("r03", size, ("-G",)), size**3
        start = time.process_time()
        _watch(launch)
        seconds = time.process_time() - start
        if seconds >= LEAST_SECONDS:
            break
    assert problem is not None
    return {RATE: problem / seconds / 1e6, COMPILE: compiling}


def measure_ratio(name: str) -> float:
    """Return the CPU time of a rung's optimised build when it is watched, over that of plain emulation; medians in turns."""
    launch = _launch(name, COMPARED_SIZE, ())
    seconds: dict[str, list[float]] = {"watched": [], "plain": []}
    for repetition in range(REPETITIONS + 1):
        for way, run in (("watched", _watch), ("plain", _emulate)):
            start = time.process_time()
            run(launch)
            if repetition:  # the first compiles
                seconds[way].append(time.process_time() - start)
    return statistics.median(seconds["watched"]) / statistics.median(seconds["plain"])


def _emulate(launch: Launch) -> None:
    emulate(launch, threads=1)


def _watch(launch: Launch) -> None:
    """Run a launch with everything looked for, and make sure that it is free of faults."""
    observed = observe(launch, poison=[OUTPUT], threads=1).observed
    found = [*observed.faults, *observed.conflicts, *observed.uninitialised, *observed.unwritten]
    assert not found, found


def _launch(name: str, size: int, flags: tuple[str, ...]) -> Launch:
    row, rng = rung(name), np.random.default_rng(0)
    a, b = rng.standard_normal((2, size, size), dtype=np.float32)
    module = compile_source(kernel_source(row, row.default_plan, "rr"), "compute_90a", flags)
    operands = map(as_matrix, (a, b, np.full_like(a, np.nan)))
    return product_launch(module, row, row.default_plan, Problem(size, size, size), *operands)


# -- others


def measure_oclgrind() -> dict[str, float]:
    """Return Oclgrind's multiply-adds per CPU second and what its start takes; nothing where it is not installed."""
    if shutil.which(OCLGRIND) is None:
        return {}
    M, N, K = 64, 64, 128
    started = _run_oclgrind(M, N, 1)
    seconds = _run_oclgrind(M, N, K) - started
    return {PEER_RATE: M * N * K / seconds / 1e6, PEER_COMPILE: started}


def _run_oclgrind(M: int, N: int, K: int) -> float:
    """Return the CPU seconds of one product."""
    arrays = [f"<size={4 * elements} float range=0.0:0.5:{(elements - 1) / 2}>" for elements in (M * K, K * N)]
    numbers = [f"<size=4 int fill={size}>" for size in (M, N, K)]
    lines = ["tiled.cl", "gemm", f"{N} {M} 1", "32 32 1", *arrays, f"<size={4 * M * N} float noinit>", *numbers]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copy(FOLDER / "tiled.cl", folder)
        (folder / "product.sim").write_text("\n".join(lines) + "\n")
        before = _children_seconds()
        command = [OCLGRIND, "--num-threads", "1", "--data-races", "--uninitialized", "product.sim"]
        said = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True)
        assert not said.stdout + said.stderr, said
        return _children_seconds() - before


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _oclgrind_version() -> str:
    if shutil.which(OCLGRIND) is None:
        return "not installed"
    said = subprocess.run([OCLGRIND, "--version"], capture_output=True, check=True, text=True)
    return next(line.split()[-1] for line in said.stdout.splitlines() if "Oclgrind" in line)


def measure_cold() -> dict[str, float]:
    """Return what `tilewise check` of one file takes with an empty cache: by the clock, and of CPUs."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "tilewise", "check", str(FOLDER / "checked.cu"), "--expect", "c = a @ b"]
        before, start = _children_seconds(), time.perf_counter()
        subprocess.run(command, env=os.environ | {"TILEWISE_CACHE_DIR": cache}, stdout=subprocess.DEVNULL, check=True)
        return {COLD: time.perf_counter() - start, COLD_CPU: _children_seconds() - before}


def format_table(result: Result) -> str:
    """Return the result as text: median and range over the processes."""
    lines = [
        f"one thread, {len(result.figures[RATE])} fresh processes, {result.date}",
        f"{result.cpu}, load average {result.load:.1f} at the start",
        ", ".join(f"{name} {number}" for name, number in result.versions.items()),
        f"$ {result.command}",
        "",
        f"{'':58}{'median':>10}{'range':>22}",
    ]
    for name, figures in result.figures.items():
        spread = f"{min(figures):.3g} - {max(figures):.3g}"
        lines.append(f"{name:58}{statistics.median(figures):>10.3g}{spread:>22}")
    if PEER_RATE in result.figures:
        ratio = statistics.median(result.figures[RATE]) / statistics.median(result.figures[PEER_RATE])
        lines.append(f"{'the check over Oclgrind':58}{ratio:>10.0f}")
    return "\n".join(lines)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
