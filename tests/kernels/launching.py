"""Builds a rung, gives it operands with known padding, and runs it on the emulator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tilewise.build.nvrtc import compile_source
from tilewise.core.counters import Counters
from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.emu.machine import emulate
from tilewise.kernels.ladder import Rung, block, grid
from tilewise.kernels.source import SYMBOL, kernel_source

Floats = npt.NDArray[np.float32]
UNTOUCHED = np.float32(-12345.0)
"""What C's padding holds before and after a launch."""


@cache
def compiled(rung: Rung, plan: TilePlan, layout: str, arch: str, options: tuple[str, ...] = ()) -> Module:
    return compile_source(kernel_source(rung, plan, layout), arch, options)  # type: ignore[arg-type]  # parametrised


@dataclass(frozen=True)
class Matrix:
    """A matrix inside a flat buffer that ends with its last element; what lies between its rows is padding."""

    values: Floats
    """rows x columns, a view of the buffer."""
    buffer: Floats
    leading: int


def stored(values: Floats, order: str, pad: int, filler: np.float32) -> Matrix:
    """Return `values` in a buffer of its own, row- or column-major, with `pad` elements of filler between its rows or columns."""
    lines, width = values.shape if order == "r" else values.shape[::-1]
    leading = width + pad
    buffer = np.full(leading * (lines - 1) + width, filler, dtype=np.float32)
    view = np.lib.stride_tricks.as_strided(buffer, (lines, width), (4 * leading, 4))
    view = view if order == "r" else view.T
    view[...] = values
    return Matrix(view, buffer, leading)


def operands(problem: Problem, pad: int, seed: int = 7) -> tuple[Matrix, Matrix, Matrix]:
    """Return A, B of standard normal values with NaN between their rows, and C full of UNTOUCHED."""
    random = np.random.default_rng(seed)
    a = random.standard_normal((problem.M, problem.K), dtype=np.float32)
    b = random.standard_normal((problem.K, problem.N), dtype=np.float32)
    c = np.full((problem.M, problem.N), UNTOUCHED)
    nan = np.float32(np.nan)
    return stored(a, problem.layout[0], pad, nan), stored(b, problem.layout[1], pad, nan), stored(c, "r", pad, UNTOUCHED)


def run(
    rung: Rung,
    plan: TilePlan,
    problem: Problem,
    matrices: tuple[Matrix, Matrix, Matrix],
    arch: str,
    threads: int = 1,
    options: tuple[str, ...] = (),
) -> Counters:
    """Run the rung on the emulator, which writes C, and return what it counted."""
    a, b, c = matrices
    sizes = (problem.M, problem.N, problem.K, a.leading, b.leading, c.leading)
    launch = Launch(
        compiled(rung, plan, problem.layout, arch, options),
        SYMBOL,
        grid(plan, problem),
        block(rung, plan),
        (a.buffer, b.buffer, c.buffer, *map(np.int32, sizes)),
    )
    return emulate(launch, threads=threads).counters
