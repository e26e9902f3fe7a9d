"""The one path every memory access takes: bounds, alignment, counts, then the bytes.

Three ways, from fast to careful:
- *grouped*: with all lanes active, accesses of one block that share a base register are bounded by one check at the first of
  them; if it fails, nothing has happened yet and the block is run again carefully.
- *checked*: where something has happened already, a check of this access alone with the runtime as fallback.
- *scattered*: addresses that follow no pattern, in a function of their own (scattered.py).
- *careful*: some lanes only: the runtime does it all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from tilewise.emu.abi import Context
from tilewise.emu.isa.memory import Access
from tilewise.emu.isa.spec import LLVM_TYPES
from tilewise.emu.lanes import Value, vector_type
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.program import Step
from tilewise.emu.lower.request import Requests, is_aligned
from tilewise.emu.lower.transfer import Transfer
from tilewise.emu.patterns import LANES, wrap
from tilewise.ptx.ast import Address, Integer, Operand, Register, Symbol, Vector

GROUP_BYTES = 1 << 31
"""Lanes further apart are checked one by one: their distance must fit into the arithmetic of a check."""


@dataclass(slots=True)
class Group:
    """Accesses of one block with one base: a single check covers them. Bytes from the base: first to end (exclusive)."""

    base: Value
    space: str
    is_store: bool
    line: int
    """Where the check will stand in the text, once all members are known."""
    first: int
    end: int
    pointer: str
    """The name of what stands after the check: a pointer to the base."""
    alignments: set[tuple[int, int]] = field(default_factory=set)
    """(bytes, remainder): base + remainder must be a multiple of bytes."""


class Memory:
    """Lowers the accesses of one block."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.lanes = body.lanes
        self.requests = Requests(body)
        self.transfer = Transfer(body.lanes)
        self.cold: list[str] = []
        """Lines for the end of the function: what rarely runs."""
        self._groups: dict[tuple[str, str, bool], Group] = {}

    def lower(self, step: Step) -> None:
        """Emit one access."""
        access = step.access
        assert access is not None
        if access.kind in ("copy", "commit", "wait"):
            self._lower_async(step, access)
            return
        operand = (step.sources if access.kind == "load" else step.sources[:1])[0][0]
        assert isinstance(operand, Address)
        if access.space == "param":
            self._load_parameter(step, access, operand)
            return
        base = self._base(operand, access)
        if base is None:
            if access.kind == "load":
                self._write_results(step, [None] * access.count)
            return
        values = self._stored_values(step, access)
        if access.kind != "load":
            self.body.settle()
        if self.lanes.dry:
            loaded = self._dry_result(access, base)
        elif self.body.careful or self.body.guard is not None:
            loaded = self._careful(step, access, self._at(base, operand.offset), values)
        else:
            loaded = self._together(step, access, base, operand.offset, values)
        if access.kind == "load":
            self._write_results(step, loaded)

    def finish(self) -> None:
        """Fill in the grouped checks and count the requests whose cost hangs on their alignment."""
        for group in reversed(self._groups.values()):  # the later ones first: their lines move nobody else's
            self._emit_group_check(group)
        self.requests.finish()

    # -- operands

    def _base(self, operand: Address, access: Access) -> Value | None:
        """The address before its constant offset, as an i64 (global) or i32 (shared) value."""
        type_ = "b32" if access.space == "shared" else "b64"
        if isinstance(operand.base, Symbol | Register):
            return self.body.value(operand.base, type_)
        return self.lanes.constant(LLVM_TYPES[type_], operand.base.value)

    def _at(self, base: Value, offset: int) -> Value:
        return self.lanes.binary("add", base, self.lanes.constant(base.type, offset)) if offset else base

    def _elements(self, operand: Operand) -> tuple[Operand, ...]:
        return operand.elements if isinstance(operand, Vector) else (operand,)

    def _stored_values(self, step: Step, access: Access) -> list[Value]:
        if access.kind == "load":
            return []
        values = [self.body.value(element, access.type) for element in self._elements(step.sources[1][0])]
        return [self.lanes.full(LLVM_TYPES[access.type], "%dry") if value is None else value for value in values]

    def _write_results(self, step: Step, values: Sequence[Value | None]) -> None:
        operand, type_ = step.results[0]
        for element, value in zip(self._elements(operand), values, strict=True):
            if isinstance(element, Register):
                self.body.write(element.name, value, signed=type_[0] == "s")

    def _dry_result(self, access: Access, base: Value) -> list[Value]:
        type_ = LLVM_TYPES[access.type]
        uniform = base.is_uniform
        return [Value(type_, "%dry") if uniform else self.lanes.full(type_, "%dry") for _ in range(access.count)]

    def _load_parameter(self, step: Step, access: Access, operand: Address) -> None:
        assert isinstance(operand.base, Symbol)
        start = self.body.program.parameters[operand.base.name] + operand.offset
        type_, values = LLVM_TYPES[access.type], []
        for element in range(access.count):
            address = self.body.address(self.body.context_field("params"), start + element * access.element_bytes)
            values.append(Value(type_, self.lanes.define(f"load {type_}, ptr {address}")))
        self._write_results(step, values)

    # -- careful: the runtime does it

    def _careful(self, step: Step, access: Access, address: Value, values: list[Value]) -> list[Value]:
        mask = self._active()
        self.body.has_effects = True
        self.body.store_addresses(address)
        self._call_runtime(step, access, values, mask, counted=False)
        return self._runtime_results(access, address, mask)

    def _call_runtime(self, step: Step, access: Access, values: list[Value], mask: str, *, counted: bool) -> None:
        """The access itself; the lanes' addresses stand in the context already."""
        for element, value in enumerate(values):
            wide = vector_type(value.type)
            self.lanes.emit(f"store {wide} {self.lanes.vector(value)}, ptr {self._value_slot(access, element)}")
        arguments = f"ptr %context, ptr %warp, i32 {step.site}, i32 {mask}, i32 {int(counted)}"
        self.lanes.emit(f"call void {self.body.context_field('access')}({arguments})")

    def _value_slot(self, access: Access, element: int) -> str:
        return self.body.context_address("values", element * LANES * access.element_bytes)

    def _runtime_results(self, access: Access, address: Value, mask: str) -> list[Value]:
        """The loaded elements; of a uniform address, the first active lane's."""
        if access.kind == "store":
            return []
        type_, results = LLVM_TYPES[access.type], []
        first = None
        if address.is_uniform and mask != "-1":
            self.lanes.declare("i32 @llvm.cttz.i32(i32, i1)")
            lane = self.lanes.define(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
            first = self.lanes.define(f"and i32 {lane}, {LANES - 1}")
        for element in range(access.count):
            slot = self._value_slot(access, element)
            if address.is_uniform:
                place = self.lanes.define(f"getelementptr {type_}, ptr {slot}, i32 {first}") if first else slot
                results.append(Value(type_, self.lanes.define(f"load {type_}, ptr {place}")))
            else:
                results.append(self.lanes.full(type_, self.lanes.define(f"load {vector_type(type_)}, ptr {slot}")))
        return results

    # -- cp.async: the runtime keeps the copies and carries them out at the waits

    def _lower_async(self, step: Step, access: Access) -> None:
        body, lanes = self.body, self.lanes
        if access.kind == "copy":
            self._describe_copy(step)
        pending = -1 if not step.sources else cast(Integer, step.sources[0][0]).value if access.kind == "wait" else 0
        if lanes.dry:
            return
        body.settle()
        body.has_effects = True
        mask = self._active()
        arguments = {"copy": f"i32 {step.site}, i32 {mask}", "commit": f"i32 {mask}", "wait": f"i32 {mask}, i32 {pending}"}
        lanes.emit(f"call void {body.context_field('copy_' + access.kind)}(ptr %context, {arguments[access.kind]})")

    def _describe_copy(self, step: Step) -> None:
        """Store where a copy's lanes read and write, and how many of its bytes they read."""
        (target, _), (source, _), (size, _), *rest = step.sources
        assert isinstance(target, Address) and isinstance(source, Address) and isinstance(size, Integer)
        lanes, shared = self.lanes, Access("store", "shared", "b8", size.value)
        places = [self._base(source, cast(Access, step.access)), self._base(target, shared)]
        bytes_ = self._copied_bytes(rest[0][0], size.value) if rest else lanes.constant("i32", size.value)
        if lanes.dry or None in places or bytes_ is None:
            return
        self.body.store_addresses(self._at(cast(Value, places[0]), source.offset))
        whole = lanes.constant("i32", size.value)
        for index, value in enumerate((self._at(cast(Value, places[1]), target.offset), bytes_, whole)):
            slot = self.body.context_address("values", 4 * LANES * index)
            lanes.emit(f"store {vector_type('i32')} {lanes.vector(value)}, ptr {slot}")

    def _copied_bytes(self, operand: Operand, size: int) -> Value | None:
        value = self.body.read(operand.name) if isinstance(operand, Register) else self.body.value(operand, "u32")
        if value is not None and value.type == "i1":  # a predicate: whether to read nothing
            return self.lanes.select(value, self.lanes.constant("i32", 0), self.lanes.constant("i32", size))
        return value

    def _active(self) -> str:
        """The lanes that carry out the instruction at hand."""
        mask = self.body.mask or "-1"
        if self.body.guard is None:
            return mask
        return self.lanes.define(f"and i32 {mask}, {self.lanes.mask_bits(self.body.guard)}")

    # -- all lanes together

    def _together(self, step: Step, access: Access, base: Value, offset: int, values: list[Value]) -> list[Value]:
        address = self._at(base, offset)
        if base.is_full or not self._can_group(access, address):
            self.body.has_effects = True
            return self._scattered(step, access, address, values)
        key = (access.space, f"{base.scalar}", access.kind == "store")
        if key not in self._groups and self.body.has_effects and not self._is_inside(access, address):
            return self._checked(step, access, base, offset, values)
        self.requests.count(step, access, address)
        if self._is_inside(access, address):
            pointer = self._shared_pointer(base.base())
        else:
            pointer = self._grouped_pointer(key, access, base, offset)
        if access.kind == "store":
            self.body.has_effects = True
        return self.transfer.at_offsets(access, pointer, self._offsets(base, offset), values)

    def _offsets(self, base: Value, offset: int) -> tuple[int, ...]:
        return tuple(lane + offset for lane in base.offsets) if base.offsets else (offset,) * LANES

    def _can_group(self, access: Access, address: Value) -> bool:
        """Whether a scalar exists for which every lane is aligned, and the lanes stand near enough for one check of all."""
        offsets = address.offsets or (0,)
        near = max(offsets) - min(offsets) < GROUP_BYTES
        return near and all((x - offsets[0]) % access.bytes == 0 for x in offsets)

    def _is_inside(self, access: Access, address: Value) -> bool:
        """Whether an access to shared memory is known to be within the static part and aligned, whatever happens."""
        if access.space != "shared" or address.low is None or address.high is None or not is_aligned(access, address):
            return False
        low, high = (min(address.offsets), max(address.offsets)) if address.offsets else (0, 0)
        return address.low + low >= 0 and address.high + high + access.bytes <= self.body.program.static_shared_bytes

    # -- grouped

    def _grouped_pointer(self, key: tuple[str, str, bool], access: Access, base: Value, offset: int) -> str:
        """A pointer to the base's scalar part, after a check that covers this access."""
        offsets = self._offsets(base, offset)
        first, end = min(offsets), max(offsets) + access.bytes
        group = self._groups.get(key)
        if group is None:
            self.body.context_field("shared")  # loaded before the check, which may need it
            line, pointer = len(self.lanes.lines), self.lanes.fresh("%pointer")
            group = Group(base.base(), access.space, access.kind == "store", line, first, end, pointer)
            self._groups[key] = group
            self.lanes.lines.append("")
        group.first, group.end = min(group.first, first), max(group.end, end)
        if not is_aligned(access, self._at(base, offset)):
            group.alignments.add((access.bytes, offsets[0] % access.bytes))
        return group.pointer

    def _shared_pointer(self, base: Value) -> str:
        if base.constant is not None:
            return self.body.address(self.body.context_field("shared"), base.constant)
        return self.lanes.define(f"getelementptr i8, ptr {self.body.context_field('shared')}, i32 {base.scalar}")

    def _emit_group_check(self, group: Group) -> None:
        """Write the check of a group into the line kept for it."""
        lanes, after = self.lanes, self.lanes.lines[group.line + 1 :]
        del lanes.lines[group.line :]
        self._emit_check(group, f"bail{self.body.position}", lanes.fresh("checked"))
        lanes.lines += after

    def _emit_check(self, group: Group, bail: str, go_on: str) -> None:
        """Branch to `bail` or `go_on`, open `go_on` and define the pointer to the base there."""
        ok = self._alignment_ok(group)
        if group.space == "shared":
            self._emit_shared_check(group, ok, bail, go_on)
        else:
            self._emit_range_check(group, ok, bail, go_on)

    def _emit_shared_check(self, group: Group, ok: str | None, bail: str, go_on: str) -> None:
        lanes = self.lanes
        first = lanes.define(f"add i32 {group.base.scalar}, {wrap(group.first, 32)}")
        start = lanes.define(f"zext i32 {first} to i64")
        end = lanes.define(f"add i64 {start}, {group.end - group.first}")
        limit = lanes.define(f"load i64, ptr {self.body.context_address('shared_bytes')}")
        inside = lanes.define(f"icmp ule i64 {end}, {limit}")
        condition = lanes.define(f"and i1 {ok}, {inside}") if ok else inside
        lanes.emit(f"br i1 {condition}, label %{go_on}, label %{bail}, !prof !0")
        lanes.label(go_on)
        base = lanes.define(f"sub i64 {start}, {group.first}")  # not the scalar: scalar + offset may have wrapped
        lanes.emit(f"{group.pointer} = getelementptr i8, ptr {self.body.context_field('shared')}, i64 {base}")

    def _alignment_ok(self, group: Group) -> str | None:
        ok, type_ = None, group.base.type
        for size, remainder in sorted(group.alignments):
            moved = self.lanes.define(f"add {type_} {group.base.scalar}, {remainder}")
            low_bits = self.lanes.define(f"and {type_} {moved}, {size - 1}")
            aligned = self.lanes.define(f"icmp eq {type_} {low_bits}, 0")
            ok = self.lanes.define(f"and i1 {ok}, {aligned}") if ok else aligned
        return ok

    def _emit_range_check(self, group: Group, ok: str | None, bail: str, go_on: str) -> None:
        """Global memory: the buffer that this group fell in last, else the runtime looks for another."""
        lanes, index = self.lanes, self.body.kernel.groups
        self.body.kernel.groups += 1
        if ok:
            aligned = lanes.fresh("aligned")
            lanes.emit(f"br i1 {ok}, label %{aligned}, label %{bail}, !prof !0")
            lanes.label(aligned)
        start = lanes.define(f"add i64 {group.base.scalar}, {group.first}")
        ranges = lanes.define(f"load ptr, ptr {self.body.context_address('ranges')}")
        entry = self.body.address(ranges, 24 * index)
        inside = self._inside_range(entry, start)
        search = lanes.fresh("search")
        lanes.emit(f"br i1 {inside}, label %{go_on}, label %{search}, !prof !0")
        lanes.label(go_on)
        delta = lanes.define(f"load i64, ptr {self.body.address(entry, 16)}")
        host = lanes.define(f"add i64 {group.base.scalar}, {delta}")
        lanes.emit(f"{group.pointer} = inttoptr i64 {host} to ptr")
        resolve = lanes.fresh("%resolve")
        extent = group.end - group.first
        found = lanes.fresh("%found")
        self.cold += [
            f"{search}:",
            f"  {resolve}.at = getelementptr i8, ptr %context, i64 {Context.resolve.offset}",
            f"  {resolve} = load ptr, ptr {resolve}.at",
            f"  {found} = call i32 {resolve}(ptr %context, i32 {index}, i64 {start}, i64 {extent}, i32 {int(group.is_store)})",
            f"  {found}.yes = icmp ne i32 {found}, 0",
            f"  br i1 {found}.yes, label %{go_on}, label %{bail}",
        ]

    def _inside_range(self, entry: str, start: str) -> str:
        lanes = self.lanes
        low = lanes.define(f"load i64, ptr {entry}")
        starts = lanes.define(f"load i64, ptr {self.body.address(entry, 8)}")
        return lanes.define(f"icmp ult i64 {lanes.define(f'sub i64 {start}, {low}')}, {starts}")

    # -- checked: this access alone

    def _checked(self, step: Step, access: Access, base: Value, offset: int, values: list[Value]) -> list[Value]:
        """An access at scalar + offsets after something has happened in the block: its own check, the runtime as fallback."""
        lanes, offsets = self.lanes, self._offsets(base, offset)
        self.requests.count(step, access, self._at(base, offset))
        for value in values:  # made before the ways part, since both need them
            lanes.vector(value)
        for name in ("access", "resolve", "shared"):
            self.body.context_field(name)
        quick, slow, joined = lanes.fresh("quick"), lanes.fresh("slow"), lanes.fresh("joined")
        is_store, pointer = access.kind == "store", lanes.fresh("%pointer")
        group = Group(base.base(), access.space, is_store, 0, min(offsets), max(offsets) + access.bytes, pointer)
        if not is_aligned(access, self._at(base, offset)):
            group.alignments.add((access.bytes, offsets[0] % access.bytes))
        self._emit_check(group, slow, quick)
        done = self.transfer.at_offsets(access, pointer, offsets, values)
        for value in done:
            self._make(value)
        lanes.emit(f"br label %{joined}")
        lanes.label(slow)
        address = self._at(base, offset)
        apart = lanes.patterned(address.base(), address.offsets) if address.offsets else address.base()
        self.body.store_addresses(apart)  # a value of its own: a vector that is made here is not there behind the join
        self._call_runtime(step, access, values, "-1", counted=True)
        fallback = self._runtime_results(access, base, "-1")
        lanes.emit(f"br label %{joined}")
        lanes.label(joined)
        return [self._merge(a, quick, b, slow) for a, b in zip(done, fallback, strict=True)]

    def _make(self, value: Value) -> None:
        """Load now what would be loaded where it is used: the ways meet behind it."""
        if value.is_full:
            self.lanes.vector(value)
        value.halves = None

    def _merge(self, a: Value, from_a: str, b: Value, from_b: str) -> Value:
        if a.is_uniform:
            return Value(a.type, self.lanes.define(f"phi {a.type} [ {a.scalar}, %{from_a} ], [ {b.scalar}, %{from_b} ]"))
        wide = vector_type(a.type)
        return self.lanes.full(a.type, self.lanes.define(f"phi {wide} [ {a.vector}, %{from_a} ], [ {b.vector}, %{from_b} ]"))

    # -- scattered: 32 unrelated addresses

    def _scattered(self, step: Step, access: Access, address: Value, values: list[Value]) -> list[Value]:
        """Call the function that serves all such accesses of this kind (scattered.py)."""
        lanes, kernel = self.lanes, self.body.kernel
        name = kernel.scattered.function(access)
        self.body.store_addresses(address)
        for element, value in enumerate(values):
            lanes.emit(f"store {vector_type(value.type)} {lanes.vector(value)}, ptr {self._value_slot(access, element)}")
        lanes.emit(f"call void @{name}(ptr %context, ptr %warp, i32 {step.site}, i32 {kernel.groups})")
        kernel.groups += 1
        return self._runtime_results(access, address, "-1")
