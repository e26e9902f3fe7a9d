"""Accesses at 32 addresses that follow no pattern: one function a kind, type and space, shared by all that need it.

The addresses (and a store's values) stand in the context; loaded values come back there. With all lanes aligned and in one
buffer, the function gathers or scatters; otherwise the runtime goes lane by lane.
"""

from __future__ import annotations

from ctypes import sizeof

from tilewise.emu.abi import Context, Range, SiteCounts
from tilewise.emu.isa.memory import Access
from tilewise.emu.isa.spec import LLVM_TYPES
from tilewise.emu.lanes import Lanes
from tilewise.emu.lower.tally import SECTOR_BYTES
from tilewise.emu.lower.transfer import Transfer
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value, vector_type

WIDE = vector_type("i64")


class Scattered:
    """The functions that one kernel's accesses call."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.declarations: set[str] = set()

    def function(self, access: Access, *, is_screened: bool = False) -> str:
        """Return the name of the function for accesses such as this one: void name(context, warp, site, group)."""
        name = f"{access.kind}_{access.space}_{access.type}x{access.count}"
        if name not in self.texts:
            builder = _Builder(access, is_screened)
            self.texts[name] = builder.build(name)
            self.declarations |= builder.lanes.declarations
        return name


class _Builder:
    """Builds one function."""

    def __init__(self, access: Access, is_screened: bool) -> None:
        self.access = access
        self._is_screened = is_screened
        self.lanes = Lanes()

    def build(self, name: str) -> str:
        """Return the text of the function."""
        lanes, access = self.lanes, self.access
        addresses = lanes.define(f"load {WIDE}, ptr {self._context('addresses')}")
        self._count(addresses)
        inside, delta = self._inside(addresses)
        lanes.emit(f"br i1 {inside}, label %quick, label %slow, !prof !0")
        lanes.label("slow")
        runtime = lanes.define(f"load ptr, ptr {self._context('access')}")
        lanes.emit(f"call void {runtime}(ptr %context, ptr %warp, i32 %site, i32 -1, i32 1)")
        lanes.emit("ret void")
        lanes.label("quick")
        if self._is_screened:
            screen = lanes.define(f"load ptr, ptr {self._context('screen_lanes')}")
            lanes.emit(f"call void {screen}(ptr %context, i32 %site)")
        moved = lanes.define(f"add {WIDE} {addresses}, {lanes.vector(Value('i64', delta))}")
        pointers = lanes.define(f"inttoptr {WIDE} {moved} to <{LANES} x ptr>")
        type_ = LLVM_TYPES[access.type]
        slots = [self._context("values", element * LANES * access.element_bytes) for element in range(access.count)]
        values = []
        if access.kind == "store":
            values = [lanes.full(type_, lanes.define(f"load {vector_type(type_)}, ptr {slot}")) for slot in slots]
        for slot, value in zip(slots, Transfer(lanes).at_pointers(access, pointers, values), strict=False):
            lanes.emit(f"store {vector_type(type_)} {lanes.vector(value)}, ptr {slot}")
        lanes.emit("ret void")
        return (
            f"define internal void @{name}(ptr %context, ptr %warp, i32 %site, i32 %group) #0 {{\n"
            + "\n".join(lanes.lines)
            + "\n}\n"
        )

    def _context(self, name: str, offset: int = 0) -> str:
        """The address of a field of the context."""
        return self.lanes.offset_pointer("%context", getattr(Context, name).offset + offset)

    def _entry(self, table: str, size: int, index: str) -> str:
        """The address of entry `index` of a table that the context points to."""
        start = self.lanes.define(f"load ptr, ptr {self._context(table)}")
        return self.lanes.define(f"getelementptr [{size} x i8], ptr {start}, i32 {index}")

    # -- counting

    def _count(self, addresses: str) -> None:
        """Count the request: sectors of lanes in address order here, anything else in the runtime."""
        lanes = self.lanes
        if self.access.space != "global" or self.access.bytes > SECTOR_BYTES:
            self._call_count()
            return
        sector = lanes.define(f"lshr {WIDE} {addresses}, {lanes.literal('i64', [5] * LANES)}")
        before = lanes.literal("i32", [max(0, lane - 1) for lane in range(LANES)])
        previous = lanes.define(f"shufflevector {WIDE} {sector}, {WIDE} poison, <{LANES} x i32> {before}")
        apart = self._lanes_where(f"icmp ugt {WIDE} {sector}, {previous}")
        back = self._lanes_where(f"icmp ult {WIDE} {sector}, {previous}")
        lanes.emit(f"br i1 {lanes.define(f'icmp eq i32 {back}, 0')}, label %ordered, label %jumbled")
        lanes.label("jumbled")
        self._call_count()
        lanes.emit("br label %counted")
        lanes.label("ordered")
        self._add_sectors(apart)
        lanes.emit("br label %counted")
        lanes.label("counted")

    def _call_count(self) -> None:
        count = self.lanes.define(f"load ptr, ptr {self._context('count')}")
        self.lanes.emit(f"call void {count}(ptr %context, i32 %site, i32 -1)")

    def _lanes_where(self, comparison: str) -> str:
        return self.lanes.define(f"bitcast <{LANES} x i1> {self.lanes.define(comparison)} to i32")

    def _add_sectors(self, apart: str) -> None:
        """Add a request to the site's counts: a sector for lane 0 and one for each lane of `apart`."""
        lanes, counts = self.lanes, self._entry("site_counts", sizeof(SiteCounts), "%site")
        lanes.declare("i32 @llvm.ctpop.i32(i32)")
        lanes.declare("i64 @llvm.umax.i64(i64, i64)")
        jumps = lanes.define(f"call i32 @llvm.ctpop.i32(i32 {apart})")
        sectors = lanes.define(f"add i64 {lanes.define(f'zext i32 {jumps} to i64')}, 1")
        for field, amount in (("requests", "1"), ("lanes", str(LANES)), ("transactions", sectors)):
            place = lanes.offset_pointer(counts, getattr(SiteCounts, field).offset)
            lanes.emit(f"store i64 {lanes.define(f'add i64 {self._load(place)}, {amount}')}, ptr {place}")
        place = lanes.offset_pointer(counts, SiteCounts.worst.offset)
        most = lanes.define(f"call i64 @llvm.umax.i64(i64 {self._load(place)}, i64 {sectors})")
        lanes.emit(f"store i64 {most}, ptr {place}")

    def _load(self, place: str) -> str:
        return self.lanes.define(f"load i64, ptr {place}")

    # -- bounds

    def _inside(self, addresses: str) -> tuple[str, str]:
        """Whether all lanes are aligned and within one buffer (or shared memory), and what to add to an address for a pointer."""
        lanes, size = self.lanes, self.access.bytes
        if self.access.space == "shared":
            limit = self._load(self._context("shared_bytes"))
            shared = lanes.define(f"load ptr, ptr {self._context('shared')}")
            low, starts, delta = "0", lanes.define(f"sub i64 {limit}, {size - 1}"), lanes.define(f"ptrtoint ptr {shared} to i64")
            enough = lanes.define(f"icmp uge i64 {limit}, {size}")
        else:
            low, starts, delta = self._range_of_lane_0(addresses)
            enough = "true"
        distance = lanes.define(f"sub {WIDE} {addresses}, {lanes.vector(Value('i64', low))}")
        within = lanes.define(f"icmp ult {WIDE} {distance}, {lanes.vector(Value('i64', starts))}")
        low_bits = lanes.define(f"and {WIDE} {addresses}, {lanes.literal('i64', [size - 1] * LANES)}")
        aligned = lanes.define(f"icmp eq {WIDE} {low_bits}, zeroinitializer")
        both = self._lanes_where(f"and <{LANES} x i1> {within}, {aligned}")
        return lanes.define(f"and i1 {enough}, {lanes.define(f'icmp eq i32 {both}, -1')}"), delta

    def _range_of_lane_0(self, addresses: str) -> tuple[str, str, str]:
        """low, starts and delta of the range-cache entry, made to hold lane 0's buffer if it did not."""
        lanes, entry = self.lanes, self._entry("ranges", sizeof(Range), "%group")
        first = lanes.define(f"extractelement {WIDE} {addresses}, i32 0")
        fields = [lanes.offset_pointer(entry, getattr(Range, name).offset) for name in ("low", "starts", "delta")]
        distance = lanes.define(f"sub i64 {first}, {self._load(fields[0])}")
        known = lanes.define(f"icmp ult i64 {distance}, {self._load(fields[1])}")
        lanes.emit(f"br i1 {known}, label %known, label %search, !prof !0")
        lanes.label("search")
        resolve = lanes.define(f"load ptr, ptr {self._context('resolve')}")
        kind = f"i32 {int(self.access.kind == 'store')}, i32 {int(self.access.space == 'generic')}"
        lanes.emit(f"call i32 {resolve}(ptr %context, i32 %group, i64 {first}, i64 {self.access.bytes}, {kind})")
        lanes.emit("br label %known")
        lanes.label("known")
        low, starts, delta = (self._load(field) for field in fields)
        return low, starts, delta
