"""How much memory is free, so that a problem beyond it is refused with a sentence before anything is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from tilewise.core.errors import TilewiseError

MEMINFO = Path("/proc/meminfo")
CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""A container's limit, cgroup versions 2 and 1 (Linux kernel documentation, cgroup-v2.rst and cgroup-v1/memory.rst)."""


def require_memory(needed_bytes: int, what: str) -> None:
    """Raises TilewiseError if `needed_bytes` for `what` are more than the machine has free."""
    available = available_bytes()
    if needed_bytes > available:
        raise TilewiseError(
            f"{what} needs {needed_bytes / 1e9:,.1f} GB of memory and {available / 1e9:,.1f} GB are free: "
            "choose smaller sizes, or a machine with more memory."
        )


def available_bytes() -> int:
    """Return the bytes that this process can still take: the kernel's estimate, or a container's limit where that is less."""
    limits = [_free_bytes()]
    for path in CGROUP_LIMITS:
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        if text.isdecimal():  # "max" is no limit
            limits.append(int(text))
    return min(limits)


def _free_bytes() -> int:
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # no /proc: ask the C library instead
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
