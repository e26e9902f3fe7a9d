"""Counting a request with all lanes active, at scalar + offsets: at compile time if its cost is known, else by its alignment."""

from __future__ import annotations

from tilewise.emu.isa.memory import Access
from tilewise.emu.lanes import Value
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.program import Step
from tilewise.emu.lower.tally import SECTOR_BYTES, sectors_by_alignment, shared_cost
from tilewise.emu.patterns import LANES
from tilewise.hw.banks import WORD_BYTES


def is_aligned(access: Access, address: Value) -> bool:
    """Whether lane 0 is known to be aligned whatever the scalar."""
    first = address.offsets[0] if address.offsets else 0
    if address.constant is not None:
        return (address.constant + first) % access.bytes == 0
    return first % access.bytes == 0 and access.bytes <= 1 << min(address.zeros, 16)


class Requests:
    """Counts the requests of one block."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.lanes = body.lanes
        self._deferred: list[tuple[int, Value]] = []

    def finish(self) -> None:
        """Count, at the block's end, the requests whose cost hangs on their alignment."""
        for histogram, address in self._deferred:
            low_bits = self.lanes.define(f"and {address.type} {address.scalar}, {SECTOR_BYTES - 1}")
            if address.type != "i64":  # shared addresses have 32 bits
                low_bits = self.lanes.define(f"zext {address.type} {low_bits} to i64")
            index = self.lanes.define(f"or disjoint i64 {low_bits}, {SECTOR_BYTES * histogram}")
            place = self.lanes.define(f"getelementptr i64, ptr {self.body.context_field('histograms')}, i64 {index}")
            self._add(place, "1")

    def count(self, step: Step, access: Access, address: Value) -> None:
        """Count a request at scalar + offsets. It must be reached whenever the block goes on to its end."""
        tally, site, position = self.body.kernel.tally, step.site, self.body.position
        assert site is not None
        offsets = address.offsets or (0,) * LANES
        tally.requests.append((position, site))
        period = WORD_BYTES if access.space == "shared" else SECTOR_BYTES
        starts = {start % period for start in self._possible_starts(access, address)}
        costs = {start: _cost(access, offsets, start) for start in starts}
        if len(set(costs.values())) == 1:
            tally.constant.append((position, site, *costs[starts.pop()]))
            return
        self._deferred.append((len(tally.histograms), address))
        tally.histograms.append((site, tuple(costs.get(start % period, (0, 0)) for start in range(SECTOR_BYTES))))

    def _possible_starts(self, access: Access, address: Value) -> list[int]:
        """The scalar modulo 32, as far as its known zeros and the lanes' alignment say."""
        if address.constant is not None:
            return [address.constant % SECTOR_BYTES]
        first = address.offsets[0] if address.offsets else 0
        step = min(SECTOR_BYTES, 1 << min(address.zeros, 16))
        return [start for start in range(0, SECTOR_BYTES, step) if (start + first) % access.bytes == 0]

    def _add(self, place: str, amount: str) -> None:
        total = self.lanes.define(f"load i64, ptr {place}")
        self.lanes.emit(f"store i64 {self.lanes.define(f'add i64 {total}, {amount}')}, ptr {place}")


def _cost(access: Access, offsets: tuple[int, ...], start: int) -> tuple[int, int]:
    """Return transactions and conflict ways of a request at scalar + offsets, for a scalar of `start` modulo its period."""
    if access.space == "shared":
        return shared_cost(offsets, access.bytes, "store" if access.kind == "store" else "load", start)
    return sectors_by_alignment(offsets, access.bytes)[start], 0
