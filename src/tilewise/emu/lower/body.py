"""One basic block: registers read and written, forms applied, special registers. Memory stands in access.py, ends in flow.py.

The same code runs dry (shapes only, for the analysis) and for good, fast (all 32 lanes together) and careful (lanes by mask).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from tilewise.emu import abi
from tilewise.emu.across import Warp
from tilewise.emu.isa.spec import LLVM_TYPES, PARTS
from tilewise.emu.lanes import Lanes
from tilewise.emu.lower import chains as chains_
from tilewise.emu.lower.frame import Frame, register_type
from tilewise.emu.lower.program import Program
from tilewise.emu.lower.scattered import Scattered
from tilewise.emu.lower.special import CHANGING, special_register
from tilewise.emu.lower.step import Step
from tilewise.emu.lower.tally import Tally
from tilewise.emu.patterns import LANES, Shape
from tilewise.emu.value import HALF, Half, Value, bits_of, is_float, vector_type
from tilewise.ptx.ast import Float, Integer, Negated, Operand, Part, Register, Sink, Symbol, Vector

LARGE_GRID = 2**31 - 1
SMALL_GRID = 2**16 - 1


View = Literal["", "screened", "observed"]
"""How closely the runtime looks at accesses: not at all; whether anything may be wrong with them; at each of them."""


@dataclass(slots=True)
class Kernel:
    """What the blocks of one compiled kernel share."""

    program: Program
    shapes: dict[str, Shape]
    frame: Frame
    careful: bool
    grid_limits: tuple[int, int, int]
    conflicts: tuple[frozenset[str], ...]
    """Registers that, in each block, lanes waiting elsewhere still need: writes keep theirs."""
    vector_bits: int = 512
    """Width of the target's vector registers."""
    tally: Tally = field(default_factory=Tally)
    scattered: Scattered = field(default_factory=Scattered)
    view: View = ""
    constants: list[str] = field(default_factory=list)
    """Definitions of constant arrays of the module."""
    groups: int = 0
    """Range-cache entries handed out."""


class Body:
    """Builds one block of a kernel, or a chain of them that run one after another."""

    def __init__(self, lanes: Lanes, kernel: Kernel, chain: tuple[int, ...]) -> None:
        self.lanes = lanes
        self.kernel = kernel
        self.program = kernel.program
        self.position = chain[0]
        self.last = chain[-1]
        self.careful = kernel.careful
        self.mask: str | None = None
        """The active lanes as an i32 (careful only)."""
        self.guard: Value | None = None
        """The predicate of the instruction at hand."""
        self.has_effects = False
        """Whether something has happened that running the block again would repeat."""
        self._environment: dict[str, Value | None] = {}
        self._dirty: dict[str, None] = {}
        self._fields: dict[str, str] = {}

    # -- context and warp fields

    def context_field(self, name: str, type_: str = "ptr", index: int = 0) -> str:
        """A field of the context, loaded once a block."""
        key = f"{name}.{index}"
        if key not in self._fields:
            offset = getattr(abi.Context, name).offset + 4 * index
            self._fields[key] = self.lanes.define(f"load {type_}, ptr {self.address('%context', offset)}")
        return self._fields[key]

    def context_address(self, name: str, offset: int = 0) -> str:
        """The address of an array within the context."""
        return self.address("%context", getattr(abi.Context, name).offset + offset)

    def warp_address(self, name: str) -> str:
        """The address of a field of the warp's state."""
        return self.address("%warp", getattr(abi.Warp, name).offset)

    def address(self, base: str, offset: int | str) -> str:
        """base + offset bytes."""
        return self.lanes.define(f"getelementptr i8, ptr {base}, i64 {offset}")

    def store_addresses(self, address: Value) -> None:
        """Put the lanes' addresses where the runtime looks for them."""
        wide = address if address.type == "i64" else self.lanes.extend("zext", "i64", address)
        self.lanes.emit(f"store {vector_type('i64')} {self.lanes.vector(wide)}, ptr {self.context_address('addresses')}")

    # -- operands

    def value(self, operand: Operand, type_: str) -> Value | None:
        """An operand as a value of PTX type `type_`; None while the analysis knows nothing of it yet."""
        lanes, llvm = self.lanes, LLVM_TYPES[type_]
        match operand:
            case Register(name, True):
                return self._view(self._special(name), llvm)
            case Register(name):
                value = self.read(name)
                return None if value is None else self._view(value, llvm)
            case Negated(register):
                value = self.read(register.name)
                return None if value is None else lanes.operation("xor", self._view(value, llvm), lanes.constant(llvm, 1))
            case Part(register, part):
                value = self.read(register.name)
                return None if value is None else self._part(self._view(value, llvm), *PARTS[part], signed=type_[0] == "s")
            case Integer(number) if not is_float(llvm):
                return lanes.constant(llvm, number)
            case Float(bits, width) if is_float(llvm):
                return lanes.float_constant(llvm, _convert_literal(bits, width, bits_of(llvm)))
            case Float(bits, width):
                return lanes.constant(f"i{width}", bits)
            case Vector(elements):
                return self._pack(elements, llvm)
            case Symbol(name, offset) if name in self.program.symbols:
                return lanes.constant(llvm, self.program.symbols[name] + offset)
        raise AssertionError(f"{operand} is no operand that find_missing lets pass")

    def _part(self, value: Value, start: int, width: int, *, signed: bool) -> Value:
        """Some bits of an i32, extended by their sign or by 0."""
        up = self.lanes.binary("shl", value, self.lanes.constant("i32", 32 - start - width))
        return self.lanes.binary("ashr" if signed else "lshr", up, self.lanes.constant("i32", 32 - width))

    def _view(self, value: Value, llvm: str) -> Value:
        """The low bits of a register as `llvm`."""
        if value.type == llvm:
            return value
        bits, wanted = bits_of(value.type), bits_of(llvm)
        if bits == wanted:
            return self.lanes.bitcast(llvm, value)
        if is_float(value.type):
            value = self.lanes.bitcast(f"i{bits}", value)
        narrow = self.lanes.truncate(f"i{wanted}", value) if bits > wanted else self.lanes.extend("zext", f"i{wanted}", value)
        return self.lanes.bitcast(llvm, narrow) if is_float(llvm) else narrow

    def read(self, name: str) -> Value | None:
        """A register's value in this block."""
        if name not in self._environment:
            self._environment[name] = self._load(name)
        return self._environment[name]

    def _load(self, name: str) -> Value | None:
        type_ = register_type(self.program, name)
        shape = self.kernel.shapes.get(name)
        if shape is None:
            return None
        slot = self.kernel.frame.slots.get(name)
        if slot is None or self.lanes.dry:
            return self.lanes.of_shape(type_, shape, "%dry", "%dry")
        address = self.address("%warp", slot)
        if not shape.full:
            return self.lanes.of_shape(type_, shape, self.lanes.define(f"load {type_}, ptr {address}"), "")
        if type_ == "i1":
            return self.lanes.from_mask(self.lanes.define(f"load i32, ptr {address}"))
        if self.lanes.lazy:
            upper = slot + HALF * bits_of(type_) // 8
            return Value(type_, halves=(Half(pointer="%warp", offset=slot), Half(pointer="%warp", offset=upper)))
        return self.lanes.full(type_, self.lanes.define(f"load {vector_type(type_)}, ptr {address}"))

    def settle(self) -> None:
        """Make all that would otherwise be loaded later: memory is about to change."""
        for value in self._environment.values():
            if value is None or self.lanes.dry:
                continue
            if value.is_full:
                self.lanes.vector(value)
            value.halves = None  # a uniform value has its scalar, which was loaded when it was asked for

    def write(self, name: str, value: Value | None, *, signed: bool = False) -> None:
        """Set a register in the active lanes; a narrower value is extended by its sign if `signed`."""
        if value is not None:
            value = self._fit(value, register_type(self.program, name), signed)
            if self.guard is not None:
                old = self.read(name)
                value = value if old is None else self.lanes.select(self.guard, value, self._view(old, value.type))
            if self.careful and name in self.kernel.conflicts[self.position]:
                value = self._keep_inactive(name, value)
        self._environment[name] = value
        self._dirty[name] = None

    def assign(self, operand: Operand, value: Value | None, type_: str) -> None:
        """Set a destination of PTX type `type_`: a register, a vector of registers (lowest bits first) or nobody's."""
        match operand:
            case Register(name):
                self.write(name, value, signed=type_[0] == "s")
            case Vector(elements):
                self._unpack(elements, value)
            case Sink():
                pass
            case _:
                raise AssertionError(f"{operand} is no destination that find_missing lets pass")

    def _unpack(self, elements: tuple[Operand, ...], value: Value | None) -> None:
        lanes = self.lanes
        for index, element in enumerate(elements):
            part = None
            if value is not None:
                bits = bits_of(value.type)
                width = bits // len(elements)
                whole = lanes.bitcast(f"i{bits}", value)
                part = lanes.truncate(f"i{width}", lanes.binary("lshr", whole, lanes.constant(whole.type, index * width)))
            self.assign(element, part, "b")

    def _pack(self, elements: tuple[Operand, ...], llvm: str) -> Value | None:
        """A vector operand as one value, its first element lowest."""
        lanes, bits = self.lanes, bits_of(llvm)
        width = bits // len(elements)
        whole = lanes.constant(f"i{bits}", 0)
        for index, element in enumerate(elements):
            part = self.value(element, f"b{width}")
            if part is None:
                return None
            shifted = lanes.binary("shl", lanes.extend("zext", whole.type, part), lanes.constant(whole.type, index * width))
            whole = lanes.binary("or", whole, shifted)
        return lanes.bitcast(llvm, whole)

    def _fit(self, value: Value, type_: str, signed: bool) -> Value:
        """A value as its register's type: what is known of an integer is not true of a float with its bits."""
        if bits_of(value.type) < bits_of(type_) and not is_float(value.type):
            value = self.lanes.extend("sext" if signed else "zext", f"i{bits_of(type_)}", value)
        if value.is_full and bits_of(value.type) == bits_of(type_):
            return value  # nothing is known of it, and it may still be to be made
        return self._view(value, type_)

    def _keep_inactive(self, name: str, value: Value) -> Value:
        old = self.read(name)
        if self.lanes.dry or old is None:
            return self.lanes.full(value.type, "%dry")
        active = self.lanes.from_mask(cast(str, self.mask))
        return self.lanes.select(active, value, self._view(old, value.type))

    def commit(self) -> None:
        """Store the registers that later blocks read."""
        live, slots = self.program.live_out[self.last], self.kernel.frame.slots
        stores = [
            (name, slots[name], value)
            for name in self._dirty
            if (value := self._environment[name]) is not None and name in slots and name in live
        ]
        self._dirty.clear()
        chains = [chains_.find_chain(slot, value) for _, slot, value in stores if value.vector is None and value.fma is not None]
        chains_.pin(self.lanes, chains, {slot for _, slot, _ in stores})
        for _, _, value in stores:
            if value.is_full and value.fma is None:
                self.lanes.vector(value)  # before the slot that it may stand in is overwritten
        chains_.emit_chains(self.lanes, chains, self.kernel.vector_bits)
        for name, slot, value in stores:
            if not value.is_full or value.vector is not None:
                self._store(name, slot, value)

    def _store(self, name: str, slot: int, value: Value) -> None:
        lanes, address = self.lanes, self.address("%warp", slot)
        if not self.kernel.shapes[name].full:
            lanes.emit(f"store {value.type} {value.scalar}, ptr {address}")
        elif value.type == "i1":
            lanes.emit(f"store i32 {lanes.mask_bits(value)}, ptr {address}")
        else:
            lanes.emit(f"store {vector_type(value.type)} {lanes.vector(value)}, ptr {address}")

    def written_shapes(self) -> dict[str, Shape]:
        """What this block leaves in registers that later blocks read (after a dry run)."""
        live = self.program.live_out[self.last]
        return {name: value.shape for name in self._dirty if name in live and (value := self._environment[name]) is not None}

    # -- instructions

    def predicate(self, step: Step) -> Value | None:
        """The guard of an instruction that has one, negation included."""
        guard = step.instruction.guard
        assert guard is not None
        value = self.read(guard.register)
        if value is None or not guard.negated:
            return value
        return self.lanes.operation("xor", value, self.lanes.constant("i1", 1))

    def apply(self, step: Step) -> None:
        """An `op` or `warp_op` form: values in, values out."""
        assert step.form is not None
        builder = self.lanes if step.form.kind == "op" else Warp(self.lanes, self.mask, self._scratch, self._collect)
        sources = [self.value(operand, type_) for operand, type_ in step.sources]
        known = [source for source in sources if source is not None]
        result = None
        if len(known) == len(sources):
            result = cast("Value | tuple[Value, ...]", step.form.emit(builder, *known, **step.modifiers))
        values = result if isinstance(result, tuple) else (result,) * len(step.results)
        for (operand, type_), value in zip(step.results, values, strict=False):  # of a pair, one may be wanted
            self.assign(operand, value, type_)
        if step.counts_fma and self.guard is not None and not self.lanes.dry:
            self._count_guarded_fma(step, self.guard)

    def _count_guarded_fma(self, step: Step, guard: Value) -> None:
        """Count the lanes of a guarded FMA at a site of its own; others are counted by the block's runs."""
        lanes, mask = self.lanes, self.lanes.mask_bits(guard)
        assert step.site is not None
        if self.mask is not None:
            mask = lanes.define(f"and i32 {mask}, {self.mask}")
        lanes.declare("i32 @llvm.ctpop.i32(i32)")
        active = lanes.define(f"zext i32 {lanes.define(f'call i32 @llvm.ctpop.i32(i32 {mask})')} to i64")
        offset = ctypes.sizeof(abi.SiteCounts) * step.site + abi.SiteCounts.lanes.offset
        place = self.address(self.context_field("site_counts"), offset)
        total = lanes.define(f"load i64, ptr {place}")
        lanes.emit(f"store i64 {lanes.define(f'add i64 {total}, {active}')}, ptr {place}")

    def _scratch(self) -> str:
        """Memory for values on their way between lanes."""
        return self.context_address("values")

    def _collect(self, number: int, operands: Sequence[Value], results: int) -> list[Value]:
        """Have the runtime carry out a collective on 64-bit operands."""
        lanes, wide = self.lanes, vector_type("i64")
        if lanes.dry:
            return [lanes.full("i64", "%dry")] * results
        places = [self.context_address("values", 8 * LANES * index) for index in range(max(len(operands), results))]
        for place, operand in zip(places, operands, strict=False):
            lanes.emit(f"store {wide} {lanes.vector(operand)}, ptr {place}")
        lanes.emit(f"call void {self.context_field('collect')}(ptr %context, i32 {number}, i32 {self.mask or -1})")
        return [lanes.full("i64", lanes.define(f"load {wide}, ptr {place}")) for place in places[:results]]

    def _special(self, name: str) -> Value:
        if name in CHANGING:
            return special_register(self, name)
        if name not in self._environment:
            self._environment[name] = special_register(self, name)
        return cast(Value, self._environment[name])


def _convert_literal(bits: int, width: int, wanted: int) -> int:
    """The bits of a float literal at the operand's width."""
    if width == wanted:
        return bits
    types = {32: ctypes.c_float, 64: ctypes.c_double}
    number = types[wanted](types[width].from_buffer_copy(bits.to_bytes(width // 8, "little")).value)
    return int.from_bytes(bytes(number), "little")
