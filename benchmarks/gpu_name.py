"""The GPU that a benchmark runs on, by name."""

from __future__ import annotations

import subprocess


def gpu_name() -> str:
    """Return the GPU's name and its driver's version."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    return f"{name}, driver {driver}"
