"""Launches that no GPU of the model takes: too many threads, registers or shared bytes, or blocks beyond what a grid can have."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Kind, Setup, before_launch
from tilewise.core.finding import Finding
from tilewise.cost.occupancy import launch_objections

THREADS = Kind("launch.threads", "error", "A block has more threads than a GPU takes.")
SHARED = Kind("launch.smem_limit", "error", "A block needs more shared memory than a GPU gives, or than the host has allowed it.")
REGISTERS = Kind("launch.registers", "error", "A block's threads need more registers than a multiprocessor has.")
GRID = Kind("launch.grid", "error", "The grid has no block, or more along an axis than a GPU takes.")

BLOCK_LIMITS = (1024, 1024, 64)
"""Most threads along x, y and z [CUDA Programming Guide, Compute Capabilities, table 30]."""
GRID_LIMITS = (2**31 - 1, 65_535, 65_535)
"""Most blocks along x, y and z [the same table]."""


@before_launch(THREADS, SHARED, REGISTERS, GRID)
def find_impossible_launches(setup: Setup) -> Iterator[Finding]:
    """Yield a finding for each limit of the device that the launch passes."""
    yield from _grid(setup)
    yield from _threads(setup)
    yield from _shared(setup)
    if setup.resources is not None and 0 < setup.threads <= setup.device.threads_per_block:
        yield from _registers(setup, setup.resources.registers)


def _grid(setup: Setup) -> Iterator[Finding]:
    if min(setup.grid) < 1:
        yield _finding(
            setup,
            GRID,
            f"the grid {_by(setup.grid)} has no block: nothing runs",
            "round up, as in (n + 15) / 16 for blocks of 16",
        )
    for axis, size, most in zip("xyz", setup.grid, GRID_LIMITS, strict=True):
        if size > most:
            yield _finding(
                setup, GRID, f"the grid has {size:,} blocks along {axis}: at most {most:,}", "put the longest axis along x"
            )


def _threads(setup: Setup) -> Iterator[Finding]:
    most = setup.device.threads_per_block
    if min(setup.block) < 1:
        yield _finding(setup, THREADS, f"the block {_by(setup.block)} has no thread", "give each axis at least 1")
    elif setup.threads > most:
        yield _finding(
            setup,
            THREADS,
            f"a block of {_by(setup.block)} = {setup.threads:,} threads: {setup.device.name} takes at most {most:,}",
            "make the block smaller, and let each thread compute more",
        )
    else:
        yield from _bounded_threads(setup)
        for axis, size, limit in zip("xyz", setup.block, BLOCK_LIMITS, strict=True):
            if size > limit:
                yield _finding(
                    setup,
                    THREADS,
                    f"the block has {size:,} threads along {axis}: at most {limit:,}",
                    "put the longest axis along x",
                )


def _bounded_threads(setup: Setup) -> Iterator[Finding]:
    """A launch of more threads than __launch_bounds__ promises fails [CUDA Programming Guide, Launch Bounds].

    So does one of another shape than .reqntid demands [PTX ISA, "Performance-Tuning Directives"].
    """
    if setup.required_block not in (None, setup.block):
        demanded = setup.required_block or setup.block
        yield _finding(
            setup,
            THREADS,
            f"a block of {_by(setup.block)} threads, and the kernel is compiled for {_by(demanded)} alone (.reqntid)",
            f"launch it with blocks of {_by(demanded)}",
        )
    if setup.bound_threads is not None and setup.threads > setup.bound_threads:
        yield _finding(
            setup,
            THREADS,
            f"a block of {setup.threads:,} threads, and __launch_bounds__ promises at most {setup.bound_threads:,}",
            f"write __launch_bounds__({setup.threads}), or make the block smaller",
        )


def _shared(setup: Setup) -> Iterator[Finding]:
    device, dynamic = setup.device, setup.dynamic_shared_bytes
    static = setup.resources.static_shared_bytes if setup.resources else 0
    stated = setup.stated_dynamic_limit_bytes
    both = f"{dynamic:,} bytes of dynamic shared memory" + (f" and {static:,} of fixed size" if static else "")
    if static + dynamic > device.shared_bytes_per_block_optin:
        yield _finding(
            setup,
            SHARED,
            f"{both}: a block of {device.name} has at most {device.shared_bytes_per_block_optin:,}",
            "use smaller tiles",
        )
    elif dynamic and static + dynamic > device.shared_bytes_per_block and (stated is None or dynamic > stated):
        allowed = "and the host does not raise the limit" if stated is None else f"and the host allows {stated:,}"
        yield _finding(
            setup,
            SHARED,
            f"{both}: more than {device.shared_bytes_per_block:,} need the host's leave, {allowed}",
            f"call cudaFuncSetAttribute({setup.kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, {dynamic}) before the "
            f"launch, and state it with --max-dynamic-smem {dynamic}",
        )


def _registers(setup: Setup, registers: int) -> Iterator[Finding]:
    for objection in launch_objections(setup.device, setup.threads, registers, 0):
        yield _finding(
            setup,
            REGISTERS,
            objection.rstrip("."),
            f"write __launch_bounds__({setup.threads}) behind __global__ void, or make the block smaller",
        )


def _finding(setup: Setup, kind: Kind, message: str, fix: str) -> Finding:
    lines = () if setup.place is None else (setup.place,)
    return Finding(kind.name, kind.severity, "both", message, fix, lines)


def _by(sizes: tuple[int, int, int]) -> str:
    return " x ".join(map(str, sizes))
