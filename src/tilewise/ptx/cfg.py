"""Basic blocks of a function, the order to run them in, its loops and post-dominators. Knows no opcode but control flow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError
from tilewise.ptx.ast import Function, Instruction, Label, Symbol

Predicate = Callable[[Instruction], bool]
Graph = Sequence[Sequence[int]]

LOOP_BLOCKS_LIMIT = 10_000_000
"""Blocks of all loops together (a block counts in each loop round it), so that no text can use up memory."""


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that run one after another."""

    index: int
    label: str | None
    """The label that branches reach it by; the last one where several stand together."""
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: its header dominates all its blocks. Loops of one header are one."""

    header: int
    blocks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Cfg:
    """The control-flow graph of a function; block 0 is its entry. Blocks are named by index."""

    blocks: tuple[Block, ...]
    successors: tuple[tuple[int, ...], ...]
    """A guarded branch: (target, fall-through). One that leaves the function, or falls off its end: ()."""
    predecessors: tuple[tuple[int, ...], ...]
    """Reachable ones only."""
    order: tuple[int, ...]
    """Reachable blocks in reverse post-order: a loop's blocks before all that its exits lead to, blocks that return last."""
    loops: tuple[Loop, ...]
    """Outer loops before those within them."""
    immediate_post_dominator: tuple[int, ...]
    """Along the paths that leave the function; len(blocks) stands for having left it, also where no path leaves."""


def build_cfg(
    function: Function, ends_block: Predicate, starts_block: Predicate | None = None, *, joins_rounds: bool = False
) -> Cfg:
    """Return the control-flow graph of `function`.

    A block ends at a label that a branch names, at bra, brx, ret, exit and trap, after an instruction for which `ends_block` is
    true, and before one for which `starts_block` is. With `joins_rounds`, branches by which several blocks lead back to a loop's
    header do so through one block more, without instructions, behind all of the text: there lanes of a round meet before the next
    one begins, as they do on a GPU. Raises TilewiseError where a branch names no label of the function.
    """
    blocks = _split(function, ends_block, starts_block or (lambda instruction: False))
    successors = _link(function, blocks)
    if joins_rounds:
        blocks, successors = _join_rounds(blocks, successors)
    reachable = _post_order(successors, 0)
    immediate_dominator = immediate_dominators(successors, 0)
    loops = _find_loops(successors, reachable, immediate_dominator)
    predecessors = _reverse(successors, reachable, len(blocks))
    return Cfg(
        blocks=blocks,
        successors=successors,
        predecessors=tuple(tuple(before) for before in predecessors),
        order=_run_order(successors, loops),
        loops=loops,
        immediate_post_dominator=_post_dominators(successors),
    )


def immediate_dominators(successors: Graph, root: int) -> list[int]:
    """Return each node's immediate dominator seen from `root`: the root's is itself, an unreachable node's is -1.

    Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001).
    """
    post_order = _post_order(successors, root)
    number = [-1] * len(successors)
    for place, node in enumerate(post_order):
        number[node] = place
    predecessors = _reverse(successors, post_order, len(successors))
    dominator = [-1] * len(successors)
    dominator[root] = root
    changed = True
    while changed:
        changed = False
        for node in reversed(post_order[:-1]):
            new = -1
            for before in predecessors[node]:
                if dominator[before] >= 0:
                    new = before if new < 0 else _meet(before, new, dominator, number)
            if dominator[node] != new:
                dominator[node] = new
                changed = True
    return dominator


def _meet(left: int, right: int, dominator: list[int], number: list[int]) -> int:
    """Return the nearest common dominator of two nodes."""
    while left != right:
        while number[left] < number[right]:
            left = dominator[left]
        while number[right] < number[left]:
            right = dominator[right]
    return left


def _split(function: Function, ends_block: Predicate, starts_block: Predicate) -> tuple[Block, ...]:
    """Cut the body into blocks; labels that no branch names (line tables have many) cut nothing."""
    targets = {name for names in function.branch_targets.values() for name in names}
    targets.update(_target(item) for item in function.body if isinstance(item, Instruction) and _is_branch(item))
    blocks: list[Block] = []
    label: str | None = None
    current: list[Instruction] = []

    def close() -> None:
        nonlocal label, current
        if current or label is not None:
            blocks.append(Block(len(blocks), label, tuple(current)))
        label, current = None, []

    for item in function.body:
        if isinstance(item, Label):
            if item.name in targets:
                close()
                label = item.name
            continue
        if current and starts_block(item):
            close()
        current.append(item)
        if _is_control(item) or ends_block(item):
            close()
    close()
    return tuple(blocks) or (Block(0, None, ()),)


def _link(function: Function, blocks: tuple[Block, ...]) -> tuple[tuple[int, ...], ...]:
    by_label = {block.label: block.index for block in blocks if block.label is not None}
    successors: list[tuple[int, ...]] = []
    for block in blocks:
        last = block.instructions[-1] if block.instructions else None
        falls = (block.index + 1,) if block.index + 1 < len(blocks) else ()
        if last is None or not _is_control(last):
            successors.append(falls)
            continue
        targets = tuple(_block_of(name, by_label, last) for name in _targets(function, last))
        successors.append(tuple(dict.fromkeys(targets + (falls if last.guard else ()))))
    return tuple(successors)


def _join_rounds(
    blocks: tuple[Block, ...], successors: tuple[tuple[int, ...], ...]
) -> tuple[tuple[Block, ...], tuple[tuple[int, ...], ...]]:
    """Return the graph with a block between the ends of a loop's round and its header, where there are several ends."""
    latches = _latches(successors, _post_order(successors, 0), immediate_dominators(successors, 0))
    several = sorted(header for header, ends in latches.items() if len(ends) > 1)
    meeting = {header: index for index, header in enumerate(several, len(blocks))}
    linked = tuple(
        tuple(meeting[after] if after in meeting and node in latches[after] else after for after in afters)
        if not _ends_in_table(blocks[node])
        else afters
        for node, afters in enumerate(successors)
    )
    return (*blocks, *(Block(index, None, ()) for index in meeting.values())), (*linked, *((header,) for header in meeting))


def _block_of(label: str, by_label: dict[str, int], branch: Instruction) -> int:
    block = by_label.get(label)
    if block is None:
        raise TilewiseError(f"{branch.opcode} goes to {label}, which is no label here", where=f"PTX line {branch.ptx_line}")
    return block


def _targets(function: Function, instruction: Instruction) -> tuple[str, ...]:
    """Return the labels that a control instruction may go to."""
    if _is_branch(instruction):
        return (_target(instruction),)
    if _mnemonic(instruction) != "brx":
        return ()
    name = instruction.operands[-1]
    if not isinstance(name, Symbol) or name.name not in function.branch_targets:
        raise TilewiseError(f"{instruction.opcode} names no .branchtargets list", where=f"PTX line {instruction.ptx_line}")
    return function.branch_targets[name.name]


def _mnemonic(instruction: Instruction) -> str:
    return instruction.opcode.split(".", 1)[0]


def _is_branch(instruction: Instruction) -> bool:
    return _mnemonic(instruction) == "bra"


def _ends_in_table(block: Block) -> bool:
    return bool(block.instructions) and _mnemonic(block.instructions[-1]) == "brx"


def _is_control(instruction: Instruction) -> bool:
    return _mnemonic(instruction) in ("bra", "brx", "ret", "exit", "trap")


def _target(branch: Instruction) -> str:
    target = branch.operands[-1] if branch.operands else None
    if not isinstance(target, Symbol):
        raise TilewiseError(f"{branch.opcode} names no label", where=f"PTX line {branch.ptx_line}")
    return target.name


def _post_order(successors: Graph, root: int) -> list[int]:
    """Return the nodes that `root` reaches, each after all that it reaches (but for back edges); edges are taken as listed."""
    seen = {root}
    done: list[int] = []
    path = [(root, iter(successors[root]))]
    while path:
        node, rest = path[-1]
        following = next((after for after in rest if after not in seen), None)
        if following is None:
            done.append(node)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(successors[following])))
    return done


def _reverse(successors: Graph, nodes: Iterable[int], count: int) -> list[list[int]]:
    """Return the predecessors of each of `count` nodes among `nodes`, in ascending order."""
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for node in sorted(nodes):
        for after in successors[node]:
            predecessors[after].append(node)
    return predecessors


def _find_loops(successors: Graph, reachable: list[int], dominator: list[int]) -> tuple[Loop, ...]:
    """Return the natural loops: of each edge back to a dominator, all blocks that reach it without passing the header."""
    latches = _latches(successors, reachable, dominator)
    predecessors = _reverse(successors, reachable, len(successors))
    loops: list[Loop] = []
    room = LOOP_BLOCKS_LIMIT
    for header, ends in latches.items():
        loops.append(Loop(header, _loop_body(header, ends, predecessors)))
        room -= len(loops[-1].blocks)
        if room < 0:
            raise TilewiseError(f"the function's {len(latches)} loops nest too deep to analyse")
    return tuple(sorted(loops, key=lambda loop: (-len(loop.blocks), loop.header)))


def _latches(successors: Graph, reachable: list[int], dominator: list[int]) -> dict[int, list[int]]:
    """The blocks that lead back to each loop's header."""
    first, size = _number_tree(dominator, reachable)
    latches: dict[int, list[int]] = {}
    for node in reachable:
        for header in successors[node]:
            if first[header] <= first[node] < first[header] + size[header]:
                latches.setdefault(header, []).append(node)
    return latches


def _number_tree(dominator: list[int], reachable: list[int]) -> tuple[list[int], list[int]]:
    """Number the dominator tree: node d dominates n where first[d] <= first[n] < first[d] + size[d]."""
    size = [1] * len(dominator)
    for node in reachable[:-1]:  # in post-order a node comes before its dominator
        size[dominator[node]] += size[node]
    first = [0] * len(dominator)
    free = [1] * len(dominator)
    for node in reversed(reachable[:-1]):
        first[node] = free[dominator[node]]
        free[dominator[node]] += size[node]
        free[node] = first[node] + 1
    return first, size


def _loop_body(header: int, latches: list[int], predecessors: list[list[int]]) -> frozenset[int]:
    body = {header}
    waiting = list(latches)
    while waiting:
        node = waiting.pop()
        if node not in body:
            body.add(node)
            waiting.extend(predecessors[node])
    return frozenset(body)


def _run_order(successors: Graph, loops: tuple[Loop, ...]) -> tuple[int, ...]:
    """Return the reverse post-order of a search that, at a loop's header, first follows the edges out of the loop.

    What is finished first stands last, so all that a loop's exits lead to stands behind the whole loop: the header dominates the
    loop, so none of its other blocks has been entered when its exits are followed. Of two-way branches the way to a block without
    successors is followed first.
    """
    edges = [sorted(after, key=lambda node: bool(successors[node])) for after in successors]
    for loop in reversed(loops):
        exits = {after for node in loop.blocks for after in successors[node] if after not in loop.blocks}
        edges[loop.header] = [*sorted(exits, reverse=True), *edges[loop.header]]
    order = _post_order(edges, 0)[::-1]
    return (*(node for node in order if successors[node]), *(node for node in order if not successors[node]))


def _post_dominators(successors: Graph) -> tuple[int, ...]:
    """Return immediate post-dominators; the virtual exit, len(successors), follows each block without successors."""
    leave = len(successors)
    backwards: list[list[int]] = [[] for _ in range(leave + 1)]
    for node, after in enumerate(successors):
        for target in after or (leave,):
            backwards[target].append(node)
    dominator = immediate_dominators(backwards, leave)
    return tuple(leave if found < 0 else found for found in dominator[:leave])
