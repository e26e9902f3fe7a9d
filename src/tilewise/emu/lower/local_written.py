"""Which bytes of local memory a thread has written, in kernels that are observed: four bits for each word of each lane."""

from __future__ import annotations

from tilewise.emu.isa.memory import Access
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.memory_map import LOCAL_WORD
from tilewise.emu.lower.step import Step
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value

BITS = f"<{LANES} x i8>"


class WrittenBytes:
    """Emits, for accesses at an offset that all lanes share, what keeps those bits and looks at them."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.lanes = body.lanes

    def mark(self, access: Access, offset: Value) -> None:
        """Behind a store: its bytes are written."""
        for place, bits in self._words(access, offset):
            known = self.lanes.define(f"load {BITS}, ptr {place}, align 1")
            self.lanes.emit(f"store {BITS} {self.lanes.define(f'or {BITS} {known}, {bits}')}, ptr {place}, align 1")

    def check(self, step: Step, access: Access, offset: Value) -> None:
        """Before a load: have the runtime look closer if a lane has written nothing of a word that it reads."""
        lanes = self.lanes
        if step.only_moves:
            return
        some = None
        for place, bits in self._words(access, offset):
            known = lanes.define(f"and {BITS} {lanes.define(f'load {BITS}, ptr {place}, align 1')}, {bits}")
            none = lanes.define(f"icmp eq {BITS} {known}, zeroinitializer")
            some = lanes.define(f"or <{LANES} x i1> {some}, {none}") if some else none
        missing = lanes.define(f"bitcast <{LANES} x i1> {some} to i32")
        look, on = lanes.fresh("look"), lanes.fresh("on")
        function = self.body.context_field("local_read")
        lanes.emit(f"br i1 {lanes.define(f'icmp eq i32 {missing}, 0')}, label %{on}, label %{look}, !prof !0")
        lanes.label(look)
        lanes.emit(f"call void {function}(ptr %context, ptr %warp, i32 {step.site}, i32 {missing}, i64 {offset.scalar})")
        lanes.emit(f"br label %{on}")
        lanes.label(on)

    def _words(self, access: Access, offset: Value) -> list[tuple[str, str]]:
        """For each word of an access: where its bits stand for all lanes, and those of the access."""
        lanes = self.lanes
        number = lanes.binary("lshr", offset, lanes.constant("i64", 2))
        row = lanes.binary("mul", number, lanes.constant("i64", LANES))
        start = self.body.address(self.body.context_field("local_written"), str(row.scalar))
        if access.bytes < LOCAL_WORD:
            byte = lanes.binary("and", offset, lanes.constant("i64", LOCAL_WORD - 1))
            bits = lanes.binary("shl", lanes.constant("i8", (1 << access.bytes) - 1), lanes.truncate("i8", byte))
            return [(start, lanes.vector(bits))]
        all_bytes = lanes.vector(lanes.constant("i8", 15))
        return [(self.body.address(start, LANES * word), all_bytes) for word in range(access.bytes // LOCAL_WORD)]
