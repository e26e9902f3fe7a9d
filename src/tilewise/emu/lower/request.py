"""Counting a request with all lanes active, at scalar + offsets: at compile time if its cost is known, else by its alignment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewise.emu.abi import Range
from tilewise.emu.isa.memory import Access
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.tally import SECTOR_BYTES, sectors_by_alignment, shared_cost
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value
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
        self._by_space: list[tuple[int, Value, Callable[[], str]]] = []

    def finish(self) -> None:
        """Count, at the block's end, the requests whose cost hangs on their alignment or on their space."""
        for histogram, address in self._deferred:
            self._add(self._low_bits(address), str(SECTOR_BYTES * histogram))
        for histogram, address, entry in self._by_space:
            self.count_in_space(histogram, address, entry)

    def count(self, site: int, access: Access, address: Value) -> None:
        """Count a request at scalar + offsets. It must be reached whenever the block goes on to its end."""
        tally, position = self.body.kernel.tally, self.body.position
        tally.requests.append((position, site))
        costs = self._costs(access, address)
        if len(set(costs.values())) == 1:
            tally.constant.append((position, site, *next(iter(costs.values()))))
            return
        self._deferred.append((len(tally.histograms), address))
        tally.histograms.append((site, _table(access, costs)))

    def count_constant(self, site: int, transactions: int) -> None:
        """Count a request that always costs the same. It must be reached whenever the block goes on to its end."""
        tally, position = self.body.kernel.tally, self.body.position
        tally.requests.append((position, site))
        tally.constant.append((position, site, transactions, 0))

    def count_by_space(self, site: int, access: Access, address: Value) -> int:
        """Prepare to count a request by generic addresses; return the first of its histograms, one a space."""
        tally, first = self.body.kernel.tally, len(self.body.kernel.tally.histograms)
        for row, space in enumerate(("global", "shared")):
            tally.requesting.append(first + row)
            one = replace(access, space=space)
            tally.histograms.append((site + row, _table(one, self._costs(one, address))))
        nothing = _table(access, {})
        tally.histograms.extend([(site, nothing)] * 2)  # local memory does not come here, constant memory is not counted
        return first

    def defer(self, histogram: int, address: Value, entry: Callable[[], str]) -> None:
        """Count a request prepared by `count_by_space` at the block's end."""
        self._by_space.append((histogram, address, entry))

    def count_in_space(self, histogram: int, address: Value, entry: Callable[[], str]) -> None:
        """Count, here and now, a request in the space that its range-cache entry holds."""
        place = self.body.address(entry(), Range.space.offset)
        space = self.lanes.define(f"load i64, ptr {place}")
        start = self.lanes.define(f"shl i64 {space}, 5")
        row = self.lanes.define(f"add i64 {start}, {SECTOR_BYTES * histogram}")
        self._add(self._low_bits(address), row)

    def _costs(self, access: Access, address: Value) -> dict[int, tuple[int, int]]:
        """Transactions and ways by the scalar modulo the space's period, for those that it can be."""
        offsets, period = address.offsets or (0,) * LANES, _period(access)
        return {
            start: _cost(access, offsets, start) for start in {start % period for start in self._possible_starts(access, address)}
        }

    def _low_bits(self, address: Value) -> str:
        low_bits = self.lanes.define(f"and {address.type} {address.scalar}, {SECTOR_BYTES - 1}")
        if address.type != "i64":  # shared addresses have 32 bits
            low_bits = self.lanes.define(f"zext {address.type} {low_bits} to i64")
        return low_bits

    def _possible_starts(self, access: Access, address: Value) -> list[int]:
        """The scalar modulo 32, as far as its known zeros and the lanes' alignment say."""
        if address.constant is not None:
            return [address.constant % SECTOR_BYTES]
        first = address.offsets[0] if address.offsets else 0
        step = min(SECTOR_BYTES, 1 << min(address.zeros, 16))
        return [start for start in range(0, SECTOR_BYTES, step) if (start + first) % access.bytes == 0]

    def _add(self, low_bits: str, first: str) -> None:
        """Count one in cell `first` + low_bits of the histograms."""
        index = self.lanes.define(f"or disjoint i64 {low_bits}, {first}")
        place = self.lanes.define(f"getelementptr i64, ptr {self.body.context_field('histograms')}, i64 {index}")
        total = self.lanes.define(f"load i64, ptr {place}")
        self.lanes.emit(f"store i64 {self.lanes.define(f'add i64 {total}, 1')}, ptr {place}")


def _period(access: Access) -> int:
    """What costs repeat after: bytes that the scalar moves on by."""
    return WORD_BYTES if access.space == "shared" else SECTOR_BYTES


def _table(access: Access, costs: dict[int, tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Costs by the scalar modulo 32."""
    return tuple(costs.get(start % _period(access), (0, 0)) for start in range(SECTOR_BYTES))


def _cost(access: Access, offsets: tuple[int, ...], start: int) -> tuple[int, int]:
    """Return transactions and conflict ways of a request at scalar + offsets, for a scalar of `start` modulo its period."""
    if access.space == "shared":
        return shared_cost(offsets, access.bytes, "store" if access.kind == "store" else "load", start)
    return sectors_by_alignment(offsets, access.bytes)[start], 0
