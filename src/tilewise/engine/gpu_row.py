"""One row of the ladder on a GPU: how long a rung took on one problem, held against the GPU's peak and against cuBLAS."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from tilewise.core.plan import TilePlan
from tilewise.core.problem import Layout
from tilewise.cost.occupancy import Limiter

COUNTED = (
    "global_load_requests",
    "global_load_sectors",
    "global_store_sectors",
    "shared_load_requests",
    "shared_store_requests",
    "shared_load_wavefronts",
    "shared_store_wavefronts",
    "fma",
)
"""The emulator's counts that Nsight Compute counts too."""
CONFLICTS = {
    "shared_load_wavefronts": "shared_load_bank_conflicts",
    "shared_store_wavefronts": "shared_store_bank_conflicts",
}
"""Of ncu's wavefronts, those that it books as bank conflicts: also what other traffic at the banks added."""


@dataclass(frozen=True, slots=True)
class CountPair:
    """A figure as the emulator and as ncu counted it."""

    name: str
    emulated: int | None
    counted: int | None
    conflicts: int = 0
    """Of `counted`, what ncu books as bank conflicts."""


@dataclass(frozen=True, slots=True)
class GpuRow:
    """What one rung did on a GPU. Seconds are of one launch, operands changing past the L2 cache."""

    rung: str
    title: str
    variant: str
    m: int
    n: int
    k: int
    layout: Layout
    tile: TilePlan
    on: Literal["gpu"]
    device: str
    correct: bool
    """Whether every element is within the tolerance of core/compare.py."""
    max_relative_error: float
    registers: int
    shared_bytes: int
    occupancy: float
    """0..1"""
    occupancy_limiter: Limiter
    seconds: float
    """The median over rounds in which the rungs and cuBLAS took turns."""
    seconds_low: float
    """The tenth percentile of the rounds."""
    seconds_high: float
    """The ninetieth."""
    tflops: float
    """2MNK / seconds / 1e12."""
    fma_peak_tflops: float
    """What multiply-adds alone reach on this GPU, measured in the same run."""
    percent_of_fma_peak: float
    cublas_seconds: float | None
    """None where neither PyTorch nor CuPy is installed."""
    percent_of_cublas: float | None
    """cuBLAS's time over the rung's, round by round, the median."""
    counted: dict[str, int] | None = None
    """Nsight Compute's counts of the machine code, by our names (gpu/counters.py)."""
    emulated: dict[str, int] | None = None
    """The emulator's counts of the PTX."""

    @property
    def label(self) -> str:
        """Such as "r03" or "r04 1-D"."""
        return f"{self.rung} {self.variant}".rstrip()

    def to_json(self) -> dict[str, object]:
        """Return the row as `tilewise ladder --on gpu --json` prints it."""
        row = asdict(self)
        row["tile"] = {name.lower(): size for name, size in row["tile"].items()}
        return row

    def pairs(self) -> list[CountPair]:
        """Return the figures of both kinds of count; one that a GPU or an old file lacks is None."""
        emulated, counted = self.emulated or {}, self.counted or {}
        return [
            CountPair(name, emulated.get(name), counted.get(name), counted.get(CONFLICTS.get(name, ""), 0)) for name in COUNTED
        ]
