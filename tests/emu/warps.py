"""What a warp asks of memory, worked out from what each of its threads did: threads of a warp at the same place ask together.

Two rules for when lanes that parted are together again, both on the paths that `reference` recorded:
- *order*: of the blocks that lanes stand at, the first in execution order (Cfg.order) runs with all lanes there; lanes at a
  barrier stand aside until no other lane of the warp is left. This is the emulator's definition.
- *post-dominators*: lanes that part meet at the branch's immediate post-dominator and nowhere else.
For ifs and loops without jumps out of them both give the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from reference import Access, Run, Thread, Visit

from tilewise.hw.banks import AccessKind, conflict_ways, wavefronts
from tilewise.ptx.cfg import Cfg

LANES = 32
SECTOR_BYTES = 32


@dataclass(frozen=True)
class Site:
    """One memory instruction's counts; fields as in SiteCounters."""

    space: str
    kind: str
    opcode: str
    requests: int
    bytes: int
    transactions: int
    worst: int
    worst_conflict_ways: int


@dataclass(frozen=True)
class Totals:
    """A launch's counts; `sites` by an instruction's line and its space, of which a generic access may have several."""

    sites: dict[tuple[int, str], Site]
    fma: int
    barriers: int


def count(run: Run, rule: str) -> Totals:
    """Count a launch's requests; `rule` is "order" or "post-dominators"."""
    groups = _by_order if rule == "order" else _by_post_dominators
    sites: dict[tuple[int, str], Site] = {}
    fma = 0
    for threads in run.blocks:
        for first in range(0, len(threads), LANES):
            warp = threads[first : first + LANES]
            fma += sum(visit.fmas for thread in warp for visit in thread.path)
            for visits in groups(run.cfg, warp):
                for place in sorted({place for visit in visits.values() for place in visit.accesses}):
                    request = {lane: visit.accesses[place] for lane, visit in visits.items() if place in visit.accesses}
                    for space in ("global", "shared", "local"):
                        _add(sites, {lane: access for lane, access in request.items() if access.space == space})
    return Totals(sites, fma, run.barriers)


def _add(sites: dict[tuple[int, str], Site], request: dict[int, Access]) -> None:
    if not request:
        return
    example = next(iter(request.values()))
    instruction, size = example.instruction, example.bytes
    assert instruction.position is not None
    addresses, active = [0] * LANES, 0
    for lane, access in request.items():
        addresses[lane] = access.address
        active |= 1 << lane
    ways = 0
    kind: AccessKind = "store" if example.is_store else "load"
    if example.space == "shared":
        transactions = wavefronts(addresses, active, size, kind=kind)
        ways = conflict_ways(addresses, active, size, kind=kind)
    elif example.space == "local":  # word w of lane l stands at word 32 w + l
        steps = range(max(1, size // 4))
        transactions = sum(
            len({(LANES * (access.address // 4 + step) + lane) * 4 // SECTOR_BYTES for lane, access in request.items()})
            for step in steps
        )
    else:
        transactions = len(
            {byte // SECTOR_BYTES for access in request.values() for byte in (access.address, access.address + size - 1)}
        )
    key = instruction.position.line, example.space
    old = sites.get(key, Site(example.space, kind, instruction.opcode, 0, 0, 0, 0, 0))
    sites[key] = Site(
        old.space,
        old.kind,
        old.opcode,
        old.requests + 1,
        old.bytes + size * len(request),
        old.transactions + transactions,
        max(old.worst, transactions),
        max(old.worst_conflict_ways, ways),
    )


def _by_order(cfg: Cfg, warp: list[Thread]) -> Iterator[dict[int, Visit]]:
    """The block runs of a warp, each as its lanes' visits."""
    order = {block: position for position, block in enumerate(cfg.order)}
    ends_in_barrier = {b.index for b in cfg.blocks if b.instructions and b.instructions[-1].opcode.startswith("bar")}
    place = dict.fromkeys(range(len(warp)), 0)
    waiting: set[int] = set()
    while place:
        ready = [lane for lane in place if lane not in waiting]
        if not ready:
            waiting.clear()
            continue
        block = min((warp[lane].path[place[lane]].block for lane in ready), key=order.__getitem__)
        running = [lane for lane in ready if warp[lane].path[place[lane]].block == block]
        yield {lane: warp[lane].path[place[lane]] for lane in running}
        for lane in running:
            place[lane] += 1
            if place[lane] == len(warp[lane].path):
                del place[lane]
            elif block in ends_in_barrier:
                waiting.add(lane)


def _by_post_dominators(cfg: Cfg, warp: list[Thread]) -> Iterator[dict[int, Visit]]:
    follows = _immediate_post_dominators(cfg)
    place = dict.fromkeys(range(len(warp)), 0)

    def walk(lanes: list[int], stop: int | None) -> Iterator[dict[int, Visit]]:
        """Run lanes that are together until they stand at `stop` or are done."""
        while True:
            lanes = [lane for lane in lanes if place[lane] < len(warp[lane].path)]
            blocks = sorted({warp[lane].path[place[lane]].block for lane in lanes})
            if not blocks or blocks == [stop]:
                return
            if len(blocks) > 1:
                raise AssertionError("lanes that are together stand apart")
            yield {lane: warp[lane].path[place[lane]] for lane in lanes}
            for lane in lanes:
                place[lane] += 1
            after = Counter(_block_of(warp[lane], place[lane]) for lane in lanes)
            meet = follows[blocks[0]]
            if len(after) > 1:
                for block in sorted(after, key=str):
                    if block is not None and block != meet:
                        yield from walk([lane for lane in lanes if _block_of(warp[lane], place[lane]) == block], meet)

    yield from walk(list(place), None)


def _block_of(thread: Thread, place: int) -> int | None:
    return thread.path[place].block if place < len(thread.path) else None


def _immediate_post_dominators(cfg: Cfg) -> dict[int, int | None]:
    """By the definition: of the blocks on every way to the end, the one that all others are also on the way to."""
    blocks = list(cfg.order)
    every = {block: set(blocks) for block in blocks}
    changed = True
    while changed:
        changed = False
        for block in blocks:
            after = [every[successor] for successor in cfg.successors[block]]
            found = {block} | (set.intersection(*after) if after else set())
            changed |= found != every[block]
            every[block] = found
    return {
        block: next((other for other in every[block] - {block} if every[other] == every[block] - {block}), None)
        for block in blocks
    }
