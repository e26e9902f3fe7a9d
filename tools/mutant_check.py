"""Puts mutants of the ladder's sources through the check, and judges those that it finds nothing on.

A mutant is killed by a finding, of at least a warning, of a kind that the rung itself does not have. Else it is equivalent if
under 64 orders of warps and blocks (unoptimised: 8) its results are bitwise the rung's, and the happens-before record is
unchanged: the same barriers order accesses as before and are passed as often at least, and one that was dropped had ordered none.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from mutating import Mutant

from tilewise.core.errors import CompileError
from tilewise.core.finding import SEVERITIES, Finding
from tilewise.core.launch_facts import LaunchFacts, parse_facts
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Layout, Problem
from tilewise.core.report import Report
from tilewise.emu.machine import emulate
from tilewise.engine.check import CheckOptions, check_subject
from tilewise.engine.check_builds import BUILDS, open_builds
from tilewise.engine.check_subject import Subject, subject_of_facts
from tilewise.engine.expect import parse_expectation
from tilewise.engine.kernel_file import BuildOptions, open_file
from tilewise.hw.catalog import device
from tilewise.kernels.ladder import Rung, block, grid, rung
from tilewise.kernels.source import CUDA_FOLDER, render_plan

Fate = Literal["killed", "equivalent", "survivor", "stillborn"]
"""A stillborn mutant does not compile."""
SCHEDULES = {"optimised": 64, "unoptimised": 64}
"""Orders of warps and blocks, by build."""
MAX_INSTRUCTIONS = 20_000_000
"""Warp instructions: a hundred times what a launch takes."""
BARRIER = "__syncthreads()"


@dataclass(frozen=True, slots=True)
class Trial:
    """A launch to put a mutant through: plan, layout, sizes, and the words between the rows (columns) of the operands."""

    plan: TilePlan
    layout: Layout
    M: int
    N: int
    K: int
    pads: tuple[int, int, int]

    def facts(self, rung: Rung) -> LaunchFacts:
        """Return the launch facts; operands stand in the memory order that the layout says."""
        problem = Problem(self.M, self.N, self.K, layout=self.layout)
        widths = (self.K if self.layout[0] == "r" else self.M, self.N if self.layout[1] == "r" else self.K, self.N)
        lda, ldb, ldc = (width + pad for width, pad in zip(widths, self.pads, strict=True))
        strides = [
            f"{ld},1" if order == "r" else f"1,{ld}" for order, ld in zip((*self.layout, "r"), (lda, ldb, ldc), strict=True)
        ]
        numbers = {"M": self.M, "N": self.N, "K": self.K, "lda": lda, "ldb": ldb, "ldc": ldc}
        arguments = [
            f"A=f32[M,K;{strides[0]}]:normal",
            f"B=f32[K,N;{strides[1]}]:normal",
            f"C=f32[M,N;{strides[2]}]",
            *(f"{name}={number}" for name, number in numbers.items()),
        ]
        shapes = {"--grid": grid(self.plan, problem), "--block": block(rung, self.plan)}
        sizes = [(flag, ",".join(map(str, shape))) for flag, shape in shapes.items()]
        return parse_facts([*sizes, *(("--arg", argument) for argument in arguments)])


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a mutant, and why."""

    fate: Fate
    reason: str
    """The finding, the evidence, or the compiler's message."""


PLANS = {
    "r01": (TilePlan(16, 16, 1), TilePlan(12, 20, 1)),
    "r02": (TilePlan(16, 16, 1), TilePlan(12, 20, 1)),
    "r03": (TilePlan(8, 8, 8), TilePlan(12, 12, 12)),
    "r04": (TilePlan(32, 32, 8, 4, 4), TilePlan(24, 40, 8, 4, 4)),
    "r05": (TilePlan(32, 32, 8, 4, 4), TilePlan(24, 40, 8, 4, 4)),
    "r06": (TilePlan(32, 32, 8, 4, 4), TilePlan(24, 40, 7, 4, 4)),
    "r07": (TilePlan(32, 32, 8, 4, 4), TilePlan(48, 32, 5, 4, 4)),
}
"""By rung: a plan whose threads divide its tiles, and one whose do not. Two warps or three, so that few instructions run."""


def trials(rung: Rung) -> tuple[Trial, ...]:
    """Return launches that take a rung through all its paths: ragged and whole, word by word and by fours, either order."""
    even, odd = PLANS[rung.name]
    M, N, K = even.BM + 5, even.BN + 11, 19
    fours = tuple(-size % 4 for size in (K, N, N))
    whole = Trial(even, "rr", even.BM, 2 * even.BN, 16, (0, 0, 0))
    return (
        Trial(even, "rr", M, N, K, (0, 0, 0)),
        Trial(even, "rr", M, N, K, (fours[0], fours[1], fours[2])),
        Trial(even, "cc", M, N, K, (-M % 4, -K % 4, 1)),
        Trial(odd, "rr", odd.BM + 3, odd.BN + 7, 13, (3, -(odd.BN + 7) % 4, 2)),
        Trial(odd, "cc", odd.BM + 3, odd.BN + 7, 13, (0, 0, 0)),
        whole,
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """A rung, or a mutant of one, after a trial."""

    subject: Subject
    report: Report
    barriers: tuple[int, ...]
    """The lines of its own file that have a barrier."""

    @property
    def kinds(self) -> frozenset[str]:
        """Of its findings, notes left out."""
        return frozenset(finding.kind for finding in self.report.findings if finding.severity != "note")

    @property
    def idle_barriers(self) -> frozenset[tuple[int, str]]:
        """Which of its barriers, counted from 0, ordered nothing, and in which build."""
        idle = [finding for finding in self.report.findings if finding.kind == "perf.barrier"]
        numbers = [(self.barriers.index(finding.lines[0].line), finding.build) for finding in idle]
        return frozenset((number, build) for number, found in numbers for build in (BUILDS if found == "both" else (found,)))

    @property
    def passed_barriers(self) -> int:
        """How often blocks passed a barrier."""
        return 0 if self.report.counters is None else self.report.counters.barriers


def judge(mutant: Mutant) -> Judgement:
    """Return what becomes of a mutant."""
    passed: list[tuple[Trial, Seen]] = []
    for trial in trials(rung(mutant.rung)):
        try:
            seen = _check(mutant.rung, trial, mutant)
        except CompileError as error:
            return Judgement(
                "stillborn", next(line for line in str(error).splitlines() if ": error: " in line).partition(": error: ")[2]
            )
        new = [finding for finding in seen.report.findings if finding.kind in seen.kinds - unchanged(mutant.rung, trial).kinds]
        if new:
            return Judgement("killed", _words(min(new, key=_rank)))
        if seen.report.verdict == "incomplete":
            return Judgement("survivor", f"not checked: {seen.report.coverage.unchecked[0]}")
        passed.append((trial, seen))
    reasons = [reason for trial, seen in passed if (reason := _difference(mutant, trial, seen))]
    if reasons:
        return Judgement("survivor", reasons[0])
    return Judgement(
        "equivalent",
        f"{SCHEDULES[BUILDS[0]]} schedules of {len(passed)} launches give the same bits, and the same order of accesses",
    )


@cache
def unchanged(name: str, trial: Trial) -> Seen:
    """Return the rung itself after a trial."""
    return _check(name, trial, None)


@cache
def _results(name: str, trial: Trial, build: str) -> bytes:
    (result,) = set(_run(unchanged(name, trial).subject, build, range(1)))
    return result


def _check(name: str, trial: Trial, mutant: Mutant | None) -> Seen:
    ladder_rung = rung(name)
    own = f"rungs/{ladder_rung.file}"
    with TemporaryDirectory(prefix="tilewise-mutant-") as made:
        folder = Path(made) / "cuda"
        shutil.copytree(CUDA_FOLDER, folder)
        (folder / "plan.cuh").write_text(render_plan(trial.plan, trial.layout), encoding="utf-8")
        if mutant is not None:
            (folder / mutant.file).write_text(mutant.text, encoding="utf-8")
        file = open_file(folder / own)
        builds = open_builds(file, BuildOptions(include_paths=(folder,)), None, "both")
    subject = subject_of_facts(builds, trial.facts(ladder_rung))
    options = CheckOptions(device("h200"), (parse_expectation("C = A @ B"),), max_instructions=MAX_INSTRUCTIONS)
    lines = file.text.splitlines()
    barriers = tuple(number for number, line in enumerate(lines, 1) if BARRIER in line)
    return Seen(subject, check_subject(subject, options), barriers)


def _rank(finding: Finding) -> tuple[int, int]:
    """The worst first; a wrong result, which says least, last among them."""
    return -SEVERITIES.index(finding.severity), len(finding.lines) == 0


def _words(finding: Finding) -> str:
    places = ", ".join(f"{Path(place.file).name}:{place.line}" for place in finding.lines)
    return f"{finding.kind} at {places}" if places else finding.kind


def _difference(mutant: Mutant, trial: Trial, seen: Seen) -> str:
    """Return in what a mutant differs from its rung; "" if in nothing."""
    rung_seen = unchanged(mutant.rung, trial)
    idle, passed = rung_seen.idle_barriers, rung_seen.passed_barriers
    if len(seen.barriers) < len(rung_seen.barriers):
        dropped = rung_seen.barriers.index(mutant.line)
        if not {(dropped, build) for build, _ in seen.subject.builds.entries} <= idle:
            return f"the barrier orders accesses in {trial}"
        idle = frozenset((number - (number > dropped), build) for number, build in idle if number != dropped)
    elif seen.passed_barriers < passed:
        return f"{seen.passed_barriers} barriers are passed, not {passed}, in {trial}"
    if seen.idle_barriers != idle:
        return f"other barriers order accesses in {trial}"
    for build, _ in seen.subject.builds.entries:
        for seed, result in enumerate(_run(seen.subject, build, range(SCHEDULES[build]))):
            if result != _results(mutant.rung, trial, build):
                return f"another result under seed {seed}, {build}, in {trial}"
    return ""


def _run(subject: Subject, build: str, seeds: Iterable[int]) -> Iterator[bytes]:
    """Yield what C holds after the launch, under each seed."""
    entry = dict(subject.builds.entries)[build]  # type: ignore[index]  # one of the two
    for seed in seeds:
        arguments = subject.bind(entry)
        emulate(subject.launch(entry, arguments), threads=1, seed=seed)
        (c,) = (argument.array for argument in arguments if argument.name == "C")
        assert c is not None
        yield c.tobytes()
