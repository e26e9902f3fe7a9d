"""Launches each rung of a climb once, for Nsight Compute to watch: python -m tilewise.engine.counted TASK (ladder_gpu.py's)."""

from __future__ import annotations

import json
import sys

from tilewise.core.problem import Problem
from tilewise.engine.built import build_rung
from tilewise.engine.choice import choose
from tilewise.engine.gpu_operands import GpuOperands
from tilewise.engine.ladder_gpu import rung_launch
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import open_gpu


def main(task: str) -> None:
    """Launch the rungs that the task (JSON) names, in the order of the ladder, and wait for them."""
    given = json.loads(task)
    gpu, device = open_gpu(given["ordinal"]), device_of(given["ordinal"])
    M, N, K = given["sizes"]
    problem = Problem(M, N, K, layout=given["layout"])
    operands = GpuOperands(gpu, device, problem, seed=given["seed"], rotate=False)
    for choice in choose(given["rungs"], device, given["tile"]):
        module = build_rung(choice.rung.name, choice.plan, problem.layout, device.arch)
        gpu.launch(rung_launch(module, choice, problem), operands.stream, operands.addresses(0))
    gpu.synchronize(operands.stream)


if __name__ == "__main__":
    main(sys.argv[1])
