"""Rows of logic, shifts, fields, counts and permutations, most of them bit by bit."""

from __future__ import annotations

from row import row

BITS = "b16 b32 b64"
COUNTS = {"b": (0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 1 << 31, (1 << 32) - 1)}
MASK = (1 << 32) - 1
TABLES = {"table": (0, 0x80, 0xC0, 0xEA, 0x96, 0xE8, 0xF8, 0x3C, 0xFE, 0xFF, *range(1, 256, 13))}
ORDINALS = {"b": tuple(range(32)), "c": (0, 1, 2, 5, 31, 32, 33, MASK, MASK - 1, MASK - 6, MASK - 40)}


def width(type: str) -> int:
    return int(type[1:])


@row("and.TYPE d, a, b", TYPE="pred b16 b32 b64")
def and_(a: int, b: int) -> int:
    return a & b


@row("or.TYPE d, a, b", TYPE="pred b16 b32 b64")
def or_(a: int, b: int) -> int:
    return a | b


@row("xor.TYPE d, a, b", TYPE="pred b16 b32 b64")
def xor(a: int, b: int) -> int:
    return a ^ b


@row("not.TYPE d, a", TYPE="pred b16 b32 b64")
def not_(a: int, *, type: str) -> int:
    return not a if type == "pred" else ~a


@row("cnot.TYPE d, a", TYPE=BITS)
def cnot(a: int) -> int:
    return int(a == 0)


def look_up(a: int, b: int, c: int, table: int) -> int:
    result = 0
    for place in range(32):
        index = (a >> place & 1) << 2 | (b >> place & 1) << 1 | c >> place & 1
        result |= (table >> index & 1) << place
    return result


@row("lop3.b32 d, a, b, c, table:u32", values=TABLES, literal="table")
def lop3(a: int, b: int, c: int, table: int) -> int:
    return look_up(a, b, c, table)


@row(
    "lop3.BOOL.b32 d|p:b32|pred, a, b, c, table:u32, q:pred",
    BOOL="or and",
    values={"table": tuple(range(3, 256, 11))},
    literal="table",
    sm=75,
)
def lop3_with_predicate(a: int, b: int, c: int, table: int, q: bool, *, bool: str) -> tuple[int, bool]:
    result = look_up(a, b, c, table)
    return result, (result != 0 or q) if bool == "or" else (result != 0 and q)


@row("shl.TYPE d, a, b:u32", TYPE=BITS, values=COUNTS)
def shl(a: int, b: int) -> int:
    return a << b if b < 64 else 0


@row("shr.TYPE d, a, b:u32", TYPE=BITS + " u16 u32 u64 s16 s32 s64", values=COUNTS)
def shr(a: int, b: int) -> int:
    return a >> b


@row("shf.DIRECTION.MODE.b32 d, a, b, c:u32", DIRECTION="l r", MODE="clamp wrap", values={"c": COUNTS["b"]})
def shf(a: int, b: int, c: int, *, direction: str, mode: str) -> int:
    count = min(c, 32) if mode == "clamp" else c % 32
    both = b << 32 | a
    return (both << count) >> 32 if direction == "l" else both >> count


FIELD = (0, 1, 2, 8, 31, 32, 33, 63, 64, 100, 255, 256, (1 << 32) - 1)


def place_in_field(number: int, type: str) -> int:
    """The manual allows 0 to 255; beyond, an H200 does this."""
    return number if width(type) == 64 else number & 255


@row("bfe.TYPE d, a, b:u32, c:u32", TYPE="u32 u64 s32 s64", values={"b": FIELD, "c": FIELD})
def bfe(a: int, b: int, c: int, *, type: str) -> int:
    start, length, top = place_in_field(b, type), place_in_field(c, type), width(type) - 1
    sign = a >> min(start + length - 1, top) & 1 if type[0] == "s" and length else 0
    bits = [a >> start + place & 1 if place < length and start + place <= top else sign for place in range(top + 1)]
    return sum(bit << place for place, bit in enumerate(bits))


@row("bfi.TYPE d, a, b, c:u32, e:u32", TYPE="b32 b64", values={"c": FIELD, "e": FIELD})
def bfi(a: int, b: int, c: int, e: int, *, type: str) -> int:
    start, length = place_in_field(c, type), place_in_field(e, type)
    for place in range(min(length, max(0, width(type) - start))):
        b = b & ~(1 << start + place) | (a >> place & 1) << start + place
    return b


@row("szext.MODE.TYPE d, a, b:u32", MODE="clamp wrap", TYPE="u32 s32", values=COUNTS)
def szext(a: int, b: int, *, mode: str, type: str) -> int:
    length = b % 32 if mode == "wrap" else min(b, 32)
    low = a & ((1 << length) - 1)
    return low - (1 << length) if type[0] == "s" and length and low >> length - 1 else low


@row("bmsk.MODE.b32 d, a, b:u32", MODE="clamp wrap", values={"a": COUNTS["b"], "b": COUNTS["b"]})
def bmsk(a: int, b: int, *, mode: str) -> int:
    if mode == "wrap":
        a, b = a % 32, b % 32
    return ((1 << min(b, 32)) - 1) << a if a < 32 else 0


@row("popc.TYPE d:u32, a", TYPE="b32 b64")
def popc(a: int) -> int:
    return a.bit_count()


@row("clz.TYPE d:u32, a", TYPE="b32 b64")
def clz(a: int, *, type: str) -> int:
    return width(type) - a.bit_length()


@row("brev.TYPE d, a", TYPE="b32 b64")
def brev(a: int, *, type: str) -> int:
    return int(f"{a:0{width(type)}b}"[::-1], 2)


@row("bfind{.shiftamt}.TYPE d:u32, a", TYPE="u32 u64 s32 s64")
def bfind(a: int, *, shiftamt: str, type: str) -> int:
    place = (a if a >= 0 else ~a).bit_length() - 1
    return width(type) - 1 - place if shiftamt and place >= 0 else place


@row("fns.b32 d:u32, a, b:u32, c:s32", values=ORDINALS, only="b c")
def fns(a: int, b: int, c: int) -> int:
    places = [place for place in range(32) if a >> place & 1]
    if c == 0:
        return b if b in places else -1
    wanted = [place for place in places if place >= b] if c > 0 else [place for place in reversed(places) if place <= b]
    return wanted[abs(c) - 1] if abs(c) <= len(wanted) else -1


@row("prmt.b32 d, a, b, c", values={"c": (0x3210, 0x7654, 0x5410, 0x7632, 0x0123, 0x8888, 0xFEDC, 0x4089, 0x3333)})
def prmt(a: int, b: int, c: int) -> int:
    result = 0
    for place in range(4):
        digit = c >> 4 * place & 15
        byte = (b << 32 | a) >> 8 * (digit & 7) & 255
        if digit & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << 8 * place
    return result


@row("prmt.b32.MODE d:b32, a:b32, b:b32, c:b32", MODE="f4e b4e rc8 ecl ecr rc16")
def prmt_by_mode(a: int, b: int, c: int, *, mode: str) -> int:
    number = c & 3
    places = range(4)
    chosen = {
        "f4e": [number + place for place in places],
        "b4e": [(number - place) % 8 for place in places],
        "rc8": [number] * 4,
        "ecl": [max(number, place) for place in places],
        "ecr": [min(number, place) for place in places],
        "rc16": [2 * (number & 1) + place % 2 for place in places],
    }[mode]
    return prmt(a, b, sum(digit << 4 * place for place, digit in enumerate(chosen)))
