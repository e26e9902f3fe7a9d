"""`tilewise run`: one launch of anybody's kernel on the emulator, from launch facts to what its arrays hold afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tilewise.core.argument import ArrayValue
from tilewise.core.encoding import decode
from tilewise.core.errors import KernelFault, TilewiseError, nearest
from tilewise.core.launch import Launch
from tilewise.core.launch_facts import LaunchFacts
from tilewise.emu.coverage import Missing, missing_forms
from tilewise.emu.machine import Emulation, emulate
from tilewise.engine.arguments import BoundArgument, bind_arguments, configure, whole_numbers
from tilewise.engine.array_summary import ArraySummary, digest, summarise
from tilewise.engine.kernel_file import KernelEntry


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a launch did. `emulation` is None where it ended with a fault."""

    kernel: str
    launch: Launch
    arguments: tuple[BoundArgument, ...] = field(repr=False)
    arrays: tuple[ArraySummary, ...]
    emulation: Emulation | None
    printed: str
    """What the kernel printed, up to a fault."""
    faults: tuple[str, ...]
    missing: tuple[Missing, ...]
    """Instructions that the emulator does not have and no thread reached."""

    def array(self, name: str) -> Any:
        """Return the array argument of that label, as numbers."""
        (argument,) = (argument for argument in self.arguments if argument.name == name)
        assert argument.array is not None and argument.dtype is not None
        return decode(argument.array, argument.dtype)

    def to_json(self) -> dict[str, object]:
        """Return the report as mappings, lists and plain values."""
        launch = self.launch
        return {
            "kernel": self.kernel,
            "grid": launch.grid,
            "block": launch.block,
            "cluster": launch.cluster,
            "dynamic_shared_bytes": launch.dynamic_shared_bytes,
            "numbers": {one.name: _plain(one.passed) for one in self.arguments if one.array is None},
            "arrays": [array.to_json() for array in self.arrays],
            "counters": None if self.emulation is None else asdict(self.emulation.counters),
            "printed": self.printed,
            "faults": self.faults,
            "missing": [asdict(missing) for missing in self.missing],
            "seconds": None if self.emulation is None else self.emulation.seconds,
        }


def bind_launch(entry: KernelEntry, facts: LaunchFacts) -> tuple[Launch, tuple[BoundArgument, ...]]:
    """Return the launch of a kernel that facts state, and its arguments.

    Raises TilewiseError for facts that are missing or do not fit the kernel.
    """
    names = whole_numbers(facts)
    configuration = configure(facts, names)
    arguments = bind_arguments(facts, entry.parameters, names)
    launch = Launch(
        entry.module,
        entry.name,
        configuration.grid,
        configuration.block,
        tuple(argument.passed for argument in arguments),
        configuration.cluster,
        configuration.dynamic_shared_bytes,
    )
    return launch, arguments


def run(
    entry: KernelEntry,
    facts: LaunchFacts,
    *,
    threads: int | None = None,
    max_instructions: int | None = None,
    resident_blocks: int | None = None,
    schedule_seed: int = 0,
) -> RunReport:
    """Launch a kernel on the emulator as the facts say; the last two as emulate's `resident_blocks` and `seed`.

    Raises TilewiseError for facts that do not fit the kernel, UnsupportedInstruction if a thread reaches an instruction that the
    emulator does not have, InstructionLimitReached for more than `max_instructions` warp instructions. What the kernel does wrong
    is in the report.
    """
    launch, arguments = bind_launch(entry, facts)
    buffers = [(argument, digest(argument.array)) for argument in arguments if argument.is_buffer and argument.array is not None]
    emulation, printed, faults = None, "", tuple[str, ...]()
    try:
        emulation = emulate(
            launch,
            threads=threads,
            max_instructions=max_instructions,
            resident_blocks=resident_blocks,
            seed=schedule_seed,
        )
        printed = emulation.printed
    except KernelFault as fault:
        printed = fault.printed
        faults = tuple(_name_arguments(line, arguments) for line in str(fault).splitlines())
    arrays = tuple(_summarise(argument, before) for argument, before in buffers)
    missing = missing_forms(entry.module, entry.name)
    return RunReport(entry.shown, launch, arguments, arrays, emulation, printed, faults, missing)


def save_array(report: RunReport, name: str, path: Path) -> None:
    """Write an array argument to a .npy file, as float32 where NumPy lacks its type.

    Raises TilewiseError for a file that cannot be written.
    """
    import numpy as np

    values = report.array(name)
    try:
        with path.open("wb") as file:
            np.save(file, values, allow_pickle=False)
    except OSError as error:
        raise TilewiseError(f"{path} cannot be written: {error.strerror}.") from None


def check_labels(facts: LaunchFacts, labels: Iterable[str]) -> None:
    """Raise TilewiseError for a label that no array argument of the facts has."""
    known = [argument.name for argument in facts.args if isinstance(argument.value, ArrayValue)]
    for label in labels:
        if label not in known:
            raise TilewiseError(f"no array argument is called {label!r}.{nearest(label, known) if known else ''}")


def _name_arguments(line: str, arguments: Sequence[BoundArgument]) -> str:
    """A fault in words, its arguments by their labels instead of their numbers."""
    return re.sub(r"\bargument (\d+)\b", lambda found: arguments[int(found[1])].name, line)


def _summarise(argument: BoundArgument, before: bytes) -> ArraySummary:
    assert argument.array is not None and argument.dtype is not None
    written = digest(argument.array) != before
    return summarise(argument.name, argument.dtype, argument.array, written=written, is_poison=argument.is_poison)


def _plain(passed: Any) -> object:
    """A number as JSON has it; a structure as the digits of its bytes."""
    return passed.tobytes().hex() if hasattr(passed, "tobytes") else passed
