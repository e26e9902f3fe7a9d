"""Where other lanes of a warp can be waiting while a block runs, and which registers they need then.

Sets of blocks and of registers are whole numbers, a bit each: a large program has millions of pairs of blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from tilewise.emu.lower.program import Program


class Parting:
    """Pairs (running, waiting) of blocks; more of them with every block at whose end lanes part.

    Lanes part at a branch, then the first in execution order runs on until both meet, or until it waits itself: behind a barrier,
    where it meets others of its warp, or where it lets others go first.
    """

    def __init__(self, program: Program) -> None:
        blocks = len(program.steps)
        self._successors = program.successors
        self._meeting = _bits(position for position, steps in enumerate(program.steps) if steps and steps[0].meets)
        self._waits = self._meeting | _bits(header for _, header in program.yields)
        for position, steps in enumerate(program.steps):
            if steps and steps[-1].control in ("barrier", "sleep"):
                self._waits |= _bits(program.successors[position])
        self._names = sorted(frozenset[str]().union(*program.live_in))
        number = {name: index for index, name in enumerate(self._names)}
        self._live = [_bits(number[name] for name in names) for names in program.live_in]
        self._waiting = [0] * blocks
        """For each block that runs, those where lanes can wait."""
        self._unseen = [0] * blocks
        """Those of them that its successors have not been told."""
        self._told = [0] * blocks
        """For each block, the earlier ones that have been told that lanes can wait in it."""
        self._needed = [0] * blocks
        self._stale: set[int] = set()
        self._found: list[frozenset[str]] = [frozenset()] * blocks

    def add(self, parting: Iterable[int]) -> tuple[frozenset[str], ...]:
        """Take in blocks at whose end lanes part; return for each block the registers live where others can wait meanwhile."""
        running: list[int] = []
        for position in parting:
            for one, other in itertools.combinations(self._successors[position], 2):
                self._part(one, 1 << other, running)
        while running:
            block = running.pop()
            waiting, self._unseen[block] = self._unseen[block], 0
            for successor in self._successors[block] if waiting else ():
                self._part(successor, waiting, running)
        for block in self._stale:
            self._found[block] = frozenset(self._names[index] for index in _positions(self._needed[block]))
        self._stale.clear()
        return tuple(self._found)

    def _part(self, one: int, others: int, running: list[int]) -> None:
        """Some lanes are in one block and some in each of the others in turn."""
        bit = 1 << one
        earlier, later = others & (bit - 1), others >> (one + 1) << (one + 1)
        self._pair(one, later | earlier & self._waits | (others | self._meeting) & self._waits & bit, running)
        for other in _positions(later if self._waits & bit else 0):
            self._pair(other, bit, running)
        for other in _positions(earlier & ~self._told[one]):
            self._pair(other, bit, running)
        self._told[one] |= earlier
        for other in _positions(others & self._meeting):  # not all lanes there need go on
            self._pair(other, 1 << other, running)

    def _pair(self, block: int, waiting: int, running: list[int]) -> None:
        new = waiting & ~self._waiting[block]
        if not new:
            return
        self._waiting[block] |= new
        self._unseen[block] |= new
        running.append(block)
        before = self._needed[block]
        for other in _positions(new):
            self._needed[block] |= self._live[other]
        if self._needed[block] != before:
            self._stale.add(block)


def _bits(positions: Iterable[int]) -> int:
    found = 0
    for position in positions:
        found |= 1 << position
    return found


def _positions(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
