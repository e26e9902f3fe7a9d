"""Hypothesis strategies for the kernels of `programs`: what is drawn has no race, no fault and no endless loop, and shrinks.

What the emulator's lane analysis has to get right is drawn too: how indices and addresses follow from the thread's number and
from variables, and which branches part the lanes. Scratch registers: %r2, %r3, %rd30, %rd31.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from programs import (
    FLOATS,
    INTS,
    LOCAL_BYTES,
    PLANES,
    PREDICATES,
    TEST,
    TILE,
    UNIFORM,
    WIDES,
    Barrier,
    If,
    Jump,
    Kernel,
    Line,
    Loop,
    Statement,
)

CONSTANTS = st.one_of(
    st.integers(0, 33),
    st.sampled_from(
        [64, 128, 255, 256, 511, 1023, 4096, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFE0, 0xFFFFFFF1]
    ),
    st.integers(-40, -1).map(lambda number: number & 0xFFFFFFFF),
)
WIDE_CONSTANTS = st.one_of(CONSTANTS, st.sampled_from([-1, -32, 1 << 32, (1 << 32) - 1, (1 << 63) - 1, -(1 << 63)]))
SHIFTS = st.one_of(st.integers(0, 31), st.sampled_from([32, 33, 63, 64, 255]))

BINARY = (
    "add.s32 add.u32 sub.s32 mul.lo.s32 mul.lo.u32 and.b32 or.b32 xor.b32 min.s32 min.u32 max.s32 max.u32 mul.hi.u32 mul.hi.s32"
)
WIDE_BINARY = "add.s64 sub.s64 mul.lo.s64 and.b64 or.b64 xor.b64 min.s64 max.u64"
UNARY = "neg.s32 abs.s32 not.b32 mov.b32 cvt.u32.u16 cvt.s32.s16 cvt.u32.u8 cvt.s32.s8"
RELATIONS = "eq.s32 ne.s32 lt.s32 le.s32 gt.s32 ge.s32 lt.u32 le.u32 gt.u32 ge.u32 eq.b32 ne.u32"
FLOAT_RELATIONS = "eq ne lt le gt ge equ neu ltu leu gtu geu"


@dataclass(frozen=True)
class Place:
    """What may stand at a point of the program."""

    depth: int = 0
    loops: int = 0
    """Loops round this point: their counters may be read."""
    is_uniform: bool = True
    """Whether all threads that are left come here together, so that a barrier may stand here."""
    may_jump: bool = False
    """Whether lanes may leave the innermost loop by themselves."""


def _of(*choices: str) -> st.SearchStrategy[str]:
    return st.sampled_from([word for choice in choices for word in choice.split()])


def sources(place: Place) -> st.SearchStrategy[str]:
    """A 32-bit operand."""
    counters = [f"%r{40 + depth}" for depth in range(place.loops)]
    return st.one_of(st.sampled_from([*INTS, *INTS, *UNIFORM, *counters]), CONSTANTS.map(str))


def uniform_sources() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(UNIFORM), CONSTANTS.map(str))


@st.composite
def guards(draw: st.DrawFn) -> str:
    """Nothing, mostly; or a guard."""
    return draw(st.sampled_from(["", "", "", *(f"@{sign}{name} " for name in PREDICATES for sign in ("", "!"))]))


@st.composite
def integer_lines(draw: st.DrawFn, place: Place) -> Line:
    guard, into, source = draw(guards()), draw(st.sampled_from(INTS)), sources(place)
    kind = draw(st.integers(0, 7))
    if kind <= 2:
        return Line(f"{guard}{draw(_of(BINARY))} {into}, {draw(source)}, {draw(source)};")
    if kind == 3:
        count = str(draw(SHIFTS)) if draw(st.booleans()) else draw(source)
        return Line(f"{guard}{draw(_of('shl.b32 shr.u32 shr.s32 shr.b32'))} {into}, {draw(source)}, {count};")
    if kind == 4:
        return Line(f"{guard}{draw(_of(UNARY))} {into}, {draw(st.sampled_from(INTS))};")
    if kind == 5:
        return Line(f"{guard}mad.lo.{draw(_of('s32 u32'))} {into}, {draw(source)}, {draw(source)}, {draw(source)};")
    if kind == 6:
        return Line(f"{guard}selp.b32 {into}, {draw(source)}, {draw(source)}, {draw(st.sampled_from(PREDICATES))};")
    return Line(f"{guard}cvt.u32.u64 {into}, {draw(st.sampled_from(WIDES))};")


@st.composite
def wide_lines(draw: st.DrawFn, place: Place) -> Line:
    guard, into = draw(guards()), draw(st.sampled_from(WIDES))
    wide = st.one_of(st.sampled_from(WIDES), WIDE_CONSTANTS.map(str))
    match draw(st.integers(0, 4)):
        case 0:
            return Line(f"{guard}{draw(_of('cvt.u64.u32 cvt.s64.s32'))} {into}, {draw(st.sampled_from(INTS))};")
        case 1:
            return Line(f"{guard}mul.wide.{draw(_of('u32 s32'))} {into}, {draw(sources(place))}, {draw(sources(place))};")
        case 2:
            shift = draw(_of("shl.b64 shr.u64 shr.s64"))
            return Line(f"{guard}{shift} {into}, {draw(wide)}, {draw(SHIFTS)};")
        case 3:
            return Line(
                f"{guard}mad.wide.{draw(_of('u32 s32'))} {into}, {draw(sources(place))}, {draw(CONSTANTS)}, {draw(wide)};"
            )
    return Line(f"{guard}{draw(_of(WIDE_BINARY))} {into}, {draw(wide)}, {draw(wide)};")


@st.composite
def float_lines(draw: st.DrawFn, place: Place) -> Line:
    guard, into, source = draw(guards()), draw(st.sampled_from(FLOATS)), st.sampled_from([*FLOATS, "0f3F800000", "0fBF000000"])
    match draw(st.integers(0, 3)):
        case 0:
            return Line(f"{guard}{draw(_of('add.f32 sub.rn.f32 mul.f32'))} {into}, {draw(source)}, {draw(source)};")
        case 1:
            return Line(f"{guard}selp.f32 {into}, {draw(source)}, {draw(source)}, {draw(st.sampled_from(PREDICATES))};")
    return Line(f"{guard}fma.rn.f32 {into}, {draw(source)}, {draw(source)}, {draw(source)};")


@st.composite
def predicate_lines(draw: st.DrawFn, place: Place) -> Line:
    guard, into, source = draw(guards()), draw(st.sampled_from(PREDICATES)), st.sampled_from(PREDICATES)
    match draw(st.integers(0, 2)):
        case 0:
            return Line(f"{guard}{draw(_of('and.pred or.pred xor.pred'))} {into}, {draw(source)}, {draw(source)};")
        case 1:
            floats = st.sampled_from(FLOATS)
            return Line(f"{guard}setp.{draw(_of(FLOAT_RELATIONS))}.f32 {into}, {draw(floats)}, {draw(floats)};")
    return Line(f"{guard}setp.{draw(_of(RELATIONS))} {into}, {draw(sources(place))}, {draw(sources(place))};")


@st.composite
def conditions(draw: st.DrawFn, place: Place, *, uniform: bool = False) -> str:
    """Instructions that set the branch predicate."""
    if uniform:
        return (
            f"shr.u32 %r2, {draw(st.sampled_from(UNIFORM))}, {draw(st.integers(0, 6))}; and.b32 %r2, %r2, 1;"
            f"setp.{draw(_of('eq ne'))}.u32 {TEST}, %r2, 0;"
        )
    match draw(st.integers(0, 5)):
        case 0:
            return f"mov.pred {TEST}, {draw(st.sampled_from(PREDICATES))};"
        case 1:
            return f"shr.u32 %r2, %r1, 5; setp.{draw(_of('eq ne lt'))}.u32 {TEST}, %r2, {draw(st.integers(0, 2))};"
        case 2:
            bits = f"and.b32 %r2, %r1, {draw(st.integers(1, 31))};"
            return f"{bits} setp.{draw(_of('eq ne'))}.u32 {TEST}, %r2, {draw(st.integers(0, 4))};"
        case 3:
            return draw(conditions(place, uniform=True))
    return f"setp.{draw(_of(RELATIONS))} {TEST}, {draw(sources(place))}, {draw(sources(place))};"


# -- memory


@dataclass(frozen=True)
class Shapes:
    """What the memory accesses of one kernel go by."""

    slot_bytes: int
    chunk_bytes: int
    has_tile: bool
    has_local: bool


TYPES = {
    1: "u8 s8 b8",
    2: "u16 s16 b16",
    4: "u32 s32 b32 f32 v2.u16",
    8: "u64 b64 v2.u32 v2.f32 v4.u16",
    16: "v4.u32 v4.f32 v2.u64",
}
_INTO = {"8": INTS, "16": ["%rs10", "%rs11", "%rs12", "%rs13"], "32": INTS, "64": WIDES}


@st.composite
def accessed(draw: st.DrawFn, limit: int, is_load: bool) -> tuple[str, str, int, str]:
    """A type, registers for it, its bytes, and what brings a load's 16-bit registers into variables."""
    size = draw(st.sampled_from([size for size in TYPES if limit % size == 0]))
    type_ = draw(_of(TYPES[size]))
    vector, element = type_[:2] if type_[0] == "v" else "", type_.rpartition(".")[2]
    pool = FLOATS if element[0] == "f" else _INTO[element[1:]]
    names = draw(st.permutations(pool)) if is_load else draw(st.lists(st.sampled_from(pool), min_size=4, max_size=4))
    names = [*names, *(draw(st.permutations(pool)) if is_load and len(names) < 4 and vector == "v4" else [])]
    count = int(vector[1]) if vector else 1
    chosen = list(dict.fromkeys(names))[:count] if is_load else names[:count]
    if len(chosen) < count:  # a pool of three: the fourth has a register of its own
        chosen.append("%f13")
    after = ""
    if is_load and element[1:] == "16":
        after = "".join(f"cvt.u32.u16 {into}, {name};" for into, name in zip(INTS, chosen, strict=False))
    before = "" if is_load or element[1:] != "16" else "".join(f"cvt.u16.u32 {name}, {INTS[i]};" for i, name in enumerate(chosen))
    text = f"{{{', '.join(chosen)}}}" if vector else chosen[0]
    return type_, text, size, after or before


@st.composite
def input_loads(draw: st.DrawFn, place: Place, shapes: Shapes) -> Line:
    """A load from the input at an index that a variable or the thread's number gives, bounded by construction."""
    guard = draw(guards())
    type_, registers, size, after = draw(accessed(16, is_load=True))
    index = draw(
        st.one_of(
            st.tuples(sources(place), st.sampled_from([1, 31, 63, 255, 511, 1023])).map(
                lambda x: f"and.b32 %r2, {x[0]}, {x[1]};"
            ),
            st.tuples(sources(place), st.integers(22, 31)).map(lambda x: f"shr.u32 %r2, {x[0]}, {x[1]};"),
            st.tuples(sources(place), st.integers(22, 31)).map(lambda x: f"shr.s32 %r2, {x[0]}, {x[1]};"),
            st.tuples(_of("%tid.x %tid.y %tid.z"), st.integers(0, 3), st.integers(-40, 40)).map(
                lambda x: f"mov.u32 %r2, {x[0]}; mul.lo.u32 %r2, %r2, {x[1]}; add.s32 %r2, %r2, {x[2]};"
            ),
            st.tuples(st.integers(0, 5), st.integers(0, 31), st.integers(0, 33)).map(
                lambda x: f"shr.u32 %r2, %r1, {x[0]}; and.b32 %r3, %r1, {x[1]}; mad.lo.u32 %r2, %r3, {x[2]}, %r2;"
            ),
            st.tuples(st.integers(0, 31), st.integers(0, 3)).map(
                lambda x: f"xor.b32 %r2, %r1, {x[0]}; shl.b32 %r3, %r2, {x[1]}; sub.s32 %r2, {x[0]}, %r3;"
            ),
        )
    )
    mask = draw(st.sampled_from(["", "", "neg.s32 %r2, %r2;", "sub.s32 %r2, 100, %r2;"]))
    widen = draw(
        st.sampled_from(
            [
                f"mul.wide.s32 %rd30, %r2, {size};",
                f"mul.lo.s32 %r2, %r2, {size}; cvt.s64.s32 %rd30, %r2;",
                f"cvt.s64.s32 %rd30, %r2; shl.b64 %rd30, %rd30, {size.bit_length() - 1};",
            ]
        )
    )
    offset = size * draw(st.integers(-64, 64))
    space = draw(_of("ld.global ld.global.nc ld"))
    return Line(f"{index}{mask}{widen}add.s64 %rd30, %rd20, %rd30;{guard}{space}.{type_} {registers}, [%rd30+{offset}];{after}")


@st.composite
def output_accesses(draw: st.DrawFn, place: Place, shapes: Shapes) -> Line:
    """A store to the thread's own chunk, or a load from it through either of the two pointers."""
    is_load, guard = draw(st.booleans()), draw(guards())
    type_, registers, size, extra = draw(accessed(shapes.chunk_bytes, is_load))
    offset = size * draw(st.integers(0, shapes.chunk_bytes // size - 1))
    base = draw(st.sampled_from(["%rd22", "%rd23"]))
    at = f"[{base}+{offset}+PLANE{draw(st.integers(0, PLANES - 1))}]"
    space = draw(st.sampled_from([".global", ".global", ""]))
    if is_load:
        return Line(f"{guard}ld{space}.{type_} {registers}, {at};{extra}")
    return Line(f"{extra}{guard}st{space}.{type_} {at}, {registers};")


@st.composite
def shared_accesses(draw: st.DrawFn, place: Place, shapes: Shapes) -> Line:
    """A store to or a load from the thread's own slot, or a load of any slot in the other half."""
    kind, guard = draw(st.integers(0, 2)), draw(guards())
    type_, registers, size, extra = draw(accessed(shapes.slot_bytes, kind != 0))
    offset = size * draw(st.integers(0, shapes.slot_bytes // size - 1))
    own, space, at = "add.u32 %r3, %r30, %r32;", ".shared", f"[%r3+{offset}]"
    if draw(st.integers(0, 3)) == 3:  # by its generic address
        own, space, at = f"{own} cvt.u64.u32 %rd30, %r3; cvta.shared.u64 %rd31, %rd30;", "", f"[%rd31+{offset}]"
    if kind == 0:
        return Line(f"{extra}{own} {guard}st{space}.{type_} {at}, {registers};")
    if kind == 1:
        return Line(f"{own} {guard}ld{space}.{type_} {registers}, {at};{extra}")
    slot = draw(
        st.one_of(
            sources(place).map(lambda x: f"mov.u32 %r2, {x};"),
            st.tuples(st.integers(0, 63), st.integers(0, 5)).map(
                lambda x: f"xor.b32 %r2, %r1, {x[0]}; add.u32 %r2, %r2, {x[1]};"
            ),
            st.integers(0, 5).map(lambda x: f"shr.u32 %r2, %r1, {x};"),
        )
    )
    return Line(
        f"{slot} and.b32 %r2, %r2, %SLOTMASK; mul.lo.u32 %r2, %r2, %SLOTBYTES; xor.b32 %r3, %r32, %HALF; add.u32 %r2, %r2, %r3;"
        f"{guard}ld.shared.{type_} {registers}, [%r2+{offset}];{extra}"
    )


@st.composite
def local_accesses(draw: st.DrawFn, place: Place, shapes: Shapes) -> Line:
    """A store to or a load from the thread's own array, at a place that a variable gives."""
    is_load, guard = draw(st.booleans()), draw(guards())
    type_, registers, size, extra = draw(accessed(16, is_load))
    offset = size * draw(st.integers(0, 16 // size - 1))
    index = f"and.b32 %r2, {draw(sources(place))}, {LOCAL_BYTES - 16}; cvt.u64.u32 %rd30, %r2; mov.u64 %rd31, depot;"
    at, space = f"[%rd31+{offset}]", draw(st.sampled_from([".local", ".local", ""]))
    index += "add.s64 %rd31, %rd31, %rd30;" + ("" if space else "cvta.local.u64 %rd31, %rd31;")
    if draw(st.integers(0, 2)) == 0:
        index, at, space = "", f"[depot+{offset}]", ".local"
    if is_load:
        return Line(f"{index}{guard}ld{space}.{type_} {registers}, {at};{extra}")
    return Line(f"{extra}{index}{guard}st{space}.{type_} {at}, {registers};")


@st.composite
def tiles(draw: st.DrawFn, place: Place, shapes: Shapes) -> Line:
    """Rounds of multiply-adds into every accumulator, with anything that a block may hold between them."""
    between = st.one_of(
        float_lines(place), input_loads(place, shapes), output_accesses(place, shapes), shared_accesses(place, shapes)
    )
    operands = st.sampled_from([*FLOATS, *FLOATS, *TILE])
    text = ""
    for _ in range(draw(st.integers(2, 4))):
        text += "".join(line.text for line in draw(st.lists(between, max_size=2)))
        a, b = draw(operands), draw(operands)
        text += "".join(f"fma.rn.f32 {name}, {a}, {b}, {name};" for name in TILE)
    return Line(text)


# -- statements


def statements(place: Place, shapes: Shapes, size: int = 5) -> st.SearchStrategy[tuple[Statement, ...]]:
    """A list of statements that may stand at `place`."""
    lines: list[Callable[..., st.SearchStrategy[Statement]]] = [
        integer_lines,
        integer_lines,
        wide_lines,
        float_lines,
        predicate_lines,
    ]
    choices: list[st.SearchStrategy[Statement]] = [line(place) for line in lines]
    choices += [access(place, shapes) for access in (input_loads, output_accesses, shared_accesses)]
    if shapes.has_local:
        choices += [local_accesses(place, shapes)] * 2
    if shapes.has_tile:
        choices.append(tiles(place, shapes))
    if place.is_uniform:
        choices.append(st.just(Barrier()))
    if place.depth < 3:
        choices += [ifs(place, shapes), loops(place, shapes)]
    kinds = ["ret", "end"] + (["break", "continue"] * 2 if place.may_jump else [])
    choices.append(st.tuples(conditions(place), st.sampled_from(kinds)).map(lambda x: Jump(*x)))
    return st.lists(st.one_of(choices), max_size=size).map(tuple)


@st.composite
def ifs(draw: st.DrawFn, place: Place, shapes: Shapes) -> If:
    uniform = draw(st.booleans())
    inside = Place(place.depth + 1, place.loops, place.is_uniform and uniform, place.may_jump)
    otherwise = draw(statements(inside, shapes, 3)) if draw(st.booleans()) else ()
    return If(draw(conditions(place, uniform=uniform)), draw(statements(inside, shapes)), otherwise, draw(st.booleans()))


@st.composite
def loops(draw: st.DrawFn, place: Place, shapes: Shapes) -> Loop:
    """With barriers in it where its rounds and its exits are uniform; else lanes may part in it as they like."""
    uniform = draw(st.booleans())
    source = draw(uniform_sources() if uniform else sources(place))
    keeps_together = place.is_uniform and uniform
    inside = Place(place.depth + 1, place.loops + 1, keeps_together, not keeps_together)
    return Loop(f"and.b32 %r2, {source}, 3;", draw(statements(inside, shapes)), draw(st.booleans()))


BLOCKS: list[int | tuple[int, ...]] = [
    1,
    2,
    7,
    31,
    32,
    33,
    48,
    64,
    65,
    96,
    (8, 4),
    (16, 2),
    (16, 3),
    (4, 8),
    (2, 16),
    (5, 7),
    (32, 2),
    (3, 11),
    (1, 40),
    (64, 1),
]
CUBES: list[int | tuple[int, ...]] = [(4, 4, 2), (3, 5, 2), (2, 2, 9), (32, 1, 2), (1, 1, 33), (16, 1, 3), (8, 2, 4), (1, 8, 8)]
LARGE: list[int | tuple[int, ...]] = [1024, (32, 32), 1000, (16, 64), (8, 8, 16), (33, 31), 512, (128, 3)]
GRIDS: list[int | tuple[int, ...]] = [1, 2, (2, 2), 3]


@st.composite
def kernels(draw: st.DrawFn, blocks: Sequence[int | tuple[int, ...]] = (*BLOCKS, *CUBES)) -> Kernel:
    """A kernel for one of these block shapes."""
    slot = draw(st.sampled_from([4, 8, 12, 16, 20, 32, 36]))
    shapes = Shapes(slot, draw(st.sampled_from([4, 8, 16, 32])), draw(st.integers(0, 3)) == 3, draw(st.integers(0, 3)) == 3)
    numbers = st.tuples(
        st.sampled_from([1, 1, 1, 3, 5, 7, 33, 127]), st.integers(0, 70), st.sampled_from([0, 0, 0, 1, 2, 5, 31, 32, 63])
    )
    setup = [f"mov.u32 {name}, {value};" for name, value in zip(INTS, draw(st.tuples(*[_initial()] * len(INTS))), strict=True)]
    setup += [f"cvt.{draw(_of('s64.s32 u64.u32'))} {name}, {draw(st.sampled_from(INTS))};" for name in WIDES]
    setup += [f"ld.global.f32 {name}, [%rd20+{4 * draw(st.integers(0, 200))}];" for name in FLOATS]
    setup += [f"setp.{draw(_of(RELATIONS))} {name}, {draw(sources(Place()))}, {draw(sources(Place()))};" for name in PREDICATES]
    return Kernel(
        block=dim3(draw(st.sampled_from(blocks))),
        grid=dim3(draw(st.sampled_from(GRIDS))),
        setup=tuple(setup),
        body=draw(statements(Place(), shapes, 8)),
        slot_bytes=slot,
        chunk_bytes=shapes.chunk_bytes,
        slot_permutation=draw(numbers),
        chunk_permutation=draw(numbers),
        dynamic=draw(st.booleans()),
        has_tile=shapes.has_tile,
        has_local=shapes.has_local,
        parameter=draw(st.one_of(st.integers(0, 255), CONSTANTS)),
    )


def _initial() -> st.SearchStrategy[str]:
    """What a variable starts as."""
    return st.one_of(_of("%r1 %r1 %r7 %r5 %r6 %tid.x %tid.y %tid.z %ctaid.x %ntid.x %nctaid.y"), CONSTANTS.map(str))


def dim3(shape: int | tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*((shape,) if isinstance(shape, int) else shape), 1, 1)[:3]
    return x, y, z
