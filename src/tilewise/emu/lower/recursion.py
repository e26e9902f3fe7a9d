"""What a function that may call itself again must keep for later: registers that the call would overwrite."""

from __future__ import annotations

from collections.abc import Mapping

from tilewise.emu.lower.callgraph import CallGraph, reach
from tilewise.emu.lower.calls import STACK, Saves
from tilewise.emu.lower.linking import Linked
from tilewise.emu.lower.step import Step


def saves_of(
    graph: CallGraph, linked: Linked, steps: Mapping[int, tuple[Step, ...]], live: tuple[frozenset[str], ...], saves: Saves
) -> Saves:
    """Return, for each call that may lead back to its caller, the registers with their types to put on the stack.

    `live` holds the registers that each block needs from before it, in a program that has `saves` already.
    """
    written: dict[str, set[str]] = {}
    for block, block_steps in steps.items():
        names = written.setdefault(linked.owners[block], set())
        for step in block_steps:
            names |= step.writes
    found = {}
    for (caller, interface, number), behind in linked.behind.items():
        if not graph.calls_back(caller, interface):
            continue
        called = reach(graph.callees, *graph.interfaces[interface])
        overwritten = set().union(*(written.get(name, set()) for name in called))
        results = {name for name in overwritten if name.startswith(f"{interface} result ")}
        needed = (live[behind] & overwritten) - results - {STACK}
        needed |= {name for name, _ in saves.get((caller, interface, number), ())}
        found[caller, interface, number] = tuple((name, linked.function.registers[name]) for name in sorted(needed))
    return found
