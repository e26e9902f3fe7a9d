"""The floors under a launch's time: what each part of the device needs at its full rate, and which of them binds.

Every floor is a lower bound for the program as counted. Counts are of the PTX: where ptxas merges shared accesses into wider
ones, the device does fewer wavefronts than counted, and its time can lie a little under the shared floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewise.core.counters import Counters
from tilewise.core.problem import Problem
from tilewise.hw.device import Device

Resource = Literal["hbm", "l1", "shared", "fma"]


@dataclass(frozen=True, slots=True)
class Floors:
    """Least seconds of one launch, by resource, with the whole device at its highest clock."""

    hbm: float
    """Compulsory bytes over device memory's bandwidth: each operand in once and the result out, whatever the kernel does."""
    l1: float
    """Sectors of global loads and stores over the rate between L1 and registers."""
    shared: float
    """Shared-memory wavefronts over their rate."""
    fma: float
    """Thread FMAs over the fp32 FMA rate."""

    @property
    def by_resource(self) -> dict[Resource, float]:
        """The floors by name."""
        return {"hbm": self.hbm, "l1": self.l1, "shared": self.shared, "fma": self.fma}

    @property
    def bound(self) -> Resource:
        """The resource with the largest floor; of equals, the first in the order above."""
        seconds = self.by_resource
        return max(seconds, key=lambda resource: seconds[resource])

    @property
    def seconds(self) -> float:
        """The largest floor."""
        return max(self.by_resource.values())


def floors(device: Device, problem: Problem, counters: Counters) -> Floors:
    """Return the floors on `device` under a launch that computed `problem` and counted `counters`."""
    return Floors(
        hbm=problem.compulsory_bytes / device.hbm_bandwidth_bytes_per_s,
        l1=(counters.global_load_sectors + counters.global_store_sectors) / device.l1_sectors_per_s,
        shared=(counters.shared_load_wavefronts + counters.shared_store_wavefronts) / device.shared_wavefronts_per_s,
        fma=counters.fma / device.fp32_fmas_per_s,
    )


def ridge_without_cache(device: Device) -> float:
    """Return peak fp32 rate over device memory's bandwidth, in FLOP a byte.

    From this intensity on, a kernel whose every requested byte came from device memory would be compute-bound: the derivation
    that ignores caches. A kernel that caches serve can be compute-bound below it.
    """
    return device.fp32_flops_per_s / device.hbm_bandwidth_bytes_per_s
