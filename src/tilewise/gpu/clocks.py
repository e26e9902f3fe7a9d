"""A GPU's clocks, power and temperature while something runs on it, as nvidia-smi reads them. Nothing here sets any."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilewise.gpu.driver import Gpu
from tilewise.gpu.timing import Spread, spread

FIGURES = {
    "sm_mhz": "clocks.sm",
    "memory_mhz": "clocks.mem",
    "watts": "power.draw",
    "celsius": "temperature.gpu",
    "percent_busy": "utilization.gpu",
}
"""Our names and those of nvidia-smi --help-query-gpu."""
PERIOD_MS = 200
BUSY_PERCENT = 1


@dataclass(slots=True)
class Clocks:
    """Figures by name, once the watch is over; none where nvidia-smi is missing or the GPU tells nothing."""

    figures: dict[str, Spread] = field(default_factory=dict)
    samples: int = 0


@contextlib.contextmanager
def watch_clocks(gpu: Gpu) -> Iterator[Clocks]:
    """Read the clocks five times a second while the block runs; what it yields holds them afterwards."""
    found = Clocks()
    query = ["nvidia-smi", f"--id={gpu.bus_id}", f"--query-gpu={','.join(FIGURES.values())}"]
    command = [*query, "--format=csv,noheader,nounits", f"--loop-ms={PERIOD_MS}"]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:  # not installed, as in many containers
        yield found
        return
    try:
        yield found
    finally:
        process.terminate()
        output, _ = process.communicate()
        found.figures, found.samples = summarise(output)


def summarise(output: str) -> tuple[dict[str, Spread], int]:
    """Return the spread of each figure over the lines of nvidia-smi's that found the GPU busy (all, if none did), and how many.

    A figure that the GPU does not tell ("[N/A]") is left out.
    """
    rows = [[_number(word) for word in line.split(",")] for line in output.splitlines()]
    rows = [row for row in rows if len(row) == len(FIGURES)]
    busy = [row for row in rows if (row[-1] or 0) >= BUSY_PERCENT] or rows
    figures = {}
    for name, column in zip(FIGURES, zip(*busy, strict=True), strict=False):
        values = [value for value in column if value is not None]
        if values:
            figures[name] = spread(values)
    return figures, len(busy)


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
