"""The lane builder by itself: what it emits is carried out here on numbers, and every lane and every claim is looked at.

Values start with a scalar and lane offsets of which as much is claimed as is true, mostly just so: zeros that end where the
offsets begin, bounds next to where a type wraps.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewise.emu.lanes import Lanes
from tilewise.emu.patterns import ALL_ZERO_BITS, LANES, Shape, allow_zero, join, trailing_zeros, wrap
from tilewise.emu.value import Value

Number = int | list[int]

OPERATIONS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "shl": lambda a, b, bits: a << b,
    "lshr": lambda a, b, bits: (a & ((1 << bits) - 1)) >> b,
    "ashr": lambda a, b, bits: a >> b,
}
"""On signed numbers; the result is wrapped."""


def width(type_: str) -> int:
    return int(type_.split("i")[-1].rstrip(">"))


class Machine(Lanes):
    """Carries out each instruction as it is emitted."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, Number] = {}

    def define(self, text: str) -> str:
        name = super().define(text)
        self.numbers[name] = self.carry_out(text)
        return name

    def carry_out(self, text: str) -> Number:
        if found := re.fullmatch(r"(zext|sext|trunc) (.+?) (\S+|<.+>) to (.+)", text):
            operation, from_, operand, to = found.groups()
            mask = (1 << width(from_)) - 1
            return _each(lambda a: wrap(a & mask if operation == "zext" else a, width(to)), self.operand(from_, operand))
        if found := re.fullmatch(r"insertelement (<.+>) poison, (i\d+) (\S+), i32 0", text):
            first = self.operand(found[2], found[3])
            assert isinstance(first, int)
            return [first, *[-12345] * (LANES - 1)]
        if found := re.fullmatch(r"shufflevector (<\d+ x i\d+>) (%\w+), .+ poison, <32 x i32> zeroinitializer", text):
            vector = self.operand(found[1], found[2])
            assert isinstance(vector, list)
            return [vector[0]] * LANES
        if found := re.fullmatch(r"select (i1|<32 x i1>) (\S+|<.+?>), (i\d+|<32 x i\d+>) (\S+|<.+>), \3 (\S+|<.+>)", text):
            condition, a, b = (
                self.operand(type_, found[place]) for type_, place in ((found[1], 2), (found[3], 4), (found[3], 5))
            )
            return _each(lambda c, x, y: x if c else y, condition, a, b)
        found = re.fullmatch(r"(\w+) (i\d+|<32 x i\d+>) (\S+?|<.+?>), (\S+|<.+>)", text)
        assert found, text
        operation, type_ = found[1], found[2]
        bits = width(type_)
        return _each(lambda a, b: wrap(OPERATIONS[operation](a, b, bits), bits), *(self.operand(type_, found[i]) for i in (3, 4)))

    def operand(self, type_: str, text: str) -> Number:
        if text in self.numbers:
            return self.numbers[text]
        if text == "zeroinitializer":
            return [0] * LANES
        if text[0] == "<":
            return [int(item.split()[1]) for item in text[1:-1].split(",")]
        return {"true": 1, "false": 0}.get(text) if text in ("true", "false") else int(text)  # type: ignore[return-value]

    def lanes_of(self, value: Value) -> list[int]:
        """The value in every lane."""
        if value.is_full:
            assert value.vector is not None
            vector = self.operand(f"<32 x {value.type}>", value.vector)
            assert isinstance(vector, list)
            return vector
        scalar = self.operand(value.type, str(value.scalar))
        assert isinstance(scalar, int)
        return [wrap(scalar + offset, width(value.type)) for offset in value.offsets or (0,) * LANES]

    def check_claims(self, value: Value) -> None:
        """That all the value says of its scalar is so."""
        if value.is_full:
            return
        scalar = self.operand(value.type, str(value.scalar))
        assert isinstance(scalar, int)
        assert trailing_zeros(scalar) >= min(value.zeros, width(value.type))
        assert value.low is None or value.low <= scalar
        assert value.high is None or scalar <= value.high
        assert value.constant in (None, scalar)
        assert value.offsets is None or len(set(value.offsets)) > 1
        vector = self.operand(f"<32 x {value.type}>", self.vector(value))
        assert vector == self.lanes_of(value)


def _each(function: Callable[..., int], *operands: Number) -> Number:
    """`function` lane by lane; one number where no operand is a vector."""
    if all(isinstance(operand, int) for operand in operands):
        return function(*operands)
    vectors = [operand if isinstance(operand, list) else [operand] * LANES for operand in operands]
    return [function(*lane) for lane in zip(*vectors, strict=True)]


# -- strategies


def near(limit: int) -> st.SearchStrategy[int]:
    return st.integers(limit - 3, limit + 3)


@st.composite
def lane_offsets(draw: st.DrawFn, zeros: int, bits: int) -> tuple[int, ...]:
    """Offsets that stay below the scalar's zero bits, just so or just not; or any."""
    kind = draw(st.integers(0, 5))
    step = draw(st.sampled_from([1, 1, 1, 2, 4, 8, 12, 32, 132, -1, -4]))
    first = draw(st.one_of(st.sampled_from([0, 0, 0, 1, 5, 64, -1, -31]), near((1 << min(zeros, bits - 1)) - 31 * step)))
    if kind <= 2:
        return tuple(first + lane * step for lane in range(LANES))
    if kind == 3:
        period = draw(st.sampled_from([1, 2, 4, 8, 16]))
        return tuple(first + lane % (2 * period) // period * step for lane in range(LANES))
    top = 1 << min(zeros, bits - 1)
    few = draw(st.lists(st.one_of(st.integers(0, 31), near(top), near(top // 2)), min_size=2, max_size=4))
    return tuple(few[lane % len(few)] for lane in range(LANES))


@st.composite
def values(draw: st.DrawFn, machine: Machine, type_: str) -> Value:
    """A value of a kind that the analysis has, a number behind it."""
    bits = width(type_)
    half = 1 << bits - 1
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return machine.constant(type_, draw(st.one_of(st.integers(-40, 200), near(half), st.integers(-half, half - 1))))
    if kind == 1:
        name = machine.fresh("%full")
        machine.numbers[name] = [wrap(item, bits) for item in draw(st.lists(near(half), min_size=LANES, max_size=LANES))]
        return machine.full(type_, name)
    zeros = draw(st.sampled_from([0, 0, 2, 3, 5, 7, bits - 1]))
    scalar = draw(st.one_of(st.integers(-40, 300), near(half), near(-half), st.integers(-half, half - 1)))
    scalar = wrap(scalar << zeros if draw(st.booleans()) else scalar >> zeros << zeros, bits)
    if scalar == 0 and draw(st.booleans()):
        zeros = ALL_ZERO_BITS
    name = machine.fresh("%scalar")
    machine.numbers[name] = scalar
    low = high = None
    if draw(st.booleans()):
        low, high = max(-half, scalar - draw(st.integers(0, 40))), min(half - 1, scalar + draw(st.integers(0, 40)))
    base = Value(type_, name, zeros=zeros, low=low, high=high)
    if draw(st.integers(0, 3)) == 0:
        base = machine.constant(type_, scalar)
    return machine.patterned(base, draw(lane_offsets(zeros, bits))) if kind > 2 else base


@st.composite
def constants(draw: st.DrawFn, machine: Machine, value: Value) -> Value:
    """A second operand: any number, or masks and factors about the first one's zeros."""
    bits = width(value.type)
    top = 1 << min(value.zeros, bits - 1)
    number = draw(
        st.one_of(near(top), near(-top), st.sampled_from([1, 3, 31, 32, 96, -32, 4, 12, -1, 0]), st.integers(-(1 << 31), 1 << 31))
    )
    return machine.constant(value.type, number)


SETTINGS = settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow])
TYPES = st.sampled_from(["i32", "i32", "i64", "i16"])


@SETTINGS
@given(st.data())
def test_binary_operations(data: st.DataObject) -> None:
    machine, type_ = Machine(), data.draw(TYPES)
    bits = width(type_)
    a = data.draw(values(machine, type_))
    operation = data.draw(st.sampled_from(sorted(OPERATIONS)))
    if operation in ("shl", "lshr", "ashr"):
        b = machine.constant(type_, data.draw(st.integers(0, bits - 1) | st.integers(0, 6)))
    else:
        b = data.draw(constants(machine, a) | values(machine, type_))
        a, b = (a, b) if data.draw(st.booleans()) else (b, a)
    expected = [
        wrap(OPERATIONS[operation](x, y, bits), bits) for x, y in zip(machine.lanes_of(a), machine.lanes_of(b), strict=True)
    ]
    result = machine.binary(operation, a, b)
    machine.check_claims(result)
    assert machine.lanes_of(result) == expected


@SETTINGS
@given(st.data())
def test_extensions_and_truncations(data: st.DataObject) -> None:
    machine = Machine()
    narrow, wide = data.draw(st.sampled_from([("i16", "i32"), ("i32", "i64"), ("i32", "i64")]))
    operation = data.draw(st.sampled_from(["zext", "sext", "trunc"]))
    a = data.draw(values(machine, wide if operation == "trunc" else narrow))
    result = machine.truncate(narrow, a) if operation == "trunc" else machine.extend(operation, wide, a)
    mask = (1 << width(narrow)) - 1
    machine.check_claims(result)
    assert machine.lanes_of(result) == [
        lane & mask if operation == "zext" else wrap(lane, width(narrow)) if operation == "trunc" else lane
        for lane in machine.lanes_of(a)
    ]


@SETTINGS
@given(st.data())
def test_selections(data: st.DataObject) -> None:
    machine, type_ = Machine(), data.draw(TYPES)
    a = data.draw(values(machine, type_))
    b = data.draw(values(machine, type_))
    if a.is_patterned and not b.is_full and data.draw(st.booleans()):
        b = machine.patterned(b.base(), a.offsets or ())
    kind = data.draw(st.sampled_from(["constant", "uniform", "full"]))
    chosen = data.draw(st.lists(st.integers(0, 1), min_size=LANES, max_size=LANES))
    condition = machine.constant("i1", chosen[0])
    if kind != "constant":
        name = machine.fresh("%condition")
        machine.numbers[name] = chosen[0] if kind == "uniform" else chosen
        condition = Value("i1", name) if kind == "uniform" else machine.full("i1", name)
    flags = chosen if kind == "full" else [chosen[0]] * LANES
    result = machine.select(condition, a, b)
    machine.check_claims(result)
    both = zip(flags, machine.lanes_of(a), machine.lanes_of(b), strict=True)
    assert machine.lanes_of(result) == [x if flag else y for flag, x, y in both]


@SETTINGS
@given(st.data(), st.booleans())
def test_what_two_values_have_in_common_holds_for_both(data: st.DataObject, widen: bool) -> None:
    machine, type_ = Machine(), data.draw(TYPES)
    a, b = data.draw(values(machine, type_)), data.draw(values(machine, type_))
    if a.is_patterned and not b.is_full and data.draw(st.booleans()):
        b = machine.patterned(b.base(), a.offsets or ())
    joined = join(a.shape, b.shape, widen=widen)
    assert join(joined, a.shape, widen=widen) == joined
    for value in (a, b):
        if not joined.full:
            machine.check_claims(_claiming(joined, value))
    zero = allow_zero(joined)
    if zero.constant is None and not zero.full:
        machine.numbers["%zero"] = 0
        machine.check_claims(_claiming(zero, Value(type_, "%zero", offsets=zero.offsets)))


def _claiming(shape: Shape, value: Value) -> Value:
    """A value of which `shape` is said."""
    assert value.offsets == shape.offsets
    return Value(
        value.type,
        value.scalar,
        offsets=shape.offsets,
        zeros=shape.zeros,
        low=shape.low,
        high=shape.high,
        constant=shape.constant,
    )
