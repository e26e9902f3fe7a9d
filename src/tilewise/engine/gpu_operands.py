"""Operands of one problem in a GPU's memory, in so many copies that each has left the L2 cache before its next use."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from tilewise.core.compare import TOLERANCES, Comparison
from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch, Slot
from tilewise.core.problem import Problem
from tilewise.engine.built import build_auxiliary
from tilewise.engine.operands import WORD_BYTES
from tilewise.gpu.arrays import Geometry
from tilewise.gpu.memory import DeviceArray, Memory
from tilewise.kernels.auxiliary import Call, check_blocks, check_product, draw_normal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tilewise.gpu.driver import Gpu
    from tilewise.hw.device import Device

ALIGNMENT = 512
"""Bytes; where a copy begins, as memory of its own would."""
L2_TURNS = 2
"""How many times the L2 cache all copies together take: a copy is used again when as much has passed."""
MOST_SETS = 1024
MEMORY_SHARE = 0.8
"""Of the free memory, at most."""
POISON = 0xFF
"""Bytes of a NaN: what C holds before a kernel writes it."""


class GpuOperands:
    """A, B and C of a problem with the least leading dimensions, C row-major, in `sets` copies; A and B hold random numbers.

    Raises TilewiseError where the GPU has too little memory for one copy.
    """

    def __init__(self, gpu: Gpu, device: Device, problem: Problem, *, seed: int = 0, rotate: bool = True) -> None:
        self.gpu, self.device, self.problem = gpu, device, problem
        self.stream = gpu.own_stream
        M, N, K = problem.M, problem.N, problem.K
        self._shapes = ((M, K), (K, N), (M, N))
        self._steps = tuple(-(-WORD_BYTES * rows * columns // ALIGNMENT) * ALIGNMENT for rows, columns in self._shapes)
        self.sets = self._count_sets() if rotate else 1
        self._memories = [Memory(gpu, self.sets * step, self.stream) for step in self._steps]
        for number, memory in enumerate(self._memories[:2]):
            self._launch(draw_normal(Slot(0), memory.size // WORD_BYTES, 2 * seed + number), memory)

    def _count_sets(self) -> int:
        size = sum(self._steps)
        fitting = int(MEMORY_SHARE * self.gpu.memory()[0]) // size
        if fitting < 1:
            M, N, K = self.problem.M, self.problem.N, self.problem.K
            raise TilewiseError(
                f"a product of {M} x {N} x {K} takes {size / 1e9:,.1f} GB, more than GPU {self.gpu.ordinal} has free: "
                "choose smaller sizes."
            )
        return max(1, min(-(-L2_TURNS * self.device.l2_bytes // size), fitting, MOST_SETS))

    @functools.cached_property
    def geometries(self) -> tuple[Geometry, Geometry, Geometry]:
        """Of A, B and C."""
        a, b, c = (
            Geometry(shape, _strides(shape, order), "float32", self.gpu.ordinal)
            for shape, order in zip(self._shapes, (*self.problem.layout, "r"), strict=True)
        )
        return a, b, c

    def arrays(self, number: int) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Return A, B and C of one copy."""
        a, b, c = (
            DeviceArray(memory, geometry.shape, geometry.strides, number * step)
            for memory, geometry, step in zip(self._memories, self.geometries, self._steps, strict=True)
        )
        return a, b, c

    def addresses(self, number: int) -> tuple[int, int, int]:
        """Return where A, B and C of one copy begin."""
        a, b, c = (memory.address + number * step for memory, step in zip(self._memories, self._steps, strict=True))
        return a, b, c

    def put(self, a: NDArray[np.float32], b: NDArray[np.float32]) -> None:
        """Copy values for A and B, of their shapes, into the first copy."""
        for memory, values, order in zip(self._memories, (a, b), self.problem.layout, strict=False):
            memory.copy_from(np.ascontiguousarray(values if order == "r" else values.T))

    def poison(self) -> None:
        """Fill every C with NaN, so that an element which a kernel leaves out is seen."""
        memory = self._memories[2]
        with self.gpu.current():
            self.gpu.call("cuMemsetD8Async", memory.address, POISON, memory.size, self.stream)
        self.gpu.synchronize(self.stream)

    def check(self, number: int = 0) -> Comparison:
        """Return how far C of one copy is from the product, on the GPU in float64, by the rule of core/compare.py.

        Waits for the GPU; the place of the worst element is not looked for.
        """
        problem = self.problem
        blocks = check_blocks(problem.M, problem.N)
        errors, counts = (Memory(self.gpu, size * blocks, self.stream) for size in (8, 4))
        tolerance = TOLERANCES[problem.dtype]
        strides = [stride // WORD_BYTES for geometry in self.geometries for stride in geometry.strides][:5]
        a_row, a_k, b_k, b_col, c_row = strides
        call = check_product(
            (Slot(2), Slot(3), Slot(4)),
            (Slot(0), Slot(1)),
            (problem.M, problem.N, problem.K),
            (a_row, a_k, b_k, b_col, c_row),
            tolerance.atol,
            tolerance.rtol(problem.K),
        )
        self._launch(call, errors, counts, *self.addresses(number))
        worst, wrong = np.empty(blocks, np.float64), np.empty(blocks, np.uint32)
        errors.copy_to(worst)
        counts.copy_to(wrong)
        return Comparison(float(worst.max()), int(wrong.sum()), None)

    def _launch(self, call: Call, *buffers: Memory | int) -> None:
        module = build_auxiliary(call.kernel, self.device.arch)
        addresses = [buffer.address if isinstance(buffer, Memory) else buffer for buffer in buffers]
        self.gpu.launch(Launch(module, call.kernel, call.grid, call.block, call.args), self.stream, addresses)


def _strides(shape: tuple[int, int], order: str) -> tuple[int, int]:
    rows, columns = shape
    return (WORD_BYTES * columns, WORD_BYTES) if order == "r" else (WORD_BYTES, WORD_BYTES * rows)
