"""A kernel compiled for the CPU: analysed and lowered once for a block shape, its careful function only when first needed."""

from __future__ import annotations

import functools
import threading
import time

from tilewise.core.launch import Dim3, Launch
from tilewise.emu.jit import Code, Target, compile_ir, host_target
from tilewise.emu.lower.kernel import FUNCTION, Analysis, analyse_program, lower
from tilewise.emu.lower.program import prepare
from tilewise.ptx.ast import PtxModule
from tilewise.ptx.parse import parse


class CompiledKernel:
    """The fast function at once, the careful one on demand. Safe to use from several threads."""

    def __init__(self, analysis: Analysis, target: Target) -> None:
        self.analysis = analysis
        self.program = analysis.program
        self.target = target
        fast = lower(analysis, careful=False, vector_bits=target.vector_bits)
        self.tally = fast.tally
        self.groups = fast.groups
        self._fast = Code(compile_ir(fast.ir, target), target)
        self.fast_address = self._fast.address(FUNCTION)
        self._careful: Code | None = None
        self._lock = threading.Lock()
        self.careful_seconds = 0.0
        """Time that compiling the careful function took, 0 as long as nobody needed it."""

    def careful_address(self) -> int:
        """The careful function, compiled now if it was not before."""
        with self._lock:
            if self._careful is None:
                start = time.perf_counter()
                self._careful = Code(
                    compile_ir(lower(self.analysis, careful=True, vector_bits=self.target.vector_bits).ir, self.target),
                    self.target,
                )
                self.careful_seconds = time.perf_counter() - start
            return self._careful.address(FUNCTION)


def compile_kernel(launch: Launch, target: Target | None = None) -> CompiledKernel:
    """Return the kernel of a launch compiled for `target` (this processor), from memory if it was compiled before.

    Raises TilewiseError for PTX that the parser does not take, an unknown kernel and operands that the emulator does not have.
    """
    return _compile(launch.module.ptx, launch.kernel, launch.block, _grid_class(launch.grid), target or host_target())


@functools.lru_cache(maxsize=64)
def _compile(ptx: str, kernel: str, block: Dim3, grid_class: Dim3, target: Target) -> CompiledKernel:
    return CompiledKernel(analyse_program(prepare(parse_module(ptx), kernel, block), grid_class), target)


@functools.lru_cache(maxsize=16)
def parse_module(ptx: str) -> PtxModule:
    """Parse PTX, once for each text."""
    return parse(ptx)


def _grid_class(grid: Dim3) -> Dim3:
    from tilewise.emu.lower.body import LARGE_GRID, SMALL_GRID

    x, y, z = (SMALL_GRID if size <= SMALL_GRID else LARGE_GRID for size in grid)
    return x, y, z
