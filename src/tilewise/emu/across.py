"""What the lanes of a warp do together: shuffles, votes, matches, reductions. Builds on the 32-lane builder; knows no PTX text.

What hangs on lanes known at compile time becomes a few vector instructions; matches, and reductions over some of the lanes, are
the runtime's (warp.c). A lane that is not active takes no part, and what is read from it is unpredictable, as in the manual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewise.emu.lanes import Lanes
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value, vector_type

ALL = (1 << LANES) - 1
COLLECTIVES = (
    *("match.any", "match.all"),
    *(f"{operation}.{type_}" for type_ in ("u32", "s32") for operation in ("add", "min", "max")),
    *("and.b32", "or.b32", "xor.b32"),
    *(f"{operation}{sign}{nan}.f32" for operation in ("min", "max") for sign in ("", ".abs") for nan in ("", ".NaN")),
)
"""enum tw_collective, in the manual's words."""

_REDUCE = {"u32": {"min": "umin", "max": "umax"}, "s32": {"min": "smin", "max": "smax"}}

Call = Callable[[int, Sequence[Value], int], list[Value]]
"""Have the runtime carry out collective number n on operands, for so many results: 64-bit values, as the results are."""


class Warp:
    """The lanes that carry out one instruction. `mask` holds a bit for each of them; None: all."""

    def __init__(self, lanes: Lanes, mask: str | None, scratch: Callable[[], str], call: Call) -> None:
        self.lanes = lanes
        self._mask = mask
        self._scratch = scratch
        """Gives the address of 32 words that nobody else uses meanwhile."""
        self._call = call

    @property
    def active(self) -> Value:
        """The lanes as an i32."""
        return self.lanes.constant("i32", ALL) if self._mask is None else Value("i32", self._mask)

    @property
    def index(self) -> Value:
        """Each lane's number."""
        return self.lanes.patterned(self.lanes.constant("i32", 0), tuple(range(LANES)))

    def ballot(self, predicate: Value) -> Value:
        """A bit for each active lane where the predicate holds."""
        return self.lanes.binary("and", Value("i32", self.lanes.mask_bits(predicate)), self.active)

    # -- shuffles

    def shuffle(self, mode: str, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
        """Each lane's value of another lane, and whether that lane is in range (PTX ISA, "shfl.sync")."""
        lanes = self.lanes
        if b.is_uniform and c.is_uniform and b.constant is not None and c.constant is not None:
            found = [source_lane(mode, lane, b.constant, c.constant) for lane in range(LANES)]
            return self._arrange(a, [source for source, _ in found]), self._predicate([valid for _, valid in found])
        source, valid = self._sources(mode, b, c)
        if a.is_uniform:
            return a, valid
        if mode == "idx" and b.is_uniform and c.is_uniform and c.constant is not None and c.constant & 0x1F1F == LANES - 1:
            lane = lanes.binary("and", b, lanes.constant("i32", LANES - 1))
            return Value(
                a.type, lanes.define(f"extractelement {vector_type(a.type)} {lanes.vector(a)}, i32 {lane.scalar}")
            ), valid
        return self._pick(a, source), valid

    def _sources(self, mode: str, b: Value, c: Value) -> tuple[Value, Value]:
        """source_lane for values of run time."""
        lanes, low = self.lanes, self.lanes.constant("i32", LANES - 1)
        distance, clamp = lanes.binary("and", b, low), lanes.binary("and", c, low)
        segment = lanes.binary("and", lanes.binary("lshr", c, lanes.constant("i32", 8)), low)
        inside = lanes.binary("xor", segment, low)
        first = lanes.binary("and", self.index, segment)
        last = lanes.binary("or", first, lanes.binary("and", clamp, inside))
        match mode:
            case "up":
                source = lanes.binary("sub", self.index, distance)
            case "down":
                source = lanes.binary("add", self.index, distance)
            case "bfly":
                source = lanes.binary("xor", self.index, distance)
            case _:
                source = lanes.binary("or", first, lanes.binary("and", distance, inside))
        valid = lanes.compare("icmp sge" if mode == "up" else "icmp sle", source, last)
        return lanes.select(valid, source, self.index), valid

    def _arrange(self, a: Value, sources: list[int]) -> Value:
        """Lane l's value of lane sources[l]."""
        lanes, wide = self.lanes, vector_type(a.type)
        if a.is_uniform:
            return a
        if a.offsets is not None:
            return lanes.patterned(a.base(), tuple(a.offsets[source] for source in sources))
        if len(set(sources)) == 1:
            return Value(a.type, lanes.define(f"extractelement {wide} {lanes.vector(a)}, i32 {sources[0]}"))
        order = lanes.literal("i32", sources)
        return lanes.full(a.type, lanes.define(f"shufflevector {wide} {lanes.vector(a)}, {wide} poison, <{LANES} x i32> {order}"))

    def _predicate(self, holds: list[bool]) -> Value:
        if len(set(holds)) == 1:
            return self.lanes.constant("i1", int(holds[0]))
        return self.lanes.full("i1", self.lanes.literal("i1", ["true" if each else "false" for each in holds]))

    def _pick(self, a: Value, source: Value) -> Value:
        """Each lane's value of the lane that `source` names, by way of memory."""
        lanes, wide = self.lanes, vector_type(a.type)
        if lanes.dry:
            return lanes.full(a.type, "%dry")
        place = self._scratch()
        lanes.emit(f"store {wide} {lanes.vector(a)}, ptr {place}")
        at = lanes.define(f"getelementptr {a.type}, ptr {place}, <{LANES} x i32> {lanes.vector(source)}")
        name = f"@llvm.masked.gather.v{LANES}{a.type}.v{LANES}p0"
        lanes.declare(f"{wide} {name}(<{LANES} x ptr>, i32, <{LANES} x i1>, {wide})")
        every = lanes.literal("i1", ["true"] * LANES)
        return lanes.full(
            a.type, lanes.define(f"call {wide} {name}(<{LANES} x ptr> {at}, i32 4, <{LANES} x i1> {every}, {wide} poison)")
        )

    # -- votes

    def vote(self, mode: str, predicate: Value, member: Value) -> Value:
        """Whether the predicate holds in all, in any, or alike in all of the lanes that `member` names."""
        lanes, zero = self.lanes, self.lanes.constant("i32", 0)
        holds = lanes.binary("and", self.ballot(predicate), member)
        fails = lanes.binary("xor", holds, lanes.binary("and", member, self.active))
        nobody, everybody = lanes.compare("icmp eq", holds, zero), lanes.compare("icmp eq", fails, zero)
        match mode:
            case "all":
                return everybody
            case "any":
                return lanes.operation("xor", nobody, lanes.constant("i1", 1))
            case _:
                return lanes.operation("or", nobody, everybody)

    def elect(self, member: Value) -> tuple[Value, Value]:
        """The lowest of the lanes that `member` names, and whether a lane is the one."""
        lanes = self.lanes
        named = lanes.binary("and", member, self.active)
        if named.constant is not None and named.is_uniform:
            lowest = lanes.constant("i32", (named.constant & -named.constant).bit_length() - 1)
        else:
            lowest = self._count_zeros(named)
        return lowest, lanes.compare("icmp eq", self.index, lowest)

    def _count_zeros(self, bits: Value) -> Value:
        """The number of the lowest set bit."""

        def text(wide: str, names: list[str]) -> str:
            type_, suffix = (vector_type("i32"), f"v{LANES}i32") if wide else ("i32", "i32")
            self.lanes.declare(f"{type_} @llvm.cttz.{suffix}({type_}, i1)")
            return f"call {type_} @llvm.cttz.{suffix}({type_} {names[0]}, i1 false)"

        return self.lanes.elementwise("i32", text, bits)

    # -- by the runtime

    def match(self, mode: str, a: Value, member: Value) -> tuple[Value, Value]:
        """The named lanes that hold a lane's value (`any`), or all of them and whether they hold the same (`all`)."""
        wide = a if a.type == "i64" else self.lanes.extend("zext", "i64", a)
        found = self._collect(f"match.{mode}", [wide, self.lanes.extend("zext", "i64", member)], 2)
        lanes = [self.lanes.truncate("i32", value) for value in found]
        return lanes[0], self.lanes.compare("icmp ne", lanes[1], self.lanes.constant("i32", 0))

    def reduce(self, operation: str, type_: str, a: Value, member: Value) -> Value:
        """All named lanes' values as one."""
        lanes = self.lanes
        base = operation.split(".")[0]
        if self._mask is None and member.constant == -1 and member.is_uniform and type_ != "f32":
            name = _REDUCE.get(type_, {}).get(base, base)
            lanes.declare(f"i32 @llvm.vector.reduce.{name}.v{LANES}i32({vector_type('i32')})")
            return Value(
                "i32", lanes.define(f"call i32 @llvm.vector.reduce.{name}.v{LANES}i32({vector_type('i32')} {lanes.vector(a)})")
            )
        bits = lanes.bitcast("i32", a)
        wide = [lanes.extend("zext", "i64", value) for value in (bits, member)]
        (result,) = self._collect(f"{operation}.{type_}", wide, 1)
        narrow = lanes.truncate("i32", result)
        if member.is_uniform:
            first = self._count_zeros(self.active)
            narrow = Value("i32", lanes.define(f"extractelement {vector_type('i32')} {lanes.vector(narrow)}, i32 {first.scalar}"))
        return lanes.bitcast(a.type, narrow)

    def _collect(self, name: str, operands: Sequence[Value], results: int) -> list[Value]:
        return self._call(COLLECTIVES.index(name), operands, results)


def source_lane(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The lane that `lane` reads from in a shuffle, and whether it is in range (else `lane` itself)."""
    distance, clamp, segment = b & 31, c & 31, c >> 8 & 31
    last = lane & segment | clamp & ~segment
    source = {
        "up": lane - distance,
        "down": lane + distance,
        "bfly": lane ^ distance,
        "idx": lane & segment | distance & ~segment,
    }[mode]
    valid = source >= last if mode == "up" else source <= last
    return (source if valid else lane), valid
