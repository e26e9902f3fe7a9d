"""The GPU that is there, as a Device: its limits and clocks from the driver, the rest from the catalogue."""

from __future__ import annotations

import functools
import re
from dataclasses import replace

from tilewise.core.errors import TilewiseError
from tilewise.gpu.driver import Gpu, open_gpu
from tilewise.gpu.errors import LEAST_CAPABILITY
from tilewise.hw.catalog import DEVICES
from tilewise.hw.device import Device

_ATTRIBUTES = {
    "sms": "MULTIPROCESSOR_COUNT",
    "threads_per_sm": "MAX_THREADS_PER_MULTIPROCESSOR",
    "blocks_per_sm": "MAX_BLOCKS_PER_MULTIPROCESSOR",
    "registers_per_sm": "MAX_REGISTERS_PER_MULTIPROCESSOR",
    "shared_bytes_per_sm": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "threads_per_block": "MAX_THREADS_PER_BLOCK",
    "registers_per_block": "MAX_REGISTERS_PER_BLOCK",
    "shared_bytes_per_block": "MAX_SHARED_MEMORY_PER_BLOCK",
    "shared_bytes_per_block_optin": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "reserved_shared_bytes_per_block": "RESERVED_SHARED_MEMORY_PER_BLOCK",
    "l2_bytes": "L2_CACHE_SIZE",
}
"""The driver's names of a device's figures."""
_SOURCE = "as the driver reports"


@functools.cache
def device_of(ordinal: int = 0) -> Device:
    """Return the description of GPU `ordinal`. What the driver does not tell is that of the nearest compute capability.

    Raises TilewiseError where there is none, and for a compute capability below 7.0.
    """
    return describe(open_gpu(ordinal))


def describe(gpu: Gpu) -> Device:
    """Return a GPU's description; see `device_of`."""
    capability = gpu.capability
    if capability < LEAST_CAPABILITY:
        raise TilewiseError(
            f"{gpu.name} has compute capability {capability[0]}.{capability[1]}, and Tilewise runs on 7.5 and newer "
            "(7.0 with the cu12 extra): use a newer GPU, or the emulator with NumPy arrays."
        )
    like = max(
        (device for device in DEVICES.values() if device.compute_capability <= capability),
        key=lambda device: device.compute_capability,
    )
    figures = {name: gpu.attribute(attribute) for name, attribute in _ATTRIBUTES.items()}
    figures["memory_bytes"] = gpu.memory()[1]
    figures |= {name: value for name, value in _rates(gpu).items() if value > 0}  # some virtual GPUs tell none
    known = "{}{}".format(*capability)
    return replace(
        like,
        key=re.sub(r"[^a-z0-9]+", "-", re.sub(r"nvidia|geforce", "", gpu.name.lower())).strip("-"),
        name=gpu.name,
        arch=like.arch if like.compute_capability == capability else f"sm_{known}",
        compute_capability=capability,
        sources={**like.sources, **dict.fromkeys(figures, _SOURCE)},
        **figures,
    )


def _rates(gpu: Gpu) -> dict[str, int]:
    """The clock of SMs, and the bandwidth of memory that transfers twice a clock over its whole bus. The driver counts in kHz."""
    memory_hz = 1000 * gpu.attribute("MEMORY_CLOCK_RATE")
    bus_bytes = gpu.attribute("GLOBAL_MEMORY_BUS_WIDTH") // 8
    return {"clock_hz": 1000 * gpu.attribute("CLOCK_RATE"), "hbm_bandwidth_bytes_per_s": 2 * memory_hz * bus_bytes}
