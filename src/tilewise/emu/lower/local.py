"""A thread's local memory with all lanes active.

Each word stands side by side for the 32 lanes of a warp: what lies at one address for all of them is one vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewise.emu.isa.memory import Access
from tilewise.emu.isa.spec import LLVM_TYPES
from tilewise.emu.lower.local_written import WrittenBytes
from tilewise.emu.lower.memory_map import LOCAL_WORD
from tilewise.emu.lower.step import Step
from tilewise.emu.lower.tally import SECTOR_BYTES
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value, bits_of, vector_type
from tilewise.emu.windows import LOCAL_WINDOW

if TYPE_CHECKING:
    from tilewise.emu.lower.access import Memory

WORD = vector_type("i32")
WORD_BITS = 8 * LOCAL_WORD
ROW_BYTES = LOCAL_WORD * LANES
"""Bytes of a word of all lanes."""


class LocalMemory:
    """Lowers accesses at addresses that point to local memory, if to any."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.body = memory.body
        self.lanes = memory.lanes

    def lower(self, step: Step, access: Access, address: Value, values: list[Value]) -> list[Value]:
        """Emit one access; return what was loaded."""
        if not address.is_uniform:
            return self.memory.by_runtime(step, access, address, values, "-1", counted=False)
        offset = self.lanes.binary("sub", address, self.lanes.constant("i64", LOCAL_WINDOW))
        if offset.constant is None:
            return self._checked(step, access, address, offset, values)
        last = self.body.program.local_bytes - access.bytes
        if not 0 <= offset.constant <= last or offset.constant % access.bytes:
            return self.memory.by_runtime(step, access, address, values, "-1", counted=False)
        self._count(step, access)
        if access.kind == "store":
            self.body.has_effects = True
        return self._perform(step, access, offset, values)

    def _count(self, step: Step, access: Access) -> None:
        """A request with all lanes: all sectors of each word."""
        sectors = max(1, access.bytes // LOCAL_WORD) * ROW_BYTES // SECTOR_BYTES
        self.memory.requests.count_constant(self.memory.row_of(step, "local"), sectors)

    def _checked(self, step: Step, access: Access, address: Value, offset: Value, values: list[Value]) -> list[Value]:
        """One address for all lanes that only the run tells: its own check, the runtime as fallback."""
        lanes = self.lanes
        self._count(step, access)
        values = self.memory.prepare_fork(values)
        quick, slow, joined = lanes.fresh("quick"), lanes.fresh("slow"), lanes.fresh("joined")
        inside = lanes.define(f"icmp ule i64 {offset.scalar}, {self.body.program.local_bytes - access.bytes}")
        low_bits = lanes.define(f"and i64 {offset.scalar}, {access.bytes - 1}")
        aligned = lanes.define(f"icmp eq i64 {low_bits}, 0")
        if self.body.program.local_bytes < access.bytes:
            inside = "false"
        lanes.emit(f"br i1 {lanes.define(f'and i1 {inside}, {aligned}')}, label %{quick}, label %{slow}, !prof !0")
        lanes.label(quick)
        done = self._perform(step, access, offset, values)
        for value in done:
            lanes.vector(value)
        read = lanes.fresh("read")
        lanes.emit(f"br label %{read}")  # what was emitted may have parted ways
        lanes.label(read)
        lanes.emit(f"br label %{joined}")
        lanes.label(slow)
        fallback = self.memory.by_runtime(step, access, address.base(), values, "-1", counted=True)
        lanes.emit(f"br label %{joined}")
        lanes.label(joined)
        return [self.memory.merge(a, read, b, slow) for a, b in zip(done, fallback, strict=True)]

    # -- the bytes

    def _perform(self, step: Step, access: Access, offset: Value, values: list[Value]) -> list[Value]:
        results = []
        if self.body.kernel.view and access.space != "stack":  # whose bytes functions use in turn
            written = WrittenBytes(self.body)
            written.check(step, access, offset) if access.kind == "load" else written.mark(access, offset)
        for element in range(access.count):
            at = self.lanes.binary("add", offset, self.lanes.constant("i64", element * access.element_bytes))
            if access.kind == "load":
                results.append(self._load(LLVM_TYPES[access.type], access.element_bytes, at))
            else:
                self._store(values[element], access.element_bytes, at)
        return results

    def _row(self, offset: Value, word: int = 0) -> str:
        """Where a word of all lanes stands."""
        lanes = self.lanes
        number = lanes.binary("lshr", offset, lanes.constant("i64", 2))
        start = lanes.binary("mul", number, lanes.constant("i64", ROW_BYTES))
        moved = lanes.binary("add", start, lanes.constant("i64", word * ROW_BYTES))
        return self.body.address(self.body.context_field("local"), str(moved.scalar))

    def _load_row(self, offset: Value, word: int = 0) -> Value:
        return self.lanes.full("i32", self.lanes.define(f"load {WORD}, ptr {self._row(offset, word)}"))

    def _store_row(self, value: Value, offset: Value, word: int = 0) -> None:
        self.lanes.emit(f"store {WORD} {self.lanes.vector(value)}, ptr {self._row(offset, word)}")

    def _shift(self, offset: Value) -> Value:
        """Bits below an element within its word."""
        lanes = self.lanes
        byte = lanes.binary("and", offset, lanes.constant("i64", LOCAL_WORD - 1))
        return lanes.truncate("i32", lanes.binary("shl", byte, lanes.constant("i64", 3)))

    def _load(self, type_: str, size: int, offset: Value) -> Value:
        lanes, bits = self.lanes, 8 * size
        if size < LOCAL_WORD:
            whole = lanes.binary("lshr", self._load_row(offset), self._shift(offset))
            return lanes.truncate(type_, whole)
        value = self._load_row(offset)
        for word in range(1, size // LOCAL_WORD):
            value = lanes.extend("zext", f"i{bits}", value) if bits_of(value.type) < bits else value
            high = lanes.extend("zext", f"i{bits}", self._load_row(offset, word))
            value = lanes.binary("or", value, lanes.binary("shl", high, lanes.constant(high.type, word * WORD_BITS)))
        return lanes.bitcast(type_, value)

    def _store(self, value: Value, size: int, offset: Value) -> None:
        lanes, bits = self.lanes, 8 * size
        value = lanes.bitcast(f"i{bits}", value)
        if size < LOCAL_WORD:
            shift = self._shift(offset)
            kept = lanes.binary(
                "xor", lanes.binary("shl", lanes.constant("i32", (1 << bits) - 1), shift), lanes.constant("i32", -1)
            )
            old = lanes.binary("and", self._load_row(offset), kept)
            new = lanes.binary("shl", lanes.extend("zext", "i32", value), shift)
            self._store_row(lanes.binary("or", old, new), offset)
            return
        for word in range(size // LOCAL_WORD):
            part = lanes.binary("lshr", value, lanes.constant(value.type, word * WORD_BITS)) if word else value
            self._store_row(lanes.truncate("i32", part) if bits > WORD_BITS else part, offset, word)
