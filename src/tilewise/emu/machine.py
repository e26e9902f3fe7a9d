"""Runs a launch on the CPU: compiles the kernel, binds its arguments, spreads the blocks over threads, adds up the counts."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tilewise.core.counters import Counters
from tilewise.core.errors import KernelFault, TilewiseError, UnsupportedInstruction
from tilewise.core.facts import Fault
from tilewise.core.launch import Launch
from tilewise.emu import abi
from tilewise.emu.arguments import Arguments, bind
from tilewise.emu.blueprint import Blueprint
from tilewise.emu.budget import Budget
from tilewise.emu.compiled import compile_kernel
from tilewise.emu.counting import add_up
from tilewise.emu.jit import Target
from tilewise.emu.observed import merge_faults
from tilewise.emu.report import describe_fault
from tilewise.emu.residency import resident_blocks
from tilewise.emu.watching import Screening, Watching
from tilewise.emu.worker import Task, Worker

MAX_THREADS_PER_BLOCK = 1024
POLL_SECONDS = 0.001, 0.1
"""How often the instructions of a run are counted: at first, and in the end."""


class RunnableKernel(Protocol):
    """What a kernel must have to be run; compiled.py makes them."""

    blueprint: Blueprint
    fast_address: int
    careful_seconds: float

    def careful_address(self) -> int:
        """The careful function."""
        ...


@dataclass(frozen=True, slots=True)
class Turns:
    """How blocks and warps take turns; raises TilewiseError for what is no number for it."""

    threads: int | None = None
    """Host threads; None: as many as fit the kernel."""
    resident_blocks: int | None = None
    """Blocks on their way at once; None: as many as a GPU of the kernel's architecture holds, where they wait for each other."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, what in (("threads", "host threads"), ("resident_blocks", "blocks")):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise TilewiseError(f"{name} = {value!r} is not a number of {what}: give a whole number of at least 1.")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 1 << 64:
            raise TilewiseError(f"seed = {self.seed!r}: give a whole number from 0 to 2**64 - 1.")


@dataclass(frozen=True, slots=True)
class Emulation:
    """What a launch did. `seconds` is the run alone, counting included, compiling left out."""

    counters: Counters
    seconds: float
    compile_seconds: float
    threads: int
    printed: str
    """What the kernel printed: CUDA's printf."""
    variables: dict[str, Any]
    """What the run left in each module variable within reach: its bytes, as an array. Every launch starts from initial values."""


def emulate(
    launch: Launch,
    *,
    threads: int | None = None,
    blocks: Sequence[int] | None = None,
    max_instructions: int | None = None,
    resident_blocks: int | None = None,
    seed: int = 0,
    target: Target | None = None,
) -> Emulation:
    """Run a launch on the CPU and count what it did; arrays among its arguments are read and written in place.

    `threads` host threads share the blocks (default: all processors this process may use, but one where what a kernel leaves
    hangs on the order of its blocks); results and counts are the same for any number. `blocks` names the only blocks to run, by
    their number along x, then y, then z: the counts are theirs.
    Where blocks may wait for each other they share one host thread, `resident_blocks` at once (default: as many as a GPU of the
    kernel's architecture holds); a `seed` other than 0 has blocks and warps take turns in another order.
    Raises KernelFault if the kernel accessed what it may not or cannot go on, InstructionLimitReached if it takes more than
    `max_instructions` warp instructions of PTX, UnsupportedInstruction if a thread reached an instruction that the emulator does
    not have, TilewiseError for arguments that do not fit the kernel.
    """
    started = time.perf_counter()
    require_block_size(launch)
    turns = Turns(threads, resident_blocks, seed)
    kernel = compile_kernel(launch, target)
    compile_seconds = time.perf_counter() - started
    emulation = run_kernel(kernel, launch, turns, blocks=blocks, max_instructions=max_instructions)
    return replace(emulation, compile_seconds=emulation.compile_seconds + compile_seconds)


def run_kernel(
    kernel: RunnableKernel,
    launch: Launch,
    turns: Turns,
    *,
    blocks: Sequence[int] | None = None,
    max_instructions: int | None = None,
) -> Emulation:
    """Run a launch of a kernel that is compiled; as `emulate`."""
    started = time.perf_counter()
    require_single_clusters(launch)
    arguments = bind(launch, kernel.blueprint)
    careful_before = kernel.careful_seconds
    chosen = None if blocks is None else chosen_blocks(blocks, launch.blocks)
    run = Run(launch, kernel, arguments, turns, chosen, Budget(kernel.blueprint, max_instructions))
    compiled = time.perf_counter()
    run.go()
    careful = kernel.careful_seconds - careful_before
    seconds = time.perf_counter() - compiled - careful
    run.raise_failures()
    return Emulation(run.counters(), seconds, compiled - started + careful, len(run.workers), run.printed, arguments.variables)


def require_block_size(launch: Launch) -> None:
    """Raise TilewiseError for a block of more threads than any GPU takes."""
    if launch.threads_per_block > MAX_THREADS_PER_BLOCK:
        raise TilewiseError(
            f"block = {launch.block} has {launch.threads_per_block} threads: a block has at most {MAX_THREADS_PER_BLOCK}."
        )


def require_single_clusters(launch: Launch) -> None:
    """Raise TilewiseError for clusters of several blocks."""
    if launch.cluster != (1, 1, 1):
        raise TilewiseError(f"cluster = {launch.cluster}: the emulator runs clusters of one block only.")


def _thread_count(turns: Turns, blueprint: Blueprint, blocks: int) -> int:
    wanted = turns.threads or (1 if blueprint.is_ordered else len(os.sched_getaffinity(0)))
    return max(1, min(1 if blueprint.waits_for_blocks else wanted, blocks))


def chosen_blocks(blocks: Sequence[int], total: int) -> ctypes.Array[ctypes.c_uint64]:
    """Return the numbers of blocks for the runtime; raises TilewiseError for those that are not in the grid, or none."""
    numbers = [number if isinstance(number, int) else -1 for number in blocks]
    for given, number in zip(blocks, numbers, strict=True):
        if not 0 <= number < total:
            raise TilewiseError(f"block {given!r} is not in the grid: give whole numbers from 0 to {total - 1}.")
    if not numbers or len(set(numbers)) < len(numbers):
        raise TilewiseError("blocks names none, or one of them twice: give each block once, or None for all of the grid.")
    return (ctypes.c_uint64 * len(numbers))(*numbers)


class Run:
    """One launch under way: what its host threads share. `advance` is told now and then how many of its blocks have begun."""

    def __init__(
        self,
        launch: Launch,
        kernel: RunnableKernel,
        arguments: Arguments,
        turns: Turns,
        chosen: ctypes.Array[ctypes.c_uint64] | None,
        budget: Budget,
        watching: Watching | Screening | None = None,
        advance: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        self.budget = budget
        self._advance = advance
        self.kernel = kernel
        self.arguments = arguments
        self.stop = ctypes.c_int32(0)
        self.failure: BaseException | None = None
        blocks = launch.blocks if chosen is None else len(chosen)
        budget.require_room(launch, blocks)
        count = _thread_count(turns, kernel.blueprint, blocks)
        resident = turns.resident_blocks or resident_blocks(launch, kernel.blueprint)
        task = Task(
            launch=launch,
            blueprint=kernel.blueprint,
            arguments=arguments,
            fast=kernel.fast_address,
            compile_careful=abi.COMPILE_CAREFUL(self._compile_careful),
            stop=self.stop,
            next_block=ctypes.c_uint64(0),
            chosen=chosen,
            blocks=blocks,
            threads=count,
            resident=min(resident, blocks),
            seed=turns.seed,
            watching=watching,
        )
        self._task = task
        self.workers = [Worker(task) for _ in range(count)]

    def go(self) -> None:
        """Run all blocks. On Ctrl-C the host threads stop at their next block or loop iteration, then the exception goes on."""
        threads = [threading.Thread(target=worker.run, daemon=True) for worker in self.workers]
        for thread in threads:
            thread.start()
        try:
            self._wait(threads)
        except BaseException:
            self.stop.value = 1
            self._wait(threads)
            raise

    def _wait(self, threads: list[threading.Thread]) -> None:
        pause, longest = POLL_SECONDS
        for thread in threads:
            while thread.is_alive():
                thread.join(pause)
                pause = min(2 * pause, longest)
                if self.budget.is_spent(worker.block_counts for worker in self.workers):
                    self.stop.value = 1
                self._advance(self._started_blocks, self._task.blocks)

    @property
    def _started_blocks(self) -> int:
        taken = min(int(self._task.next_block.value), self._task.blocks)
        return taken - sum(int(worker.context.end_taken - worker.context.first_taken) for worker in self.workers)

    def _compile_careful(self) -> int:
        """Called from a host thread; an exception here must not cross C, so it is kept for the main thread."""
        try:
            return self.kernel.careful_address()
        except BaseException as failure:  # noqa: BLE001 - raised again by raise_failures
            self.failure = failure
            self.stop.value = 1
            return 0

    def raise_failures(self) -> None:
        """Raise what went wrong while running, if anything."""
        self.raise_stops()
        faults = self.faults()
        if faults:
            more = f"\n... and {self.faults_lost} more" if self.faults_lost else ""
            raise KernelFault("\n".join(map(str, merge_faults(faults))) + more, faults, self.printed)

    def raise_stops(self) -> None:
        """Raise what kept the run from coming to its end, other than faults."""
        if self.failure is not None:
            raise self.failure
        self.budget.check(worker.block_counts for worker in self.workers)
        unsupported = [worker.stop_site for worker in self.workers if worker.status == abi.UNSUPPORTED]
        if unsupported:
            site = self.kernel.blueprint.sites[min(unsupported)]
            part = f" with {site.missing}" if site.missing else ""
            raise UnsupportedInstruction(f"the emulator does not have {site.opcode}{part} yet.", where=site.place)

    @property
    def faults_lost(self) -> int:
        """Faults past what is kept."""
        return sum(int(worker.context.faults_lost) for worker in self.workers)

    def counters(self) -> Counters:
        """What the host threads counted, added up."""
        barriers = sum(int(worker.context.barriers) for worker in self.workers)
        return add_up(self.kernel.blueprint, [worker.counts() for worker in self.workers], barriers)

    @property
    def printed(self) -> str:
        """What the kernel printed."""
        return "".join(worker.printed for worker in self.workers)

    def faults(self) -> tuple[Fault, ...]:
        """All threads' faults, one a kind and instruction: the first block's example, the counts added up."""
        merged: dict[tuple[int, int], abi.Fault] = {}
        for worker in self.workers:
            for raw in worker.faults[: int(worker.context.fault_count)]:
                kept = merged.get((raw.kind, raw.site))
                if kept is None:
                    merged[raw.kind, raw.site] = raw
                    continue
                first = min(kept, raw, key=lambda fault: (*reversed(fault.block), fault.warp, fault.lane))
                first.count = kept.count + raw.count
                merged[raw.kind, raw.site] = first
        ordered = [merged[key] for key in sorted(merged, key=lambda key: (key[1], key[0]))]
        return tuple(describe_fault(raw, self.kernel.blueprint, self.arguments.buffers) for raw in ordered)
