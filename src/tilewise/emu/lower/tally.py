"""What is known at compile time about the counts of a kernel: so much a block run with all lanes, so much an alignment."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from tilewise.hw.banks import FULL_MASK, WORD_BYTES, AccessKind, conflict_ways, wavefronts

SECTOR_BYTES = 32
WIDEST_SHARED = 16
"""Bytes a lane: wider accesses are of global memory, and only a generic address can lead one to shared memory."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Filled while the fast kernel is built; the counters are worked out of it and of the run's block counts."""

    requests: list[tuple[int, int]] = field(default_factory=list)
    """(block, site): one request with all lanes each time the block runs."""
    constant: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(block, site, transactions, ways) of requests that cost the same every time."""
    histograms: list[tuple[int, tuple[tuple[int, int], ...]]] = field(default_factory=list)
    """(site, transactions and ways by the scalar address modulo 32): histogram number i counts the addresses."""
    requesting: list[int] = field(default_factory=list)
    """The histograms of which each count is a request with all lanes besides: those of one space of generic addresses."""


@functools.lru_cache(maxsize=4096)
def sectors_by_alignment(offsets: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the sectors of one request at scalar + offsets, for each value of the scalar modulo 32."""
    return tuple(
        len(
            {
                sector
                for offset in set(offsets)
                for sector in range((start + offset) // SECTOR_BYTES, (start + offset + size - 1) // SECTOR_BYTES + 1)
            }
        )
        for start in range(SECTOR_BYTES)
    )


def shared_cost(offsets: tuple[int, ...], size: int, kind: AccessKind, start: int) -> tuple[int, int]:
    """Return wavefronts and conflict ways of lanes at scalar + offsets, the scalar being `start` modulo 4.

    Adding a multiple of 4 rotates the banks and changes neither, so the offsets count from lane 0's word.
    """
    if size > WIDEST_SHARED:  # as accesses of half of it, one after another
        costs = [shared_cost(tuple(offset + half for offset in offsets), size // 2, kind, start) for half in (0, size // 2)]
        return sum(cost for cost, _ in costs), max(ways for _, ways in costs)
    first = (start + offsets[0]) % WORD_BYTES
    return _shared_cost(tuple(first + offset - offsets[0] for offset in offsets), size, kind)


@functools.lru_cache(maxsize=4096)
def _shared_cost(offsets: tuple[int, ...], size: int, kind: AccessKind) -> tuple[int, int]:
    start = -min(offsets) + (min(offsets) % 128)
    addresses = [start + offset for offset in offsets]
    return wavefronts(addresses, FULL_MASK, size, kind), conflict_ways(addresses, FULL_MASK, size, kind)
