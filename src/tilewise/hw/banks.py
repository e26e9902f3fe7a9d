"""Shared memory's banks: how many wavefronts one warp access takes, and how many ways it conflicts.

The definition that the emulator's own counters are tested against; it knows addresses and lanes, nothing of kernels or devices.

Shared memory has 32 banks; successive 4-byte words lie in successive banks, and a bank serves one word a wavefront, to any
number of lanes [CUDA Programming Guide, Shared Memory]. So a group of lanes served together takes as many wavefronts as the
most distinct words that any one bank holds for them, and an access takes the sum over its groups:

- Up to 4 bytes a lane, the warp is one group. Accesses of 1 and 2 bytes count by the words they lie in.
- 8 bytes a lane: a group is a half-warp, 16 bytes a lane: a quarter-warp, since a wavefront carries 128 bytes.
- A load of 8 or 16 bytes whose lanes agree in pairs has two neighbouring groups served as one: if every active lane i has the
  address of lane i^1 wherever that is active, or every one that of lane i^2. The whole warp decides: one lane that disagrees
  undoes it for all. One address for all lanes is the plainest case: 1 group at 8 bytes, 2 at 16. Stores are never served so.
  [Told of compute capability 7.x by an NVIDIA engineer, forums.developer.nvidia.com/t/77228.]

Measured on an H200, 2026-11-30: Nsight Compute counts just this in each of 1,566 cases, loads and stores of every width by up
to 238 patterns each, one warp alone on the device; its bank-conflict counter is the wavefronts less the groups. Command and rows
are in benchmarks/results/banks_h200.json, where its `traffic` shows what the rule leaves out: beside global loads that miss L1
conflict-free stores count up to half a wavefront more, and loads beside global stores a third, since the transfers to and from
L1 take turns with them at the same banks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from tilewise.hw.device import WARP_LANES

BANKS = 32
WORD_BYTES = 4
FULL_MASK = 0xFFFF_FFFF
"""Bit i stands for lane i."""
GROUP_LANES = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}
"""Lanes served together, by the bytes each accesses."""
SETTLED_WIDTHS = frozenset(GROUP_LANES)
"""Bytes a lane for which the rule is measured; figures of other widths would be shown as "model"."""

AccessKind = Literal["load", "store"]


def wavefronts(addresses: Sequence[int], active: int, size: int, kind: AccessKind) -> int:
    """Return the wavefronts of one warp access: `size` bytes at each active lane's address, 0 with no lane active.

    `addresses` are 32 byte addresses within shared memory, multiples of `size`; those of inactive lanes are not looked at.
    """
    return sum(_worst_bank(words) for words in _words_by_group(addresses, active, size, kind))


def conflict_ways(addresses: Sequence[int], active: int, size: int, kind: AccessKind) -> int:
    """Return the most distinct 4-byte words that a bank serves within one group: 1 is conflict-free, 0 is no lane active."""
    return max((_worst_bank(words) for words in _words_by_group(addresses, active, size, kind)), default=0)


def lane_groups(addresses: Sequence[int], active: int, size: int, kind: AccessKind) -> tuple[tuple[int, ...], ...]:
    """Return the active lanes that are served together, group by group; groups without one are left out.

    Raises ValueError for anything else than 32 lanes, or a size that is not 1, 2, 4, 8 or 16 bytes.
    """
    if size not in GROUP_LANES:
        raise ValueError(f"an access of {size} bytes a lane: shared memory takes {', '.join(map(str, GROUP_LANES))}")
    if len(addresses) != WARP_LANES:
        raise ValueError(f"{len(addresses)} addresses: a warp has {WARP_LANES} lanes")
    width = GROUP_LANES[size]
    if kind == "load" and width < WARP_LANES and any(_agree_in_pairs(addresses, active, distance) for distance in (1, 2)):
        width *= 2
    lanes = [lane for lane in range(WARP_LANES) if active >> lane & 1]
    groups = (tuple(lane for lane in lanes if lane // width == group) for group in range(WARP_LANES // width))
    return tuple(group for group in groups if group)


def _agree_in_pairs(addresses: Sequence[int], active: int, distance: int) -> bool:
    return all(
        addresses[lane] == addresses[lane ^ distance]
        for lane in range(WARP_LANES)
        if active >> lane & 1 and active >> (lane ^ distance) & 1
    )


def _words_by_group(addresses: Sequence[int], active: int, size: int, kind: AccessKind) -> Iterator[set[int]]:
    for group in lane_groups(addresses, active, size, kind):
        yield {
            word for lane in group for word in range(addresses[lane] // WORD_BYTES, -(-(addresses[lane] + size) // WORD_BYTES))
        }


def _worst_bank(words: set[int]) -> int:
    served = [0] * BANKS
    for word in words:
        served[word % BANKS] += 1
    return max(served)
