"""What running a compiled kernel takes besides its machine code: parameters, memory sizes, sites and what their counts hang on.

Made once from the analysis, kept beside the code on disk as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from tilewise.core.launch import Dim3
from tilewise.core.place import Place
from tilewise.emu import abi
from tilewise.emu.isa.calling import spelled
from tilewise.emu.lower.kernel import Analysis, Lowered
from tilewise.emu.lower.memory_map import PlacedVariable
from tilewise.emu.lower.program import Program
from tilewise.emu.lower.special import CHANGING
from tilewise.emu.lower.step import Step, registers_of
from tilewise.emu.lower.tally import Tally
from tilewise.ptx.ast import Position, Register
from tilewise.ptx.mangled import shown_name


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the kernel: its PTX type, elements if it is an array of bytes, and where it stands in the block of all."""

    type: str
    count: int | None
    offset: int


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """An instruction that counts, may fail or waits."""

    opcode: str
    file: str
    """Of the CUDA source, at the kernel's own line; empty without line information."""
    line: int
    ptx_line: int
    kind: str = ""
    """load, store, copy ..., fma (a guarded one); empty for a barrier or an instruction without a form."""
    space: str = ""
    """Empty where no memory is accessed."""
    element_bytes: int = 0
    count: int = 0
    missing: str = ""
    """What the emulator lacks of an instruction without a form, if not all of it."""
    aligned: bool = False
    """A barrier to which all lanes of a warp come together."""
    operation: str = ""
    """Of an atomic."""
    type: str = ""
    """Of an atomic's elements, as PTX has it."""
    traits: int = 0
    """enum tw_trait: what an access means for others."""
    source: Place | None = None
    """Where it stands in the CUDA source, in the innermost function that was inlined; None without line information."""
    is_generic: bool = False
    """Whether each address says which space it is of; this site then counts those of `space`, and the next ones of others."""

    @property
    def bytes(self) -> int:
        """Bytes a lane."""
        return self.element_bytes * self.count

    @property
    def place(self) -> str:
        """Where it stands, for a message."""
        return f"{self.file}:{self.line}" if self.file else f"PTX line {self.ptx_line}"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """One kernel, compiled for one block shape."""

    kernel: str
    block_shape: Dim3
    parameters: tuple[Parameter, ...]
    parameter_bytes: int
    static_shared_bytes: int
    blocks: int
    """Basic blocks."""
    words: int
    """64-bit words with a bit a basic block."""
    warp_bytes: int
    """Bytes of a warp's state."""
    groups: int
    """Range-cache entries of the fast function; the careful one needs none."""
    is_ordered: bool
    """Whether what it leaves hangs on the order of its blocks: it prints, has atomics of floats or uses their old values."""
    waits_for_blocks: bool
    """Whether its blocks may wait for each other."""
    is_opaque: bool
    """Whether what it does next hangs on a clock or a stack, so that nobody can tell when it goes round for ever."""
    exits: tuple[int, ...]
    """Basic blocks in which lanes do nothing but leave the kernel."""
    stands: dict[int, int]
    """The site to name where lanes wait without a barrier, by basic block."""
    writers: tuple[int, ...]
    """Basic blocks that write memory which other blocks see."""
    local_bytes: int
    """Of each thread."""
    cleared_local_bytes: int
    """Those that start as zeros."""
    entry: int
    """The basic block that a thread begins at."""
    variables: tuple[PlacedVariable, ...]
    shared_variables: tuple[tuple[str, int], ...]
    """Shared variables by their names in PTX, and where each begins, in that order."""
    sites: tuple[SiteFacts, ...]
    tally: Tally
    fma: tuple[int, ...]
    """Unguarded FMA instructions of each basic block."""
    instructions: tuple[int, ...]
    """Instructions of each basic block."""
    places: tuple[str, ...]
    """Where each basic block begins, for a message."""
    chains: tuple[tuple[int, ...], ...]
    """Basic blocks that the fast function runs as one."""

    @property
    def warps(self) -> int:
        """Warps a block, the last one perhaps with fewer lanes."""
        x, y, z = self.block_shape
        return -(-x * y * z // 32)

    def to_json(self) -> bytes:
        """The whole as JSON."""
        return json.dumps(asdict(self), separators=(",", ":"), default=bytes.hex).encode()


def draw(analysis: Analysis, fast: Lowered) -> Blueprint:
    """Return the blueprint of an analysed kernel and its fast function."""
    program = analysis.program
    return Blueprint(
        kernel=program.function.name,
        block_shape=program.block_shape,
        parameters=tuple(
            Parameter(parameter.type, parameter.count, program.parameters[parameter.name])
            for parameter in program.function.parameters
        ),
        parameter_bytes=program.parameter_bytes,
        static_shared_bytes=program.static_shared_bytes,
        blocks=len(program.steps),
        words=analysis.frame.words,
        warp_bytes=analysis.frame.bytes,
        groups=fast.groups,
        sites=tuple(_site_facts(step, space) for step, space in program.sites),
        variables=program.variables,
        shared_variables=tuple(sorted(program.shared_offsets.items(), key=lambda item: item[1])),
        is_ordered=any(_is_ordered(step) for step, _ in program.sites),
        waits_for_blocks=program.waits_for_blocks,
        is_opaque=program.local_bytes > program.cleared_local_bytes or any(map(_looks_at_clock, _all_steps(program))),
        exits=tuple(position for position, steps in enumerate(program.steps) if [step.control for step in steps] == ["exit"]),
        stands=program.stands,
        writers=_writers(program),
        local_bytes=program.local_bytes,
        cleared_local_bytes=program.cleared_local_bytes,
        entry=program.entry,
        tally=fast.tally,
        fma=tuple(sum(step.counts_fma and step.instruction.guard is None for step in steps) for steps in program.steps),
        instructions=tuple(len(steps) for steps in program.steps),
        places=tuple(_site_facts(steps[0], "").place if steps else "" for steps in program.steps),
        chains=program.chains,
    )


def from_json(text: bytes) -> Blueprint:
    """The reverse of `Blueprint.to_json`."""
    fields = json.loads(text)
    tally = fields["tally"]
    return Blueprint(
        **{
            **fields,
            "block_shape": tuple(fields["block_shape"]),
            "parameters": tuple(Parameter(**parameter) for parameter in fields["parameters"]),
            "sites": tuple(_site_from_json(site) for site in fields["sites"]),
            "shared_variables": tuple((name, offset) for name, offset in fields["shared_variables"]),
            "variables": tuple(
                PlacedVariable(**{**variable, "initial": bytes.fromhex(variable["initial"])}) for variable in fields["variables"]
            ),
            "tally": Tally(
                requests=[(block, site) for block, site in tally["requests"]],
                constant=[(block, site, cost, ways) for block, site, cost, ways in tally["constant"]],
                requesting=tally["requesting"],
                histograms=[(site, tuple(_tupled(cell) for cell in table)) for site, table in tally["histograms"]],
            ),
            "stands": {int(block): site for block, site in fields["stands"].items()},
            "exits": tuple(fields["exits"]),
            "writers": tuple(fields["writers"]),
            "fma": tuple(fields["fma"]),
            "instructions": tuple(fields["instructions"]),
            "places": tuple(fields["places"]),
            "chains": tuple(tuple(chain) for chain in fields["chains"]),
        }
    )


def _site_from_json(fields: dict[str, Any]) -> SiteFacts:
    source = fields["source"]
    return SiteFacts(**{**fields, "source": None if source is None else Place.from_json(source)})


def _is_ordered(step: Step) -> bool:
    access = step.access
    if access is not None and access.kind == "print":
        return True
    if access is None or access.kind != "atomic" or access.space == "shared":
        return False
    return bool(step.writes) or access.operation in ("exch", "cas") or "f" in access.type


def _all_steps(program: Program) -> Iterator[Step]:
    return (step for steps in program.steps for step in steps)


def _looks_at_clock(step: Step) -> bool:
    return any(isinstance(operand, Register) and operand.name in CHANGING for operand, _ in step.sources)


def _writers(program: Program) -> tuple[int, ...]:
    """Blocks with accesses that others see, and the heads of their chains, whose runs count for them."""
    heads = {position: chain[0] for chain in program.chains for position in chain}
    found = {position for position, steps in enumerate(program.steps) if any(_is_seen(step, program) for step in steps)}
    return tuple(sorted(found | {heads[position] for position in found}))


def _is_seen(step: Step, program: Program) -> bool:
    """Whether an access writes memory that is no thread's or block's own; atomics are watched by what they change."""
    access = step.access
    if access is None or access.kind in ("load", "atomic") or access.space in ("shared", "local", "stack"):
        return False
    if access.kind != "store" or access.space != "generic":
        return True
    return program.provenance.space_of(name for operand, _ in step.sources[:1] for name in registers_of(operand)) != "local"


def _tupled(cell: Any) -> Any:
    return tuple(cell) if isinstance(cell, list) else cell


def _site_facts(step: Step, space: str) -> SiteFacts:
    instruction, access = step.instruction, step.access
    place = instruction.position.outermost if instruction.position else None
    where = (spelled(instruction.opcode), place.file if place else "", place.line if place else 0, instruction.ptx_line)
    source = _place_of(instruction.position) if instruction.position else None
    if access is None:
        is_aligned = bool(step.control) and step.modifiers.get("aligned", ".aligned") != ""
        kind = "fma" if step.counts_fma else ""
        return SiteFacts(*where, kind=kind, missing=step.missing, aligned=is_aligned, source=source)
    facts = SiteFacts(
        *where,
        access.kind,
        space,
        access.element_bytes,
        access.count,
        traits=_traits(step),
        source=source,
        is_generic=access.space == "generic",
    )
    return replace(facts, operation=access.operation, type=access.type) if access.kind == "atomic" else facts


STRONG_WORDS = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"))


def _traits(step: Step) -> int:
    """What an access means for others; words as the PTX manual has them [PTX ISA, "Memory Consistency Model"]."""
    access, words = step.access, set(step.instruction.opcode.split("."))
    assert access is not None
    match access.kind:
        case "load":
            traits = abi.READS
        case "store":
            traits = abi.WRITES
        case "copy":
            traits = abi.WRITES | abi.COPIES
        case "atomic":
            traits = abi.WRITES | abi.UPDATES | abi.STRONG | (abi.READS if step.results else 0)
            traits |= abi.COMPARES if access.operation == "cas" else 0
        case _:
            return 0
    if words & STRONG_WORDS:
        traits |= abi.STRONG
    if step.only_moves:
        traits |= abi.ONLY_MOVES
    if step.polls:
        traits |= abi.POLLS
    if "volatile" in words:
        traits |= abi.VOLATILE
    if words & {"acquire", "acq_rel"}:
        traits |= abi.ACQUIRES
    if words & {"release", "acq_rel"}:
        traits |= abi.RELEASES
    return traits | (abi.OF_BLOCK if "cta" in words else 0)


def _place_of(position: Position) -> Place:
    """A position with its chain of callers as a place."""
    chain = [position]
    while (above := chain[-1].inlined_at) is not None:
        chain.append(above)
    first, *callers = (Place(one.file, one.line, one.column, shown_name(one.function or "")) for one in chain)
    return replace(first, inlined_from=tuple(callers))
