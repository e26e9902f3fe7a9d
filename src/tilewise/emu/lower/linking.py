"""A kernel and the functions that it calls as one graph of blocks: calls and returns are edges like any other.

Blocks are ordered function by function, those that are called first, so that lanes in a function come before lanes that wait for
them where it was called from; a kernel's blocks stand last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tilewise.emu.isa import find_form
from tilewise.emu.lower.callgraph import CallGraph
from tilewise.emu.lower.calls import Caller, Saves
from tilewise.emu.lower.rewriting import rewrite
from tilewise.ptx.ast import Function, Instruction, Integer, Symbol
from tilewise.ptx.cfg import Block, Cfg, build_cfg

Choices = tuple[tuple[int, int], ...]
"""(number, block) pairs: which block a jump by number leads to."""


@dataclass(frozen=True, slots=True)
class Linked:
    """The graph of a kernel with its functions, blocks by index."""

    function: Function
    """The kernel, with the registers and variables of all functions."""
    cfg: Cfg
    entry: int
    choices: dict[int, Choices]
    """Of each block that ends in a jump by number: a table of labels, a return, a call by address."""
    owners: tuple[str, ...]
    """The function of each block."""
    calls: dict[int, tuple[str, str, int]]
    """The caller, the interface and the number of the call that ends a block."""
    behind: dict[tuple[str, str, int], int]
    """The block behind each call."""


def link(graph: CallGraph, saves: Saves, addresses: dict[str, int], is_missing: Callable[[Instruction], bool]) -> Linked:
    """Return the kernel of a call graph as one program; `addresses` are those of functions."""
    caller = Caller(graph, saves)
    names = list(_called_first(graph))
    functions = [rewrite(caller.rewrite(graph.functions[name]), is_missing) for name in names]
    graphs = [build_cfg(function, _ends_block, _starts_block, joins_rounds=True) for function in functions]
    starts = [sum(len(cfg.blocks) for cfg in graphs[:index]) for index in range(len(graphs))]
    entries = dict(zip(names, starts, strict=True))
    owners = tuple(name for name, cfg in zip(names, graphs, strict=True) for _ in cfg.blocks)
    blocks = [
        replace(block, index=block.index + start) for cfg, start in zip(graphs, starts, strict=True) for block in cfg.blocks
    ]
    flows = [tuple(a + start for a in after) for cfg, start in zip(graphs, starts, strict=True) for after in cfg.successors]
    order = tuple(block + start for cfg, start in zip(graphs, starts, strict=True) for block in cfg.order)
    reachable = frozenset(order)
    calls = {
        block.index: (owners[block.index], *_call_of(block)) for block in blocks if _is_call(block) and block.index in reachable
    }
    behind = {call: flows[block][0] for block, call in calls.items()}
    choices = {block.index: found for block in blocks if (found := _choices(block, graph, entries, addresses, behind))}
    for index, table in _tables(functions, graphs, starts):
        choices[index] = table
    successors = tuple(_successors(block, flow, entries, choices) for block, flow in zip(blocks, flows, strict=True))
    kernel = functions[-1]
    merged = replace(
        kernel,
        registers={name: type_ for function in functions for name, type_ in function.registers.items()} | caller.registers,
        variables=tuple(variable for function in functions for variable in function.variables),
    )
    loops = tuple(
        replace(loop, header=loop.header + start, blocks=frozenset(block + start for block in loop.blocks))
        for cfg, start in zip(graphs, starts, strict=True)
        for loop in cfg.loops
    )
    cfg = Cfg(tuple(blocks), successors, _predecessors(successors, order), order, loops, ())
    return Linked(merged, cfg, starts[-1], choices, owners, calls, behind)


def text_order(linked: Linked) -> tuple[int, ...]:
    """Return the reachable blocks in the order of the text, those of each function behind the first call that leads to it.

    Blocks that no call leads to stand last.
    """
    bodies: dict[str, list[int]] = defaultdict(list)
    for block in linked.cfg.order:
        bodies[linked.owners[block]].append(block)
    kernel = linked.owners[linked.entry]
    seen, found, under_way = {kernel}, list[int](), [iter(bodies[kernel])]
    while under_way:
        following = next(under_way[-1], None)
        if following is None:
            under_way.pop()
            continue
        found.append(following)
        callees = [linked.owners[entry] for entry in linked.cfg.successors[following]] if following in linked.calls else []
        for callee in callees:
            if callee not in seen:
                seen.add(callee)
                under_way.append(iter(bodies[callee]))
    called = set(found)
    return (*found, *(block for block in linked.cfg.order if block not in called))


def _called_first(graph: CallGraph) -> Iterator[str]:
    """The functions, each after those that it calls (but for those that call it back); the kernel last."""
    done: set[str] = set()
    path = [(next(iter(graph.functions)), iter(sorted(graph.callees[next(iter(graph.functions))])))]
    seen = {path[0][0]}
    while path:
        name, rest = path[-1]
        following = next((callee for callee in rest if callee not in seen), None)
        if following is None:
            path.pop()
            done.add(name)
            yield name
        else:
            seen.add(following)
            path.append((following, iter(sorted(graph.callees[following]))))


def _last(block: Block) -> Instruction | None:
    return block.instructions[-1] if block.instructions else None


def _is_call(block: Block) -> bool:
    last = _last(block)
    return last is not None and last.opcode in ("Call", "Call.b64")


def _call_of(block: Block) -> tuple[str, int]:
    """The interface and the number of the call that ends a block."""
    last = _last(block)
    assert last is not None
    interface, number = last.operands[-2:]
    assert isinstance(interface, Symbol) and isinstance(number, Integer)
    return interface.name, number.value


def _choices(
    block: Block,
    graph: CallGraph,
    entries: dict[str, int],
    addresses: dict[str, int],
    behind: dict[tuple[str, str, int], int],
) -> Choices:
    last = _last(block)
    if last is not None and last.opcode == "Call.b64":
        return tuple((addresses[name], entries[name]) for name in graph.interfaces.get(_call_of(block)[0], ()))
    if last is not None and last.opcode == "Return.u32":
        interface = last.operands[-1]
        assert isinstance(interface, Symbol)
        return tuple(sorted((number, target) for (_, name, number), target in behind.items() if name == interface.name))
    return ()


def _tables(functions: list[Function], graphs: list[Cfg], starts: list[int]) -> Iterator[tuple[int, Choices]]:
    """The tables of brx.idx."""
    for function, cfg, start in zip(functions, graphs, starts, strict=True):
        places = {block.label: block.index + start for block in cfg.blocks if block.label is not None}
        for block in cfg.blocks:
            last = _last(block)
            if last is not None and last.opcode.startswith("brx.idx") and isinstance(last.operands[-1], Symbol):
                labels = function.branch_targets[last.operands[-1].name]
                yield block.index + start, tuple((number, places[label]) for number, label in enumerate(labels))


def _successors(block: Block, flow: tuple[int, ...], entries: dict[str, int], choices: dict[int, Choices]) -> tuple[int, ...]:
    last = _last(block)
    if block.index in choices:
        return tuple(dict.fromkeys(target for _, target in choices[block.index]))
    if last is not None and last.opcode == "Call":
        callee = last.operands[0]
        assert isinstance(callee, Symbol)
        return (entries[callee.name],)
    return () if last is not None and last.opcode == "Return.u32" else flow


def _predecessors(successors: tuple[tuple[int, ...], ...], order: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    found: list[list[int]] = [[] for _ in successors]
    for block in sorted(order):
        for after in successors[block]:
            found[after].append(block)
    return tuple(tuple(before) for before in found)


def _ends_block(instruction: Instruction) -> bool:
    found = find_form(instruction.opcode, len(instruction.operands))
    return found is not None and found[0].kind == "control"


def _starts_block(instruction: Instruction) -> bool:
    """Lanes that wait for others here must find their way back here."""
    found = find_form(instruction.opcode, len(instruction.operands))
    return found is not None and found[0].meets
