"""One instruction of a program, matched to its form: what it reads, writes, accesses. Knows neither blocks nor LLVM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from tilewise.emu.isa import Form, find_form
from tilewise.emu.isa.memory import Access
from tilewise.emu.isa.spec import PART
from tilewise.ptx.ast import Address, Instruction, Negated, Operand, Pair, Part, Register, Symbol, Vector

CARRY = "carry flag"
"""The hidden register of add.cc and its like; PTX has no name with a blank in it."""


SOURCES_OF_CONTROL = {"branch": 0, "jump": 0, "switch": 1}
"""Of controls whose other operands name places: how many stand first that are values."""


@dataclass(slots=True)
class Step:
    """One instruction with its form; `form` is None where the table has none (it then traps if reached)."""

    instruction: Instruction
    form: Form | None
    modifiers: dict[str, str] = field(default_factory=dict)
    results: list[tuple[Operand, str]] = field(default_factory=list)
    """Destinations with their PTX types."""
    sources: list[tuple[Operand, str]] = field(default_factory=list)
    access: Access | None = None
    control: str | None = None
    """branch, exit, barrier, arrival, sleep, jump (to a function), switch (a jump by number), trap, assert."""
    missing: str = ""
    """What the emulator lacks of an instruction whose opcode it has, for a message; the step has no form then."""
    is_watched: bool = False
    """Whether a warp that waits for ever is said to be here."""
    only_moves: bool = False
    """A load whose values are only moved and stored again, by all that is known."""
    polls: bool = False
    """A read in a loop that goes round until others have written."""
    site: int | None = None
    """Number among the program's sites: accesses, waits, guarded multiply-adds and instructions without a form."""

    @property
    def meets(self) -> bool:
        """Whether lanes of the warp must come together for it."""
        return self.form is not None and self.form.meets

    @property
    def counts_fma(self) -> bool:
        """Whether it multiplies and adds floats."""
        return self.form is not None and self.form.counts_fma

    @property
    def is_site(self) -> bool:
        """Whether the step counts, may fail or waits."""
        if self.access is not None:
            return not self.reads_parameter
        waits = self.meets or self.is_watched or self.control in ("barrier", "arrival", "sleep", "switch", "trap", "assert")
        return self.form is None or waits or (self.counts_fma and self.instruction.guard is not None)

    @property
    def reads_parameter(self) -> bool:
        """Whether it reads a parameter of the kernel by name."""
        if self.access is None or self.access.space != "param":
            return False
        address = self.sources[0][0]
        return isinstance(address, Address) and isinstance(address.base, Symbol)

    @property
    def reads(self) -> set[str]:
        """Registers whose values it needs."""
        names = {name for operand, _ in self.sources for name in registers_of(operand)}
        if self.instruction.guard:
            names |= {self.instruction.guard.register} | self.writes
        return names

    @property
    def writes(self) -> set[str]:
        """Registers that it sets."""
        return {name for operand, _ in self.results for name in registers_of(operand)}


def match(instruction: Instruction) -> Step:
    """Return an instruction with its form, if it has one."""
    found = find_form(instruction.opcode, len(instruction.operands))
    if found is None:
        return Step(instruction, None)
    form, modifiers = found
    if form.takes_parts:
        destination = instruction.operands[0]
        modifiers = {**modifiers, PART: destination.selector if isinstance(destination, Part) else ""}
    step = Step(instruction, form, modifiers)
    if form.kind == "hint":
        return step
    for operand, spec in zip(instruction.operands, form.operands, strict=False):  # the last may be absent
        if spec.name == "policy":  # for caches
            continue
        parts = (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)
        if form.takes_parts and spec.is_result and isinstance(operand, Part):
            parts = (operand.register,)
        (step.results if spec.is_result else step.sources).extend(
            (part, spec.resolve(modifiers, index)) for index, part in enumerate(parts)
        )
    if "in" in form.carry:
        step.sources.append((Register(CARRY), "pred"))
    if "out" in form.carry:
        step.results.append((Register(CARRY), "pred"))
    if form.kind == "access":
        step.access = cast(Access, form.emit(**modifiers))
    elif form.kind == "control":
        step.control = cast(str, form.emit(**modifiers))
        step.sources = step.sources[: SOURCES_OF_CONTROL.get(step.control, len(step.sources))]
    return step


def registers_of(operand: Operand) -> list[str]:
    """The ordinary registers that an operand names."""
    match operand:
        case Register(name, special):
            return [] if special else [name]
        case Negated(register):
            return [register.name]
        case Address(base, _):
            return registers_of(base)
        case Vector(elements):
            return [name for element in elements for name in registers_of(element)]
        case Part(register, _):
            return [register.name]
        case Pair(first, second):
            return [half.name for half in (first, second) if isinstance(half, Register)]
    return []
