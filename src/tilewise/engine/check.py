"""A check: a launch of anybody's kernel, judged before it runs, run in both builds, and what they show put together."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tilewise.checkers.base import Difference, Evidence, Setup, judge_launch, judge_run
from tilewise.core.counters import Counters
from tilewise.core.errors import InstructionLimitReached, UnsupportedInstruction
from tilewise.core.facts import Fault
from tilewise.core.finding import Finding, Severity
from tilewise.core.launch import CHECKED_INSTRUCTIONS, Dim3, Launch
from tilewise.core.report import Coverage, LaunchCoverage, Report
from tilewise.emu.compiled import compile_kernel, parse_module
from tilewise.emu.coverage import missing_forms
from tilewise.emu.observe import Observation, observe
from tilewise.emu.requests import add_examples
from tilewise.engine.arguments import BoundArgument
from tilewise.engine.check_builds import Build
from tilewise.engine.check_findings import merge_findings, sort_findings
from tilewise.engine.check_outputs import choose_outputs
from tilewise.engine.check_results import Tolerances, are_finite, compare_expected, compare_runs, input_values, look_after
from tilewise.engine.check_subject import Subject
from tilewise.engine.expect import Expectation
from tilewise.engine.kernel_file import KernelEntry
from tilewise.engine.sample import spread_blocks
from tilewise.engine.wrapped import mark_wrapped
from tilewise.hw.device import Device
from tilewise.ptx.origins import place_at

ENDING = ("deadlock", "stack overflow", "trap", "failed assertion")
"""Faults after which a launch does not come to its end."""
MORE = "--max-instructions N allows more, --sample-blocks N runs some of the blocks."
SHUFFLED_BLOCKS = 1 << 20
"""Grids up to this size run their blocks in another order under another seed."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to check, beyond what is launched."""

    device: Device
    """Whose limits the launch is held against."""
    expectations: tuple[Expectation, ...] = ()
    out: str | None = None
    """The array that an expectation without a name is about."""
    tolerances: Tolerances = field(default_factory=Tolerances)
    schedules: int = 1
    sample_blocks: int | None = None
    threads: int | None = None
    max_instructions: int | None = CHECKED_INSTRUCTIONS
    """Warp instructions of PTX that a run may take; None for any number."""
    fail_on: Severity = "error"
    examples: bool = False
    """Whether to look for an example of each costly request, for pictures."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What a build's run gave: `evidence` is None where it could not run, and `unchecked` says why."""

    build: Build
    evidence: Evidence | None
    unchecked: tuple[str, ...] = ()
    printed: str = ""


@dataclass(frozen=True, slots=True)
class _Other:
    """What another order of warps and blocks showed that the first did not."""

    faults: tuple[Fault, ...] = ()
    differences: tuple[Difference, ...] = ()
    unchecked: tuple[str, ...] = ()


def check_subject(subject: Subject, options: CheckOptions, tell: Tell = lambda _: None) -> Report:
    """Check a launch.

    Raises TilewiseError for arguments and expectations that do not fit the kernel. What the kernel does wrong is in the report,
    and so is what of it could not be looked at.
    """
    setup = _setup(subject, options.device)
    builds, missing = subject.builds, _missing(subject.builds.first)
    refused = judge_launch(setup)
    if refused:
        nothing = ("the launch is refused before it runs: what the kernel does was not looked at",)
        return _report(subject, options, refused, (), builds.unchecked, (*builds.skipped, *nothing, *missing))
    check = _Check(subject, options, setup, tell)
    runs = [check.run(build, entry) for build, entry in builds.entries]
    ran = [run for run in runs if run.evidence is not None]
    findings = merge_findings([judge_run(run.evidence) for run in ran if run.evidence is not None])
    unchecked = (*builds.unchecked, *(sentence for run in runs for sentence in run.unchecked))
    return _report(subject, options, findings, ran, unchecked, (*builds.skipped, *missing))


def _setup(subject: Subject, device: Device) -> Setup:
    entry, configuration = subject.builds.first, subject.configuration
    resources = next((one for one in entry.module.resources if one.name == entry.name), None)
    return Setup(
        kernel=entry.shown,
        grid=configuration.grid,
        block=configuration.block,
        dynamic_shared_bytes=configuration.dynamic_shared_bytes,
        stated_dynamic_limit_bytes=subject.stated_dynamic_limit_bytes,
        device=device,
        resources=resources,
        place=place_at(entry.function.position) if entry.function.position else None,
        bound_threads=math.prod(bounds) if (bounds := entry.function.directives.get("maxntid")) else None,
        required_block=_padded(shape) if (shape := entry.function.directives.get("reqntid")) else None,
    )


def _padded(shape: tuple[int, ...]) -> Dim3:
    x, y, z = (*shape, 1, 1)[:3]
    return x, y, z


def _missing(entry: KernelEntry) -> tuple[str, ...]:
    """Sentences about instructions that no thread reaches: reached ones stop the run."""
    return tuple(
        f"not in the emulator: {one.opcode} at {one.file}:{one.line}; reaching it would have stopped the run"
        for one in missing_forms(entry.module, entry.name)
    )


class _Check:
    """One check under way: runs builds, each with arguments of its own."""

    def __init__(self, subject: Subject, options: CheckOptions, setup: Setup, tell: Tell) -> None:
        self._subject = subject
        self._options = options
        self._setup = setup
        self._tell = tell
        total = setup.grid[0] * setup.grid[1] * setup.grid[2]
        self._blocks = None if options.sample_blocks is None else spread_blocks(total, options.sample_blocks)

    def run(self, build: Build, entry: KernelEntry) -> _Run:
        """Run one build and look at what it did."""
        self._tell(f"running the {build} build")
        arguments = self._subject.bind(entry)
        outputs = choose_outputs(entry, arguments, self._options.expectations, self._options.out)
        values = input_values(arguments, frozenset(name for one, _ in outputs for name in one.names))
        finite = are_finite(arguments)
        try:
            observation = self._observe(f"the {build} build", entry, arguments)
        except UnsupportedInstruction as error:
            return _Run(build, None, (f"the {build} build was not run to its end: {error}",))
        except InstructionLimitReached as error:
            return _Run(build, None, (f"the {build} build was not run: {error} {MORE}",))
        differences: list[Difference] = []
        unchecked, other = self._incomplete(build, observation), _Other()
        has_ended = not _is_cut_short(observation)
        if not unchecked and has_ended:
            for expectation, out in outputs:
                differences += compare_expected(expectation, out, values, arguments, self._options.tolerances)
            if build == self._subject.builds.entries[0][0]:
                other = self._other_schedules(entry, arguments, observation.observed.faults)
        module = parse_module(entry.module.ptx)
        callees = tuple(one for one in module.functions if not one.is_entry)
        observed = replace(observation.observed, faults=(*observation.observed.faults, *other.faults))
        observed = mark_wrapped(observed, (entry.function, *callees), lambda: self._new_launch(entry))
        evidence = Evidence(
            setup=self._setup,
            build=build,
            function=entry.function,
            callees=callees,
            observed=observed if self._blocks is None and has_ended else replace(observed, unwritten=()),
            counters=self._counters(build, entry, observation),
            arguments=look_after(arguments),
            finite_inputs=finite,
            differences=(*differences, *other.differences),
            unset_constants=frozenset(one.name for one in module.variables if one.space == "const" and one.initial is None),
        )
        lost = f"the {build} build did {observed.lost:,} more things wrong than are kept: put right the first"
        unchecked = (*unchecked, *other.unchecked, *([lost] if observed.lost else []))
        return _Run(build, evidence, unchecked, observation.printed)

    def _new_launch(self, entry: KernelEntry) -> Launch:
        """The launch with what its arrays held at first."""
        return self._subject.launch(entry, self._subject.bind(entry))

    def _observe(self, what: str, entry: KernelEntry, arguments: Sequence[BoundArgument], seed: int = 0) -> Observation:
        """Run a build; a seed other than 0 asks for another order, and then only the results matter."""
        launch = self._subject.launch(entry, tuple(arguments))
        return observe(
            launch,
            poison=[index for index, argument in enumerate(arguments) if argument.is_poison and argument.is_buffer],
            threads=self._options.threads,
            max_instructions=self._options.max_instructions,
            blocks=self._shuffled(launch, seed) if seed else self._blocks,
            seed=seed,
            watch=seed == 0,
            progress=lambda doing, begun, blocks: self._tell(f"{what}: {doing}, at block {begun:,} of {blocks:,}"),
        )

    def _counters(self, build: Build, entry: KernelEntry, observation: Observation) -> Counters | None:
        """The optimised build's, of a run to its end."""
        if build != "optimised" or observation.stopped or _is_cut_short(observation):
            return None
        if not self._options.examples:
            return observation.counters
        self._tell("looking for costly requests")
        return add_examples(observation.counters, self._new_launch(entry))

    def _shuffled(self, launch: Launch, seed: int) -> Sequence[int] | None:
        """The blocks in a seeded order; None where they wait for each other, and the emulator itself has them take turns."""
        if launch.blocks > SHUFFLED_BLOCKS or compile_kernel(launch).blueprint.waits_for_blocks:
            return self._blocks
        blocks = list(range(launch.blocks) if self._blocks is None else self._blocks)
        random.Random(seed).shuffle(blocks)
        return blocks

    def _incomplete(self, build: Build, observation: Observation) -> tuple[str, ...]:
        sentences = []
        if self._blocks is not None:
            total = self._setup.grid[0] * self._setup.grid[1] * self._setup.grid[2]
            sentences.append(
                f"{len(self._blocks):,} of {total:,} blocks of the {build} build ran, as asked: results were not compared"
            )
        if observation.stopped:
            sentences.append(f"the {build} build was not run to its end: {observation.stopped} {MORE}")
        return tuple(sentences)

    def _other_schedules(self, entry: KernelEntry, arguments: Sequence[BoundArgument], known: Sequence[Fault]) -> _Other:
        """Return what other orders of warps and blocks change, faults and results; the first order that does is enough."""
        places = {(fault.kind, fault.place) for fault in known}
        for seed in range(1, self._options.schedules):
            self._tell(f"running under seed {seed}")
            again = self._subject.bind(entry)
            observation = self._observe(f"under seed {seed}", entry, again, seed)
            if observation.stopped:
                return _Other(unchecked=(f"the launch under seed {seed} was not run to its end: {observation.stopped} {MORE}",))
            faults = [fault for fault in observation.observed.faults if (fault.kind, fault.place) not in places]
            if faults:
                return _Other(tuple(replace(fault, detail=f"{fault.detail}, under seed {seed}") for fault in faults))
            found = tuple(compare_runs(again, arguments, f"the same launch under seed 0 (here: seed {seed})"))
            if found:
                return _Other(differences=found)
        return _Other()


def _is_cut_short(observation: Observation) -> bool:
    """Whether a fault kept threads from doing all that they would have done: what is missing then is no fault of its own."""
    return any(fault.kind in ENDING for fault in observation.observed.faults)


def _report(
    subject: Subject,
    options: CheckOptions,
    findings: Sequence[Finding],
    runs: Sequence[_Run],
    unchecked: Sequence[str],
    skipped: Sequence[str],
) -> Report:
    configuration, entry = subject.configuration, subject.builds.first
    total = configuration.grid[0] * configuration.grid[1] * configuration.grid[2]
    blocks = min(total, options.sample_blocks or total) if runs else 0
    coverage = Coverage(
        launch=LaunchCoverage(
            entry.shown, configuration.grid, configuration.block, configuration.cluster, configuration.dynamic_shared_bytes
        ),
        blocks_run=blocks,
        blocks_total=total,
        builds=tuple(run.build for run in runs),
        unchecked=tuple(dict.fromkeys(unchecked)),
        skipped=tuple(skipped),
    )
    counters = next((run.evidence.counters for run in runs if run.evidence and run.evidence.counters), None)
    printed = runs[0].printed if runs else ""
    return Report(sort_findings(findings), coverage, counters, options.fail_on, printed=printed)
