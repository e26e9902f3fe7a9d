from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.errors import TilewiseError
from tilewise.ptx.ast import Function, Instruction
from tilewise.ptx.cfg import Cfg, build_cfg, immediate_dominators
from tilewise.ptx.parse import parse

Edges = list[list[int]]

HEAD = ".version 9.5\n.target sm_100\n.address_size 64\n.entry k()\n{\n.reg .pred %p;\n.reg .b32 %r<9>;\n"


def function(body: str) -> Function:
    return parse(HEAD + body + "\n}\n").functions[0]


def never(_: Instruction) -> bool:
    return False


def is_barrier(instruction: Instruction) -> bool:
    return instruction.opcode.startswith("bar")


def is_wait(instruction: Instruction) -> bool:
    return "try_wait" in instruction.opcode


def cfg(body: str) -> Cfg:
    return build_cfg(function(body), never)


def graph_function(edges: Edges) -> Function:
    """A function whose block i goes to each block of edges[i]: by guarded branches, the last one unguarded; to none by ret."""
    lines = []
    for number, after in enumerate(edges):
        lines.append(f"L{number}: mov.b32 %r0, {number};")
        if len(after) > 1:
            lines.append(f"brx.idx %r0, T{number};")
        else:
            lines.extend(f"bra L{target};" for target in after)
        lines.extend([] if after else ["ret;"])
    # Branches to every label, from a block that nothing reaches, keep blocks without predecessors apart.
    tables = [f"T{number}: .branchtargets {', '.join(f'L{target}' for target in after)};" for number, after in enumerate(edges)]
    wanted = [table for table, after in zip(tables, edges, strict=True) if len(after) > 1]
    everything = f"ALL: .branchtargets {', '.join(f'L{number}' for number in range(len(edges)))};\nbrx.idx %r0, ALL;"
    return function("\n".join([*wanted, *lines, everything]))


graphs = st.integers(1, 9).flatmap(
    lambda count: st.lists(st.lists(st.integers(0, count - 1), max_size=3, unique=True), min_size=count, max_size=count)
)


def reach(edges: Edges, start: int, without: frozenset[int] = frozenset()) -> set[int]:
    """All nodes on paths from `start` that avoid `without`."""
    found: set[int] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node not in found and node not in without:
            found.add(node)
            waiting.extend(edges[node])
    return found


def graph_cfg(edges: Edges) -> Cfg:
    """The graph of `edges` alone: the block that names every label is last and unreachable."""
    return build_cfg(graph_function(edges), never)


def test_straight_line_is_one_block() -> None:
    found = cfg("mov.b32 %r0, 1;\nadd.s32 %r1, %r0, 2;\nret;")
    assert [block.index for block in found.blocks] == [0]
    assert (found.successors, found.order, found.immediate_post_dominator) == (((),), (0,), (1,))


def test_empty_body_is_one_empty_block() -> None:
    assert cfg("").blocks[0].instructions == ()


def test_guarded_branch_goes_to_its_target_then_falls_through() -> None:
    found = cfg("@%p bra L;\nmov.b32 %r0, 1;\nL: ret;")
    assert found.successors == ((2, 1), (2,), ())
    assert found.predecessors == ((), (0,), (0, 1))
    assert found.blocks[2].label == "L"


@pytest.mark.parametrize(
    ("last", "successors"),
    [
        ("bra L", (0,)),
        ("bra.uni L", (0,)),
        ("@%p bra L", (0, 1)),
        ("@%p bra NEXT", (1,)),
        ("ret", ()),
        ("exit", ()),
        ("trap", ()),
        ("ret.uni", ()),
        ("@%p ret", (1,)),
        ("@!%p exit", (1,)),
        ("@%p trap", (1,)),
        ("brx.idx %r0, T", (1, 0)),
        ("@%p brx.idx %r0, T", (1, 0)),
        ("bar.sync 0", (1,)),
    ],
)
def test_successors_by_last_instruction(last: str, successors: tuple[int, ...]) -> None:
    body = f"T: .branchtargets NEXT, L;\nL: {last};\nNEXT: mov.b32 %r0, 1;\n@%p bra L;\nbra NEXT;"
    assert build_cfg(function(body), is_barrier).successors[0] == successors


def test_falling_off_the_end_leaves_the_function() -> None:
    found = cfg("@%p bra L;\nL: mov.b32 %r0, 1;")
    assert found.successors == ((1,), ())


def test_labels_that_no_branch_names_cut_nothing() -> None:
    found = cfg("$L__tmp0: mov.b32 %r0, 1;\n$L__tmp1: mov.b32 %r1, 1;\n$L__func_end0:")
    assert [len(block.instructions) for block in found.blocks] == [2]


def test_label_at_the_end_is_an_empty_block() -> None:
    found = cfg("@%p bra L;\nret;\nL:")
    assert found.successors[0] == (2, 1)
    assert found.blocks[2].instructions == ()


def test_several_labels_of_one_place() -> None:
    found = cfg("@%p bra A;\n@%p bra B;\nret;\nA: B: ret;")
    a, b = found.successors[0][0], found.successors[1][0]
    assert found.blocks[b].instructions[0].opcode == "ret"
    assert a == b or found.successors[a] == (b,)


def test_predicates_end_and_start_blocks() -> None:
    body = "mov.b32 %r0, 1;\nbar.sync 0;\nmov.b32 %r0, 2;\nmbarrier.try_wait.b64 %p, [%r0], %r1;\nmov.b32 %r0, 3;\nret;"
    found = build_cfg(function(body), lambda item: is_barrier(item) or is_wait(item), is_wait)
    assert [[item.opcode.split(".")[0] for item in block.instructions] for block in found.blocks] == [
        ["mov", "bar"],
        ["mov"],
        ["mbarrier"],
        ["mov", "ret"],
    ]
    assert found.successors == ((1,), (2,), (3,), ())


def test_branch_table_that_is_not_declared_is_refused() -> None:
    with pytest.raises(TilewiseError, match="PTX line 9"):
        cfg("L: mov.b32 %r0, 1;\nbrx.idx %r0, %r1;")


def test_loop_stands_before_what_follows_it_though_its_latch_has_no_exit() -> None:
    # The loop leaves from its second block alone; a depth-first search that enters LEFT first would put OUT before LEFT.
    body = (
        "HEAD: @%p bra LEFT;\n@%p bra OUT;\nbra HEAD;\nLEFT: mov.b32 %r0, 1;\nbra HEAD;\nOUT: mov.b32 %r0, 2;\nbar.sync 0;\nret;"
    )
    found = build_cfg(function(body), is_barrier)
    labels = [found.blocks[index].label for index in found.order]
    assert labels.index("LEFT") < labels.index("OUT")
    assert found.loops[0].header == 0


def test_ends_of_a_round_meet_in_one_block_before_the_next() -> None:
    # As compilers leave a loop at whose end one thread alone has something to do: it leads back from two places.
    body = "mov.b32 %r0, 1;\nHEAD: mov.b32 %r0, 2;\n@%p bra HEAD;\nmov.b32 %r0, 3;\n@%p bra HEAD;\nret;"
    assert cfg(body).successors == ((1,), (1, 2), (1, 3), ())
    found = build_cfg(function(body), never, joins_rounds=True)
    assert found.blocks[4].instructions == ()
    assert found.successors == ((1,), (4, 2), (4, 3), (), (1,))
    assert found.order == (0, 1, 2, 4, 3)
    assert [loop.blocks for loop in found.loops] == [{1, 2, 4}]


def test_blocks_that_return_stand_last() -> None:
    found = cfg("@%p bra A;\nret;\nA: @%p bra B;\nmov.b32 %r0, 1;\nB: @%p bra C;\nret;\nC: mov.b32 %r0, 1;\n@%p bra D;\nD: ret;")
    leaving = [not found.successors[index] for index in found.order]
    assert leaving == sorted(leaving)
    assert sum(leaving) == 3


def test_nested_loops_outer_first() -> None:
    found = cfg("A: mov.b32 %r0, 1;\nB: mov.b32 %r0, 2;\n@%p bra B;\n@%p bra A;\nret;")
    assert [(loop.header, sorted(loop.blocks)) for loop in found.loops] == [(0, [0, 1, 2]), (1, [1])]


def test_post_dominators_of_a_diamond() -> None:
    found = cfg("@%p bra E;\nmov.b32 %r0, 1;\nbra J;\nE: mov.b32 %r0, 2;\nJ: ret;")
    assert found.immediate_post_dominator == (3, 3, 3, 4)


def test_block_that_never_leaves_is_post_dominated_by_the_exit() -> None:
    found = cfg("@%p bra L;\nret;\nL: bra L;")
    assert found.immediate_post_dominator == (1, 3, 3)


@given(graphs)
def test_edges_are_those_of_the_text(edges: Edges) -> None:
    found = graph_cfg(edges)
    assert [list(after) for after in found.successors[:-1]] == edges
    reachable = reach(edges, 0)
    assert {(before, node) for node, all_before in enumerate(found.predecessors) for before in all_before} == {
        (node, after) for node in reachable for after in edges[node]
    }


@given(graphs)
def test_dominators_by_removing_each_node(edges: Edges) -> None:
    reachable = reach(edges, 0)
    found = immediate_dominators(edges, 0)
    for node in range(len(edges)):
        if node not in reachable:
            assert found[node] == -1
            continue
        strict = {by for by in reachable - {node} if node not in reach(edges, 0, frozenset([by]))}
        chain = set()
        above = node
        while above != 0:
            above = found[above]
            chain.add(above)
        assert chain == strict


@given(graphs)
def test_post_dominators_by_removing_each_node(edges: Edges) -> None:
    leave = len(edges)
    closed = [after or [leave] for after in edges] + [[]]
    found = graph_cfg(edges).immediate_post_dominator
    found = tuple(leave if by == leave + 1 else by for by in found[:leave])  # the last block is not part of the graph
    for node in range(leave):
        strict = {by for by in range(leave) if by != node and leave not in reach(closed, node, frozenset([by]))}
        if leave not in reach(closed, node):
            assert found[node] == leave
            continue
        chain = set()
        above = node
        while (above := found[above]) != leave:
            chain.add(above)
        assert chain == strict


@given(graphs)
def test_order_holds_each_reachable_block_once(edges: Edges) -> None:
    order = graph_cfg(edges).order
    assert order[0] == 0
    assert sorted(order) == sorted(reach(edges, 0))


@given(graphs)
def test_loops_by_definition(edges: Edges) -> None:
    reachable = reach(edges, 0)
    expected = {}
    for header in reachable:
        latches = [
            node
            for node in reachable
            if header in edges[node] and (header == node or node not in reach(edges, 0, frozenset([header])))
        ]
        body = {node for node in reachable if any(latch in reach(edges, node, frozenset([header])) for latch in latches)}
        if latches:
            expected[header] = body | {header}
    assert {loop.header: set(loop.blocks) for loop in graph_cfg(edges).loops} == expected


programs = st.recursive(
    st.sampled_from(["work", "break", "continue", "return", "exit"]).map(lambda word: (word,)),
    lambda part: st.one_of(
        st.tuples(st.just("sequence"), st.lists(part, min_size=1, max_size=4)),
        st.tuples(st.just("if"), part, part),
        st.tuples(st.sampled_from(["while", "do"]), part),
    ),
    max_leaves=20,
)
"""Structured programs: reducible graphs, as compilers emit them."""


class Writer:
    """Writes a structured program as PTX."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def label(self) -> str:
        self.count += 1
        return f"L{self.count}"

    def write(self, part: tuple, loop: tuple[str, str] | None) -> None:  # type: ignore[type-arg]
        match part:
            case ("sequence", parts):
                for each in parts:
                    self.write(each, loop)
            case ("if", then, otherwise):
                other, join = self.label(), self.label()
                self.lines.append(f"@%p bra {other};")
                self.write(then, loop)
                self.lines.extend([f"bra {join};", f"{other}:"])
                self.write(otherwise, loop)
                self.lines.append(f"{join}: mov.b32 %r0, 1;")
            case (("while" | "do") as kind, body):
                head, test, out = self.label(), self.label(), self.label()
                self.lines.append(f"{head}: mov.b32 %r0, 2;")
                self.lines.extend([f"@%p bra {out};"] if kind == "while" else [])
                self.write(body, (test, out))
                self.lines.append(f"{test}: @%p bra {head};")
                self.lines.append(f"{out}: mov.b32 %r0, 3;")
            case ("break",) | ("continue",) if loop is not None:
                self.lines.append(f"@%p bra {loop[part[0] == 'break']};")
            case ("return",):
                self.lines.append("@%p ret;")
            case ("exit",):
                after = self.label()
                self.lines.extend([f"@%p bra {after};", "ret;", f"{after}: mov.b32 %r0, 5;"])
            case _:
                self.lines.append("mov.b32 %r0, 4;")


@given(programs)
def test_order_of_a_structured_program(program: tuple) -> None:  # type: ignore[type-arg]
    writer = Writer()
    writer.write(program, None)
    found = cfg("\n".join([*writer.lines, "ret;"]))
    place = {block: number for number, block in enumerate(found.order)}
    edges = [list(after) for after in found.successors]
    headers = {loop.header: loop.blocks for loop in found.loops}
    for block in place:
        for after in edges[block]:
            assert place[after] > place[block] or block in headers[after]  # only back edges go up
    for loop in found.loops:
        round_it = frozenset(header for header, blocks in headers.items() if loop.header in blocks)
        exits = {after for block in loop.blocks for after in edges[block]} - loop.blocks
        beyond = set().union(*(reach(edges, block, round_it) for block in exits))
        last = max(place[block] for block in loop.blocks)
        assert all(place[block] > last for block in beyond)


def test_thousands_of_blocks_in_one_path() -> None:
    count = 5000  # more than Python's stack is deep
    body = "\n".join(f"L{number}: @%p bra L{number * 7 % count};" for number in range(count))
    found = cfg(body)
    assert sorted(found.order) == list(range(count))
    assert found.immediate_post_dominator[count - 1] == count
