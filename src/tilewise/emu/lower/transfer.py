"""The bytes of an access that is known to be good, all lanes active, with few instructions for its lane pattern."""

from __future__ import annotations

from tilewise.emu.isa.memory import Access
from tilewise.emu.isa.spec import LLVM_TYPES
from tilewise.emu.lanes import Lanes
from tilewise.emu.patterns import LANES, is_contiguous, is_repeated
from tilewise.emu.value import HALF, Half, Value, vector_type

FEW = 4
"""Up to so many distinct addresses are loaded one by one and blended."""
WINDOWS = (16, 32, 64)
"""Elements that are loaded at once for lanes that read close together: whole registers."""


class Transfer:
    """Emits loads and stores at host pointers."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes

    def at_offsets(self, access: Access, pointer: str, offsets: tuple[int, ...], values: list[Value]) -> list[Value]:
        """Load or store at pointer + offsets; return what was loaded, element by element."""
        if access.count > 1 and access.kind == "load" and self.lanes.lazy and is_repeated(offsets, access.bytes):
            return self._load_repeated_block(access, self._moved(pointer, offsets[0]))
        if access.count > 1 and is_contiguous(offsets, access.bytes):
            at = self._moved(pointer, offsets[0])
            return self._load_block(access, at) if access.kind == "load" else self._store_block(access, at, values)
        if access.count > 1 and access.kind == "load" and (window := _window(access, offsets)) is not None:
            return self._load_window(access, pointer, offsets, window)
        results = []
        for element in range(access.count):
            moved = tuple(offset + element * access.element_bytes for offset in offsets)
            if access.kind == "load":
                results.append(self._load(LLVM_TYPES[access.type], pointer, moved, access.element_bytes))
            else:
                self._store(values[element], pointer, moved, access.element_bytes)
        return results

    def at_pointers(self, access: Access, pointers: str, values: list[Value]) -> list[Value]:
        """Load or store at a vector of pointers, one a lane."""
        lanes, type_, results = self.lanes, LLVM_TYPES[access.type], []
        for element in range(access.count):
            at = pointers
            if element:
                at = lanes.define(f"getelementptr i8, <{LANES} x ptr> {pointers}, i64 {element * access.element_bytes}")
            if access.kind == "load":
                results.append(lanes.full(type_, self._gather(type_, at, LANES)))
            else:
                self._scatter(values[element], at)
        return results

    def _load(self, type_: str, pointer: str, offsets: tuple[int, ...], size: int) -> Value:
        lanes = self.lanes
        distinct = sorted(set(offsets))
        if len(distinct) == 1:
            splat = Half(pointer=pointer, offset=distinct[0], is_splat=True)
            scalar = self._load_scalar(type_, pointer, distinct[0])
            return Value(type_, scalar, halves=(splat, splat) if lanes.lazy else None)
        if lanes.lazy and (halves := self._halves(type_, pointer, offsets, size)) is not None:
            return Value(type_, halves=halves)
        if is_contiguous(offsets, size):
            return lanes.full(type_, lanes.define(f"load {vector_type(type_)}, ptr {self._moved(pointer, offsets[0])}, align 1"))
        if len(distinct) <= FEW:
            return self._blend(type_, pointer, offsets, distinct)
        if len(distinct) in (8, 16):
            places = lanes.literal("i64", distinct)
            at = lanes.define(f"getelementptr i8, ptr {pointer}, <{len(distinct)} x i64> {places}")
            loaded, narrow = self._gather(type_, at, len(distinct)), f"<{len(distinct)} x {type_}>"
            if lanes.lazy and list(offsets) == distinct * 2:
                return Value(type_, halves=(Half(loaded), Half(loaded)))
            order = lanes.literal("i32", [distinct.index(offset) for offset in offsets])
            return lanes.full(type_, lanes.define(f"shufflevector {narrow} {loaded}, {narrow} poison, <{LANES} x i32> {order}"))
        return lanes.full(type_, self._gather(type_, self._pointers(pointer, offsets), LANES))

    def _halves(self, type_: str, pointer: str, offsets: tuple[int, ...], size: int) -> tuple[Half, Half] | None:
        """Each half of the warp by itself, to be loaded where it is used: one element for all its lanes, or 16 side by side.

        None where that is not how they stand in memory.
        """
        halves = []
        for lanes_of_half in (offsets[:HALF], offsets[HALF:]):
            if len(set(lanes_of_half)) == 1:
                halves.append(Half(pointer=pointer, offset=lanes_of_half[0], is_splat=True))
            elif all(offset == lanes_of_half[0] + lane * size for lane, offset in enumerate(lanes_of_half)):
                halves.append(Half(pointer=pointer, offset=lanes_of_half[0]))
            else:
                return None
        return halves[0], halves[1]

    def _moved(self, pointer: str, offset: int) -> str:
        return self.lanes.define(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def _load_scalar(self, type_: str, pointer: str, offset: int) -> str:
        return self.lanes.define(f"load {type_}, ptr {self._moved(pointer, offset)}, align 1")

    def _blend(self, type_: str, pointer: str, offsets: tuple[int, ...], distinct: list[int]) -> Value:
        lanes, wide = self.lanes, vector_type(type_)
        result = lanes.vector(Value(type_, self._load_scalar(type_, pointer, distinct[0])))
        for offset in distinct[1:]:
            spread = lanes.vector(Value(type_, self._load_scalar(type_, pointer, offset)))
            where = lanes.literal("i1", ["true" if x == offset else "false" for x in offsets])
            result = lanes.define(f"select <{LANES} x i1> {where}, {wide} {spread}, {wide} {result}")
        return lanes.full(type_, result)

    def _store(self, value: Value, pointer: str, offsets: tuple[int, ...], size: int) -> None:
        lanes = self.lanes
        if len(set(offsets)) == 1:  # all lanes to one place: the last one stays
            scalar = value.scalar
            if not value.is_uniform:
                scalar = lanes.define(f"extractelement {vector_type(value.type)} {lanes.vector(value)}, i32 {LANES - 1}")
            lanes.emit(f"store {value.type} {scalar}, ptr {self._moved(pointer, offsets[0])}, align 1")
        elif is_contiguous(offsets, size):
            lanes.emit(f"store {vector_type(value.type)} {lanes.vector(value)}, ptr {self._moved(pointer, offsets[0])}, align 1")
        else:
            self._scatter(value, self._pointers(pointer, offsets))

    def _pointers(self, pointer: str, offsets: tuple[int, ...]) -> str:
        return self.lanes.define(f"getelementptr i8, ptr {pointer}, <{LANES} x i64> {self.lanes.literal('i64', offsets)}")

    def _gather(self, type_: str, pointers: str, count: int) -> str:
        wide, name = f"<{count} x {type_}>", f"@llvm.masked.gather.v{count}{_mangled(type_)}.v{count}p0"
        self.lanes.declare(f"{wide} {name}(<{count} x ptr>, i32, <{count} x i1>, {wide})")
        every = self.lanes.literal("i1", ["true"] * count)
        return self.lanes.define(f"call {wide} {name}(<{count} x ptr> {pointers}, i32 1, <{count} x i1> {every}, {wide} poison)")

    def _scatter(self, value: Value, pointers: str) -> None:
        wide, name = vector_type(value.type), f"@llvm.masked.scatter.v{LANES}{_mangled(value.type)}.v{LANES}p0"
        self.lanes.declare(f"void {name}({wide}, <{LANES} x ptr>, i32, <{LANES} x i1>)")
        every = self.lanes.literal("i1", ["true"] * LANES)
        vector = self.lanes.vector(value)
        self.lanes.emit(f"call void {name}({wide} {vector}, <{LANES} x ptr> {pointers}, i32 1, <{LANES} x i1> {every})")

    def _load_repeated_block(self, access: Access, pointer: str) -> list[Value]:
        """Half a warp side by side and the other half the same: each element of 16 lanes once."""
        lanes, type_, count = self.lanes, LLVM_TYPES[access.type], access.count
        wide = f"<{HALF * count} x {type_}>"
        whole = lanes.define(f"load {wide}, ptr {pointer}, align 1")
        results = []
        for element in range(count):
            order = lanes.literal("i32", [lane * count + element for lane in range(HALF)])
            half = Half(lanes.define(f"shufflevector {wide} {whole}, {wide} poison, <{HALF} x i32> {order}"))
            results.append(Value(type_, halves=(half, half)))
        return results

    def _load_window(self, access: Access, pointer: str, offsets: tuple[int, ...], window: int) -> list[Value]:
        """Lanes close together in some order: all that they read in one load, then each element picked out."""
        lanes, type_, size, first = self.lanes, LLVM_TYPES[access.type], access.element_bytes, min(offsets)
        wide = f"<{window} x {type_}>"
        whole = lanes.define(f"load {wide}, ptr {self._moved(pointer, first)}, align 1")
        results = []
        for element in range(access.count):
            moved = tuple(offset + element * size for offset in offsets)
            places = [(offset - first) // size for offset in moved]
            halves = self._halves(type_, pointer, moved, size) if lanes.lazy else None
            if halves is None and lanes.lazy:
                low, high = (self._pick(wide, whole, places[start : start + HALF]) for start in (0, HALF))
                halves = (Half(low), Half(low if places[:HALF] == places[HALF:] else high))
            if halves is not None:
                results.append(Value(type_, halves=halves))
            else:
                results.append(lanes.full(type_, self._pick(wide, whole, places)))
        return results

    def _pick(self, wide: str, whole: str, places: list[int]) -> str:
        """Elements of a vector, by their places."""
        order = self.lanes.literal("i32", places)
        return self.lanes.define(f"shufflevector {wide} {whole}, {wide} poison, <{len(places)} x i32> {order}")

    def _load_block(self, access: Access, pointer: str) -> list[Value]:
        """Lanes side by side, each with `count` elements: one load, then each element picked out."""
        lanes, type_, count = self.lanes, LLVM_TYPES[access.type], access.count
        wide = f"<{LANES * count} x {type_}>"
        whole = lanes.define(f"load {wide}, ptr {pointer}, align 1")
        results = []
        for element in range(count):
            order = lanes.literal("i32", [lane * count + element for lane in range(LANES)])
            picked = lanes.define(f"shufflevector {wide} {whole}, {wide} poison, <{LANES} x i32> {order}")
            results.append(lanes.full(type_, picked))
        return results

    def _store_block(self, access: Access, pointer: str, values: list[Value]) -> list[Value]:
        """The reverse of `_load_block`."""
        lanes, type_, parts, width = self.lanes, values[0].type, [self.lanes.vector(value) for value in values], LANES
        while len(parts) > 1:
            order = lanes.literal("i32", range(2 * width))
            narrow = f"<{width} x {type_}>"
            parts = [
                lanes.define(f"shufflevector {narrow} {a}, {narrow} {b}, <{2 * width} x i32> {order}")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            width *= 2
        wide = f"<{width} x {type_}>"
        order = lanes.literal("i32", [element * LANES + lane for lane in range(LANES) for element in range(access.count)])
        woven = lanes.define(f"shufflevector {wide} {parts[0]}, {wide} poison, <{width} x i32> {order}")
        lanes.emit(f"store {wide} {woven}, ptr {pointer}, align 1")
        return []


def _window(access: Access, offsets: tuple[int, ...]) -> int | None:
    """Elements from the first to the last that any lane reads, where they are few enough to be loaded at once; else None."""
    size, first = access.element_bytes, min(offsets)
    span = (max(offsets) - first) // size + access.count
    whole = all((offset - first) % size == 0 for offset in offsets)
    return span if whole and span in WINDOWS and len(set(offsets)) > 1 else None


def _mangled(type_: str) -> str:
    return {"float": "f32", "double": "f64"}.get(type_, type_)
