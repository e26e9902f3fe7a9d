"""Nsight Compute's counters, launch by launch. Needs `ncu` on the PATH and a driver that lets it read them."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProfiledLaunch:
    """One kernel launch and what was counted in it, by metric."""

    kernel: str
    counts: dict[str, float]


def profile(
    command: Sequence[str], metrics: Sequence[str], kernels: str, log: Path, *, flush_caches: bool = True
) -> list[ProfiledLaunch]:
    """Return the launches of kernels whose name matches the expression `kernels`, in order; ncu's own table stays in `log`.

    The card's clocks are left alone. Raises RuntimeError, with what was printed, if the command or ncu fails.
    """
    ncu = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    ncu += ["--cache-control", "all" if flush_caches else "none", "--kernel-name", f"regex:{kernels}"]
    ncu += ["--metrics", ",".join(metrics), "--log-file", str(log)]
    result = subprocess.run([*ncu, *command], capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"ncu ended with {result.returncode}: {result.stdout}{result.stderr}{log.read_text()}")
    return parse(log.read_text(), metrics)


def parse(table: str, metrics: Sequence[str]) -> list[ProfiledLaunch]:
    """Return the launches of a raw page in CSV: lines of ncu's own (==PROF==), names, units, then a line a launch."""
    lines = [line for line in table.splitlines() if line.startswith('"')]
    rows = [row for row in csv.DictReader(lines) if row["ID"]]
    return [
        ProfiledLaunch(
            row["Kernel Name"].partition("(")[0],
            {metric: float(row[metric].replace(",", "")) for metric in metrics},
        )
        for row in rows
    ]


def known_metrics(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return those of `metrics` that ncu counts on this machine's GPU."""
    listing = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0] for line in listing.splitlines() if line.strip()}
    return tuple(metric for metric in metrics if metric.partition(".")[0] in names)


def ncu_version() -> str:
    """Return the version that `ncu --version` tells, such as 2025.3.1.0."""
    words = subprocess.run(["ncu", "--version"], capture_output=True, text=True, check=True).stdout.split()
    return words[words.index("Version") + 1]


def device_name() -> str:
    """Return the GPU's name and its driver's version."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    return f"{name}, driver {driver}"
