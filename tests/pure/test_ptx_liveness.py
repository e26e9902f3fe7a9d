from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewise.ptx.cfg import Block, Cfg
from tilewise.ptx.liveness import live_in

NAMES = "abc"

Case = tuple[list[list[int]], list[frozenset[str]], list[frozenset[str]]]


def cases() -> st.SearchStrategy[Case]:
    """Graphs with what each block reads and writes."""
    sets = st.frozensets(st.sampled_from(NAMES))
    return st.integers(1, 8).flatmap(
        lambda count: st.tuples(
            st.lists(st.lists(st.integers(0, count - 1), max_size=2, unique=True), min_size=count, max_size=count),
            st.lists(sets, min_size=count, max_size=count),
            st.lists(sets, min_size=count, max_size=count),
        )
    )


def graph(edges: list[list[int]]) -> Cfg:
    """A graph with what liveness needs of it; every node counts as reachable."""
    nodes = range(len(edges))
    return Cfg(
        blocks=tuple(Block(node, None, ()) for node in nodes),
        successors=tuple(tuple(after) for after in edges),
        predecessors=tuple(tuple(before for before in nodes if node in edges[before]) for node in nodes),
        order=tuple(nodes),
        loops=(),
        immediate_post_dominator=(),
    )


def is_read(name: str, start: int, edges: list[list[int]], reads: list[frozenset[str]], writes: list[frozenset[str]]) -> bool:
    """Whether a walk from `start` meets a block that reads `name` before one that writes it."""
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if name in reads[node]:
            return True
        if name not in writes[node]:
            waiting.extend(edges[node])
    return False


@given(cases())
def test_live_registers_by_walking(case: Case) -> None:
    edges, reads, writes = case
    found = live_in(graph(edges), reads, writes)
    for node in range(len(edges)):
        assert found[node] == {name for name in NAMES if is_read(name, node, edges, reads, writes)}


def test_register_read_and_written_in_a_loop_is_live_round_it() -> None:
    found = live_in(
        graph([[1], [1, 2], []]), [frozenset(), frozenset("a"), frozenset("b")], [frozenset("a"), frozenset("a"), frozenset()]
    )
    assert found == (frozenset("b"), frozenset("ab"), frozenset("b"))


def test_unreachable_block_needs_nothing() -> None:
    cfg = Cfg((Block(0, None, ()), Block(1, None, ())), ((), ()), ((), ()), (0,), (), (2, 2))
    assert live_in(cfg, [frozenset(), frozenset("a")], [frozenset(), frozenset()]) == (frozenset(), frozenset())
