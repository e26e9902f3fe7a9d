"""Counting one request with all lanes active: at compile time where its cost is known, else by its alignment or its addresses."""

from __future__ import annotations

from ctypes import sizeof

from tilewise.emu.abi import SiteCounts
from tilewise.emu.isa.memory import Access
from tilewise.emu.lanes import Value, vector_type
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.program import Step
from tilewise.emu.lower.tally import SECTOR_BYTES, sectors_by_alignment, shared_cost
from tilewise.emu.patterns import LANES


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
            low_bits = self.lanes.define(f"and i64 {address.scalar}, {SECTOR_BYTES - 1}")
            index = self.lanes.define(f"or disjoint i64 {low_bits}, {SECTOR_BYTES * histogram}")
            place = self.lanes.define(f"getelementptr i64, ptr {self.body.context_field('histograms')}, i64 {index}")
            self._add(place, "1")

    def count(self, step: Step, access: Access, address: Value) -> None:
        """Count a request at scalar + offsets. It must be reached whenever the block goes on to its end."""
        tally, site, position = self.body.kernel.tally, step.site, self.body.position
        assert site is not None
        offsets = address.offsets or (0,) * LANES
        tally.requests.append((position, site))
        if access.space == "shared":
            tally.constant.append((position, site, *shared_cost(offsets, access.bytes)))
            return
        table = sectors_by_alignment(offsets, access.bytes)
        possible = {table[start] for start in self._possible_starts(access, address)}
        if len(possible) == 1:
            tally.constant.append((position, site, possible.pop(), 0))
            return
        self._deferred.append((len(tally.histograms), address))
        tally.histograms.append((site, table))

    def _possible_starts(self, access: Access, address: Value) -> list[int]:
        """The scalar modulo 32, as far as its known zeros and the lanes' alignment say."""
        if address.constant is not None:
            return [address.constant % SECTOR_BYTES]
        first = address.offsets[0] if address.offsets else 0
        step = min(SECTOR_BYTES, 1 << min(address.zeros, 16))
        return [start for start in range(0, SECTOR_BYTES, step) if (start + first) % access.bytes == 0]

    def count_now(self, step: Step, access: Access, address: Value) -> None:
        """Count a request by its 32 addresses: sectors of lanes in address order here, anything else in the runtime."""
        lanes, count = self.lanes, self.body.context_field("count")
        call = f"call void {count}(ptr %context, i32 {step.site}, i32 -1)"
        if access.space == "shared" or access.bytes > SECTOR_BYTES:
            self.body.store_addresses(address)
            lanes.emit(call)
            return
        assert step.site is not None
        wide, vector, sites = vector_type("i64"), lanes.vector(address), self.body.context_field("site_counts")
        sector = lanes.define(f"lshr {wide} {vector}, {lanes.literal('i64', [5] * LANES)}")
        before = lanes.literal("i32", [max(0, lane - 1) for lane in range(LANES)])
        previous = lanes.define(f"shufflevector {wide} {sector}, {wide} poison, <{LANES} x i32> {before}")
        apart = self._lanes_where(f"icmp ugt {wide} {sector}, {previous}")
        back = self._lanes_where(f"icmp ult {wide} {sector}, {previous}")
        ordered, jumbled, counted = lanes.fresh("ordered"), lanes.fresh("jumbled"), lanes.fresh("counted")
        lanes.emit(f"br i1 {lanes.define(f'icmp eq i32 {back}, 0')}, label %{ordered}, label %{jumbled}")
        lanes.label(jumbled)
        self.body.store_addresses(address)
        lanes.emit(call)
        lanes.emit(f"br label %{counted}")
        lanes.label(ordered)
        self._add_sectors(self.body.address(sites, sizeof(SiteCounts) * step.site), apart)
        lanes.emit(f"br label %{counted}")
        lanes.label(counted)

    def _lanes_where(self, comparison: str) -> str:
        return self.lanes.define(f"bitcast <{LANES} x i1> {self.lanes.define(comparison)} to i32")

    def _add_sectors(self, counts: str, apart: str) -> None:
        """Add a request to a site's counts: a sector for lane 0 and one for each lane of `apart`."""
        lanes = self.lanes
        lanes.declare("i32 @llvm.ctpop.i32(i32)")
        lanes.declare("i64 @llvm.umax.i64(i64, i64)")
        jumps = lanes.define(f"call i32 @llvm.ctpop.i32(i32 {apart})")
        sectors = lanes.define(f"add i64 {lanes.define(f'zext i32 {jumps} to i64')}, 1")
        for field, amount in (("requests", "1"), ("lanes", str(LANES)), ("transactions", sectors)):
            self._add(self.body.address(counts, getattr(SiteCounts, field).offset), amount)
        place = self.body.address(counts, SiteCounts.worst.offset)
        worst = lanes.define(f"load i64, ptr {place}")
        most = lanes.define(f"call i64 @llvm.umax.i64(i64 {worst}, i64 {sectors})")
        lanes.emit(f"store i64 {most}, ptr {place}")

    def _add(self, place: str, amount: str) -> None:
        total = self.lanes.define(f"load i64, ptr {place}")
        self.lanes.emit(f"store i64 {self.lanes.define(f'add i64 {total}, {amount}')}, ptr {place}")
