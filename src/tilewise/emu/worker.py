"""One host thread of a run: the context that compiled kernels and the runtime work on, with all the memory that it points to."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tilewise.core.launch import Launch
from tilewise.emu import abi
from tilewise.emu.arguments import Arguments, buffer_table
from tilewise.emu.blueprint import Blueprint, SiteFacts
from tilewise.emu.residency import device_of
from tilewise.emu.watching import Screening, Watching

FAULTS_KEPT = 256
CHUNKS_PER_THREAD = 8
PRINT_BYTES = 1 << 20
"""Kept of what a launch prints: as much as CUDA's own buffer holds [CUDA C++ Programming Guide, "Formatted Output"]."""


@dataclass(frozen=True, slots=True)
class Task:
    """What the host threads of a run share."""

    launch: Launch
    blueprint: Blueprint
    arguments: Arguments
    fast: int
    """Where the fast function stands."""
    compile_careful: Any
    """Gives the address of the careful one; an abi.COMPILE_CAREFUL."""
    stop: ctypes.c_int32
    """Not 0 when all are to stop."""
    next_block: ctypes.c_uint64
    chosen: ctypes.Array[ctypes.c_uint64] | None
    """The numbers of the only blocks to run."""
    blocks: int
    """How many blocks to run."""
    threads: int
    resident: int
    """Blocks on their way at once, a host thread."""
    seed: int
    """Of the order in which they and their warps take turns; 0: as they are numbered."""
    watching: Watching | Screening | None = None
    """Who looks at accesses; then there is one host thread."""


class Worker:
    """One host thread: its context with all the memory that it points to."""

    def __init__(self, task: Task) -> None:
        self.task = task
        blueprint = task.blueprint
        self.status = 0
        self.stop_site = 0
        """The instruction at which the run stopped, if it was one that the table lacks."""
        self.block_counts = (ctypes.c_uint64 * (3 * blueprint.blocks))()
        self.site_counts = (abi.SiteCounts * max(1, len(blueprint.sites)))()
        self.histograms = (ctypes.c_uint64 * (32 * max(1, len(blueprint.tally.histograms))))()
        self.faults = (abi.Fault * FAULTS_KEPT)()
        self._ranges = (abi.Range * max(1, blueprint.groups))()
        self._sites = site_table(blueprint.sites)
        self._buffers = buffer_table(task.arguments.buffers)
        self._thread_ids = _thread_ids(task.launch.block, blueprint.warps)
        self._heads = _bits((head for head, *_ in blueprint.chains), blueprint.words)
        self._exits = _bits(blueprint.exits, blueprint.words)
        self._stands = (ctypes.c_uint32 * blueprint.blocks)()
        for block, site in blueprint.stands.items():
            self._stands[block] = site
        self._writers = (ctypes.c_uint32 * max(1, len(blueprint.writers)))(*blueprint.writers)
        self._printed = ctypes.create_string_buffer(PRINT_BYTES if any(site.kind == "print" for site in blueprint.sites) else 1)
        if task.watching is not None:
            task.watching.attach(self._buffers)
        self._context = _Aligned(ctypes.sizeof(abi.Context))
        self.context = abi.Context.from_address(self._context.address)
        self._fill()

    def _fill(self) -> None:
        context, task, launch, blueprint = self.context, self.task, self.task.launch, self.task.blueprint
        runtime = abi.load_runtime()
        for name in abi.RUNTIME_FUNCTIONS:
            setattr(context, name, runtime.functions[name])
        for name, memory in (
            ("params", task.arguments.parameters),
            ("block_counts", self.block_counts),
            ("ranges", self._ranges),
            ("histograms", self.histograms),
            ("stop", task.stop),
            ("thread_ids", self._thread_ids),
            ("site_counts", self.site_counts),
            ("sites", self._sites),
            ("buffers", self._buffers),
            ("faults", self.faults),
            ("next_block", task.next_block),
            ("heads", self._heads),
            ("exits", self._exits),
            ("stands", self._stands),
            ("writers", self._writers),
        ):
            setattr(context, name, ctypes.addressof(memory))
        context.watch = task.watching.address if isinstance(task.watching, Watching) else 0
        context.screen = task.watching.address if isinstance(task.watching, Screening) else 0
        context.dynamic_shared_bytes = launch.dynamic_shared_bytes
        context.print_text, context.print_capacity = ctypes.addressof(self._printed), len(self._printed) - 1
        context.is_alone = int(task.threads == 1)
        context.local_bytes = blueprint.local_bytes
        context.cleared_local_bytes = blueprint.cleared_local_bytes
        context.entry = blueprint.entry
        context.range_count = blueprint.groups
        context.shared_bytes = blueprint.static_shared_bytes + launch.dynamic_shared_bytes
        context.resident_count = task.resident
        context.seed = task.seed
        context.sms = device_of(launch.module.arch).sms
        context.writer_count = len(blueprint.writers)
        context.is_opaque = int(blueprint.is_opaque)
        context.nctaid[:] = launch.grid
        context.buffer_count = len(task.arguments.buffers)
        context.fault_capacity = FAULTS_KEPT
        context.fast = task.fast
        context.compile_careful = task.compile_careful
        context.warp_bytes, context.warp_count = blueprint.warp_bytes, blueprint.warps
        context.threads = launch.threads_per_block
        context.words, context.blocks = blueprint.words, blueprint.blocks
        context.last_block = task.blocks
        context.chosen = 0 if task.chosen is None else ctypes.addressof(task.chosen)
        context.chunk = max(1, task.blocks // (CHUNKS_PER_THREAD * task.threads))

    def run(self) -> None:
        """Run blocks until none is left or somebody stops."""
        runtime, context = abi.load_runtime(), self.context
        self.status = runtime.run(self._context.address)
        if self.status == abi.UNSUPPORTED:
            block = abi.Block.from_address(context.block)
            self.stop_site = int(abi.Warp.from_address(block.warps + context.warp_bytes * context.warp_index).wait_site)
        runtime.free(self._context.address)

    @property
    def printed(self) -> str:
        """What the blocks printed, in their order."""
        text = self._printed.raw[: self.context.print_used].decode(errors="replace")
        lost = int(self.context.print_lost)
        return text + (f"\n... and {lost} more bytes\n" if lost else "")

    def counts(self) -> tuple[Any, Any, Any]:
        """Counts of blocks, sites and alignments."""
        return self.block_counts, self.site_counts, self.histograms


class _Aligned:
    """Zeroed memory on a 64-byte boundary."""

    def __init__(self, size: int) -> None:
        self._memory = ctypes.create_string_buffer(size + 128)
        self.address = -(-ctypes.addressof(self._memory) // 64) * 64


def site_table(sites: tuple[SiteFacts, ...]) -> ctypes.Array[abi.Site]:
    """The sites as the runtime reads them. In place of traits a barrier has the number of its line's first site, + 1."""
    first_of_line: dict[str, int] = {}
    for index, site in enumerate(sites):
        if not site.space:
            first_of_line.setdefault(site.place, index)
    rows = (
        abi.Site(
            abi.SPACES["generic"] if site.is_generic else abi.SPACES.get(site.space, 0),
            int(site.kind in ("store", "atomic")),
            site.element_bytes,
            site.count,
            int(site.space == "stack"),
            int(site.aligned),
            abi.OPERATIONS.index(site.operation) if site.operation else 0,
            abi.number_type(site.type) if site.type else 0,
            site.traits if site.space else 1 + first_of_line[site.place],
        )
        for site in sites
    )
    return (abi.Site * max(1, len(sites)))(*rows)


def _bits(numbers: Iterable[int], words: int) -> ctypes.Array[ctypes.c_uint64]:
    """A set of numbers as 64-bit words."""
    bits = (ctypes.c_uint64 * words)()
    for number in numbers:
        bits[number // 64] |= 1 << number % 64
    return bits


def _thread_ids(block: tuple[int, int, int], warps: int) -> ctypes.Array[ctypes.c_uint32]:
    """x of every thread slot, then y, then z."""
    import numpy as np

    linear = np.arange(32 * warps, dtype=np.uint32)
    planes = np.concatenate([linear % block[0], linear // block[0] % block[1], linear // (block[0] * block[1])])
    return (ctypes.c_uint32 * len(planes)).from_buffer_copy(planes.astype(np.uint32).tobytes())
