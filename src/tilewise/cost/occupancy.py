"""Occupancy: how many blocks of a kernel an SM holds at once, and what limits them.

NVIDIA's published rules, as its occupancy calculator has them [cuda_occupancy.h of CUDA 13.5]:
- warps: the SM's warps over those of a block, the last one filled up;
- registers: a warp takes its registers rounded up to the allocation unit, all from one of the SM's sub-partitions;
- shared: a block takes its shared memory and the driver's reserve, rounded up to the allocation unit;
- blocks: the SM's own limit.
Not counted, as the rungs never come near them: named barriers and, from compute capability 10.0 on, virtual resources.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tilewise.core.errors import TilewiseError
from tilewise.hw.device import WARP_LANES, Device

Limiter = Literal["warps", "registers", "shared", "blocks"]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What fits on one SM at once."""

    blocks_per_sm: int
    warps_per_sm: int
    fraction: float
    """Resident warps over the most an SM holds, above 0 and up to 1."""
    limiter: Limiter
    """The resource that admits the fewest blocks; of equals, the first in the order warps, registers, shared, blocks."""
    limits: tuple[tuple[Limiter, int], ...]
    """The blocks that each resource alone would admit; a resource of which the kernel takes nothing is left out."""


def occupancy(device: Device, threads_per_block: int, registers_per_thread: int, shared_bytes_per_block: int) -> Occupancy:
    """Return what one SM of `device` holds of a kernel.

    `shared_bytes_per_block` is static and dynamic together, without the driver's reserve.
    Raises TilewiseError with every reason, if not even one block can be launched.
    """
    found = launch_objections(device, threads_per_block, registers_per_thread, shared_bytes_per_block)
    if found:
        raise TilewiseError(" ".join(found))
    warps = _warps(threads_per_block)
    limits: dict[Limiter, int] = {"warps": device.warps_per_sm // warps}
    if registers_per_thread:
        partition = device.registers_per_sm // device.warp_allocation_granularity
        fitting_warps = partition // _registers_of_warp(device, registers_per_thread) * device.warp_allocation_granularity
        limits["registers"] = fitting_warps // warps
    shared = _round_up(shared_bytes_per_block + device.reserved_shared_bytes_per_block, device.shared_allocation_unit_bytes)
    if shared:
        limits["shared"] = device.shared_bytes_per_sm // shared
    limits["blocks"] = device.blocks_per_sm
    limiter = min(limits, key=lambda resource: limits[resource])
    blocks = limits[limiter]
    return Occupancy(blocks, blocks * warps, blocks * warps / device.warps_per_sm, limiter, tuple(limits.items()))


def launch_objections(
    device: Device, threads_per_block: int, registers_per_thread: int, shared_bytes_per_block: int
) -> tuple[str, ...]:
    """Return a sentence for each reason why `device` cannot launch even one such block; empty for one it can."""
    return tuple(_objections(device, threads_per_block, registers_per_thread, shared_bytes_per_block))


def _objections(device: Device, threads: int, registers: int, shared: int) -> Iterator[str]:
    if threads < 1 or threads > device.threads_per_block:
        yield f"a block of {threads} threads: {device.name} takes 1 to {device.threads_per_block}."
        return
    if registers < 0 or registers > device.registers_per_thread:
        yield f"{registers} registers a thread: {device.name} has 0 to {device.registers_per_thread}."
    elif _registers_of_block(device, threads, registers) > device.registers_per_block:
        most = max(
            count for count in range(registers) if _registers_of_block(device, threads, count) <= device.registers_per_block
        )
        yield (
            f"{registers} registers a thread for {threads} threads are more than the {device.registers_per_block} of a block on "
            f"{device.name}: at most {most} a thread fit (__launch_bounds__({threads}) holds the compiler to it)."
        )
    if shared < 0 or shared > device.shared_bytes_per_block_optin:
        yield (
            f"{shared} bytes of shared memory a block: {device.name} has 0 to {device.shared_bytes_per_block_optin}, and more "
            f"than {device.shared_bytes_per_block} only as dynamic shared memory."
        )


def _warps(threads: int) -> int:
    return -(-threads // WARP_LANES)


def _round_up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit


def _registers_of_warp(device: Device, registers: int) -> int:
    return _round_up(registers * WARP_LANES, device.register_allocation_unit)


def _registers_of_block(device: Device, threads: int, registers: int) -> int:
    """Return the registers that the launch check counts: as if every sub-partition held as many warps as the fullest."""
    warps = _round_up(_warps(threads), device.warp_allocation_granularity)
    return _registers_of_warp(device, registers) * warps
