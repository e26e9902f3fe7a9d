"""What a benchmark's result says of the machine that it ran on."""

from __future__ import annotations

import platform
from pathlib import Path


def cpu_name() -> str:
    """Return the CPU's name, and its clock as the kernel last saw it."""
    facts = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        facts[name.strip()] = value.strip()
    clock = facts.get("cpu MHz")
    return facts.get("model name", platform.processor()) + (f" at {float(clock):.0f} MHz" if clock else "")
