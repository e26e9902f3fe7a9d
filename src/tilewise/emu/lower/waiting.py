"""Loops that wait for others: whether another round follows hangs on what other threads may write meanwhile.

Going back in one of them is where lanes, warps and blocks let each other have a turn; all other loops run on undisturbed. To take
a loop for one that waits does no harm but takes time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from tilewise.emu.lower.callgraph import CallGraph, reach
from tilewise.emu.lower.linking import Linked
from tilewise.emu.lower.provenance import Provenance
from tilewise.emu.lower.special import BARRIER_ONES
from tilewise.emu.lower.step import Step, registers_of
from tilewise.ptx.ast import Address, Register
from tilewise.ptx.cfg import Loop

SHARED_WITH_OTHERS = ("global", "shared", "generic")
OTHERS = "others"
"""All memory but a thread's own."""
ORDERS_MEMORY = ("fence", "membar", "bar", "barrier", "nanosleep")
"""Mnemonics that keep a compiler from reading memory once for all rounds."""
Steps = Mapping[int, tuple[Step, ...]]


@dataclass(frozen=True, slots=True)
class WaitingLoop:
    """A loop that waits for others. Blocks are named by their index in the graph."""

    header: int
    blocks: frozenset[int]
    latches: tuple[int, ...]
    """The blocks that lead back to the header."""
    watched: Step
    """The instruction that reads what others are to write; where there is none, the branch back."""
    polled: tuple[Step, ...]
    """All that read what others are to write."""
    is_global: bool
    """Whether those others may be in other blocks of the grid."""


def waiting_loops(
    graph: CallGraph, linked: Linked, steps: Steps, live: tuple[frozenset[str], ...], provenance: Provenance
) -> Iterator[WaitingLoop]:
    """The loops of a program that wait; `live` holds the registers that each block needs from before it."""
    flow = _Flow(graph, linked, steps, provenance)
    for loop in linked.cfg.loops:
        rounds = _Rounds(flow, loop)
        reads = [step for step in rounds.steps if flow.is_shared_read(step)]
        polled = reads if any(map(_orders_memory, rounds.steps)) else [step for step in reads if _is_strong(step)]
        if not (polled and rounds.end_by(polled)):
            if not rounds.change_nothing(live[loop.header]):
                continue
            polled = reads
        if rounds.latches:
            watched = polled[0] if polled else next(step for end in rounds.ends for step in reversed(steps[end]))
            is_global = any(step.access is not None and step.access.space != "shared" for step in polled)
            yield WaitingLoop(loop.header, loop.blocks, rounds.latches, watched, tuple(polled), is_global)


def _is_strong(step: Step) -> bool:
    return step.access is not None and (step.access.kind == "atomic" or step.access.order != "")


def _votes(step: Step) -> set[Hashable]:
    """What a step reads of what a barrier has counted."""
    operands = (operand for operand, _ in step.sources)
    return {operand.name for operand in operands if isinstance(operand, Register) and operand.name == BARRIER_ONES}


def _orders_memory(step: Step) -> bool:
    return step.instruction.opcode.partition(".")[0] in ORDERS_MEMORY


class _Flow:
    """A program function by function: a call is one step on the way, made of all that it calls."""

    def __init__(self, graph: CallGraph, linked: Linked, steps: Steps, provenance: Provenance) -> None:
        self.steps = steps
        self._provenance = provenance
        self._graph = graph
        self._linked = linked
        self._of_function: dict[str, list[Step]] = {}
        for block, name in enumerate(linked.owners):
            self._of_function.setdefault(name, []).extend(steps.get(block, ()))

    def after(self, block: int) -> tuple[int, ...]:
        """Where a block leads within its function."""
        if block in self._linked.calls:
            return (self._linked.behind[self._linked.calls[block]],)
        last = self.steps[block][-1:]
        return () if last and last[0].instruction.opcode == "Return.u32" else self._linked.cfg.successors[block]

    def called(self, blocks: frozenset[int]) -> Iterator[Step]:
        """The instructions of all functions that are called from these blocks."""
        interfaces = {self._linked.calls[block][1] for block in blocks if block in self._linked.calls}
        callees = {name for interface in interfaces for name in self._graph.interfaces.get(interface, ())}
        for name in sorted(reach(self._graph.callees, *callees)):
            yield from self._of_function.get(name, ())

    def is_shared_read(self, step: Step) -> bool:
        """Whether an instruction reads what other threads may write."""
        access = step.access
        if access is None or access.space not in SHARED_WITH_OTHERS or self.place_of(step) != OTHERS:
            return False
        return access.kind == "load" or (access.kind == "atomic" and bool(step.writes))

    def place_of(self, step: Step) -> Hashable:
        """Where an access goes, as near as it is known: variables of a thread by their addresses, all else as one."""
        address, access = step.sources[0][0] if step.sources else None, step.access
        if access is None or not isinstance(address, Address):
            return OTHERS
        is_own = access.space == "local"
        if access.space == "generic":
            is_own = self._provenance.space_of(registers_of(address)) == "local"
        return (address.base, address.offset) if is_own else OTHERS


class _Rounds:
    """The rounds of one loop."""

    def __init__(self, flow: _Flow, loop: Loop) -> None:
        self._flow = flow
        self._header = loop.header
        self._blocks = _leading_back(flow, loop)
        self.latches = tuple(block for block in sorted(self._blocks) if loop.header in flow.after(block))
        """The blocks that lead back to the header."""
        self.ends = (*self.latches, *(block for block in sorted(self._blocks) if set(self.latches) & set(flow.after(block))))
        """The latches, and the blocks that lead to them: a latch may hold no instruction."""
        own = [step for block in sorted(self._blocks) for step in flow.steps[block]]
        self.steps = [*own, *flow.called(frozenset(self._blocks))]
        """All instructions of a round, those of what it calls included."""

    def end_by(self, polled: list[Step]) -> bool:
        """Whether what is read decides when the loop ends: directly, through memory, or by a branch on the way."""
        tainted = {name for step in polled for name in step.writes}
        places: set[Hashable] = set()
        before = -1
        while len(tainted) + len(places) != before:
            before = len(tainted) + len(places)
            for step in self.steps:
                kind = step.access.kind if step.access is not None else ""
                if step.reads & tainted and step.control == "barrier":
                    places.add(BARRIER_ONES)
                if step.reads & tainted or (kind == "load" and self._flow.place_of(step) in places) or _votes(step) & places:
                    tainted |= step.writes
                    places |= {self._flow.place_of(step)} if kind in ("store", "atomic") else set()
            for block in self._blocks:
                last = self._flow.steps[block][-1:]
                if last and last[0].control is not None and last[0].reads & tainted:
                    tainted |= {name for there in self._one_sided(block) for s in self._flow.steps[there] for name in s.writes}
        return any(step.reads & tainted for step in self._exits())

    def change_nothing(self, live: frozenset[str]) -> bool:
        """Whether no round differs from the one before but by what others wrote; `live` are the registers it starts with."""
        for step in self.steps:
            is_load = step.access is None or step.access.kind == "load"
            if not is_load or step.control not in (None, "branch", "switch", "exit", "sleep") or step.writes & live:
                return False
        return True

    def _exits(self) -> Iterator[Step]:
        """The conditional instructions by which the loop is left."""
        for block in self._blocks:
            last = self._flow.steps[block][-1:]
            leaves = any(after not in self._blocks for after in self._flow.after(block))
            yield from (step for step in last if step.control is not None and (leaves or step.control == "exit"))

    def _one_sided(self, block: int) -> set[int]:
        """Blocks that a round comes to by one way out of `block` and not by another."""
        reached = [self._reached_in_round(after) for after in self._flow.after(block)]
        return {there for found in reached for there in found if not all(there in other for other in reached)}

    def _reached_in_round(self, start: int) -> set[int]:
        found: set[int] = set()
        waiting = [start]
        while waiting:
            block = waiting.pop()
            if block in self._blocks and block != self._header and block not in found:
                found.add(block)
                waiting += self._flow.after(block)
        return found


def _leading_back(flow: _Flow, loop: Loop) -> set[int]:
    """The blocks of a loop from which it goes on: without those that return or end the kernel."""
    before: dict[int, list[int]] = {}
    for block in loop.blocks & flow.steps.keys():
        for after in flow.after(block):
            before.setdefault(after, []).append(block)
    found, waiting = {loop.header}, [loop.header]
    while waiting:
        for block in before.get(waiting.pop(), ()):
            if block not in found:
                found.add(block)
                waiting.append(block)
    return found
