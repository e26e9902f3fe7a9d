"""Time the emulator, counting, against NumPy's float32 product and against others who run such kernels on a CPU.

    python benchmarks/bench_emulator.py [--size 512] [--rungs r03,r05] [--processes 7] [--json]

Each of several fresh processes builds the contestants, warms up and then takes turns: every contestant on the same random input,
several times. A process's figure is the median of its repetitions; the table shows the median over the processes and their range.
All have one thread; "two threads" is a rung's speed on two over its own on one. Emulation alone is timed, with exact counting,
without compiling or checking.
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

from contestants import ENVIRONMENT, NUMPY, UNSET, make_contestants
from machine_facts import cpu_name

import tilewise

REPETITIONS = 5
PACKAGES = ("numpy", "llvmlite", "cuda-bindings", "nvidia-cuda-nvrtc")


@dataclass(frozen=True, slots=True)
class Sample:
    """One contestant in one process: GFLOP/s on one thread and what two threads make of it; None if not measured."""

    size: int
    note: str
    gflops: float | None
    two_threads: float | None


@dataclass(frozen=True, slots=True)
class Result:
    """All processes, and where they ran."""

    command: str
    date: str
    cpu: str
    versions: dict[str, str]
    load: float
    """Average over the minute before the start of processes that wanted a CPU: more than a little, and the figures mean less."""
    size: int
    samples: dict[str, list[Sample]]
    """Of each contestant, one a process."""

    def gflops(self, name: str) -> list[float]:
        """Return a contestant's speed, process by process; nothing if it is not installed."""
        return [sample.gflops for sample in self.samples[name] if sample.gflops is not None]

    def ratios(self, name: str) -> list[float]:
        """Return a contestant's speed over NumPy's, process by process."""
        return [ours / theirs for ours, theirs in zip(self.gflops(name), self.gflops(NUMPY), strict=True)]


def main() -> None:
    """Run the processes and print their result."""
    arguments = _parse_arguments()
    rungs = arguments.rungs.split(",")
    if arguments.child:
        print(json.dumps({name: asdict(sample) for name, sample in measure(rungs, arguments.size).items()}))
        return
    load = os.getloadavg()[0]
    processes = []
    for number in range(arguments.processes):
        processes.append(_run_child(rungs, arguments.size))
        print(f"process {number + 1} of {arguments.processes}: {_show(processes[-1])}", file=sys.stderr)
    result = Result(
        command=" ".join(["python", *sys.argv]),
        date=datetime.now(UTC).date().isoformat(),
        cpu=cpu_name(),
        versions={
            "tilewise": tilewise.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        load=load,
        size=arguments.size,
        samples={name: [process[name] for process in processes] for name in processes[0]},
    )
    print(json.dumps(asdict(result), indent=2) if arguments.json else format_table(result))


def measure(rungs: list[str], size: int) -> dict[str, Sample]:
    """Return one process's samples: medians of repetitions, contestants interleaved."""
    contestants = make_contestants(rungs, size)
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    on_two: dict[str, list[float]] = {name: [] for name in contestants}
    for repetition in range(REPETITIONS):
        for name, contestant in contestants.items():
            if contestant.run is not None and (contestant.repeats or repetition == 0):
                seconds[name].append(contestant.run())
            if contestant.run_on_two is not None:
                on_two[name].append(contestant.run_on_two())
    return {
        name: Sample(
            contestant.size,
            contestant.note,
            2 * contestant.size**3 / statistics.median(seconds[name]) / 1e9 if seconds[name] else None,
            statistics.median(seconds[name]) / statistics.median(on_two[name]) if on_two[name] else None,
        )
        for name, contestant in contestants.items()
    }


def format_table(result: Result) -> str:
    """Return the result as text: median and range over the processes of each contestant, and its ratio to NumPy."""
    lines = [
        f"{result.size}^3, float32, {len(result.samples[NUMPY])} fresh processes, {result.date}",
        f"{result.cpu}, load average {result.load:.1f} at the start",
        ", ".join(f"{name} {number}" for name, number in result.versions.items()),
        f"$ {result.command}",
        "",
        f"{'':16}{'GFLOP/s, median':>16}{'range':>20}{'of NumPy':>12}{'range':>20}{'two threads':>14}",
    ]
    for name, samples in result.samples.items():
        gflops, ratios = result.gflops(name), result.ratios(name) if result.gflops(name) else []
        two = [sample.two_threads for sample in samples if sample.two_threads is not None]
        note = samples[0].note if samples[0].size == result.size else f"at {samples[0].size}^3; {samples[0].note}"
        if gflops:
            cells = f"{_median(gflops):>16}{_range(gflops):>20}{_median(ratios):>12}{_range(ratios):>20}{_median(two):>14}"
            lines.append(f"{name:16}{cells}   {note}")
        else:
            lines.append(f"{name:16}{note}")
    return "\n".join(lines)


def _median(figures: list[float]) -> str:
    return f"{statistics.median(figures):.3g}" if figures else ""


def _range(figures: list[float]) -> str:
    return f"{min(figures):.3g} - {max(figures):.3g}"


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--rungs", default="r03,r05", help="such as r01,r03")
    parser.add_argument("--processes", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _run_child(rungs: list[str], size: int) -> dict[str, Sample]:
    environment = {name: value for name, value in os.environ.items() if name not in UNSET} | ENVIRONMENT
    command = [sys.executable, __file__, "--child", "--size", str(size), "--rungs", ",".join(rungs)]
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return {name: Sample(**sample) for name, sample in json.loads(child.stdout).items()}


def _show(samples: dict[str, Sample]) -> str:
    return ", ".join(f"{name} {sample.gflops or 0:.3g} GFLOP/s" for name, sample in samples.items())


if __name__ == "__main__":
    main()
