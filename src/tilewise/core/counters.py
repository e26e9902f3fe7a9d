"""What a launch did, counted exactly. Counts are of the program as compiled to PTX (ptxas may merge loads)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tilewise.core.launch import Dim3

Space = Literal["global", "shared", "local"]
Kind = Literal["load", "store", "copy", "atomic"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it was seen: where each lane accessed memory."""

    block: Dim3
    addresses: tuple[int | None, ...]
    """Bytes from the start of the block's shared memory, or where the emulator has global memory; None where a lane did not."""
    lane_bytes: int
    transactions: int


@dataclass(frozen=True, slots=True)
class SiteCounters:
    """One memory instruction's counts over the whole launch.

    `requests`: warp instructions with at least one active lane. `bytes`: what active threads asked for. `transactions`: sectors
    of 32 bytes (global) or wavefronts (shared). `worst`: the most transactions that one request took.
    """

    space: Space
    kind: Kind
    file: str
    line: int
    opcode: str
    requests: int
    bytes: int
    transactions: int
    worst: int
    worst_conflict_ways: int = 0
    """Shared accesses: most distinct words of one bank in one wavefront group; 1 is conflict-free."""
    example: Request | None = None
    """A request that took the most transactions of those looked at, where one was looked for."""
    ptx_line: int = 0
    """Where the instruction stands in the PTX."""


@dataclass(frozen=True, slots=True)
class Counters:
    """A launch's totals; definitions in docs/glossary.md."""

    requested_load_bytes: int = 0
    requested_store_bytes: int = 0
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    shared_load_requests: int = 0
    shared_load_bytes: int = 0
    shared_load_wavefronts: int = 0
    shared_store_requests: int = 0
    shared_store_bytes: int = 0
    shared_store_wavefronts: int = 0
    shared_async_store_bytes: int = 0
    """What cp.async wrote to shared memory, zeros included; its global side counts as loads."""
    global_atomic_requests: int = 0
    global_atomic_sectors: int = 0
    shared_atomic_requests: int = 0
    shared_atomic_wavefronts: int = 0
    """Atomics and reductions, with or without a result, count apart from loads and stores: a request's sectors as a store's, its
    wavefronts as if lanes at one word took turns no more than a store's do."""
    worst_bank_conflict_ways: int = 0
    """Over all shared accesses; 1 is conflict-free, 0 is no shared access."""
    barriers: int = 0
    """Completed block barriers."""
    fma: int = 0
    """Thread FMAs of every floating type."""
    sites: tuple[SiteCounters, ...] = field(default=(), repr=False)
