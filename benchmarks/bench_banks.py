"""Count the wavefronts of shared memory's access patterns with Nsight Compute.

    python benchmarks/bench_banks.py [--seconds 300] [--output benchmarks/results/banks_h200.json]

For each access width and pattern (bank_patterns.py) one warp, alone on the GPU, loads from or stores to the pattern's addresses
1024 times: volatile accesses, which the compiler neither merges nor drops, with nothing else under way. The result keeps the
counts of each pattern, and apart from them what conflict-free accesses count beside other memory traffic. Needs ncu and CuPy.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bank_patterns import POOL_BYTES, patterns
from gpu_name import gpu_name

from tilewise.gpu.counters import ProfiledLaunch, ncu_version, profile

ROUNDS, UNROLLED = 64, 16
WIDTHS = (16, 8, 4, 2, 1)
OPERATIONS = ("load", "store")
LANE_TYPES = {1: ("u8", "r"), 2: ("u16", "h"), 4: ("b32", "r"), 8: ("v2.b32", "r"), 16: ("v4.b32", "r")}
"""PTX type and constraint of an access, by its width in bytes."""
SHORT = {"load": "ld", "store": "st"}
METRICS = tuple(
    f"{metric}_{SHORT[operation]}.sum"
    for metric in (
        "smsp__inst_executed_op_shared",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op",
    )
    for operation in OPERATIONS
)
REQUESTS, WAVEFRONTS, CONFLICTS = METRICS[0:2], METRICS[2:4], METRICS[4:6]

TRAFFIC = {
    "shared loads": ("load",),
    "shared stores": ("store",),
    "shared stores, shared loads": ("store", "load"),
    "shared stores, global loads that miss L1": ("store", "miss"),
    "shared stores, global loads that hit L1": ("store", "hit"),
    "shared stores, global stores": ("store", "write"),
    "shared loads, global loads that miss L1": ("load", "miss"),
    "shared loads, global loads that hit L1": ("load", "hit"),
    "shared loads, global stores": ("load", "write"),
}
STEPS = {
    "load": 'asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(value) : "r"(own));',
    "store": 'asm volatile("st.volatile.shared.b32 [%0], %1;" ::"r"(own), "r"(lane) : "memory");',
    "miss": 'asm volatile("ld.global.b32 %0, [%1];" : "=r"(value) : "l"(&fresh[64 * i])); sum ^= value;',
    "hit": 'asm volatile("ld.global.b32 %0, [%1];" : "=r"(value) : "l"(&kept[32 * i])); sum ^= value;',
    "write": 'asm volatile("st.global.b32 [%0], %1;" ::"l"(&fresh[64 * i]), "r"(lane) : "memory");',
}
SIZES = ((1, 1), (1, 8), (1, 32), (264, 8))
"""Blocks and warps a block."""
BUFFER_WORDS = 1 << 26


def main() -> None:
    """Profile all patterns and the traffic, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0, help="start no further width after this long")
    parser.add_argument("--output", type=Path, default=Path("banks.json"))
    parser.add_argument("--launch", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.launch == "traffic":
        launch_traffic()
    elif arguments.launch:
        launch_patterns(int(arguments.launch))
    else:
        measure(arguments.seconds, arguments.output)


def measure(seconds: float, output: Path) -> None:
    """Write what was measured and where, anew after each width. Widths that find no time any more are left out."""
    started = time.monotonic()
    result: dict[str, Any] = {
        "command": " ".join(["python", *sys.argv]),
        "date": datetime.now(UTC).date().isoformat(),
        "device": gpu_name(),
        "versions": {"python": platform.python_version(), "ncu": ncu_version()},
        "metrics": METRICS,
        "traffic": traffic_rows(_profile_child("traffic")),
        "rows": [],
    }
    for width in WIDTHS:
        if time.monotonic() - started > seconds:
            break
        result["rows"] += pattern_rows(width, _profile_child(str(width)))
        output.write_text(format_result(result))
        print(f"{time.monotonic() - started:.0f} s: {width} bytes a lane", flush=True)


def pattern_rows(width: int, launches: list[ProfiledLaunch]) -> Iterator[dict[str, Any]]:
    """Yield a row for each launch of `launch_patterns`."""
    runs = [(index, operation, pattern) for index, operation in enumerate(OPERATIONS) for pattern in patterns(width)]
    for (index, operation, pattern), launch in zip(runs, launches, strict=True):
        requests = launch.counts[REQUESTS[index]]
        if launch.kernel != f"{operation}_{width}" or requests != ROUNDS * UNROLLED:
            raise RuntimeError(
                f"{operation} of {width} bytes, {pattern.name}: {launch} does not count {ROUNDS * UNROLLED} requests"
            )
        yield {
            "width": width,
            "op": operation,
            "pattern": pattern.name,
            "addresses": pattern.addresses,
            "active": f"{pattern.active:#010x}",
            "requests": int(requests),
            "wavefronts_per_request": launch.counts[WAVEFRONTS[index]] / requests,
            "bank_conflicts_per_request": launch.counts[CONFLICTS[index]] / requests,
        }


def traffic_rows(launches: list[ProfiledLaunch]) -> list[dict[str, Any]]:
    """Return a row for each launch of `launch_traffic`, with the counts of the access that its name begins with."""
    runs = [(name, *size) for name in TRAFFIC for size in SIZES]
    rows = []
    for (name, blocks, warps), launch in zip(runs, launches, strict=True):
        index = OPERATIONS.index(TRAFFIC[name][0])
        requests = launch.counts[REQUESTS[index]]
        rows.append(
            {
                "traffic": name,
                "blocks": blocks,
                "warps": warps,
                "requests": int(requests),
                "wavefronts_per_request": launch.counts[WAVEFRONTS[index]] / requests,
                "bank_conflicts_per_request": launch.counts[CONFLICTS[index]] / requests,
            }
        )
    return rows


def format_result(result: dict[str, Any]) -> str:
    """Return the result as JSON, a row a line."""
    head = {key: value for key, value in result.items() if key not in ("traffic", "rows")}
    lists = (
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in result[name]) + "\n ]" for name in ("traffic", "rows")
    )
    return json.dumps(head, indent=1).removesuffix("\n}") + ",\n" + ",\n".join(lists) + "\n}\n"


def _profile_child(launch: str) -> list[ProfiledLaunch]:
    return profile([sys.executable, __file__, "--launch", launch], METRICS, "^(load|store|traffic)_", flush_caches=False)


def launch_patterns(width: int) -> None:
    """Launch one warp for each pattern of a width: all loads, then all stores. For ncu to watch."""
    import cupy

    module = cupy.RawModule(code="".join(probe_source(operation, width) for operation in OPERATIONS))
    for operation in OPERATIONS:
        kernel = module.get_function(f"{operation}_{width}")
        for pattern in patterns(width):
            addresses = cupy.asarray(pattern.addresses, dtype=cupy.uint32)
            kernel((1,), (32,), (addresses, cupy.uint32(pattern.active), cupy.int32(ROUNDS)))
    cupy.cuda.Device().synchronize()


def launch_traffic() -> None:
    """Launch each kind of traffic in each size. For ncu to watch."""
    import cupy

    module = cupy.RawModule(code="".join(traffic_source(number, steps) for number, steps in enumerate(TRAFFIC.values())))
    buffer = cupy.zeros(BUFFER_WORDS, dtype=cupy.uint32)
    for number in range(len(TRAFFIC)):
        kernel = module.get_function(f"traffic_{number}")
        for blocks, warps in SIZES:
            kernel((blocks,), (32 * warps,), (buffer, cupy.int32(ROUNDS if blocks == 1 else ROUNDS // 8)))
    cupy.cuda.Device().synchronize()


def probe_source(operation: str, width: int) -> str:
    """Return a kernel whose active lanes access `width` bytes at their own address of shared memory, again and again."""
    ptx_type, constraint = LANE_TYPES[width]
    registers = max(1, width // 4)
    first = 1 if operation == "store" else 0
    operands = ", ".join(f"%{first + i}" for i in range(registers))
    value = f"{{{operands}}}" if registers > 1 else operands
    written = "=" if operation == "load" else ""
    values = ", ".join(f'"{written}{constraint}"(value[{i}])' for i in range(registers))
    if operation == "load":
        access = f'asm volatile("ld.volatile.shared.{ptx_type} {value}, [%{registers}];" : {values} : "r"(address));'
    else:
        access = f'asm volatile("st.volatile.shared.{ptx_type} [%0], {value};" ::"r"(address), {values} : "memory");'
    return f"""
extern "C" __global__ void {operation}_{width}(const unsigned* addresses, unsigned active, int rounds) {{
    __shared__ __align__(1024) unsigned char pool[{POOL_BYTES}];
    const unsigned address = unsigned(__cvta_generic_to_shared(pool)) + addresses[threadIdx.x];
    if (!(active >> threadIdx.x & 1)) return;
    {"unsigned short" if width == 2 else "unsigned"} value[{registers}];
    for (int i = 0; i < {registers}; ++i) value[i] = threadIdx.x + i;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {{
#pragma unroll
        for (int i = 0; i < {UNROLLED}; ++i) {access}
    }}
}}
"""


def traffic_source(number: int, steps: tuple[str, ...]) -> str:
    """Return a kernel that takes the steps in turn, again and again; each warp has words of its own, without bank conflicts."""
    return f"""
extern "C" __global__ void traffic_{number}(unsigned* buffer, int rounds) {{
    __shared__ unsigned pool[1024];
    const unsigned lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const unsigned own = unsigned(__cvta_generic_to_shared(&pool[threadIdx.x]));
    unsigned value = 0, sum = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {{
        unsigned* fresh = &buffer[64 * {UNROLLED} * (round * warps + warp) + lane];  // lines that no one else touches
        const unsigned* kept = &buffer[512 * (2 * warp + round % 2) + lane];  // 32 lines a warp, again and again
#pragma unroll
        for (int i = 0; i < {UNROLLED}; ++i) {{
            {" ".join(STEPS[step] for step in steps)}
        }}
    }}
    if (sum == 0x1234567) buffer[threadIdx.x] = sum;
}}
"""


if __name__ == "__main__":
    main()
