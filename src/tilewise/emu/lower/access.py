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
from copy import copy
from dataclasses import replace
from typing import cast

from tilewise.emu.isa.memory import Access
from tilewise.emu.isa.spec import LLVM_TYPES
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.checks import Checks, moved, offsets_of
from tilewise.emu.lower.group import Group
from tilewise.emu.lower.local import LocalMemory
from tilewise.emu.lower.program import COUNTED_SPACES
from tilewise.emu.lower.request import Requests, is_aligned
from tilewise.emu.lower.step import Step, registers_of
from tilewise.emu.lower.transfer import Transfer
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value, bits_of, vector_type
from tilewise.emu.windows import CONSTANT_BASE, GLOBAL_BASE, SHARED_WINDOW, WINDOW_BYTES
from tilewise.ptx.ast import Address, Integer, Operand, Register, Symbol, Vector

VIEW_FIELDS = ("local_written", "local_read", "screen_runs")
GROUP_BYTES = 1 << 31
"""Lanes further apart are checked one by one: their distance must fit into the arithmetic of a check."""


class Memory:
    """Lowers the accesses of one block."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.lanes = body.lanes
        self.requests = Requests(body)
        self.transfer = Transfer(body.lanes)
        self.checks = Checks(body)
        self._private = ""
        """Of the access at hand: whether its lanes have memory of their own at one address ("local", "any" for perhaps)."""

    def lower(self, step: Step) -> None:
        """Emit one access."""
        access = step.access
        assert access is not None
        if access.kind in ("copy", "commit", "wait"):
            self._lower_async(step, access)
            return
        if access.kind == "atomic":
            self._lower_atomic(step, access)
            return
        if access.kind == "print":
            self._lower_print(step)
            return
        operand = step.sources[0][0]
        assert isinstance(operand, Address)
        if step.reads_parameter:
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
        if access.order == "release" and not self.lanes.dry:
            self.lanes.emit("fence release")
        self._private = self._may_be_local(access, operand)
        if self.lanes.dry:
            loaded = self._dry_result(access, base)
        elif self.body.careful or self.body.guard is not None:
            loaded = self.by_runtime(step, access, moved(self.lanes, base, operand.offset), values, self._active(), counted=False)
        else:
            loaded = self._together(step, access, base, operand.offset, values)
        if access.order == "acquire" and not self.lanes.dry:
            self.lanes.emit("fence acquire")
        if access.kind == "load":
            self._write_results(step, loaded)

    def finish(self) -> None:
        """Fill in the grouped checks and count the requests whose cost hangs on their alignment."""
        self.checks.finish()
        self.requests.finish()

    # -- operands

    def _base(self, operand: Address, access: Access) -> Value | None:
        """The address before its constant offset, as an i64 (global) or i32 (shared) value."""
        type_ = "b32" if access.space == "shared" else "b64"
        if isinstance(operand.base, Symbol | Register):
            return self.body.value(operand.base, type_)
        return self.lanes.constant(LLVM_TYPES[type_], operand.base.value)

    def _may_be_local(self, access: Access, operand: Address) -> str:
        if access.space in ("local", "stack"):
            return "local"
        found = self.body.program.provenance.space_of(registers_of(operand)) if access.space == "generic" else "other"
        return "" if found == "other" else found

    def row_of(self, step: Step, space: str) -> int:
        """The number under which a step's accesses to a space are counted."""
        assert step.site is not None and step.access is not None
        return step.site + (COUNTED_SPACES.index(space) if step.access.space == "generic" else 0)

    def _elements(self, operand: Operand) -> tuple[Operand, ...]:
        return operand.elements if isinstance(operand, Vector) else (operand,)

    def _stored_values(self, step: Step, access: Access) -> list[Value]:
        if access.kind == "load":
            return []
        values = self._elements_of(*step.sources[1], access)
        return [self.lanes.full(LLVM_TYPES[access.type], "%dry") if value is None else value for value in values]

    def _elements_of(self, operand: Operand, type_: str, access: Access) -> list[Value | None]:
        """What an operand gives for each element."""
        if access.whole:
            return self._parts(self.body.value(operand, type_), access)
        return [self.body.value(element, access.type) for element in self._elements(operand)]

    def _parts(self, value: Value | None, access: Access) -> list[Value | None]:
        """A value of several elements, the lowest first."""
        if value is None:
            return [None] * access.count
        lanes, bits = self.lanes, 8 * access.element_bytes
        shifts = (lanes.constant(value.type, bits * index) for index in range(access.count))
        return [lanes.truncate(f"i{bits}", lanes.binary("lshr", value, shift)) for shift in shifts]

    def _write_results(self, step: Step, values: Sequence[Value | None]) -> None:
        operand, type_ = step.results[0]
        if step.access is not None and step.access.whole:
            self.body.assign(operand, self._whole(values, type_), type_)
            return
        for element, value in zip(self._elements(operand), values, strict=True):
            if isinstance(element, Register):
                self.body.write(element.name, value, signed=type_[0] == "s")

    def _whole(self, values: Sequence[Value | None], type_: str) -> Value | None:
        """The reverse of `_parts`."""
        lanes, llvm = self.lanes, LLVM_TYPES[type_]
        result = lanes.constant(llvm, 0)
        for index, value in enumerate(values):
            if value is None:
                return None
            shift = lanes.constant(llvm, index * bits_of(value.type))
            result = lanes.binary("or", result, lanes.binary("shl", lanes.extend("zext", llvm, value), shift))
        return result

    def _dry_result(self, access: Access, base: Value) -> list[Value]:
        type_ = LLVM_TYPES[access.type]
        uniform = base.is_uniform and not self._private
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

    def by_runtime(
        self, step: Step, access: Access, address: Value, values: list[Value], mask: str, *, counted: bool
    ) -> list[Value]:
        """Have the runtime carry out the access, and count it if it is not `counted`."""
        self.body.has_effects = True
        self.body.store_addresses(address)
        self._call_runtime(step, access, values, mask, counted=counted)
        return self._runtime_results(access, address, mask)

    def _call_runtime(self, step: Step, access: Access, values: list[Value], mask: str, *, counted: bool) -> None:
        """The access itself; the lanes' addresses stand in the context already."""
        self._store_values(access, values)
        arguments = f"ptr %context, ptr %warp, i32 {step.site}, i32 {mask}, i32 {int(counted)}"
        self.lanes.emit(f"call void {self.body.context_field('access')}({arguments})")

    def _store_values(self, access: Access, values: list[Value]) -> None:
        for element, value in enumerate(values):
            wide = vector_type(value.type)
            self.lanes.emit(f"store {wide} {self.lanes.vector(value)}, ptr {self._value_slot(access, element)}")

    def _value_slot(self, access: Access, element: int) -> str:
        return self.body.context_address("values", element * LANES * access.element_bytes)

    def _runtime_results(self, access: Access, address: Value, mask: str) -> list[Value]:
        """The loaded elements; of an address that all lanes share, the first active lane's."""
        if access.kind == "store":
            return []
        type_, results = LLVM_TYPES[access.type], []
        first, is_uniform = None, address.is_uniform and not self._private
        if is_uniform and mask != "-1":
            self.lanes.declare("i32 @llvm.cttz.i32(i32, i1)")
            lane = self.lanes.define(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
            first = self.lanes.define(f"and i32 {lane}, {LANES - 1}")
        for element in range(access.count):
            slot = self._value_slot(access, element)
            if is_uniform:
                place = self.lanes.define(f"getelementptr {type_}, ptr {slot}, i32 {first}") if first else slot
                results.append(Value(type_, self.lanes.define(f"load {type_}, ptr {place}")))
            else:
                results.append(self.lanes.full(type_, self.lanes.define(f"load {vector_type(type_)}, ptr {slot}")))
        return results

    # -- atomics: the runtime carries them out, lane by lane

    def _lower_atomic(self, step: Step, access: Access) -> None:
        body, lanes = self.body, self.lanes
        operand = step.sources[0][0]
        assert isinstance(operand, Address)
        base, type_ = self._base(operand, access), LLVM_TYPES[access.type]
        values = [value for source in step.sources[1:] for value in self._elements_of(*source, access)]
        results: list[Value | None] = [lanes.full(type_, "%dry") for _ in range(access.count)]
        if base is not None and not lanes.dry:
            body.settle()
            body.has_effects = True
            body.store_addresses(moved(lanes, base, operand.offset))
            self._store_values(access, [value for value in values if value is not None])
            lanes.emit(
                f"call void {body.context_field('atomic')}(ptr %context, ptr %warp, i32 {step.site}, i32 {self._active()})"
            )
            slots = [self._value_slot(access, element) for element in range(access.count)]
            results = [lanes.full(type_, lanes.define(f"load {vector_type(type_)}, ptr {slot}")) for slot in slots]
        if step.results:
            self._write_results(step, results)

    def _lower_print(self, step: Step) -> None:
        body, lanes = self.body, self.lanes
        sources = [body.value(*source) for source in step.sources]
        result = lanes.full("i32", "%dry")
        if None not in sources and not lanes.dry:
            body.settle()
            body.has_effects = True
            for index, value in enumerate(sources):
                place = body.context_address("values", 8 * LANES * index)
                lanes.emit(f"store {vector_type('i64')} {lanes.vector(cast(Value, value))}, ptr {place}")
            lanes.emit(f"call void {body.context_field('print')}(ptr %context, ptr %warp, i32 {step.site}, i32 {self._active()})")
            result = lanes.full("i32", lanes.define(f"load {vector_type('i32')}, ptr {body.context_address('values')}"))
        self._write_results(step, [result])

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
        self.body.store_addresses(moved(lanes, cast(Value, places[0]), source.offset))
        whole = lanes.constant("i32", size.value)
        for index, value in enumerate((moved(lanes, cast(Value, places[1]), target.offset), bytes_, whole)):
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
        address = moved(self.lanes, base, offset)
        if self._private == "local":
            return LocalMemory(self).lower(step, access, address, values)
        if self._private == "any" or self.body.kernel.view == "observed":
            return self.by_runtime(step, access, address, values, "-1", counted=False)
        if access.space == "generic":
            access, base = self._refine(access, base, offset)
            address = moved(self.lanes, base, offset)
        if base.is_full or not self._can_group(access, address):
            self.body.has_effects = True
            return self._scattered(step, access, address, values)
        is_inside = not self.body.kernel.view and self._is_inside(access, address)
        if not self.checks.has_group(access, base) and self.body.has_effects and not is_inside:
            return self._checked(step, access, base, offset, values)
        if is_inside:
            self.requests.count(self.row_of(step, "shared"), access, address)
            pointer = self.checks.shared_pointer(base.base())
        else:
            group = self.checks.group(access, base, offset)
            pointer = group.pointer
            if access.space == "generic":
                self.requests.defer(self._by_space(step, access, address), address, lambda: self.checks.entry(group))
            elif access.space in COUNTED_SPACES:
                self.requests.count(self.row_of(step, access.space), access, address)
        if access.kind == "store":
            self.body.has_effects = True
        return self.transfer.at_offsets(access, pointer, offsets_of(base, offset), values)

    def _refine(self, access: Access, base: Value, offset: int) -> tuple[Access, Value]:
        """A generic access, as one of a space where its address is known to be of that space and nothing can go wrong with it."""
        if base.low is None or base.high is None:
            return access, base
        if SHARED_WINDOW <= base.low <= base.high < SHARED_WINDOW + WINDOW_BYTES:
            distance = self.lanes.binary("sub", base, self.lanes.constant(base.type, SHARED_WINDOW))
            shared, inside = self.lanes.truncate("i32", distance), replace(access, space="shared")
            return (inside, shared) if self._is_inside(inside, moved(self.lanes, shared, offset)) else (access, base)
        if base.low >= GLOBAL_BASE:
            return replace(access, space="global"), base
        is_constant = CONSTANT_BASE <= base.low <= base.high < GLOBAL_BASE
        return (replace(access, space="const") if is_constant else access), base

    def _by_space(self, step: Step, access: Access, address: Value) -> int:
        assert step.site is not None
        return self.requests.count_by_space(step.site, access, address)

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

    # -- checked: this access alone

    def _checked(self, step: Step, access: Access, base: Value, offset: int, values: list[Value]) -> list[Value]:
        """An access at scalar + offsets after something has happened in the block: its own check, the runtime as fallback."""
        lanes, offsets, address = self.lanes, offsets_of(base, offset), moved(self.lanes, base, offset)
        values = self.prepare_fork(values)
        quick, slow, joined = lanes.fresh("quick"), lanes.fresh("slow"), lanes.fresh("joined")
        is_store, pointer = access.kind == "store", lanes.fresh("%pointer")
        group = Group(base.base(), access.space, is_store, 0, min(offsets), max(offsets) + access.bytes, pointer)
        if not is_aligned(access, moved(self.lanes, base, offset)):
            group.alignments.add((access.bytes, offsets[0] % access.bytes))
        group.accesses.append((offsets, access.bytes))
        self.checks.emit(group, slow, quick)
        if access.space == "generic":
            self.requests.count_in_space(self._by_space(step, access, address), address, lambda: self.checks.entry(group))
        elif access.space in COUNTED_SPACES:
            self.requests.count(self.row_of(step, access.space), access, address)
        done = self.transfer.at_offsets(access, pointer, offsets, values)
        for value in done:
            self._make(value)
        lanes.emit(f"br label %{joined}")
        lanes.label(slow)
        apart = lanes.patterned(address.base(), address.offsets) if address.offsets else address.base()
        # A value of its own: a vector that is made here is not there behind the join.
        fallback = self.by_runtime(step, access, apart, values, "-1", counted=access.space != "generic")
        lanes.emit(f"br label %{joined}")
        lanes.label(joined)
        return [self.merge(a, quick, b, slow) for a, b in zip(done, fallback, strict=True)]

    def prepare_fork(self, values: list[Value]) -> list[Value]:
        """Make what both ways need before they part; return values that keep to the ways what is made of them there."""
        for value in values:
            self.lanes.vector(value)
        for name in ("access", "resolve", "shared", "local", "histograms", *(VIEW_FIELDS if self.body.kernel.view else ())):
            self.body.context_field(name)
        return [copy(value) for value in values]

    def _make(self, value: Value) -> None:
        """Load now what would be loaded where it is used: the ways meet behind it."""
        if value.is_full:
            self.lanes.vector(value)
        value.halves = None

    def merge(self, a: Value, from_a: str, b: Value, from_b: str) -> Value:
        """A value where two ways meet."""
        if a.is_uniform:
            return Value(a.type, self.lanes.define(f"phi {a.type} [ {a.scalar}, %{from_a} ], [ {b.scalar}, %{from_b} ]"))
        wide = vector_type(a.type)
        return self.lanes.full(a.type, self.lanes.define(f"phi {wide} [ {a.vector}, %{from_a} ], [ {b.vector}, %{from_b} ]"))

    # -- scattered: 32 unrelated addresses

    def _scattered(self, step: Step, access: Access, address: Value, values: list[Value]) -> list[Value]:
        """Call the function that serves all such accesses of this kind (scattered.py)."""
        lanes, kernel = self.lanes, self.body.kernel
        name = kernel.scattered.function(access, is_screened=kernel.view == "screened")
        self.body.store_addresses(address)
        for element, value in enumerate(values):
            lanes.emit(f"store {vector_type(value.type)} {lanes.vector(value)}, ptr {self._value_slot(access, element)}")
        lanes.emit(f"call void @{name}(ptr %context, ptr %warp, i32 {step.site}, i32 {kernel.groups})")
        kernel.groups += 1
        return self._runtime_results(access, address, "-1")
