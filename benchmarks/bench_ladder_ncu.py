"""Count the ladder's memory traffic on a GPU with Nsight Compute.

    python benchmarks/bench_ladder_ncu.py build DIR [--size 1024]              builds the rungs
    python benchmarks/bench_ladder_ncu.py measure DIR [--output benchmarks/results/ncu_ladder_h200.json]   runs them under ncu

`build` needs Tilewise and no GPU, `measure` ncu and CuPy, so that the two may be different machines. Operands are random,
row-major and dense, and the caches are empty when a rung starts. What ncu counts is the machine code: ptxas merges loads of the
PTX.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpu_name import gpu_name

from tilewise.gpu.counters import METRICS, count_launches, ncu_version

MANIFEST = "rungs.json"
SYMBOL = "gemm"


def main() -> None:
    """Build or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["build", "measure", "launch"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--output", type=Path, default=Path("ncu_ladder.json"))
    arguments = parser.parse_args()
    match arguments.step:
        case "build":
            build(arguments.folder, arguments.size)
        case "measure":
            arguments.output.write_text(json.dumps(measure(arguments.folder), indent=1) + "\n")
        case "launch":
            launch(arguments.folder)


def build(folder: Path, size: int) -> None:
    """Write each rung's cubin, and the manifest with its launch at size^3."""
    from tilewise.build.nvrtc import compile_source
    from tilewise.core.problem import Problem
    from tilewise.kernels.ladder import LADDER, block, grid
    from tilewise.kernels.source import kernel_source

    folder.mkdir(parents=True, exist_ok=True)
    problem = Problem(size, size, size)
    rows = []
    for rung in LADDER:
        plan = rung.default_plan
        module = compile_source(kernel_source(rung, plan, "rr"), "sm_90a")
        assert module.cubin is not None  # sm_, not compute_
        (folder / f"{rung.name}.cubin").write_bytes(module.cubin)
        rows.append(
            {
                "rung": rung.name,
                "size": size,
                "tile": asdict(plan),
                "grid": grid(plan, problem),
                "block": block(rung, plan),
                "compiler": module.compiler,
            }
        )
    (folder / MANIFEST).write_text(json.dumps(rows, indent=1) + "\n")


def measure(folder: Path) -> dict[str, Any]:
    """Return the rungs of the manifest with ncu's counts, and where they were measured."""
    command = [sys.executable, __file__, "launch", str(folder)]
    launches = count_launches(command, f"^{SYMBOL}$")
    rows = json.loads((folder / MANIFEST).read_text())
    for row, counts in zip(rows, launches, strict=True):
        row["ncu"] = counts
    return {
        "command": " ".join(["python", *sys.argv]),
        "date": datetime.now(UTC).date().isoformat(),
        "device": gpu_name(),
        "versions": {"python": platform.python_version(), "ncu": ncu_version()},
        "metrics": {name: METRICS[name] for name in launches[0]},
        "rows": rows,
    }


def launch(folder: Path) -> None:
    """Launch each rung of the manifest once and check its product. For ncu to watch."""
    import cupy
    import numpy as np

    for row in json.loads((folder / MANIFEST).read_text()):
        size = row["size"]
        rng = np.random.default_rng(1)
        a, b = (rng.standard_normal((size, size), dtype=np.float32) for _ in range(2))
        on_gpu = cupy.asarray(a), cupy.asarray(b), cupy.full((size, size), np.nan, dtype=np.float32)
        kernel = cupy.RawModule(path=str(folder / f"{row['rung']}.cubin")).get_function(SYMBOL)
        kernel(tuple(row["grid"]), tuple(row["block"]), (*on_gpu, *(np.int32(size) for _ in range(6))))
        error = np.abs(cupy.asnumpy(on_gpu[2]) - a.astype(np.float64) @ b.astype(np.float64)).max()
        if not error < 1e-5 * size:
            raise RuntimeError(f"{row['rung']} is wrong by {error}")


if __name__ == "__main__":
    main()
