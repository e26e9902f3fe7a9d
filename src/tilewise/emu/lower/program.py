"""A kernel prepared for lowering: its instructions matched to forms, its blocks, what lives where. Knows no LLVM."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import cast

from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.launch import Dim3
from tilewise.emu.isa import Form, find_form
from tilewise.emu.isa.memory import Access
from tilewise.emu.isa.spec import BYTES
from tilewise.emu.lower.rewriting import rewrite
from tilewise.emu.lower.support import find_missing
from tilewise.ptx.ast import Address, Function, Instruction, Negated, Operand, Pair, PtxModule, Register, Variable, Vector
from tilewise.ptx.cfg import Cfg, build_cfg
from tilewise.ptx.liveness import live_in

DYNAMIC_SHARED_ALIGN = 16
CARRY = "carry flag"
"""The hidden register of add.cc and its like; PTX has no name with a blank in it."""


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
    """branch, exit, barrier or arrival."""
    missing: str = ""
    """What the emulator lacks of an instruction whose opcode it has, for a message; the step has no form then."""
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
    def reads(self) -> set[str]:
        """Registers whose values it needs."""
        names = {name for operand, _ in self.sources for name in _registers(operand)}
        if self.instruction.guard:
            names |= {self.instruction.guard.register} | self.writes
        return names

    @property
    def writes(self) -> set[str]:
        """Registers that it sets."""
        return {name for operand, _ in self.results for name in _registers(operand)}


@dataclass(frozen=True, slots=True)
class Program:
    """One kernel for one block shape. Blocks are numbered in execution order (`Cfg.order`) everywhere past this file."""

    function: Function
    block_shape: Dim3
    steps: tuple[tuple[Step, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    chains: tuple[tuple[int, ...], ...]
    """Blocks that always run one after another when all lanes are together: the fast function's blocks."""
    live_in: tuple[frozenset[str], ...]
    live_out: tuple[frozenset[str], ...]
    sites: tuple[Step, ...]
    parameters: dict[str, int]
    """Byte offset of each parameter."""
    parameter_bytes: int
    shared: dict[str, int]
    """Byte offset of each shared variable."""
    static_shared_bytes: int

    @property
    def threads(self) -> int:
        """Threads a block."""
        return self.block_shape[0] * self.block_shape[1] * self.block_shape[2]

    @property
    def warps(self) -> int:
        """Warps a block, the last one perhaps with fewer lanes."""
        return -(-self.threads // 32)


def prepare(module: PtxModule, kernel: str, block_shape: Dim3) -> Program:
    """Return the kernel ready to lower.

    Raises TilewiseError if the module has no such kernel.
    """
    function = find_kernel(module, kernel)
    parameters, parameter_bytes = layout(function.parameters)
    shared, shared_bytes = _shared_layout(module, function)

    def match(instruction: Instruction) -> Step:
        step = _match(instruction)
        missing = find_missing(step, shared, parameters) if step.form is not None else ""
        return Step(instruction, None, missing=missing) if missing else step

    function = rewrite(function, lambda instruction: match(instruction).form is None)
    cfg = build_cfg(function, _ends_block, _starts_block)
    number = {block: position for position, block in enumerate(cfg.order)}
    sites: list[Step] = []
    steps = tuple(_number_sites([match(item) for item in cfg.blocks[block].instructions], sites) for block in cfg.order)
    successors = tuple(
        () if _is_cut(block_steps) else tuple(number[after] for after in cfg.successors[block])
        for block, block_steps in zip(cfg.order, steps, strict=True)
    )
    live = _live_in(cfg, {block: steps[position] for block, position in number.items()})
    ordered = tuple(live[block] for block in cfg.order)
    return Program(
        function=function,
        block_shape=block_shape,
        steps=steps,
        successors=successors,
        chains=_chains(steps, successors),
        live_in=ordered,
        live_out=tuple(frozenset().union(*(ordered[after] for after in afters)) for afters in successors),
        sites=tuple(sites),
        parameters=parameters,
        parameter_bytes=parameter_bytes,
        shared=shared,
        static_shared_bytes=shared_bytes,
    )


def find_kernel(module: PtxModule, name: str) -> Function:
    """Return the entry function called `name`.

    Raises TilewiseError with the names there are.
    """
    entries = {function.name: function for function in module.functions if function.is_entry}
    if name not in entries:
        raise TilewiseError(f"the module has no kernel {name!r}.{nearest(name, entries)}")
    return entries[name]


def layout(variables: tuple[Variable, ...]) -> tuple[dict[str, int], int]:
    """Return each variable's byte offset, one after another at its alignment, and the bytes of all."""
    offsets, end = {}, 0
    for variable in variables:
        end = -(-end // variable.align) * variable.align
        offsets[variable.name] = end
        end += BYTES[variable.type] * (1 if variable.count is None else variable.count)
    return offsets, end


def _shared_layout(module: PtxModule, function: Function) -> tuple[dict[str, int], int]:
    """Static variables first; all `extern` arrays begin together where the static ones end."""
    shared = [variable for variable in (*module.variables, *function.variables) if variable.space == "shared"]
    offsets, end = layout(tuple(variable for variable in shared if not variable.external))
    dynamic = [variable for variable in shared if variable.external]
    if dynamic:
        align = max(DYNAMIC_SHARED_ALIGN, *(variable.align for variable in dynamic))
        end = -(-end // align) * align
        offsets.update({variable.name: end for variable in dynamic})
    return offsets, end


def _ends_block(instruction: Instruction) -> bool:
    found = find_form(instruction.opcode, len(instruction.operands))
    return found is not None and found[0].kind == "control"


def _starts_block(instruction: Instruction) -> bool:
    """Lanes that wait for others here must find their way back here."""
    found = find_form(instruction.opcode, len(instruction.operands))
    return found is not None and found[0].meets


def _chains(steps: tuple[tuple[Step, ...], ...], successors: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Join each block that only falls through to one that nothing else leads to."""
    leading = Counter(after for afters in successors for after in afters)
    leading[0] += 1  # the entry
    next_ = {
        position: afters[0]
        for position, afters in enumerate(successors)
        if len(afters) == 1 and leading[afters[0]] == 1 and _runs_on(steps[position])
    }
    inner = set(next_.values())
    chains = []
    for position in range(len(steps)):
        if position not in inner:
            chain = [position]
            while chain[-1] in next_:
                chain.append(next_[chain[-1]])
            chains.append(tuple(chain))
    return tuple(chains)


def _runs_on(steps: tuple[Step, ...]) -> bool:
    """Whether all lanes go on at the block's only successor at once."""
    last = steps[-1] if steps else None
    return last is None or last.control is None or (last.control == "branch" and last.instruction.guard is None)


def _number_sites(steps: list[Step], sites: list[Step]) -> tuple[Step, ...]:
    """The steps of a block, up to the first that has no form: nothing past it is ever reached."""
    end = next((place for place, step in enumerate(steps) if step.form is None), len(steps)) + 1
    for step in steps[:end]:
        if _is_site(step):
            step.site = len(sites)
            sites.append(step)
    return tuple(steps[:end])


def _is_cut(steps: tuple[Step, ...]) -> bool:
    return bool(steps) and steps[-1].form is None


def _is_site(step: Step) -> bool:
    """Whether the step counts, may fail or waits."""
    if step.access is not None:
        return step.access.space != "param"
    waits = step.meets or step.control in ("barrier", "arrival")
    return step.form is None or waits or (step.counts_fma and step.instruction.guard is not None)


def _match(instruction: Instruction) -> Step:
    found = find_form(instruction.opcode, len(instruction.operands))
    if found is None:
        return Step(instruction, None)
    form, modifiers = found
    step = Step(instruction, form, modifiers)
    for operand, spec in zip(instruction.operands, form.operands, strict=False):  # the last may be absent
        parts = (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)
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
        if step.control == "branch":
            step.sources = []
    return step


def _registers(operand: Operand) -> list[str]:
    """The ordinary registers that an operand names."""
    match operand:
        case Register(name, special):
            return [] if special else [name]
        case Negated(register):
            return [register.name]
        case Address(base, _):
            return _registers(base)
        case Vector(elements):
            return [name for element in elements for name in _registers(element)]
        case Pair(first, second):
            return [half.name for half in (first, second) if isinstance(half, Register)]
    return []


def _live_in(cfg: Cfg, steps: dict[int, tuple[Step, ...]]) -> tuple[frozenset[str], ...]:
    reads, writes = [], []
    for block in range(len(cfg.blocks)):
        exposed: set[str] = set()
        written: set[str] = set()
        for step in steps.get(block, ()):
            exposed |= step.reads - written
            written |= step.writes
        reads.append(frozenset(exposed))
        writes.append(frozenset(written))
    return live_in(cfg, reads, writes)
