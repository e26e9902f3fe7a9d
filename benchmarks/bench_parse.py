"""Time the PTX parser and the control-flow graph.

    python benchmarks/bench_parse.py [--repetitions 5] [FILE.ptx ...]

Without files, every rung is compiled with its default plan for one architecture of each compiler in NVRTC. A figure is the median
of the repetitions in one process. The aim: at most 20 us an instruction.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from pathlib import Path

from tilewise.ptx.ast import Instruction
from tilewise.ptx.cfg import build_cfg
from tilewise.ptx.parse import parse

ARCHITECTURES = ("compute_90a", "compute_100")


def main() -> None:
    """Print one line a text."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    texts = {str(path): path.read_text() for path in arguments.files} or _compile_rungs()
    print(f"Python {platform.python_version()}, {platform.machine()}, median of {arguments.repetitions}")
    print(f"{'text':<40} {'instructions':>12} {'parse, us each':>15} {'blocks':>8} {'graph, us each':>15}")
    for name, text in texts.items():
        print(measure(name, text, arguments.repetitions))


def measure(name: str, text: str, repetitions: int) -> str:
    """Return a line with the parser's time an instruction and the graph's time a block."""
    parsing: list[float] = []
    building: list[float] = []
    for _ in range(repetitions):
        start = time.perf_counter()
        module = parse(text)
        middle = time.perf_counter()
        graphs = [build_cfg(function, lambda item: item.opcode.startswith("bar")) for function in module.functions]
        parsing.append(middle - start)
        building.append(time.perf_counter() - middle)
    instructions = sum(isinstance(item, Instruction) for function in module.functions for item in function.body)
    blocks = sum(len(graph.blocks) for graph in graphs)
    parse_us, graph_us = (1e6 * statistics.median(times) for times in (parsing, building))
    return f"{name[-40:]:<40} {instructions:>12} {parse_us / instructions:>15.1f} {blocks:>8} {graph_us / blocks:>15.1f}"


def _compile_rungs() -> dict[str, str]:
    from tilewise.build.nvrtc import compile_source
    from tilewise.kernels.ladder import LADDER
    from tilewise.kernels.source import kernel_source

    return {
        f"{rung.name} {arch}": compile_source(kernel_source(rung, rung.default_plan, "rr"), arch).ptx
        for rung in LADDER
        for arch in ARCHITECTURES
    }


if __name__ == "__main__":
    main()
