"""Time what a call costs the host: matmul, a prepared call, torch.mm beside them, and the first call of a process.

    python benchmarks/bench_overhead.py [--size 64] [--calls 2000] [--json]

Calls are made without waiting for the GPU, a batch at a time that its queue holds; a figure is the median over batches. The
product is small, so that the GPU never holds the host up. First calls are those of fresh processes, with an empty and with a
filled disk cache.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_name import gpu_name

from tilewise.core.plan import TilePlan

BATCH = 200
SMALL = TilePlan(64, 64, 16, 4, 4)
"""Of r07, which shows what a launch costs."""
FIRST = """
import json, time
times = {}
def step(name, started):
    times[name] = time.perf_counter() - started
started = time.perf_counter(); import torch; step("import torch", started)
started = time.perf_counter(); a = torch.ones(512, 512, device="cuda"); torch.cuda.synchronize(); step("context", started)
started = time.perf_counter(); import tilewise; tilewise.matmul; step("import tilewise", started)
started = time.perf_counter(); from tilewise.gpu.driver import open_gpu; open_gpu(0); step("open the GPU", started)
started = time.perf_counter(); tilewise.matmul(a, a); step("first call", started)
started = time.perf_counter(); tilewise.matmul(a, a); step("second call", started)
torch.cuda.synchronize()
print(json.dumps(times))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result: dict[str, Any] = {
        "device": gpu_name(),
        "date": time.strftime("%Y-%m-%d"),
        "command": " ".join(["python", *sys.argv]),
        "microseconds a call": warm(arguments.size, arguments.calls),
    }
    with tempfile.TemporaryDirectory() as cache:
        result["seconds, nothing on disk"] = first_call(cache)
        result["seconds, cached on disk"] = first_call(cache)
    if arguments.json:
        print(json.dumps(result, indent=1))
        return
    for title, figures in result.items():
        print(title if isinstance(figures, dict) else f"{title}: {figures}")
        for name, value in figures.items() if isinstance(figures, dict) else ():
            print(f"  {name:40}{value:10.3f}")


def warm(size: int, calls: int) -> dict[str, float]:
    """Return microseconds a warm call of each contestant; they take turns, a batch each."""
    import torch

    import tilewise

    a, b = (torch.randn(size, size, device="cuda") for _ in range(2))
    out = torch.empty(size, size, device="cuda")
    bound = tilewise.plan(size, size, size).bind(a, b, out)
    contestants: dict[str, Callable[[], object]] = {
        "torch.mm(a, b)": lambda: torch.mm(a, b),
        "torch.mm(a, b, out=out)": lambda: torch.mm(a, b, out=out),
        "tilewise.matmul(a, b)": lambda: tilewise.matmul(a, b),
        "tilewise.matmul(a, b, out=out)": lambda: tilewise.matmul(a, b, out=out),
        "prepared call": bound,
        **parts(a, b, out),
        **cupy_calls(size),
        **jax_calls(size),
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(max(3, calls // BATCH)):
        for name, call in contestants.items():
            torch.cuda.synchronize()
            times[name].append(microseconds(call))
    return {name: statistics.median(found[1:]) for name, found in times.items()}  # the first warms up


def parts(a: Any, b: Any, out: Any) -> dict[str, Callable[[], object]]:
    """Return what a call is made of, to see where its time goes, and the same launch in other ways."""
    import torch

    from tilewise.core.problem import Problem
    from tilewise.engine.built import build_rung
    from tilewise.engine.choice import Choice
    from tilewise.engine.ladder_gpu import rung_launch
    from tilewise.gpu.arrays import library_of
    from tilewise.gpu.device import device_of
    from tilewise.gpu.driver import open_gpu
    from tilewise.kernels.ladder import rung

    library, gpu = library_of(torch.Tensor), open_gpu(0)
    size = a.shape[0]
    module = build_rung("r07", SMALL, "rr", device_of(0).arch)
    prepared = [gpu.prepare(rung_launch(module, Choice(rung("r07"), SMALL), Problem(size, size, size)))]
    buffers = (a.data_ptr(), b.data_ptr(), out.data_ptr())
    found: dict[str, Callable[[], object]] = {
        "  look at a tensor": lambda: library.look(a),
        "  current stream": lambda: library.stream(0),
        "  empty result": lambda: library.empty((size, size), a, 0),
        "  current context": gpu.cuda.cuCtxGetCurrent,
        "  enqueue": lambda: gpu.enqueue(prepared, 0, buffers),
        "  the driver's launch alone": driver_launch(module, size, buffers),
    }
    with contextlib.suppress(ImportError):
        found["  cuda.core's launch"] = core_launch(a, b, out)
    return found


def driver_launch(module: Any, size: int, buffers: tuple[int, int, int]) -> Callable[[], object]:
    """Return the same launch through cuda.bindings, with everything at hand."""
    import array

    from tilewise.gpu.driver import load_driver

    cuda = load_driver()
    _, loaded = cuda.cuModuleLoadData(module.cubin)
    _, function = cuda.cuModuleGetFunction(loaded, b"gemm")
    words = array.array("Q", [*buffers, *(size,) * 6])
    table = array.array("Q", [words.buffer_info()[0] + 8 * index for index in range(len(words))])
    grid = (-(-size // SMALL.BN), -(-size // SMALL.BM), 1)
    return lambda: (cuda.cuLaunchKernel(function, *grid, SMALL.threads, 1, 1, 0, 0, table.buffer_info()[0], 0), words)


def core_launch(a: Any, b: Any, out: Any) -> Callable[[], object]:
    """Return the same launch through cuda.core."""
    import ctypes

    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    from tilewise.engine.built import build_rung
    from tilewise.gpu.device import device_of

    device = Device()
    device.set_current()
    module = build_rung("r07", SMALL, "rr", device_of(0).arch)
    kernel = ObjectCode.from_cubin(module.cubin).get_kernel("gemm")
    size = a.shape[0]
    config = LaunchConfig(grid=(-(-size // SMALL.BN), -(-size // SMALL.BM), 1), block=(256, 1, 1))
    sizes = [ctypes.c_int(size)] * 6
    stream = device.default_stream
    return lambda: launch(stream, config, kernel, a.data_ptr(), b.data_ptr(), out.data_ptr(), *sizes)


def cupy_calls(size: int) -> dict[str, Callable[[], object]]:
    """Return CuPy's product and ours on CuPy's arrays."""
    try:
        import cupy
    except ImportError:
        return {}
    import tilewise

    a, b = (cupy.random.standard_normal((size, size), dtype=cupy.float32) for _ in range(2))
    return {"cupy.matmul(a, b)": lambda: cupy.matmul(a, b), "tilewise.matmul of CuPy arrays": lambda: tilewise.matmul(a, b)}


def jax_calls(size: int) -> dict[str, Callable[[], object]]:
    """Return JAX's product and ours on JAX's arrays."""
    try:
        import jax
    except ImportError:
        return {}
    import tilewise

    if jax.default_backend() != "gpu":
        return {}
    a = jax.numpy.ones((size, size), "float32")
    return {
        "jax.numpy.matmul(a, a)": lambda: jax.numpy.matmul(a, a),
        "tilewise.matmul of JAX arrays": lambda: tilewise.matmul(a, a),
    }


def microseconds(call: Callable[[], object]) -> float:
    """Return the microseconds a call, over a batch."""
    started = time.perf_counter()
    for _ in range(BATCH):
        call()
    return 1e6 * (time.perf_counter() - started) / BATCH


def first_call(cache: str) -> dict[str, float]:
    """Return the seconds of a fresh process's steps."""
    environment = {**os.environ, "TILEWISE_CACHE_DIR": str(Path(cache) / "modules")}
    output = subprocess.run([sys.executable, "-c", FIRST], stdout=subprocess.PIPE, check=True, text=True, env=environment).stdout
    found: dict[str, float] = json.loads(output)
    return found


if __name__ == "__main__":
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    main()
