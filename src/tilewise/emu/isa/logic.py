"""Bits: logic, shifts, fields, counts and permutations."""

from __future__ import annotations

from tilewise.core.errors import TilewiseError
from tilewise.emu.isa.spec import BITS, INTEGERS, op
from tilewise.emu.lanes import Lanes, spell
from tilewise.emu.value import Value, bits_of

LOGIC = ("pred", *BITS)
CLAMPING = "clamp wrap"


@op("and.TYPE d, a, b", TYPE=LOGIC)
def and_(lanes: Lanes, a: Value, b: Value) -> Value:
    return _logic(lanes, "and", a, b)


@op("or.TYPE d, a, b", TYPE=LOGIC)
def or_(lanes: Lanes, a: Value, b: Value) -> Value:
    return _logic(lanes, "or", a, b)


@op("xor.TYPE d, a, b", TYPE=LOGIC)
def xor(lanes: Lanes, a: Value, b: Value) -> Value:
    return _logic(lanes, "xor", a, b)


@op("not.TYPE d, a", TYPE=LOGIC)
def not_(lanes: Lanes, a: Value) -> Value:
    return _logic(lanes, "xor", a, lanes.constant(a.type, -1))


@op("cnot.TYPE d, a", TYPE=BITS)
def cnot(lanes: Lanes, a: Value) -> Value:
    return lanes.convert("zext", a.type, lanes.compare("icmp eq", a, lanes.constant(a.type, 0)))


@op("lop3.b32 d, a, b, c, table:u32")
def lop3(lanes: Lanes, a: Value, b: Value, c: Value, table: Value) -> Value:
    """Any function of three bits: bit number 4a + 2b + c of the table is its value."""
    truth = literal("lop3.b32", table)
    of_0 = sum((truth >> 2 * index & 1) << index for index in range(4))
    of_1 = sum((truth >> 2 * index + 1 & 1) << index for index in range(4))
    result = _two_bit_function(lanes, of_0, a, b)
    if of_0 == of_1:
        return result
    return _logic(lanes, "xor", result, _logic(lanes, "and", c, _two_bit_function(lanes, of_0 ^ of_1, a, b)))


@op("lop3.BOOL.b32 d|p:b32|pred, a, b, c, table:u32, q:pred", BOOL="or and")
def lop3_with_predicate(lanes: Lanes, a: Value, b: Value, c: Value, table: Value, q: Value, *, bool: str) -> tuple[Value, Value]:
    """Beside the result, whether it is not 0, combined with q."""
    result = lop3(lanes, a, b, c, table)
    return result, lanes.operation(bool, lanes.compare("icmp ne", result, lanes.constant("i32", 0)), q)


def _two_bit_function(lanes: Lanes, truth: int, a: Value, b: Value) -> Value:
    """A function of two bits; bit number 2a + b of `truth` is its value. As a sum modulo 2 of 1, a, b and ab."""
    of_0, with_b, with_a = truth & 1, truth ^ truth >> 1, truth ^ truth >> 2
    both = (truth ^ truth >> 1 ^ truth >> 2 ^ truth >> 3) & 1
    terms = [value for value, wanted in ((a, with_a & 1), (b, with_b & 1)) if wanted]
    if both:
        terms.append(_logic(lanes, "and", a, b))
    result = lanes.constant(a.type, -of_0)
    for term in terms:
        result = _logic(lanes, "xor", term, result)
    return result


# -- shifts: PTX clamps counts past the width, LLVM leaves them undefined


@op("shl.TYPE d, a, b:u32", TYPE=BITS)
def shl(lanes: Lanes, a: Value, b: Value) -> Value:
    return shift(lanes, "shl", a, b)


@op("shr.TYPE d, a, b:u32", TYPE=BITS + INTEGERS)
def shr(lanes: Lanes, a: Value, b: Value, *, type: str) -> Value:
    return shift(lanes, "ashr" if type[0] == "s" else "lshr", a, b)


@op("shf.DIRECTION.MODE.b32 d, a, b, c:u32", DIRECTION="l r", MODE=CLAMPING)
def shf(lanes: Lanes, a: Value, b: Value, c: Value, *, direction: str, mode: str) -> Value:
    """The upper half of b:a shifted left, or the lower of it shifted right; a clamped count moves by 32 at most."""
    moved = lanes.intrinsic(f"llvm.fsh{direction}", b, a, c)
    if mode == "wrap":
        return moved
    far = lanes.compare("icmp ugt", c, lanes.constant("i32", 31))
    return lanes.select(far, a if direction == "l" else b, moved)


# -- fields


@op("bfe.TYPE d, a, b:u32, c:u32", TYPE="u32 u64 s32 s64")
def bfe(lanes: Lanes, a: Value, b: Value, c: Value, *, type: str) -> Value:
    start, length = _field_operand(lanes, a, b), _field_operand(lanes, a, c)
    if type[0] == "u":
        return _logic(lanes, "and", shift(lanes, "lshr", a, start), _ones(lanes, a.type, length))
    bits = bits_of(a.type)
    width = lanes.constant("i32", bits)
    start, length = _least(lanes, start, lanes.constant("i32", bits - 1)), _least(lanes, length, width)
    above = lanes.binary("sub", width, _least(lanes, lanes.binary("add", start, length), width))
    field = shift(lanes, "ashr", shift(lanes, "shl", a, above), lanes.binary("add", above, start))
    return lanes.select(lanes.compare("icmp eq", length, lanes.constant("i32", 0)), lanes.constant(a.type, 0), field)


@op("bfi.TYPE d, a, b, c:u32, e:u32", TYPE="b32 b64")
def bfi(lanes: Lanes, a: Value, b: Value, c: Value, e: Value) -> Value:
    """b with the lowest e bits of a put in from bit c on."""
    start, length = _field_operand(lanes, a, c), _field_operand(lanes, a, e)
    field = shift(lanes, "shl", _ones(lanes, a.type, length), start)
    kept = _logic(lanes, "and", b, not_(lanes, field))
    return _logic(lanes, "or", kept, _logic(lanes, "and", shift(lanes, "shl", a, start), field))


@op("szext.MODE.TYPE d, a, b:u32", MODE=CLAMPING, TYPE="u32 s32")
def szext(lanes: Lanes, a: Value, b: Value, *, mode: str, type: str) -> Value:
    """The lowest b bits of a, extended by their sign or by 0; b modulo 32, or clamped to 32."""
    if mode == "wrap":
        b = lanes.binary("and", b, lanes.constant("i32", 31))
    return bfe(lanes, a, lanes.constant("i32", 0), _least(lanes, b, lanes.constant("i32", 32)), type=type)


@op("bmsk.MODE.b32 d, a, b:u32", MODE=CLAMPING)
def bmsk(lanes: Lanes, a: Value, b: Value, *, mode: str) -> Value:
    """b ones from bit a on; both modulo 32, or clamped to 32."""
    if mode == "wrap":
        a, b = (lanes.binary("and", value, lanes.constant("i32", 31)) for value in (a, b))
    return shift(lanes, "shl", _ones(lanes, "i32", b), a)


# -- counts


@op("popc.TYPE d:u32, a", TYPE="b32 b64")
def popc(lanes: Lanes, a: Value) -> Value:
    return resize(lanes, lanes.intrinsic("llvm.ctpop", a), "i32")


@op("clz.TYPE d:u32, a", TYPE="b32 b64")
def clz(lanes: Lanes, a: Value) -> Value:
    return resize(lanes, _leading_zeros(lanes, a), "i32")


@op("brev.TYPE d, a", TYPE="b32 b64")
def brev(lanes: Lanes, a: Value) -> Value:
    return lanes.intrinsic("llvm.bitreverse", a)


@op("bfind{.shiftamt}.TYPE d:u32, a", TYPE="u32 u64 s32 s64")
def bfind(lanes: Lanes, a: Value, *, shiftamt: str, type: str) -> Value:
    """The place of the highest bit that is no sign, or the shift that brings it to the top; all ones where there is none."""
    bits = bits_of(a.type)
    if type[0] == "s":
        a = _logic(lanes, "xor", a, lanes.binary("ashr", a, lanes.constant(a.type, bits - 1)))
    zeros = resize(lanes, _leading_zeros(lanes, a), "i32")
    if not shiftamt:
        return lanes.binary("sub", lanes.constant("i32", bits - 1), zeros)
    return lanes.select(lanes.compare("icmp eq", a, lanes.constant(a.type, 0)), lanes.constant("i32", -1), zeros)


@op("fns.b32 d:u32, a, b:u32, c:s32")
def fns(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    """Where the c-th set bit of a stands, from bit b upwards, downwards if c < 0; c = 0 asks for bit b alone."""
    zero, one, top = (lanes.constant("i32", number) for number in (0, 1, 31))
    down = lanes.compare("icmp slt", c, zero)
    bits = lanes.select(down, brev(lanes, a), a)
    start = lanes.select(down, lanes.binary("sub", top, b), b)
    bits = _logic(lanes, "and", bits, shift(lanes, "shl", lanes.constant("i32", -1), start))
    itself = lanes.compare("icmp eq", c, zero)
    bits = lanes.select(itself, _logic(lanes, "and", bits, shift(lanes, "shl", one, start)), bits)
    left = lanes.intrinsic("llvm.umax", lanes.intrinsic("llvm.smax", c, lanes.binary("sub", zero, c)), one)
    place = zero
    for half in (16, 8, 4, 2, 1):  # the halves of ever shorter pieces
        below = popc(lanes, _logic(lanes, "and", bits, lanes.constant("i32", (1 << half) - 1)))
        higher = lanes.compare("icmp ugt", left, below)
        left = lanes.select(higher, lanes.binary("sub", left, below), left)
        bits = lanes.select(higher, lanes.binary("lshr", bits, lanes.constant("i32", half)), bits)
        place = lanes.select(higher, lanes.binary("add", place, lanes.constant("i32", half)), place)
    place = lanes.select(down, lanes.binary("sub", top, place), place)
    found = lanes.operation(
        "and", lanes.compare("icmp eq", left, one), lanes.convert("trunc", "i1", _logic(lanes, "and", bits, one))
    )
    return lanes.select(found, place, lanes.constant("i32", -1))


# -- permutations of bytes

_PERMUTATIONS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""The selectors that each mode makes of its operand's two low bits."""


@op("prmt.b32 d, a, b, c")
def prmt(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    """Four of the eight bytes b:a, as four hexadecimal digits of c say; 8 or more spreads the byte's sign."""
    digits = c.constant if c.is_uniform else None
    if digits is not None and not digits & 0x8888:
        return _pick_bytes(lanes, a, b, digits)
    whole = lanes.binary(
        "or",
        lanes.extend("zext", "i64", a),
        lanes.binary("shl", lanes.extend("zext", "i64", b), lanes.constant("i64", 32)),
    )
    result = lanes.constant("i32", 0)
    for place in range(4):
        digit = lanes.binary("lshr", c, lanes.constant("i32", 4 * place))
        byte = _pick_byte(lanes, whole, digit)
        result = _logic(lanes, "or", result, lanes.binary("shl", byte, lanes.constant("i32", 8 * place)))
    return result


@op("prmt.b32.MODE d:b32, a:b32, b:b32, c:b32", MODE=tuple(_PERMUTATIONS))
def prmt_by_mode(lanes: Lanes, a: Value, b: Value, c: Value, *, mode: str) -> Value:
    number = _logic(lanes, "and", c, lanes.constant("i32", 3))
    digits = [lanes.constant("i32", selectors) for selectors in _PERMUTATIONS[mode]]
    chosen = digits[0]
    for index in (1, 2, 3):
        chosen = lanes.select(lanes.compare("icmp eq", number, lanes.constant("i32", index)), digits[index], chosen)
    return prmt(lanes, a, b, chosen)


def _pick_bytes(lanes: Lanes, a: Value, b: Value, digits: int) -> Value:
    """Bytes that stand side by side in source and result move together."""
    moves: dict[tuple[bool, int], int] = {}
    for place in range(4):
        digit = digits >> 4 * place & 7
        move = digit >= 4, 8 * (place - digit % 4)
        moves[move] = moves.get(move, 0) | 0xFF << 8 * place
    result = lanes.constant("i32", 0)
    for (upper, left), mask in moves.items():
        source = b if upper else a
        moved = lanes.binary("shl" if left > 0 else "lshr", source, lanes.constant("i32", abs(left)))
        result = _logic(lanes, "or", result, _logic(lanes, "and", moved, lanes.constant("i32", mask)))
    return result


def _pick_byte(lanes: Lanes, whole: Value, digit: Value) -> Value:
    """The byte of `whole` that the low three bits of `digit` name; spread by its sign where the fourth is set."""
    index = _logic(lanes, "and", digit, lanes.constant("i32", 7))
    count = lanes.extend("zext", "i64", lanes.binary("shl", index, lanes.constant("i32", 3)))
    byte = lanes.truncate("i8", lanes.binary("lshr", whole, count))
    spread = lanes.compare("icmp ne", _logic(lanes, "and", digit, lanes.constant("i32", 8)), lanes.constant("i32", 0))
    sign = lanes.binary("ashr", byte, lanes.constant("i8", 7))
    return lanes.extend("zext", "i32", lanes.select(spread, sign, byte))


# -- helpers


def literal(opcode: str, value: Value) -> int:
    """The number that an operand must be."""
    if value.constant is None or not value.is_uniform:
        raise TilewiseError(f"{opcode} takes a number there, not a register.")
    return value.constant


def shift(lanes: Lanes, op_name: str, a: Value, count: Value) -> Value:
    """Shift by an i32; counts past the width give 0, or the sign."""
    bits = bits_of(a.type)
    if count.constant is not None and count.is_uniform:
        amount = count.constant & 0xFFFFFFFF
        if amount < bits:
            return lanes.binary(op_name, a, lanes.constant(a.type, amount))
        return lanes.binary("ashr", a, lanes.constant(a.type, bits - 1)) if op_name == "ashr" else lanes.constant(a.type, 0)
    limit = lanes.constant("i32", bits - 1 if op_name == "ashr" else bits)
    clamped = resize(lanes, _least(lanes, count, limit), a.type)
    if op_name == "ashr":
        return lanes.binary(op_name, a, clamped)
    inside = lanes.compare("icmp ult", clamped, lanes.constant(a.type, bits))
    masked = lanes.binary("and", clamped, lanes.constant(a.type, bits - 1))
    return lanes.select(inside, lanes.binary(op_name, a, masked), lanes.constant(a.type, 0))


def resize(lanes: Lanes, a: Value, type_: str) -> Value:
    """Zero-extend or truncate to an integer type."""
    if bits_of(a.type) == bits_of(type_):
        return a
    return lanes.extend("zext", type_, a) if bits_of(a.type) < bits_of(type_) else lanes.truncate(type_, a)


def _logic(lanes: Lanes, name: str, a: Value, b: Value) -> Value:
    return lanes.operation(name, a, b) if a.type == "i1" else lanes.binary(name, a, b)


def _least(lanes: Lanes, a: Value, b: Value) -> Value:
    """The lesser of two unsigned i32s, a constant of constants."""
    if a.is_uniform and b.is_uniform and a.constant is not None and b.constant is not None:
        return lanes.constant(a.type, min(a.constant & 0xFFFFFFFF, b.constant & 0xFFFFFFFF))
    return lanes.intrinsic("llvm.umin", a, b)


def _field_operand(lanes: Lanes, a: Value, number: Value) -> Value:
    """A field's start or length. The manual allows 0 to 255; beyond, an H200 takes the lowest byte, and in 64 bits the number."""
    return number if bits_of(a.type) == 64 else lanes.binary("and", number, lanes.constant("i32", 0xFF))


def _ones(lanes: Lanes, type_: str, count: Value) -> Value:
    """So many ones in the lowest places, at most as many as there are."""
    above = shift(lanes, "shl", lanes.constant(type_, -1), count)
    return _logic(lanes, "xor", above, lanes.constant(type_, -1))


def _leading_zeros(lanes: Lanes, a: Value) -> Value:
    """llvm.ctlz, whose result for 0 is the width."""

    def text(wide: str, names: list[str]) -> str:
        spelled = spell(wide, a.type)
        name = f"@llvm.ctlz.{'v32' if wide else ''}{a.type}"
        lanes.declare(f"{spelled} {name}({spelled}, i1)")
        return f"call {spelled} {name}({spelled} {names[0]}, i1 false)"

    return lanes.elementwise(a.type, text, a)
