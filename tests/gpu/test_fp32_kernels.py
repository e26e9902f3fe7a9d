"""Every fp32 kernel on a GPU, with every kind of cut, against float64, and twice the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from ragged_launches import cuts

from tilewise.core.problem import LAYOUTS, Layout, Problem
from tilewise.engine.gpu_operands import GpuOperands
from tilewise.engine.matmul_gpu import make_ready
from tilewise.engine.rules import rank
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import open_gpu
from tilewise.gpu.memory import Memory

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (127, 129, 131), (256, 260, 1000), (257, 64, 1000), (7, 500, 3000), (900, 16, 77)])
def test_every_candidate_against_float64(sizes: tuple[int, int, int], layout: Layout) -> None:
    problem = Problem(*sizes, layout=layout)
    gpu, device = open_gpu(0), device_of(0)
    operands = GpuOperands(gpu, device, problem, rotate=False)
    ranking = rank(problem, device)
    for planned in (ranking.chosen, *ranking.alternatives):
        for candidate in cuts(planned, problem):
            ready = make_ready(operands.geometries, (0, 0, 0), lambda part, candidate=candidate: candidate)  # type: ignore[misc]  # one argument
            workspace = Memory(gpu, 4 * ready.workspace, operands.stream)
            results = []
            for _ in range(2):
                operands.poison()
                gpu.enqueue(ready.prepared, operands.stream, (*operands.addresses(0), workspace.address))
                assert operands.check().wrong == 0, candidate.label
                results.append(np.empty((problem.M, problem.N), np.float32))
                operands.arrays(0)[2].memory.copy_to(results[-1])
            np.testing.assert_array_equal(results[0], results[1])
