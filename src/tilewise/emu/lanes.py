"""The 32-lane builder: LLVM IR for one warp, keeping uniform and patterned values as scalars.

Knows value shapes and LLVM's spelling; knows nothing of PTX, memory or control flow. In a dry run nothing is written and only the
shapes of the results matter: the analysis and the emission are the same code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from tilewise.emu.known import FOLD, extends_lanewise, known_lanes, result_bounds, result_zeros
from tilewise.emu.patterns import LANES, Shape, fits_below, trailing_zeros, wrap
from tilewise.emu.value import HALF, Half, MultiplyAdd, Value, bits_of, vector_type


class Lanes:
    """Builds straight-line code on 32-lane values."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.dry = False
        self.lazy = False
        """Whether loads and multiply-adds may wait until somebody needs them (Value.halves, Value.fma)."""
        self._count = 0

    # -- text

    def emit(self, text: str) -> None:
        """Emit a line."""
        if not self.dry:
            self.lines.append("  " + text)

    def define(self, text: str) -> str:
        """Emit `%t = text` and return the name."""
        if self.dry:
            return "%dry"
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Start a block of LLVM's."""
        if not self.dry:
            self.lines.append(f"{name}:")

    def fresh(self, stem: str) -> str:
        """Return a label or name that nothing else has."""
        self._count += 1
        return f"{stem}{self._count}"

    def declare(self, text: str) -> None:
        """Declare an intrinsic that is called."""
        self.declarations.add(f"declare {text}")

    # -- making values

    def constant(self, type_: str, value: int) -> Value:
        """An integer constant (or i1), wrapped to its width."""
        if type_ == "i1":
            return Value(type_, "true" if value & 1 else "false", constant=value & 1)
        value = wrap(value, bits_of(type_))
        return Value(type_, str(value), constant=value, zeros=trailing_zeros(value), low=value, high=value)

    def float_constant(self, type_: str, bits: int) -> Value:
        """A float or double constant from its bits. LLVM writes a float as the double of the same value."""
        if type_ == "float" and bits << 1 >> 24 & 0xFF == 0xFF and bits & 0x7FFFFF:  # a NaN: move sign and payload over
            bits = (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
        elif type_ == "float":
            bits = struct.unpack("<Q", struct.pack("<d", struct.unpack("<f", struct.pack("<I", bits))[0]))[0]
        return Value(type_, f"0x{bits:016X}")

    def full(self, type_: str, vector: str) -> Value:
        """A full value from a vector operand."""
        return Value(type_, vector=vector)

    def patterned(self, base: Value, offsets: tuple[int, ...]) -> Value:
        """base + offsets, a uniform value again where all offsets are the same."""
        bits = bits_of(base.type)
        offsets = tuple(wrap(offset, bits) for offset in offsets)
        if min(offsets) == max(offsets):
            return self.binary("add", base, self.constant(base.type, offsets[0])) if offsets[0] else base
        return Value(
            base.type, base.scalar, offsets=offsets, zeros=base.zeros, low=base.low, high=base.high, constant=base.constant
        )

    def of_shape(self, type_: str, shape: Shape, scalar: str, vector: str) -> Value:
        """A value of a known shape, given the name of its scalar or vector."""
        if shape.full:
            return self.full(type_, vector)
        if shape.constant is not None and shape.offsets is None:
            return self.constant(type_, shape.constant)
        if shape.constant is not None:
            scalar = str(shape.constant)
        return Value(
            type_,
            scalar,
            offsets=shape.offsets,
            zeros=shape.zeros,
            low=shape.low,
            high=shape.high,
            constant=shape.constant,
        )

    # -- views of a value

    def vector(self, value: Value) -> str:
        """The value as a vector operand."""
        if value.vector is not None:
            return value.vector
        wide = vector_type(value.type)
        if value.is_full:
            value.vector = self._join_halves(value) if value.halves is not None else self._emit_chain(value)
        elif value.is_uniform and value.scalar == "0":
            value.vector = "zeroinitializer"
        elif value.is_uniform and (value.constant is not None or value.scalar.startswith("0x")):  # type: ignore[union-attr]
            value.vector = self.literal(value.type, [value.scalar] * LANES)
        elif value.is_uniform:
            first = self.define(f"insertelement {wide} poison, {value.type} {value.scalar}, i32 0")
            value.vector = self.define(f"shufflevector {wide} {first}, {wide} poison, <{LANES} x i32> zeroinitializer")
        else:
            assert value.offsets is not None
            spread = self.vector(value.base())
            offsets = self.literal(value.type, value.offsets)
            value.vector = self.define(f"add {wide} {spread}, {offsets}")
        return value.vector

    def _join_halves(self, value: Value) -> str:
        """A full value from its halves."""
        assert value.halves is not None
        low, high = value.halves
        size = bits_of(value.type) // 8
        in_memory = not (low.operand or low.is_splat or high.operand or high.is_splat)
        if in_memory and low.pointer == high.pointer and high.offset == low.offset + HALF * size:
            return self.define(f"load {vector_type(value.type)}, ptr {self.offset_pointer(low.pointer, low.offset)}, align 1")
        half, order = f"<{HALF} x {value.type}>", self.literal("i32", range(LANES))
        parts = [self.half(value, index) for index in range(2)]
        if parts[0] == parts[1]:
            order = self.literal("i32", [lane % HALF for lane in range(LANES)])
        return self.define(f"shufflevector {half} {parts[0]}, {half} {parts[1]}, <{LANES} x i32> {order}")

    def half(self, value: Value, index: int) -> str:
        """Lanes 0 to 15 (`index` 0) or 16 to 31 of a value as a vector operand, loaded here and now if it stands in memory."""
        half = f"<{HALF} x {value.type}>"
        if value.halves is None:
            order = self.literal("i32", range(HALF * index, HALF * (index + 1)))
            wide = vector_type(value.type)
            return self.define(f"shufflevector {wide} {self.vector(value)}, {wide} poison, <{HALF} x i32> {order}")
        part = value.halves[index]
        if part.operand:
            return part.operand
        pointer = self.offset_pointer(part.pointer, part.offset)
        if not part.is_splat:
            return self.define(f"load {half}, ptr {pointer}, align 1")
        scalar = self.define(f"load {value.type}, ptr {pointer}, align 1")
        first = self.define(f"insertelement {half} poison, {value.type} {scalar}, i32 0")
        return self.define(f"shufflevector {half} {first}, {half} poison, <{HALF} x i32> zeroinitializer")

    def offset_pointer(self, pointer: str, offset: int) -> str:
        """pointer + offset bytes."""
        return self.define(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def _emit_chain(self, value: Value) -> str:
        """The multiply-adds that lead to a value, from the first that has not been emitted."""
        links: list[Value] = []
        while value.vector is None and value.fma is not None:
            links.append(value)
            value = value.fma.c
        for link in reversed(links):
            assert link.fma is not None
            link.vector = self.intrinsic("llvm.fma", link.fma.a, link.fma.b, link.fma.c).vector
        assert links[0].vector is not None
        return links[0].vector

    def literal(self, type_: str, items: object) -> str:
        """A vector literal."""
        return "<" + ", ".join(f"{type_} {item}" for item in items) + ">"  # type: ignore[attr-defined]

    def mask_bits(self, value: Value) -> str:
        """An i1 value as an i32 with one bit a lane."""
        if value.is_uniform:
            return self.define(f"sext i1 {value.scalar} to i32")
        return self.define(f"bitcast <{LANES} x i1> {self.vector(value)} to i32")

    def from_mask(self, mask: str) -> Value:
        """An i1 value from an i32 with one bit a lane."""
        return self.full("i1", self.define(f"bitcast i32 {mask} to <{LANES} x i1>"))

    # -- integers

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """An integer operation by its LLVM name, wrapping at the operands' width. Shift counts must be below the width."""
        if a.constant is not None and b.constant is not None:
            bits = bits_of(a.type)
            if a.is_uniform and b.is_uniform:
                return self.constant(a.type, FOLD[op](a.constant, b.constant, bits))
            both = zip(known_lanes(a), known_lanes(b), strict=True)
            return self.patterned(self.constant(a.type, 0), tuple(FOLD[op](x, y, bits) for x, y in both))
        if a.is_uniform and b.is_uniform:
            return self._uniform_binary(op, a, b)
        if not (a.is_full or b.is_full):
            result = self._patterned_binary(op, a, b)
            if result is not None:
                return result
        return self.full(a.type, self.define(f"{op} {vector_type(a.type)} {self.vector(a)}, {self.vector(b)}"))

    def _uniform_binary(self, op: str, a: Value, b: Value) -> Value:
        if b.constant == 0 and op in ("add", "sub", "or", "xor", "shl", "lshr", "ashr"):
            return a
        if a.constant == 0 and op in ("add", "or", "xor"):
            return b
        zeros = result_zeros(op, a, b)
        low, high = result_bounds(op, a, b)
        if low is not None and low == high:
            return self.constant(a.type, low)
        return Value(a.type, self.define(f"{op} {a.type} {a.scalar}, {b.scalar}"), zeros=zeros, low=low, high=high)

    def _patterned_binary(self, op: str, a: Value, b: Value) -> Value | None:
        """The result where it is again scalar + offsets whatever the scalar; else None."""
        none = (0,) * LANES
        va, vb = a.offsets or none, b.offsets or none
        count = b.constant if b.is_uniform else None
        match op:
            case "add":
                return self.patterned(self.binary("add", a.base(), b.base()), tuple(x + y for x, y in zip(va, vb, strict=True)))
            case "sub":
                return self.patterned(self.binary("sub", a.base(), b.base()), tuple(x - y for x, y in zip(va, vb, strict=True)))
            case "mul":
                if count is None and (a.constant is None or not a.is_uniform):
                    return None
                value, factor = (a, b) if count is not None else (b, a)
                assert value.offsets is not None and factor.constant is not None
                scaled = tuple(offset * factor.constant for offset in value.offsets)
                return self.patterned(self.binary("mul", value.base(), factor), scaled)
            case "shl" if count is not None:
                return self.patterned(self.binary("shl", a.base(), b), tuple(x << count for x in va))
            case "lshr" | "ashr" if count is not None and a.offsets is not None and fits_below(va, a.zeros):
                return self.patterned(self.binary(op, a.base(), b), tuple(x >> count for x in va))
            case "and" | "or" | "xor":
                return self._patterned_bitwise(op, a, b)
        return None

    def _patterned_bitwise(self, op: str, a: Value, b: Value) -> Value | None:
        """Bitwise with lanes known beforehand: the bits below the scalar's known zeros belong to the offsets alone."""
        if b.constant is None:
            a, b = b, a
        if b.constant is None or not fits_below(a.offsets or (0,), a.zeros):
            return None
        low_bits, bits, known = (1 << a.zeros) - 1, bits_of(a.type), known_lanes(b)
        above = {lane & ~low_bits for lane in known}
        if len(above) > 1:
            return None
        high = self.binary(op, a.base(), self.constant(a.type, above.pop()))
        offsets = a.offsets or (0,) * LANES
        return self.patterned(high, tuple(FOLD[op](x, lane & low_bits, bits) for x, lane in zip(offsets, known, strict=True)))

    def extend(self, op: str, type_: str, a: Value) -> Value:
        """sext or zext to a wider integer type."""
        bits, wide = bits_of(a.type), vector_type(type_)
        if a.is_uniform:
            return self._extend_uniform(op, type_, a)
        if a.is_patterned and extends_lanewise(op, a, bits):
            assert a.offsets is not None
            return self.patterned(self._extend_uniform(op, type_, a.base()), a.offsets)
        return self.full(type_, self.define(f"{op} {vector_type(a.type)} {self.vector(a)} to {wide}"))

    def _extend_uniform(self, op: str, type_: str, a: Value) -> Value:
        bits = bits_of(a.type)
        if a.constant is not None:
            return self.constant(type_, a.constant if op == "sext" else a.constant & ((1 << bits) - 1))
        low, high = a.low, a.high
        if low is None or (op == "zext" and low < 0):
            low, high = (0, (1 << bits) - 1) if op == "zext" and type_ != a.type else (-(1 << bits - 1), (1 << bits - 1) - 1)
        scalar = self.define(f"{op} {a.type} {a.scalar} to {type_}")
        return Value(type_, scalar, zeros=a.zeros, low=low, high=high)

    def truncate(self, type_: str, a: Value) -> Value:
        """Keep the low bits."""
        if a.constant is not None and a.is_uniform:
            return self.constant(type_, a.constant)
        if a.is_full:
            return self.full(type_, self.define(f"trunc {vector_type(a.type)} {self.vector(a)} to {vector_type(type_)}"))
        bits = bits_of(type_)
        inside = a.low is not None and a.high is not None and a.low >= -(1 << bits - 1) and a.high < 1 << bits - 1
        if a.constant is not None:
            base = self.constant(type_, a.constant)
        else:
            base = Value(
                type_,
                self.define(f"trunc {a.type} {a.scalar} to {type_}"),
                zeros=a.zeros,
                low=a.low if inside else None,
                high=a.high if inside else None,
            )
        return self.patterned(base, a.offsets) if a.offsets is not None else base

    # -- anything elementwise

    def elementwise(self, type_: str, text: Callable[[str, list[str]], str], *args: Value) -> Value:
        """An instruction that exists for scalars and vectors alike.

        `text(wide, operands)` gives it for `wide` = "" (scalar types) or "v" (vectors of 32); the helper `spell` writes types.
        """
        if all(arg.is_uniform for arg in args):
            return Value(type_, self.define(text("", [arg.scalar for arg in args])))  # type: ignore[misc]
        return self.full(type_, self.define(text("v", [self.vector(arg) for arg in args])))

    def operation(self, op: str, *args: Value) -> Value:
        """`op type a, b`: operands and result of one type, such as fadd or udiv."""
        type_ = args[0].type
        return self.elementwise(type_, lambda wide, names: f"{op} {spell(wide, type_)} {', '.join(names)}", *args)

    def convert(self, op: str, type_: str, a: Value) -> Value:
        """`op a to type`: sitofp, fptosi, fpext, bitcast and their like."""
        return self.elementwise(type_, lambda wide, names: f"{op} {spell(wide, a.type)} {names[0]} to {spell(wide, type_)}", a)

    def compare(self, op: str, a: Value, b: Value) -> Value:
        """`icmp ult` or `fcmp olt` and their like."""
        if a.is_uniform and b.is_uniform and op in ("icmp eq", "icmp ne") and None not in (a.constant, b.constant):
            return self.constant("i1", int((a.constant == b.constant) == (op == "icmp eq")))
        return self.elementwise("i1", lambda wide, names: f"{op} {spell(wide, a.type)} {names[0]}, {names[1]}", a, b)

    def intrinsic(self, name: str, *args: Value) -> Value:
        """An overloaded LLVM intrinsic whose operands and result share a type: llvm.fma, llvm.smax, llvm.ctpop."""
        type_ = args[0].type
        suffix = {"half": "f16", "float": "f32", "double": "f64"}.get(type_, type_)

        def text(wide: str, names: list[str]) -> str:
            spelled = spell(wide, type_)
            full_name = f"@{name}.{'v32' if wide else ''}{suffix}"
            self.declare(f"{spelled} {full_name}({', '.join([spelled] * len(names))})")
            return f"call {spelled} {full_name}({', '.join(f'{spelled} {operand}' for operand in names)})"

        return self.elementwise(type_, text, *args)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c, rounded once; single precision only when it is asked for, so that chains can be emitted together."""
        if self.dry or not self.lazy or a.type != "float" or (a.is_uniform and b.is_uniform and c.is_uniform):
            return self.intrinsic("llvm.fma", a, b, c)
        return Value(a.type, fma=MultiplyAdd(a, b, c))

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """Lane by lane a where `condition` holds, else b."""
        if condition.constant is not None and condition.is_uniform:
            return a if condition.constant else b
        if condition.is_uniform and not (a.is_uniform and b.is_uniform):
            # A scalar condition on vectors keeps patterns whose offsets agree.
            if a.offsets is not None and a.offsets == b.offsets:
                return self.patterned(self.select(condition, a.base(), b.base()), a.offsets)
            wide = vector_type(a.type)
            name = self.define(f"select i1 {condition.scalar}, {wide} {self.vector(a)}, {wide} {self.vector(b)}")
            return self.full(a.type, name)
        wide_text = lambda wide, names: (  # noqa: E731 - a one-off spelling
            f"select {spell(wide, 'i1')} {names[0]}, {spell(wide, a.type)} {names[1]}, {spell(wide, a.type)} {names[2]}"
        )
        result = self.elementwise(a.type, wide_text, condition, a, b)
        if result.is_uniform:
            result.zeros = min(a.zeros, b.zeros)
            if None not in (a.low, b.low, a.high, b.high):
                result.low, result.high = min(a.low, b.low), max(a.high, b.high)  # type: ignore[type-var]
        return result

    def bitcast(self, type_: str, a: Value) -> Value:
        """Reinterpret the bits at the same width."""
        if a.type == type_:
            return a
        if a.cast is None or a.cast.type != type_:
            a.cast = self._cast(type_, a)
        return a.cast

    def _cast(self, type_: str, a: Value) -> Value:
        if a.halves is None:
            return self.convert("bitcast", type_, a)
        if a.is_uniform:
            return Value(type_, self.convert("bitcast", type_, a).scalar, halves=a.halves)
        return Value(type_, halves=self._cast_halves(type_, a))

    def _cast_halves(self, type_: str, a: Value) -> tuple[Half, Half]:
        """Memory has no type; operands are cast, one for both halves where they are the same."""
        assert a.halves is not None
        casts = {
            half: Half(self.define(f"bitcast <{HALF} x {a.type}> {half.operand} to <{HALF} x {type_}>")) if half.operand else half
            for half in a.halves
        }
        return casts[a.halves[0]], casts[a.halves[1]]


def spell(wide: str, type_: str) -> str:
    """A type as a scalar ("") or as a vector of 32 ("v")."""
    return vector_type(type_) if wide else type_
