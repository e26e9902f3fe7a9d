"""Registers that lanes waiting elsewhere need: held against the pairs of blocks taken one by one, on random graphs."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

import pytest

from tilewise.emu.lower.parting import Parting


@dataclass
class Step:
    meets: bool
    control: str | None


@dataclass
class Graph:
    steps: tuple[tuple[Step, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    yields: frozenset[tuple[int, int]]
    live_in: tuple[frozenset[str], ...]


def random_graph(seed: int) -> Graph:
    chance = random.Random(seed)
    blocks = range(chance.randint(1, 14))

    def step() -> Step:
        return Step(chance.random() < 0.15, chance.choice([None, None, None, "barrier", "sleep"]))

    return Graph(
        steps=tuple((step(),) if chance.random() < 0.9 else () for _ in blocks),
        successors=tuple(tuple(chance.sample(blocks, min(len(blocks), chance.randint(0, 3)))) for _ in blocks),
        yields=frozenset((chance.choice(blocks), chance.choice(blocks)) for _ in range(chance.randint(0, 2))),
        live_in=tuple(frozenset(chance.sample("abcdefghijk", chance.randint(0, 5))) for _ in blocks),
    )


def needed(graph: Graph, parting: list[int]) -> tuple[frozenset[str], ...]:
    """The registers live where others can wait while a block runs, by the definition of Parting."""
    meeting = {block for block, steps in enumerate(graph.steps) if steps and steps[0].meets}
    waits = meeting | {header for _, header in graph.yields}
    for block, steps in enumerate(graph.steps):
        if steps and steps[-1].control in ("barrier", "sleep"):
            waits |= set(graph.successors[block])
    apart = {pair for block in parting for pair in itertools.combinations(graph.successors[block], 2)}
    pairs: set[tuple[int, int]] = set()
    while apart:
        more = set()
        for one, other in map(sorted, apart):
            more |= {(one, other)} | ({(other, one)} if one in waits else set())
            more |= {(block, block) for block in (one, other) if block in meeting}
        more = {pair for pair in more - pairs if pair[0] != pair[1] or pair[0] in waits}
        pairs |= more
        apart = {(after, other) for running, other in more for after in graph.successors[running]}
    return tuple(
        frozenset[str]().union(*(graph.live_in[other] for running, other in pairs if running == block))
        for block in range(len(graph.steps))
    )


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_registers_are_those_of_all_pairs_however_the_branches_come(first: int) -> None:
    for seed in range(first, first + 100):
        graph: Any = random_graph(seed)
        chance = random.Random(seed)
        parting = [block for block in range(len(graph.steps)) if chance.random() < 0.4]
        chance.shuffle(parting)
        begun = chance.randint(0, len(parting))
        found = Parting(graph)
        assert found.add(parting[:begun]) == needed(graph, parting[:begun]), seed
        assert found.add(parting[begun:]) == needed(graph, parting), seed
