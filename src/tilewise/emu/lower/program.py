"""A kernel prepared for lowering: its instructions matched to forms, its blocks, what lives where. Knows no LLVM."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.launch import Dim3
from tilewise.emu.isa import find_form
from tilewise.emu.lower.memory_map import (
    LOCAL_WORD,
    PlacedVariable,
    code_addresses,
    layout,
    placed_variables,
    shared_layout,
    variable_addresses,
)
from tilewise.emu.lower.provenance import Provenance, trace
from tilewise.emu.lower.rewriting import rewrite
from tilewise.emu.lower.step import Step, match
from tilewise.emu.lower.support import find_missing
from tilewise.emu.windows import LOCAL_WINDOW, PARAMETER_WINDOW
from tilewise.ptx.ast import Function, Instruction, PtxModule
from tilewise.ptx.cfg import Cfg, build_cfg
from tilewise.ptx.liveness import live_in

COUNTED_SPACES = ("global", "shared", "local")
"""In the order of enum tw_space."""

Site = tuple[Step, str]
"""An instruction that counts, may fail or waits, and the space whose accesses are counted there, if any."""


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
    sites: tuple[Site, ...]
    parameters: dict[str, int]
    """Byte offset of each parameter."""
    parameter_bytes: int
    symbols: dict[str, int]
    """The address of each variable, parameter and function: of shared ones within shared memory, of others their generic one."""
    variables: tuple[PlacedVariable, ...]
    """Module variables within reach."""
    static_shared_bytes: int
    local_bytes: int
    """Of each thread."""
    provenance: Provenance

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
    shared, shared_bytes = shared_layout((*module.variables, *function.variables))
    local, local_bytes = layout(variable for variable in function.variables if variable.space == "local")
    addresses = {**code_addresses(module), **variable_addresses(module)}
    windows = {LOCAL_WINDOW: local, PARAMETER_WINDOW: parameters}
    placed = {name: window + offset for window, offsets in windows.items() for name, offset in offsets.items()}
    symbols = {**addresses, **placed, **shared}

    def decode(instruction: Instruction) -> Step:
        step = match(instruction)
        missing = find_missing(step, symbols) if step.form is not None else ""
        return Step(instruction, None, missing=missing) if missing else step

    function = rewrite(function, lambda instruction: decode(instruction).form is None)
    cfg = build_cfg(function, _ends_block, _starts_block)
    number = {block: position for position, block in enumerate(cfg.order)}
    sites: list[Site] = []
    steps = tuple(_number_sites([decode(item) for item in cfg.blocks[block].instructions], sites) for block in cfg.order)
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
        symbols=symbols,
        variables=placed_variables(module, function, addresses),
        static_shared_bytes=shared_bytes,
        local_bytes=-(-local_bytes // LOCAL_WORD) * LOCAL_WORD,
        provenance=trace((step for block in steps for step in block), set(local)),
    )


def find_kernel(module: PtxModule, name: str) -> Function:
    """Return the entry function called `name`.

    Raises TilewiseError with the names there are.
    """
    entries = {function.name: function for function in module.functions if function.is_entry}
    if name not in entries:
        raise TilewiseError(f"the module has no kernel {name!r}.{nearest(name, entries)}")
    return entries[name]


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


def _number_sites(steps: list[Step], sites: list[Site]) -> tuple[Step, ...]:
    """The steps of a block, up to the first that has no form: nothing past it is ever reached."""
    end = next((place for place, step in enumerate(steps) if step.form is None), len(steps)) + 1
    for step in steps[:end]:
        if step.is_site:
            step.site = len(sites)
            generic = step.access is not None and step.access.space == "generic"
            sites += [(step, space) for space in (COUNTED_SPACES if generic else [step.access.space if step.access else ""])]
    return tuple(steps[:end])


def _is_cut(steps: tuple[Step, ...]) -> bool:
    return bool(steps) and steps[-1].form is None


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
