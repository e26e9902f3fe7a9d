"""One operand's text -> its syntax tree. Knows names through a Scope; knows nothing of opcodes."""

from __future__ import annotations

import re
import struct

from tilewise.ptx.ast import (
    Address,
    Arguments,
    Float,
    Integer,
    Negated,
    Operand,
    Pair,
    Part,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Vector,
)
from tilewise.ptx.constants import evaluate
from tilewise.ptx.scope import Scope

_INTEGER = re.compile(r"(-?)\s*+(?:0[xX]([0-9a-fA-F]{1,16})|0[bB]([01]{1,64})|0([0-7]{1,22})|(\d{1,20}))U?\Z", re.ASCII)
_FLOAT = re.compile(r"0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))\Z")
_DECIMAL = re.compile(r"-?(?:\d{1,40}\.\d{0,40}(?:[eE][+-]?\d{1,4})?|\d{1,40}[eE][+-]?\d{1,4})\Z", re.ASCII)
_NAME = re.compile(r"[A-Za-z_$%][\w$]*+\Z", re.ASCII)
_PART = re.compile(r"(%?[\w$]++)\.([xyzwrgba]|[bh][0-3])\Z", re.ASCII)
_SUM = re.compile(r"([A-Za-z_$%][\w$]*+)\s*+([+-].*)\Z", re.ASCII | re.DOTALL)
_PUNCTUATION = re.compile(r"[,{}\[\]()]")

WARP_SIZE = 32
_DEPTH_LIMIT = 16
SINK = Sink()


def split_list(text: str) -> list[str] | None:
    """Return the pieces of `text` between its commas outside all brackets; None where brackets do not match or nest too deep."""
    if not text.strip():
        return []
    pieces: list[str] = []
    open_brackets: list[str] = []
    start = 0
    for found in _PUNCTUATION.finditer(text):
        mark = found.group()
        if mark == ",":
            if not open_brackets:
                pieces.append(text[start : found.start()])
                start = found.end()
        elif mark in "{[(":
            if len(open_brackets) == _DEPTH_LIMIT:
                return None
            open_brackets.append("}])"["{[(".index(mark)])
        elif not open_brackets or open_brackets.pop() != mark:
            return None
    pieces.append(text[start:])
    return None if open_brackets else pieces


def read_operands(text: str, scope: Scope) -> tuple[Operand, ...] | None:
    """Return the operands of an instruction other than a call; None where one of them is not understood."""
    pieces = split_list(text) if "{" in text or "(" in text else text.split(",")
    return None if pieces is None else _read_all(pieces, scope)


def read_call(text: str, scope: Scope) -> tuple[Operand, ...] | None:
    """Return the operands of a call, whose lists in parentheses become Arguments; None where one is not understood."""
    pieces = split_list(text)
    if pieces is None:
        return None
    operands: list[Operand] = []
    for piece in map(str.strip, pieces):
        if piece.startswith("(") and piece.endswith(")"):
            elements = _read_elements(piece, scope)
            if elements is None:
                return None
            operands.append(Arguments(elements))
        else:
            operand = read_operand(piece, scope)
            if operand is None:
                return None
            operands.append(operand)
    return tuple(operands)


def read_operand(text: str, scope: Scope) -> Operand | None:
    """Return the operand that `text` (without blanks round it) states; None where it is not understood or a name unknown."""
    match text[:1]:
        case "[":
            return _read_address(text[1:-1], scope) if text.endswith("]") else None
        case "{":
            elements = _read_elements(text, scope) if text.endswith("}") else None
            return None if elements is None else Vector(elements)
        case "!":
            register = scope.register(text[1:].strip())
            return None if register is None else Negated(register)
        case "_" if text == "_":
            return SINK
    if "|" in text and (pair := _read_pair(text, scope)) is not None:
        return pair
    if _NAME.match(text):
        return _read_name(text, scope)
    return read_number(text) or _read_part(text, scope) or _read_symbol_sum(text, scope) or _read_constant(text)


def read_number(text: str) -> Integer | Float | None:
    """Return a literal; None where `text` is none, or an integer that 64 bits do not hold."""
    if found := _INTEGER.match(text):
        sign, hexadecimal, binary, octal, decimal = found.groups()
        digits, base = next((d, b) for d, b in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)) if d is not None)
        value = -int(digits, base) if sign else int(digits, base)
        return Integer(value) if -(1 << 63) <= value < 1 << 64 else None
    if found := _FLOAT.match(text):
        single, double = found.groups()
        return Float(int(single, 16), 32) if single else Float(int(double, 16), 64)
    if _DECIMAL.match(text):
        return Float(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64)
    return None


def _read_all(pieces: list[str], scope: Scope) -> tuple[Operand, ...] | None:
    cache = scope.cache
    operands: list[Operand] = []
    for piece in pieces:
        operand = cache.get(piece)
        if operand is None:
            operand = read_operand(piece.strip(), scope)
            if operand is None:
                return None
            cache[piece] = operand
        operands.append(operand)
    return tuple(operands)


def _read_elements(text: str, scope: Scope) -> tuple[Operand, ...] | None:
    pieces = split_list(text[1:-1])
    return None if pieces is None else _read_all(pieces, scope)


def _read_name(text: str, scope: Scope) -> Operand | None:
    register = scope.register(text)
    if register is not None:
        return register
    symbol = scope.symbol(text)
    if symbol is not None:
        return Symbol(symbol)
    return Integer(WARP_SIZE) if text == "WARP_SZ" else None


def _read_pair(text: str, scope: Scope) -> Pair | None:
    names = [name.strip() for name in text.split("|")]
    if len(names) != 2:
        return None
    first, second = (SINK if name == "_" else scope.register(name) for name in names)
    return None if first is None or second is None else Pair(first, second)


def _read_part(text: str, scope: Scope) -> Register | Part | None:
    special = scope.register(text)
    if special is not None:
        return special
    found = _PART.match(text)
    register = scope.register(found.group(1)) if found else None
    return Part(register, found.group(2)) if found and register else None


def _read_symbol_sum(text: str, scope: Scope) -> Symbol | None:
    found = _SUM.match(text)
    if found is None:
        return None
    symbol, offset = scope.symbol(found.group(1)), evaluate_offset(found.group(2))
    return None if symbol is None or offset is None else Symbol(symbol, offset)


def _read_constant(text: str) -> Integer | None:
    value = evaluate(text)
    return None if value is None else Integer(value)


def evaluate_offset(text: str) -> int | None:
    """Return the value of `+8`, `+-8`, `-8` or `+2*4`; None for anything else."""
    return evaluate(text[1:] if text[0] == "+" else text)


def _read_address(text: str, scope: Scope) -> Address | TensorAddress | None:
    if "," in text:
        return _read_tensor_address(text, scope)
    text = text.strip()
    found = _SUM.match(text)
    name, offset = (found.group(1), evaluate_offset(found.group(2))) if found else (text, 0)
    if offset is None:
        return None
    base = _read_name(name, scope) if _NAME.match(name) else _read_constant(name)
    if isinstance(base, (Register, Symbol, Integer)):
        return Address(base, offset)
    return None


def _read_tensor_address(text: str, scope: Scope) -> TensorAddress | None:
    pieces = split_list(text)
    if pieces is None or len(pieces) not in (2, 3):
        return None
    base = _read_address(pieces[0], scope)
    rest = _read_all(pieces[1:], scope)
    if not isinstance(base, Address) or rest is None:
        return None
    sampler = rest[0] if len(rest) == 2 else None
    coordinates = rest[-1].elements if isinstance(rest[-1], Vector) else (rest[-1],)
    return TensorAddress(base, sampler, coordinates)
