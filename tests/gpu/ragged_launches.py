"""Launches every rung on ragged sizes and every layout, for a tool to watch: python ragged_launches.py."""

from __future__ import annotations

import sys

from tilewise.core.problem import LAYOUTS, Problem
from tilewise.engine.built import build_rung
from tilewise.engine.choice import choose
from tilewise.engine.gpu_operands import GpuOperands
from tilewise.engine.ladder_gpu import rung_launch
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import open_gpu

SIZES = ((1, 1, 1), (33, 31, 17), (129, 127, 9), (128, 128, 16), (200, 130, 70))


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
            gpu.synchronize(operands.stream)
    sys.stdout.write(f"{count} launches\n")


if __name__ == "__main__":
    main()
