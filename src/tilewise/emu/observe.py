"""Runs a launch and looks at its accesses: what it does wrong beyond faults, whatever order its threads happen to run in.

A quick look comes first, which takes little time and passes most kernels that are right; only what it suspects is run again
with every access watched (docs/adr/0013).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tilewise.core.counters import Counters
from tilewise.core.errors import InstructionLimitReached, TilewiseError
from tilewise.core.facts import IdleBarrier, Observed
from tilewise.core.launch import Launch
from tilewise.emu import abi
from tilewise.emu.arguments import BoundBuffer, bind
from tilewise.emu.blueprint import SiteFacts
from tilewise.emu.budget import Budget
from tilewise.emu.compiled import CompiledKernel, compile_kernel
from tilewise.emu.contents import Contents
from tilewise.emu.jit import Target
from tilewise.emu.lower.body import View
from tilewise.emu.machine import Run, Turns, chosen_blocks, require_block_size, require_single_clusters
from tilewise.emu.observed import describe
from tilewise.emu.watching import Screening, Watching

if TYPE_CHECKING:
    pass

Progress = Callable[[str, int, int], None]
"""Is told every now and then what is being done to a launch, how many of its blocks have begun, and of how many."""

_DOING: dict[View, str] = {"": "running", "screened": "a quick look", "observed": "watching every access"}
REQUESTS_WATCHED = 10_000
"""Requests a block, at most, of a launch that passes the quick look and is then asked which barriers it needs."""
UNTRIED_INSTRUCTIONS = 10_000_000
"""Warp instructions that are watched of a launch with a limit before it is known to end within it: up to 10 seconds or so."""
BEGINNING = 20
"""Of a launch that took all the instructions it may, so small a share is watched: watching takes so many times as long."""
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
    progress: Progress = lambda *_: None,
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
    session = _Session(launch, turns, tuple(poison), blocks, max_instructions, progress, target)
    if not watch:
        return session.run("", None)
    observation = session.screen()
    return session.watch() if observation is None else observation


class _Session:
    """A launch that is observed, in one run or several: each begins with what the arrays held at first."""

    def __init__(
        self,
        launch: Launch,
        turns: Turns,
        poison: tuple[int, ...],
        blocks: Sequence[int] | None,
        max_instructions: int | None,
        progress: Progress,
        target: Target | None,
    ) -> None:
        self._launch, self._turns, self._target = launch, turns, target
        self._blocks, self._max_instructions, self._progress = blocks, max_instructions, progress
        self._poison = {f"argument {index}" for index in poison}
        self._before = self._contents()
        self._compile_seconds = 0.0
        self._stopped = ""

    def screen(self) -> Observation | None:
        """Take the quick look; return None where it does not do."""
        kernel = self._compile("screened")
        if kernel.blueprint.waits_for_blocks or any(_needs_watching(site) for site in kernel.blueprint.sites):
            return None
        buffers = bind(self._launch, kernel.blueprint).buffers
        screening = Screening(buffers, self._empty(buffers))
        observation = self.run("screened", screening)
        if screening.is_suspect or observation.stopped or observation.observed.faults:
            _put_back(self._before)
            self._stopped = observation.stopped
            return None
        return replace(observation, observed=replace(observation.observed, idle_barriers=self._idle_barriers(observation)))

    def watch(self) -> Observation:
        """Look at every access, as far as the limit goes; at the beginning alone if the launch does not end within it."""
        limit = self._max_instructions
        if limit is None:
            return self._watch_all()
        first = min(UNTRIED_INSTRUCTIONS, max(1, limit // BEGINNING) if self._stopped else limit)
        self._max_instructions = first
        observation = self._watch_all()
        self._max_instructions = limit
        if not observation.stopped or first == limit:
            return observation
        _put_back(self._before)
        stopped = self._stopped or self.run("", None).stopped
        if stopped:
            return replace(observation, stopped=stopped)
        _put_back(self._before)
        return self._watch_all()

    def _watch_all(self) -> Observation:
        """Look at every access; again, if a buffer that was taken for read-only was not."""
        observation, watching = self._watch(set())
        if watching.raw.again:
            _put_back(self._before)
            observation, _ = self._watch(watching.to_shadow())
        return observation

    def run(self, view: View, watching: Watching | Screening | None, *, sample: Sequence[int] | None = None) -> Observation:
        """Run the launch once, or only the blocks of a sample."""
        kernel, launch = self._compile(view), self._launch
        bound = bind(launch, kernel.blueprint)
        blocks = self._blocks if sample is None else sample
        chosen = None if blocks is None else chosen_blocks(blocks, launch.blocks)
        budget = Budget(kernel.blueprint, self._max_instructions)
        advance = partial(self._progress, _DOING[view])
        run = Run(launch, kernel, bound, self._turns, chosen, budget, watching, advance)
        careful_before, started, stopped = kernel.careful_seconds, time.perf_counter(), ""
        run.go()
        careful = kernel.careful_seconds - careful_before
        seconds = time.perf_counter() - started - careful
        self._compile_seconds += careful
        try:
            run.raise_stops()
        except InstructionLimitReached as limit:
            stopped = str(limit)
        watched = watching if isinstance(watching, Watching) else None
        observed = describe(kernel.blueprint, launch, bound.buffers, run.faults(), run.faults_lost, watched)
        if run.stop.value:  # what it has not written it might have
            observed = replace(observed, unwritten=())
        return Observation(run.counters(), run.printed, seconds, self._compile_seconds, observed, stopped)

    def _watch(self, shadowed: set[int], sample: Sequence[int] | None = None) -> tuple[Observation, Watching]:
        kernel = self._compile("observed")
        buffers = bind(self._launch, kernel.blueprint).buffers
        watching = Watching(kernel.blueprint, buffers, self._empty(buffers), shadowed)
        return self.run("observed", watching, sample=sample), watching

    def _idle_barriers(self, observation: Observation) -> tuple[IdleBarrier, ...]:
        """Of a launch without conflicts, the barriers that order nothing in its first block, if that is not too much to watch."""
        requests = sum(site.requests for site in observation.counters.sites)
        if not observation.counters.barriers or requests > REQUESTS_WATCHED * self._block_count:
            return ()
        after = self._contents()
        _put_back(self._before)
        watched, _ = self._watch(set(), [0] if self._blocks is None else self._blocks[:1])
        _put_back(after)
        return watched.observed.idle_barriers

    def _compile(self, view: View) -> CompiledKernel:
        started = time.perf_counter()
        kernel = compile_kernel(self._launch, self._target, view=view)
        self._compile_seconds += time.perf_counter() - started
        sites = len(kernel.blueprint.sites)
        if sites > SITE_LIMIT:
            raise TilewiseError(f"{self._launch.kernel} has {sites} memory instructions: at most {SITE_LIMIT} are watched.")
        return kernel

    @property
    def _block_count(self) -> int:
        return self._launch.blocks if self._blocks is None else len(self._blocks)

    def _contents(self) -> list[Contents]:
        """What the array arguments hold that a launch may write."""
        import numpy as np

        return [Contents(array) for array in self._launch.args if isinstance(array, np.ndarray) and array.flags.writeable]

    def _empty(self, buffers: tuple[BoundBuffer, ...]) -> list[int]:
        return [index for index, buffer in enumerate(buffers) if buffer.name in self._poison]


def _put_back(contents: list[Contents]) -> None:
    for one in contents:
        one.put_back()


def _needs_watching(site: SiteFacts) -> bool:
    """Whether threads talk to each other by an access, so that only what happens before what tells conflicts."""
    is_flag = site.traits & abi.STRONG and not site.traits & abi.UPDATES
    return bool(is_flag or site.traits & (abi.OF_BLOCK | abi.ACQUIRES | abi.RELEASES))
