"""Time variants of an fp32 product against cuBLAS on a GPU: what tile, order and prefetch give. Needs torch and cupy.

    python benchmarks/fp32/bench_variants.py [--sizes 4096,8192]

Each size and layout: every variant is checked against cuBLAS, then all take turns with it; medians. TF32 is off.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cupy
import torch

SOURCE = Path(__file__).with_name("variant.cu").read_text()
ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Variant:
    """One set of the macros of variant.cu."""

    BM: int
    BN: int
    BK: int
    TM: int
    TN: int
    WARPS_DOWN: int
    WARPS_ACROSS: int
    BLOCKS_PER_SM: int
    FRAGMENTS: int
    ORDER: int

    def macros(self) -> dict[str, int]:
        """The macros by name."""
        return {name: getattr(self, name) for name in self.__slots__}


TILES = (
    (128, 128, 8, 8, 8, 4, 2, 2),
    (128, 128, 8, 16, 8, 2, 2, 2),
    (128, 128, 8, 8, 16, 4, 1, 2),
    (256, 128, 8, 16, 8, 4, 2, 1),
)
VARIANTS = [Variant(*tile, *rest) for tile, *rest in itertools.product(TILES, (1, 2), (0, 1))]


def main() -> None:
    """Print a table for each size and layout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="4096,8192")
    torch.backends.cuda.matmul.allow_tf32 = False
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "CUDA", torch.version.cuda)
    for size, b_by_k in itertools.product(map(int, parser.parse_args().sizes.split(",")), (0, 1)):
        time_size(size, b_by_k)


def time_size(size: int, b_by_k: int) -> None:
    """Time all variants at size^3; B is K x N, or N x K if `b_by_k`."""
    a, stored = (torch.randn(size, size, device="cuda") for _ in range(2))
    b, c = (stored.t() if b_by_k else stored), torch.empty(size, size, device="cuda")
    expected = torch.mm(a, b)
    runs: dict[str, Callable[[], object]] = {"cuBLAS": lambda: torch.mm(a, b, out=c)}
    for variant in VARIANTS:
        run = build(variant, b_by_k, a, stored, c)
        c.fill_(float("nan"))
        run()
        error = float((c - expected).norm() / expected.norm())
        if not error < 1e-5:
            raise SystemExit(f"{variant} is wrong: {error}")
        runs[str(variant)] = run
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, contestant in runs.items():
            times[name].append(milliseconds(contestant))
    cublas = statistics.median(times["cuBLAS"])
    print(f"\n{size}^3, layout {'rc' if b_by_k else 'rr'}: TFLOP/s and of cuBLAS")
    for name, taken in sorted(times.items(), key=lambda item: statistics.median(item[1])):
        median = statistics.median(taken)
        print(f"{2 * size**3 / median / 1e9:7.1f} {cublas / median:6.3f}  {name}")


def build(variant: Variant, b_by_k: int, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Callable[[], None]:
    """Compile a variant and return a call of it."""
    macros = variant.macros() | {"B_BY_K": b_by_k}
    options = ("--std=c++17", *(f"-D{name}={value}" for name, value in macros.items()))
    kernel = cupy.RawModule(code=SOURCE, options=options).get_function("gemm")
    rows = variant.BM + 4 + variant.BN + 4 * b_by_k
    shared = 2 * 4 * variant.BK * rows
    kernel.max_dynamic_shared_size_bytes = shared
    size = a.shape[0]
    pointers = tuple(cupy.uint64(tensor.data_ptr()) for tensor in (a, b, c))
    grid, threads = (size // variant.BN, size // variant.BM), (32 * variant.WARPS_DOWN * variant.WARPS_ACROSS,)

    def run() -> None:
        kernel(grid, threads, pointers + (cupy.int32(size),) * 6, shared_mem=shared)

    return run


def milliseconds(run: Callable[[], object]) -> float:
    """The time of one of two calls, after one that warms up."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    run()
    start.record()
    run()
    run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 2


if __name__ == "__main__":
    main()
