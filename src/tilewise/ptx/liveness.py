"""Which registers a block needs from before it. Knows nothing of instructions."""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.ptx.cfg import Cfg


def live_in(cfg: Cfg, reads: Sequence[frozenset[str]], writes: Sequence[frozenset[str]]) -> tuple[frozenset[str], ...]:
    """Return, for each block, the registers whose value at its start some path from there reads before it is written.

    `reads[b]`: what block b reads before writing it. `writes[b]`: what every run of block b writes (a guarded write is none).
    Unreachable blocks get the empty set. Solved by iteration from the function's ends to its start.
    """
    names = sorted(set().union(*reads, *writes))
    bit = {name: 1 << place for place, name in enumerate(names)}
    read_bits = [sum(bit[name] for name in found) for found in reads]
    kept_bits = [~sum(bit[name] for name in found) for found in writes]
    live = [0] * len(cfg.blocks)
    waiting = list(cfg.order)
    queued = set(waiting)
    while waiting:
        block = waiting.pop()
        queued.discard(block)
        after = 0
        for successor in cfg.successors[block]:
            after |= live[successor]
        found = read_bits[block] | after & kept_bits[block]
        if found != live[block]:
            live[block] = found
            fresh = [before for before in cfg.predecessors[block] if before not in queued]
            waiting.extend(fresh)
            queued.update(fresh)
    return tuple(_names_of(bits, names) for bits in live)


def _names_of(bits: int, names: list[str]) -> frozenset[str]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(names[lowest.bit_length() - 1])
        bits ^= lowest
    return frozenset(found)
