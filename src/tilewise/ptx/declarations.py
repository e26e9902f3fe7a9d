"""Variable and parameter declarations, with their initial values. Knows nothing of statements round them."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError, nearest
from tilewise.ptx.ast import Float, Integer, Relocation, Variable
from tilewise.ptx.constants import evaluate
from tilewise.ptx.cursor import ptx_error
from tilewise.ptx.operands import evaluate_offset, read_number, split_list

TYPE_BYTES = {
    **{f"{kind}{bits}": bits // 8 for kind in "bsu" for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("f16", "bf16"), 2),
    **dict.fromkeys(("f32", "tf32", "f16x2", "bf16x2"), 4),
    **dict.fromkeys(("f64", "texref", "samplerref", "surfref"), 8),
    "b128": 16,
    "pred": 1,
}
"""Bytes of one element (PTX ISA, "Types"); opaque texture references are 64-bit handles here."""

SPACES = ("param", "reg", "shared", "global", "const", "local")
LINKAGE = ("extern", "visible", "weak", "common")

SIZE_LIMIT = 1 << 40
"""Bytes of one variable: more than any GPU's memory."""

_QUALIFIER = re.compile(r"\s*+\.([A-Za-z]\w*+)(?:\s*+\(([^()]*+)\)|\s++(\d{1,9})(?!\w))?", re.ASCII)
_NAME_AND_SHAPE = re.compile(r"\s*+([A-Za-z_$%][\w$]*+|_)\s*+((?:\[\s*+\w*+\s*+\]\s*+)*)(?:=(.*))?\Z", re.ASCII | re.DOTALL)
_GENERIC = re.compile(r"generic\s*+\(\s*+([^()]*+)\)(.*)\Z", re.DOTALL)
_MASKED = re.compile(r"0[xX]([fF]{2}0{0,14})U?\s*+\((.*)\)\s*\Z", re.DOTALL)
_SYMBOL = re.compile(r"([A-Za-z_$%][\w$]*+)\s*+([+-].*)?\Z", re.ASCII | re.DOTALL)


@dataclass(slots=True)
class _Qualifiers:
    """What stands before the names of a declaration."""

    space: str = ""
    type: str = ""
    align: int = 0
    lanes: int | None = None
    external: bool = False
    is_pointer: bool = False


def read_declaration(text: str, line: int) -> list[Variable]:
    """Return the variables that a declaration such as `.shared .align 4 .b8 x[64]` (without its semicolon) declares.

    Raises TilewiseError, naming PTX line `line`, where the text is no declaration.
    """
    qualifiers, rest = _read_qualifiers(text, line)
    if qualifiers.space not in SPACES:
        raise ptx_error(f"{_short(text)} names no state space.{nearest(qualifiers.space, SPACES)}", line)
    if qualifiers.type not in TYPE_BYTES:
        raise ptx_error(f"{_short(text)}: .{qualifiers.type} is no type.{nearest(qualifiers.type, TYPE_BYTES)}", line)
    pieces = split_list(rest)
    if not pieces:
        raise ptx_error(f"{_short(text)} declares no name, or its brackets do not match", line)
    return [_read_variable(piece, qualifiers, line) for piece in pieces]


def read_parameters(text: str, line: int) -> tuple[Variable, ...]:
    """Return the parameters of a list (without its parentheses).

    Raises TilewiseError, naming PTX line `line`, where the text is no such list.
    """
    pieces = split_list(text)
    if pieces is None:
        raise ptx_error(f"the brackets of {_short(text)} do not match", line)
    return tuple(variable for piece in pieces for variable in read_declaration(piece, line))


def _read_qualifiers(text: str, line: int) -> tuple[_Qualifiers, str]:
    found = _Qualifiers()
    at = 0
    while match := _QUALIFIER.match(text, at):
        at = match.end()
        word, _, number = match.groups()
        if word == "align" and number is not None:
            # After .ptr stands the alignment of what the parameter points at, not the parameter's own.
            found.align = found.align if found.is_pointer else int(number)
        elif word == "ptr":
            found.is_pointer = True
        elif word in SPACES:
            found.space = found.space or word
        elif word in ("v2", "v4", "v8"):
            found.lanes = int(word[1:])
        elif word == "extern":
            found.external = True
        elif word not in LINKAGE and word not in ("attribute", "surf", "tex", "sampler"):
            if found.type or number is not None:
                raise ptx_error(f"{_short(text)}: .{word} is not understood here", line)
            found.type = word
    return found, text[at:]


def _read_variable(text: str, qualifiers: _Qualifiers, line: int) -> Variable:
    found = _NAME_AND_SHAPE.match(text)
    if found is None:
        raise ptx_error(f"{_short(text)} is no name with an optional [size] and initial value", line)
    name, shape, value = found.groups()
    dimensions = _read_shape(shape, line)
    element = TYPE_BYTES[qualifiers.type]
    initial: bytes | None = None
    relocations: tuple[Relocation, ...] = ()
    if value is not None:
        initial, relocations = _Initialiser(qualifiers.type, dimensions, line).read(value)
        if dimensions[:1] == [0]:
            dimensions[0] = -(-len(initial) // (element * max(1, math.prod(dimensions[1:]))))
    lanes = [] if qualifiers.lanes is None else [qualifiers.lanes]
    count = math.prod(dimensions + lanes) if dimensions or lanes else None
    if element * (count or 0) > SIZE_LIMIT:
        raise ptx_error(f"{name} takes {element * (count or 0)} bytes, more than any memory", line)
    if initial is not None and len(initial) > element * (1 if count is None else count):
        raise ptx_error(f"{name} has more initial values than elements", line)
    return Variable(
        name=name,
        space=qualifiers.space,
        type=qualifiers.type,
        count=count,
        align=qualifiers.align or element * (qualifiers.lanes or 1),
        external=qualifiers.external,
        initial=initial,
        is_pointer=qualifiers.is_pointer,
        relocations=relocations,
    )


def _read_shape(text: str, line: int) -> list[int]:
    dimensions: list[int] = []
    for piece in text.replace("[", " ").split("]")[:-1]:
        size = evaluate(piece) if piece.strip() else 0
        if size is None or not 0 <= size <= SIZE_LIMIT or len(dimensions) == 8:
            raise ptx_error(f"{_short(text)} is not the size of an array", line)
        dimensions.append(size)
    return dimensions


class _Initialiser:
    """Reads the values after `=` of one variable into bytes and relocations."""

    def __init__(self, type: str, dimensions: list[int], line: int) -> None:
        self._type = type
        self._element = TYPE_BYTES[type]
        self._dimensions = dimensions
        self._line = line
        self._bytes = bytearray()
        self._relocations: list[Relocation] = []

    def read(self, text: str) -> tuple[bytes, tuple[Relocation, ...]]:
        """Return the bytes as far as they are written, and the addresses among them."""
        starts: list[int] = []
        for piece in _values_and_braces(text):
            if piece == "{":
                starts.append(len(self._bytes))
            elif piece == "}":
                if not starts:
                    raise self._error(piece)
                self._close_row(starts.pop(), len(starts))
            else:
                self._read_value(piece)
        if starts:
            raise self._error(text)
        return bytes(self._bytes), tuple(self._relocations)

    def _close_row(self, start: int, depth: int) -> None:
        """Check that a row within rows is whole: its values would otherwise run into the next row's place."""
        if depth and len(self._bytes) - start != self._element * math.prod(self._dimensions[depth:]):
            raise ptx_error(f"a row of initial values is not {self._dimensions[depth:]} elements", self._line)

    def _read_value(self, text: str) -> None:
        number = read_number(text)
        if number is None and (value := evaluate(text)) is not None:
            number = Integer(value)
        if number is None:
            self._read_address(text)
        else:
            self._bytes += self._encode(number, text)

    def _encode(self, number: Integer | Float, text: str) -> bytes:
        is_float = self._type in ("f32", "f64")
        if isinstance(number, Float) and number.width == 8 * self._element:
            return number.bits.to_bytes(self._element, "little")
        if isinstance(number, Float) and is_float:
            value = struct.unpack("<d", number.bits.to_bytes(8, "little"))[0] if number.width == 64 else _widen(number.bits)
            return _pack_float(self._type, value)
        if isinstance(number, Integer) and is_float:
            return _pack_float(self._type, float(number.value))
        if isinstance(number, Integer):
            return (number.value & ((1 << 8 * self._element) - 1)).to_bytes(self._element, "little")
        raise self._error(text)

    def _read_address(self, text: str) -> None:
        byte = None
        if masked := _MASKED.match(text):
            byte = (len(masked.group(1)) - 2) // 2
            text = masked.group(2).strip()
        generic = _GENERIC.match(text)
        symbol = _SYMBOL.match("".join(generic.groups()) if generic else text)
        offset = evaluate_offset(symbol.group(2)) if symbol and symbol.group(2) else 0
        if symbol is None or offset is None or (byte is None and self._element < 4):
            raise self._error(text)
        self._relocations.append(Relocation(len(self._bytes), symbol.group(1), offset, generic is not None, byte))
        self._bytes += bytes(self._element)

    def _error(self, text: str) -> TilewiseError:
        return ptx_error(f"{_short(text)} is no initial value of type .{self._type}", self._line)


def _values_and_braces(text: str) -> list[str]:
    """Return the values, and the braces round them, in order; `{` and `}` never stand within a value."""
    pieces = [piece.strip() for piece in re.split(r"([{},])", text)]
    return [piece for piece in pieces if piece and piece != ","]


def _widen(bits: int) -> float:
    return float(struct.unpack("<f", bits.to_bytes(4, "little"))[0])


def _pack_float(type: str, value: float) -> bytes:
    if type == "f64":
        return struct.pack("<d", value)
    try:
        return struct.pack("<f", value)
    except OverflowError:  # rounds to infinity, as IEEE 754 has it
        return struct.pack("<f", math.copysign(math.inf, value))


def _short(text: str) -> str:
    text = " ".join(text[:200].split())
    return repr(text if len(text) <= 80 else text[:77] + "...")
