"""Who multiplies matrices in bench_emulator.py: our rungs, NumPy, and twins of r03 under PoCL and under Numba's CUDA simulator.

Each is made once a process and then run in turns with the others. Environment variables tell PoCL and the simulator what to do;
they must be set before the process starts: ENVIRONMENT.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

ENVIRONMENT = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POCL_MAX_PTHREAD_COUNT"), "1") | {
    "NUMBA_ENABLE_CUDASIM": "1"
}
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Workarounds that some machines set, and that slow NumPy down."""
NUMPY, POCL, SIMULATOR = "numpy", "pocl", "numba simulator"
SIMULATED_SIZE = 64
"""One product of this size takes the simulator 2 to 5 seconds."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """`run` multiplies two matrices of size x size and returns the seconds that took; None if not installed, as `note` says."""

    size: int
    note: str
    run: Callable[[], float] | None
    run_on_two: Callable[[], float] | None = None
    """The same on two threads."""
    repeats: bool = True
    """Whether to run it more than once a process."""


def make_contestants(rungs: list[str], size: int) -> dict[str, Contestant]:
    """Return all contestants by name, each with the same random operands; first runs, which compile, are done."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size), dtype=np.float32) for _ in range(2))
    made = {name: _rung(name, a, b) for name in rungs}
    return {**made, NUMPY: _numpy(a, b), POCL: _pocl(a, b), SIMULATOR: _simulator(a, b)}


def _rung(name: str, a: Floats, b: Floats) -> Contestant:
    from tilewise.build.nvrtc import compile_source
    from tilewise.core.problem import Problem
    from tilewise.emu.machine import emulate
    from tilewise.engine.operands import as_matrix, product_launch
    from tilewise.kernels.ladder import rung
    from tilewise.kernels.source import kernel_source

    size = len(a)
    row, plan, c = rung(name), rung(name).default_plan, np.empty_like(a)
    module = compile_source(kernel_source(row, plan, "rr"))
    launch = product_launch(module, row, plan, Problem(size, size, size), *map(as_matrix, (a, b, c)))
    emulate(launch, threads=1)
    _check(c, a, b)
    note = f"{row.title}, counted"
    return Contestant(size, note, lambda: emulate(launch, threads=1).seconds, lambda: emulate(launch, threads=2).seconds)


def _numpy(a: Floats, b: Floats) -> Contestant:
    from threadpoolctl import threadpool_info

    (blas,) = (pool for pool in threadpool_info() if pool["user_api"] == "blas")
    c = np.matmul(a, b)
    note = f"{blas['internal_api']} {blas['version']}, {blas.get('architecture')} kernels, {blas['num_threads']} thread(s)"
    return Contestant(len(a), note, lambda: _timed(lambda: np.matmul(a, b, out=c)))


def _pocl(a: Floats, b: Floats) -> Contestant:
    size = len(a)
    if find_spec("pyopencl") is None:
        return Contestant(size, "not installed: pip install pyopencl", None)
    import pyopencl as cl

    devices = [device for platform in _platforms(cl) if "Portable" in platform.name for device in platform.get_devices()]
    if not devices:
        return Contestant(size, "not installed: apt install pocl-opencl-icd", None)
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
    source = Path(__file__).with_name("tiled.cl").read_text()
    gemm = cl.Kernel(cl.Program(context, source).build(["-cl-fast-relaxed-math"]), "gemm")  # the faster way for PoCL
    read = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    c = np.empty_like(a)
    left, right = (cl.Buffer(context, read, hostbuf=x) for x in (a, b))
    out = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, c.nbytes)
    covered = -(-size // 32) * 32

    def multiply() -> None:
        gemm(queue, (covered, covered), (32, 32), left, right, out, *(np.int32(size),) * 3)
        queue.finish()

    multiply()
    cl.enqueue_copy(queue, c, out).wait()
    _check(c, a, b)
    return Contestant(size, f"{devices[0].platform.version.split('  ')[0]}, r03 in OpenCL C", lambda: _timed(multiply))


def _platforms(cl: Any) -> list[Any]:
    try:
        return list(cl.get_platforms())
    except cl.LogicError:  # no OpenCL driver at all
        return []


def _simulator(a: Floats, b: Floats) -> Contestant:
    size = SIMULATED_SIZE
    if find_spec("numba_cuda") is None:
        return Contestant(size, "not installed: pip install numba-cuda", None)
    from simulated import S, gemm

    a, b = np.ascontiguousarray(a[:size, :size]), np.ascontiguousarray(b[:size, :size])
    c = np.empty_like(a)

    def multiply() -> float:
        seconds = _timed(lambda: gemm[(size // S, size // S), (S, S)](a, b, c, size))
        _check(c, a, b)
        return seconds

    return Contestant(size, f"numba-cuda {version('numba-cuda')}, a tile of {S}, uncounted", multiply, repeats=False)


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _check(c: Floats, a: Floats, b: Floats) -> None:
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(c - exact).max() <= 1e-5 * len(a), "a wrong product"
