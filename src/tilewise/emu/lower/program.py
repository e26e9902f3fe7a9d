"""A kernel prepared for lowering: its instructions matched to forms, its blocks, what lives where. Knows no LLVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.launch import Dim3
from tilewise.emu.lower.callgraph import CallGraph, call_graph
from tilewise.emu.lower.calls import STACK, Saves
from tilewise.emu.lower.linking import Linked, link, text_order
from tilewise.emu.lower.memory_map import (
    PlacedVariable,
    code_addresses,
    layout,
    placed_variables,
    shared_layout,
    variable_addresses,
)
from tilewise.emu.lower.moves import mark_moves
from tilewise.emu.lower.provenance import Provenance, trace
from tilewise.emu.lower.recursion import saves_of
from tilewise.emu.lower.step import Step, match
from tilewise.emu.lower.support import find_missing
from tilewise.emu.lower.waiting import WaitingLoop, waiting_loops
from tilewise.emu.windows import LOCAL_WINDOW, PARAMETER_WINDOW
from tilewise.ptx.ast import Address, Function, Instruction, PtxModule, Symbol
from tilewise.ptx.cfg import Block, Cfg
from tilewise.ptx.liveness import live_in

STACK_ALIGN = 16
STACK_BYTES = 16384
"""A thread's stack for functions that call themselves: sixteen times what CUDA gives a thread unless told otherwise."""
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
    entry: int
    """The block that a thread begins at."""
    choices: dict[int, tuple[tuple[int, int], ...]]
    """Of blocks that end in a jump by number: (number, successor) pairs."""
    yields: frozenset[tuple[int, int]]
    """Ways back, from block to block, at which lanes let others go first, every so often."""
    stands: dict[int, int]
    """Where lanes may wait without a barrier: the site to name for each such block."""
    waits_for_blocks: bool
    """Whether blocks of the grid may wait for each other."""
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
    shared_offsets: dict[str, int]
    """Where each shared variable begins."""
    local_bytes: int
    """Of each thread, the stack included."""
    cleared_local_bytes: int
    """Those that start as zeros: all but the stack."""
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
    """Return the kernel, with the functions that it calls, ready to lower.

    Raises TilewiseError if the module has no such kernel.
    """
    graph = call_graph(module, find_kernel(module, kernel))
    memory = _place_memory(module, graph)

    linked, decoded, live = _decode(graph, memory)
    provenance = trace((step for block in linked.cfg.order for step in decoded[block]), memory.local_names)
    waiting = tuple(waiting_loops(graph, linked, decoded, live, provenance))
    for loop in waiting:
        loop.watched.is_watched = True
        for step in loop.polled:
            step.polls = True
    mark_moves(step for block in linked.cfg.order for step in decoded[block])
    number = {block: position for position, block in enumerate(linked.cfg.order)}
    steps = tuple(decoded[block] for block in linked.cfg.order)
    successors = tuple(
        () if _is_cut(decoded[block]) else tuple(number[after] for after in linked.cfg.successors[block])
        for block in linked.cfg.order
    )
    ordered = tuple(live[block] for block in linked.cfg.order)
    entry = number[linked.entry]
    sites = tuple(_number_sites(decoded[block] for block in text_order(linked)))
    return Program(
        function=linked.function,
        block_shape=block_shape,
        steps=steps,
        successors=successors,
        entry=entry,
        choices={
            number[block]: tuple((key, number[to]) for key, to in table)
            for block, table in linked.choices.items()
            if block in number
        },
        yields=frozenset((number[latch], number[loop.header]) for loop in waiting for latch in loop.latches),
        stands=_stands(steps, successors, waiting, number),
        waits_for_blocks=any(loop.is_global for loop in waiting),
        chains=_chains(steps, successors, entry),
        live_in=ordered,
        live_out=tuple(frozenset().union(*(ordered[after] for after in afters)) for afters in successors),
        sites=sites,
        parameters=memory.parameters,
        parameter_bytes=memory.parameter_bytes,
        symbols=memory.symbols,
        variables=memory.variables,
        static_shared_bytes=memory.shared_bytes,
        shared_offsets=memory.shared,
        cleared_local_bytes=memory.local_bytes,
        local_bytes=memory.local_bytes + (STACK_BYTES if graph.recursive else 0),
        provenance=provenance,
    )


Decoded = tuple[Linked, dict[int, tuple[Step, ...]], tuple[frozenset[str], ...]]
"""Functions linked to one, the steps of each block, the registers that each needs from before it."""


def _decode(graph: CallGraph, memory: _Memory) -> Decoded:
    """Match all instructions to their forms, around what calls must save."""

    def decode(instruction: Instruction) -> Step:
        step = match(instruction)
        missing = (find_missing(step, memory.symbols) or _missing_parameter(step, memory)) if step.form is not None else ""
        return Step(instruction, None, missing=missing) if missing else step

    def build(saves: Saves) -> Decoded:
        linked = link(graph, saves, memory.addresses, lambda instruction: decode(instruction).form is None)
        steps = {block: _decode_block(linked.cfg.blocks[block], decode) for block in linked.cfg.order}
        return linked, steps, _live_in(linked.cfg, steps)

    saves: Saves = {}
    linked, decoded, live = build(saves)
    while (more := saves_of(graph, linked, decoded, live, saves)) != saves:  # what one call saves, a call before it must save too
        saves = more
        linked, decoded, live = build(saves)
    return linked, decoded, live


def _missing_parameter(step: Step, memory: _Memory) -> str:
    """The name of what a step takes for a parameter of the kernel, or for a part of one, and that is none; "" otherwise."""
    if not step.reads_parameter or step.access is None:
        return ""
    match step.sources[0][0]:
        case Address(Symbol(name), offset) if name in memory.parameters:
            start = memory.parameters[name] + offset
            return "" if 0 <= start <= memory.parameter_bytes - step.access.bytes else name
        case Address(Symbol(name)):
            return name
    return ""


@dataclass(frozen=True, slots=True)
class _Memory:
    """Where a program's variables stand."""

    parameters: dict[str, int]
    parameter_bytes: int
    shared: dict[str, int]
    shared_bytes: int
    local_bytes: int
    local_names: set[str]
    addresses: dict[str, int]
    """Of functions and module variables."""
    symbols: dict[str, int]
    variables: tuple[PlacedVariable, ...]


def _place_memory(module: PtxModule, graph: CallGraph) -> _Memory:
    functions = list(graph.functions.values())
    parameters, parameter_bytes = layout(functions[0].parameters)
    variables = [variable for function in functions for variable in function.variables]
    shared, shared_bytes = shared_layout((*module.variables, *variables))
    placed = [
        v for function in functions if function.name not in graph.recursive for v in function.variables if v.space == "local"
    ]
    local, local_bytes = layout(placed)
    local_bytes = -(-local_bytes // STACK_ALIGN) * STACK_ALIGN
    local[STACK] = local_bytes
    addresses = {**code_addresses(module), **variable_addresses(module)}
    windows = {LOCAL_WINDOW: local, PARAMETER_WINDOW: parameters}
    symbols = {
        **addresses,
        **{name: window + offset for window, offsets in windows.items() for name, offset in offsets.items()},
        **shared,
    }
    reached = tuple(found for function in functions for found in placed_variables(module, function, addresses))
    by_name = {variable.name: variable for variable in reached}
    return _Memory(
        parameters, parameter_bytes, shared, shared_bytes, local_bytes, set(local), addresses, symbols, tuple(by_name.values())
    )


def find_kernel(module: PtxModule, name: str) -> Function:
    """Return the entry function called `name`.

    Raises TilewiseError with the names there are.
    """
    entries = {function.name: function for function in module.functions if function.is_entry}
    if name not in entries:
        raise TilewiseError(f"the module has no kernel {name!r}.{nearest(name, entries)}")
    return entries[name]


def _chains(
    steps: tuple[tuple[Step, ...], ...], successors: tuple[tuple[int, ...], ...], entry: int
) -> tuple[tuple[int, ...], ...]:
    """Join each block that only falls through to a later one that nothing else leads to: the way back looks whether to stop."""
    leading = Counter(after for afters in successors for after in afters)
    leading[entry] += 1
    next_ = {
        position: afters[0]
        for position, afters in enumerate(successors)
        if len(afters) == 1 and afters[0] > position and leading[afters[0]] == 1 and _runs_on(steps[position])
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
    return last is None or last.control is None or (last.control in ("branch", "jump") and last.instruction.guard is None)


def _decode_block(block: Block, decode: Callable[[Instruction], Step]) -> tuple[Step, ...]:
    """The steps of a block, up to the first that has no form: nothing past it is ever reached."""
    steps: list[Step] = []
    for instruction in block.instructions:
        steps.append(decode(instruction))
        if steps[-1].form is None:
            break
    return tuple(steps)


def _number_sites(blocks: Iterable[tuple[Step, ...]]) -> Iterator[Site]:
    """Number the steps that count, may fail or wait; those whose space only the run tells have a number for each space."""
    count = 0
    for step in (step for steps in blocks for step in steps if step.is_site):
        step.site = count
        generic = step.access is not None and step.access.space == "generic"
        for space in COUNTED_SPACES if generic else [step.access.space if step.access else ""]:
            count += 1
            yield step, space


def _stands(
    blocks: tuple[tuple[Step, ...], ...],
    successors: tuple[tuple[int, ...], ...],
    waiting: tuple[WaitingLoop, ...],
    number: dict[int, int],
) -> dict[int, int]:
    """The sites of steps at which a block's lanes meet, behind which they sleep, or for which the loop round it waits."""
    found = {position: steps[0] for position, steps in enumerate(blocks) if steps and steps[0].meets}
    for steps, afters in zip(blocks, successors, strict=True):
        if steps and steps[-1].control == "sleep":
            found |= dict.fromkeys(afters, steps[-1])
    sleeping = {position for position, step in found.items() if step.control == "sleep"}
    for loop in waiting:  # inner ones last
        inside = {number[block] for block in loop.blocks if block in number}
        found |= dict.fromkeys((inside & sleeping) | {number[loop.header]}, loop.watched)
    return {position: step.site for position, step in found.items() if step.site is not None}


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
