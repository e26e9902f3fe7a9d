"""Runs a launch with every access watched: what it does wrong beyond faults, whatever order its threads happen to run in."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewise.core.counters import Counters
from tilewise.core.errors import InstructionLimitReached, TilewiseError
from tilewise.core.facts import Observed
from tilewise.core.launch import Launch
from tilewise.emu.arguments import Arguments, bind
from tilewise.emu.budget import Budget
from tilewise.emu.compiled import CompiledKernel, compile_kernel
from tilewise.emu.jit import Target
from tilewise.emu.machine import Run, Turns, chosen_blocks, require_block_size, require_single_clusters
from tilewise.emu.observed import describe
from tilewise.emu.watching import Watching

if TYPE_CHECKING:
    import numpy as np

SITE_LIMIT = 1 << 16
"""Instructions that access memory, at most: what is remembered of an access has 16 bits for its number."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a launch did. `seconds` is the run alone, `stopped` why it did not come to its end (empty if it did)."""

    counters: Counters
    printed: str
    seconds: float
    compile_seconds: float
    observed: Observed
    stopped: str


def observe(
    launch: Launch,
    *,
    poison: Sequence[int] = (),
    threads: int | None = None,
    max_instructions: int | None = None,
    resident_blocks: int | None = None,
    seed: int = 0,
    blocks: Sequence[int] | None = None,
    watch: bool = True,
    target: Target | None = None,
) -> Observation:
    """Run a launch on the CPU and return what was seen; arrays among its arguments are read and written in place.

    `poison` are the numbers of array arguments without contents. Without `watch` only faults are found, as fast as `emulate`,
    on `threads` host threads; with it, on one. The rest is as for `emulate`.
    Raises UnsupportedInstruction if a thread reached an instruction that the emulator does not have, TilewiseError for arguments
    that do not fit the kernel.
    """
    require_block_size(launch)
    require_single_clusters(launch)
    turns = Turns(1 if watch else threads, resident_blocks, seed)
    started = time.perf_counter()
    kernel = compile_kernel(launch, target, observes=watch)
    if len(kernel.blueprint.sites) > SITE_LIMIT:
        raise TilewiseError(
            f"{launch.kernel} has {len(kernel.blueprint.sites)} memory instructions: at most {SITE_LIMIT} are watched."
        )
    compile_seconds = time.perf_counter() - started
    session = _Session(launch, kernel, turns, tuple(poison), blocks, max_instructions)
    if not watch:
        return session.run(None, compile_seconds)
    before = [array.copy() for array in session.arrays]
    watching = session.watch(set())
    observation = session.run(watching, compile_seconds)
    if watching.raw.again:
        for array, contents in zip(session.arrays, before, strict=True):
            array[...] = contents
        observation = session.run(session.watch(watching.to_shadow()), observation.compile_seconds)
    return observation


class _Session:
    """A launch that is observed, perhaps twice."""

    def __init__(
        self,
        launch: Launch,
        kernel: CompiledKernel,
        turns: Turns,
        poison: tuple[int, ...],
        blocks: Sequence[int] | None,
        max_instructions: int | None,
    ) -> None:
        self._launch, self._kernel, self._turns = launch, kernel, turns
        self._blocks, self._max_instructions = blocks, max_instructions
        self._bound: Arguments = bind(launch, kernel.blueprint)
        names = [f"argument {index}" for index in poison]
        self._empty = [index for index, buffer in enumerate(self._bound.buffers) if buffer.name in names]

    @property
    def arrays(self) -> list[np.ndarray]:
        """The array arguments that a launch may write."""
        import numpy as np

        return [array for array in self._launch.args if isinstance(array, np.ndarray) and array.flags.writeable]

    def watch(self, shadowed: set[int]) -> Watching:
        """Return the memory for a watched run."""
        return Watching(self._kernel.blueprint, self._bound.buffers, self._empty, shadowed)

    def run(self, watching: Watching | None, compile_seconds: float) -> Observation:
        """Run the launch once."""
        kernel, launch = self._kernel, self._launch
        bound = bind(launch, kernel.blueprint)
        chosen = None if self._blocks is None else chosen_blocks(self._blocks, launch.blocks)
        run = Run(launch, kernel, bound, self._turns, chosen, Budget(kernel.blueprint, self._max_instructions), watching)
        careful_before, started, stopped = kernel.careful_seconds, time.perf_counter(), ""
        run.go()
        careful = kernel.careful_seconds - careful_before
        seconds = time.perf_counter() - started - careful
        try:
            run.raise_stops()
        except InstructionLimitReached as limit:
            stopped = str(limit)
        observed = describe(kernel.blueprint, launch, bound.buffers, run.faults(), run.faults_lost, watching)
        return Observation(run.counters(), run.printed, seconds, compile_seconds + careful, observed, stopped)
