"""Launches every rung and every fp32 kernel on ragged sizes and every layout, for a tool to watch: python ragged_launches.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

from tilewise.core.problem import LAYOUTS, Problem
from tilewise.engine.built import build_rung
from tilewise.engine.choice import choose
from tilewise.engine.gpu_operands import GpuOperands
from tilewise.engine.ladder_gpu import rung_launch
from tilewise.engine.matmul_gpu import make_ready
from tilewise.engine.rules import Candidate, rank
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import open_gpu
from tilewise.gpu.memory import Memory
from tilewise.hw.device import Device
from tilewise.kernels.fp32 import Cut, step_count, tile_count

SIZES = ((1, 1, 1), (33, 31, 17), (129, 127, 9), (128, 128, 16), (200, 130, 70), (9, 200, 300), (132, 5, 260))


def main() -> None:
    gpu, device = open_gpu(0), device_of(0)
    count = 0
    for layout in LAYOUTS:
        for M, N, K in SIZES:
            problem = Problem(M, N, K, layout=layout)
            operands = GpuOperands(gpu, device, problem, rotate=False)
            for choice in choose(None, device):
                module = build_rung(choice.rung.name, choice.plan, layout, device.arch)
                gpu.launch(rung_launch(module, choice, problem), operands.stream, operands.addresses(0))
                count += 1
            count += launch_candidates(operands, problem, device)
            gpu.synchronize(operands.stream)
    sys.stdout.write(f"{count} launches\n")


def launch_candidates(operands: GpuOperands, problem: Problem, device: Device) -> int:
    """Launch all that `plan` chooses from, each as planned and with its tiles cut within; return how many launches it took."""
    count = 0
    ranking = rank(problem, device)
    for planned in (ranking.chosen, *ranking.alternatives):
        for candidate in cuts(planned, problem):
            ready = make_ready(operands.geometries, (0, 0, 0), lambda part, candidate=candidate: candidate)  # type: ignore[misc]  # one argument
            workspace = Memory(operands.gpu, 4 * ready.workspace, operands.stream)
            operands.gpu.enqueue(ready.prepared, operands.stream, (*operands.addresses(0), workspace.address))
            count += len(ready.prepared)
    return count


def cuts(candidate: Candidate, problem: Problem) -> Iterator[Candidate]:
    yield candidate
    if candidate.cut is not None:
        share = step_count(candidate.tile, problem) // 2 + 1
        work = tile_count(candidate.tile, problem) * step_count(candidate.tile, problem)
        yield replace(candidate, cut=Cut(0, -(-work // share), share))


if __name__ == "__main__":
    main()
