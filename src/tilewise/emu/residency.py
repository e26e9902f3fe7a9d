"""How many blocks of a launch a GPU of the kernel's architecture has on their way at once: those that may wait for each other."""

from __future__ import annotations

import re

from tilewise.core.launch import Launch
from tilewise.cost.occupancy import launch_objections, occupancy
from tilewise.emu.blueprint import Blueprint
from tilewise.hw.catalog import DEVICES
from tilewise.hw.device import Device

MEMORY_BYTES = 2 << 30
"""At most what the state of the resident blocks takes."""


def device_of(arch: str) -> Device:
    """Return the first device of the catalogue of an architecture, or of the nearest one below, else the oldest."""
    digits = re.search(r"(\d+)(\d)", arch)
    wanted = (int(digits[1]), int(digits[2])) if digits else (0, 0)
    fitting = [row for row in DEVICES.values() if row.compute_capability <= wanted]
    if not fitting:
        return min(DEVICES.values(), key=lambda row: row.compute_capability)
    return max(fitting, key=lambda row: row.compute_capability)  # the first of equals


def resident_blocks(launch: Launch, blueprint: Blueprint) -> int:
    """Return the blocks that the device holds at once; 1 where blocks do not wait for each other."""
    if not blueprint.waits_for_blocks:
        return 1
    device = device_of(launch.module.arch)
    shared = blueprint.static_shared_bytes + launch.dynamic_shared_bytes
    registers = next((kernel.registers for kernel in launch.module.resources if kernel.name == launch.kernel), 0)
    per_sm = 1
    if not launch_objections(device, launch.threads_per_block, registers, shared):
        per_sm = occupancy(device, launch.threads_per_block, registers, shared).blocks_per_sm
    state = shared + blueprint.warps * (blueprint.warp_bytes + 32 * blueprint.cleared_local_bytes)
    return max(1, min(device.sms * per_sm, launch.blocks, MEMORY_BYTES // max(1, state)))
