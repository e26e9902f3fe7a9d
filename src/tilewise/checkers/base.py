"""What a checker gets and gives, and the registry of kinds.

A checker is a function in a file of its own beside this one: it takes the evidence of one build's run (or, before anything runs,
the launch as it is asked for) and yields findings of the kinds that it declares. Loading the package finds all files; no list
names them.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from tilewise.core.counters import Counters
from tilewise.core.dtypes import Dtype
from tilewise.core.facts import Observed
from tilewise.core.finding import Finding, Severity
from tilewise.core.launch import Dim3
from tilewise.core.module import KernelResources
from tilewise.core.place import Place
from tilewise.hw.device import Device
from tilewise.ptx.ast import Function
from tilewise.ptx.mangled import local_name

_ARGUMENT = re.compile(r"\bargument (\d+)\b")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of finding: its name, how bad it is where nothing says otherwise, and what it is in a sentence."""

    name: str
    severity: Severity
    summary: str


@dataclass(frozen=True, slots=True)
class Setup:
    """A launch as it is asked for; nothing has run. Sizes may be what no device takes."""

    kernel: str
    grid: Dim3
    block: Dim3
    dynamic_shared_bytes: int
    stated_dynamic_limit_bytes: int | None
    """What the host allows the kernel by cudaFuncAttributeMaxDynamicSharedMemorySize; None where nobody says."""
    device: Device
    resources: KernelResources | None
    """Of the optimised build; None where no cubin says."""
    place: Place | None
    """Where the kernel begins."""
    bound_threads: int | None = None
    """What the source promises the compiler of a block's threads, at most (__launch_bounds__)."""
    required_block: Dim3 | None = None
    """The one block shape that the kernel is compiled for (__block_size__, .reqntid)."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True, slots=True)
class ArrayState:
    """One argument after the run. A number has no bytes."""

    name: str
    dtype: Dtype | None
    shape: tuple[int, ...] = ()
    bytes: int = 0
    nonfinite: int = 0
    """Elements that are NaN or infinite, those that nobody wrote left out."""
    first_nonfinite: tuple[int, ...] | None = None
    infinity: float | None = None
    """What all of those elements are, where it is one infinity."""

    def element(self, offset: int) -> str:
        """The element that holds a byte, such as "y[3, 4]" (for an array without gaps)."""
        if not self.shape or self.dtype is None or not 0 <= offset < self.bytes:
            return f"byte {offset} of {self.name}"
        index, rest = [], offset // self.dtype.bytes
        for size in reversed(self.shape):
            rest, here = divmod(rest, size)
            index.append(here)
        return f"{self.name}[{', '.join(map(str, reversed(index)))}]"


@dataclass(frozen=True, slots=True)
class Difference:
    """An output held against what it should be."""

    array: str
    against: str
    """Such as "A @ B", or "the same launch under seed 3"."""
    wrong: int
    elements: int
    first: tuple[int, ...]
    """Index of the first wrong element."""
    computed: float
    expected: float
    max_relative_error: float
    is_between_schedules: bool = False
    """Whether it is held against the same launch in another order, and not against what is expected."""
    is_rounding: bool = False
    """Whether all elements are within the type's tolerance of each other, on the scale of the array's largest."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one build's run shows."""

    setup: Setup
    build: str
    function: Function = field(repr=False)
    """The kernel's PTX."""
    callees: tuple[Function, ...] = field(repr=False)
    """The module's other functions, which it may call."""
    observed: Observed
    counters: Counters | None
    """None where the run did not come to its end."""
    arguments: tuple[ArrayState, ...] = ()
    """In the order of the parameters."""
    finite_inputs: bool = True
    """Whether all numbers that the launch began with were finite."""
    differences: tuple[Difference, ...] = ()
    unset_constants: frozenset[str] = frozenset()
    """Variables in constant memory that the source leaves to the host to fill."""

    def argument(self, array: str) -> ArrayState | None:
        """The argument that the emulator calls "argument 2"; None for anything else."""
        found = _ARGUMENT.fullmatch(array)
        return self.arguments[int(found[1])] if found else None

    def label(self, array: str) -> str:
        """What the user calls an array that the emulator names."""
        state = self.argument(array)
        return state.name if state else local_name(array.removeprefix("variable "))

    def words(self, text: str) -> str:
        """A sentence of the emulator's with arguments by their labels."""
        return _ARGUMENT.sub(lambda found: self.arguments[int(found[1])].name, text)

    def element(self, array: str, offset: int) -> str:
        """Where a byte of an array stands, in words."""
        state = self.argument(array)
        if state is not None:
            return state.element(offset)
        return f"byte {offset} of {self.label(array)}" if array else f"byte {offset} of shared memory"


Before = Callable[[Setup], Iterator[Finding]]
After = Callable[[Evidence], Iterator[Finding]]

KINDS: dict[str, Kind] = {}
"""All kinds by name; `load` fills it."""
_BEFORE: list[Before] = []
_AFTER: list[After] = []


def before_launch(*kinds: Kind) -> Callable[[Before], Before]:
    """Register a checker of launches that have not run, with the kinds that it yields."""

    def register(checker: Before) -> Before:
        _declare(kinds)
        _BEFORE.append(checker)
        return checker

    return register


def checker(*kinds: Kind) -> Callable[[After], After]:
    """Register a checker of runs, with the kinds that it yields."""

    def register(checker: After) -> After:
        _declare(kinds)
        _AFTER.append(checker)
        return checker

    return register


def _declare(kinds: Iterable[Kind]) -> None:
    for kind in kinds:
        assert kind.name not in KINDS, f"two checkers declare {kind.name}"
        KINDS[kind.name] = kind


@cache
def load() -> None:
    """Import every checker's file."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"tilewise.checkers.{module.name}")


def kinds() -> dict[str, Kind]:
    """Return all kinds by name, in alphabetical order."""
    load()
    return dict(sorted(KINDS.items()))


def judge_launch(setup: Setup) -> tuple[Finding, ...]:
    """Return what is wrong with a launch before it runs."""
    load()
    return tuple(finding for find in _BEFORE for finding in find(setup))


def judge_run(evidence: Evidence) -> tuple[Finding, ...]:
    """Return what a run shows, one finding a kind, lines and array: those of several instructions of a line are one."""
    load()
    merged: dict[object, Finding] = {}
    for find in _AFTER:
        for finding in find(evidence):
            key = finding.kind, finding.severity, finding.lines, finding.array
            known = merged.get(key)
            merged[key] = finding if known is None else replace(known, count=known.count + finding.count)
    return tuple(merged.values())
