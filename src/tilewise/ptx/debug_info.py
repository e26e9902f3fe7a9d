"""What an unoptimised build says of a function's C++ variables: names, types, and where each stands at a line of the PTX.

The numbers are DWARF's [DWARF Debugging Information Format, version 2, sections 7.5 and 7.8]; a register is named by the bytes of
its own name, as PTX has it [measured on NVRTC 12.6 to 13.5].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tilewise.ptx.cursor import without_comments
from tilewise.ptx.dwarf import SYMBOL, Damaged, Dwarf, Entry, Reader, read_dwarf

TYPE_DEPTH_LIMIT = 16
"""Types within types, as words: a damaged one may contain itself."""

_SUBPROGRAM, _PARAMETER, _VARIABLE, _BLOCK, _SUBRANGE = 0x2E, 0x05, 0x34, 0x0B, 0x21
_NAME, _LOCATION, _LOW, _HIGH, _TYPE, _UPPER, _COUNT = 0x03, 0x02, 0x11, 0x12, 0x49, 0x2F, 0x37
_LINKAGE_NAMES = (0x2007, 0x6E)
_ORIGINS = (0x31, 0x47)
"""Attributes that name the entry an entry completes."""
_CONST = 0x26
_OP_ADDRESS, _OP_ADD, _OP_REGISTER = 0x03, 0x23, 0x90


@dataclass(frozen=True, slots=True)
class Place:
    """Where a variable stands for the instructions of PTX lines first..end (exclusive): a register, or memory past a symbol."""

    first: int
    end: int
    register: str | None = None
    symbol: str | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class SourceVariable:
    """A parameter or a variable; `type` is its C++ type in words."""

    name: str
    type: str
    is_parameter: bool
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function as the source has it; `name` is what the PTX calls it."""

    name: str
    variables: tuple[SourceVariable, ...]

    @property
    def parameters(self) -> tuple[SourceVariable, ...]:
        """Its parameters, in order."""
        return tuple(variable for variable in self.variables if variable.is_parameter)

    def in_register(self, register: str, line: int) -> tuple[SourceVariable, ...]:
        """Return the variables that stand in a register at a line of the PTX, innermost last."""
        return tuple(
            variable
            for variable in self.variables
            if any(place.register == register and place.first <= line < place.end for place in variable.places)
        )


def read_functions(text: str) -> dict[str, SourceFunction]:
    """Return what the debug information in a PTX text says of each function, by its name in the PTX; {} where there is none."""
    if ".debug_info" not in text:
        return {}
    dwarf = read_dwarf(without_comments(text))
    functions = {}
    for unit in dwarf.units:
        for entry in unit.walk():
            if entry.tag == _SUBPROGRAM and entry.number(_LOW) is not None:
                function = _read_function(dwarf, entry)
                functions[function.name] = function
    return functions


def _read_function(dwarf: Dwarf, entry: Entry) -> SourceFunction:
    described = _with_origin(dwarf, entry)
    name = next((one.text(link) for one in described for link in _LINKAGE_NAMES if one.text(link)), "")
    name = name or next((one.text(_NAME) for one in described if one.text(_NAME)), "")
    whole = (entry.number(_LOW) or 0, entry.number(_HIGH) or 0)
    return SourceFunction(name, tuple(_read_variables(dwarf, entry, whole)))


def _read_variables(dwarf: Dwarf, scope: Entry, lines: tuple[int, int]) -> Iterator[SourceVariable]:
    """Yield the variables of a scope that spans these lines, then those of the scopes within it."""
    inner: list[tuple[Entry, tuple[int, int]]] = []
    for entry in scope.children:
        if entry.tag in (_PARAMETER, _VARIABLE):
            described = _with_origin(dwarf, entry)
            name = next((one.text(_NAME) for one in described if one.text(_NAME)), "")
            type_ = next((_describe(dwarf, one) for one in described if one.number(_TYPE) is not None), "void")
            yield SourceVariable(name, type_, entry.tag == _PARAMETER, tuple(_read_places(dwarf, entry, lines)))
        elif entry.tag == _BLOCK:
            low, high = entry.number(_LOW), entry.number(_HIGH)
            inner.append((entry, lines if low is None or high is None else (low, high)))
    for entry, within in inner:
        yield from _read_variables(dwarf, entry, within)


def _with_origin(dwarf: Dwarf, entry: Entry) -> Sequence[Entry]:
    """The entry and those that it completes."""
    chain = [entry]
    while len(chain) < TYPE_DEPTH_LIMIT:
        origin = next((dwarf.entries.get(number) for link in _ORIGINS if (number := chain[-1].number(link)) is not None), None)
        if origin is None:
            break
        chain.append(origin)
    return chain


# -- places


def _read_places(dwarf: Dwarf, entry: Entry, lines: tuple[int, int]) -> Iterator[Place]:
    """Yield where a variable stands: in one place throughout its scope, or as a list says."""
    location = entry.attributes.get(_LOCATION)
    try:
        if isinstance(location, bytes):
            yield from _read_place(dwarf, location, lines)
        elif isinstance(location, int):
            for place in _read_list(dwarf, location):
                yield replace(place, first=max(place.first, lines[0]), end=min(place.end, lines[1]))
    except Damaged:
        return


def _read_list(dwarf: Dwarf, offset: int) -> Iterator[Place]:
    """Yield the places of a location list [section 7.7.3]."""
    reader = Reader(dwarf.locations, offset)
    while (lines := (reader.number(8), reader.number(8))) != (0, 0):
        yield from _read_place(dwarf, reader.take(reader.number(2)), lines)


def _read_place(dwarf: Dwarf, expression: bytes, lines: tuple[int, int]) -> Iterator[Place]:
    reader = Reader(expression)
    operation = reader.number(1)
    if operation == _OP_REGISTER:
        number = reader.variable()
        name = number.to_bytes(16, "big").lstrip(b"\0").decode(errors="replace")
        yield Place(*lines, register=name)
    elif operation == _OP_ADDRESS:
        address = reader.number(8)
        offset = reader.variable() if reader.at < reader.end and reader.number(1) == _OP_ADD else 0
        index = address - SYMBOL
        if 0 <= index < len(dwarf.symbols):
            yield Place(*lines, symbol=dwarf.symbols[index], offset=offset)


# -- types in words


def _describe(dwarf: Dwarf, entry: Entry, depth: int = 0) -> str:
    """The type that an entry refers to, in words."""
    number = entry.number(_TYPE)
    type_ = None if number is None else dwarf.entries.get(number)
    if type_ is None or depth > TYPE_DEPTH_LIMIT:
        return "void"
    inner = _describe(dwarf, type_, depth + 1) if not type_.text(_NAME) else ""
    match type_.tag:
        case 0x0F:  # pointer
            element, bracket, extents = inner.partition("[")
            if bracket and "(" not in inner:
                return f"{element} (*)[{extents}"
            return f"{inner.removesuffix('(...)')}(*)(...)" if inner.endswith("(...)") else f"{inner}*"
        case 0x15:  # function
            return f"{inner} (...)"
        case 0x10:  # reference
            return f"{inner}&"
        case 0x26 | 0x35:  # const, volatile
            word = "const" if type_.tag == _CONST else "volatile"
            return f"{inner} {word}" if inner.endswith("*") else f"{word} {inner}"
        case 0x01:  # array
            return inner + "".join(_describe_extent(child) for child in type_.children if child.tag == _SUBRANGE)
    return type_.text(_NAME) or inner


def _describe_extent(subrange: Entry) -> str:
    """One dimension of an array, which says its last index or its elements."""
    upper, count = subrange.number(_UPPER), subrange.number(_COUNT)
    return f"[{upper + 1}]" if upper is not None else "[]" if count is None else f"[{count}]"
