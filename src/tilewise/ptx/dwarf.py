"""DWARF as PTX text carries it: `.section` blocks of bytes and labels become a tree of entries. Knows no entry's meaning.

Format: DWARF Debugging Information Format, version 2 (which is what NVRTC writes), sections 7.5 and 7.7. A place in the code has
no address in PTX: it is the number of its line in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

SYMBOL = 1 << 63
"""An address of this and more is a variable's: the rest numbers it among the symbols."""
DEPTH_LIMIT = 128
"""Entries within entries."""

Attribute = int | str | bytes

_SECTION = re.compile(r"^[ \t]*\.section[ \t]+\.(debug_\w+)\s*\{([^{}]*)\}", re.MULTILINE)
_LABEL = re.compile(r"^[ \t]*([A-Za-z_$][\w$.]*):", re.MULTILINE)
_ITEM = re.compile(r"([A-Za-z_$][\w$.]*):|\.b(8|16|32|64)[ \t]+([^\n]*)")
_VALUE = re.compile(r"(-?[0-9]{1,20})(?![\w.])|(\.?[A-Za-z_$][\w$.]*)(?:\+([0-9]{1,9}))?")

_FIXED = {0x01: 8, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x17: 4}
"""Bytes of the forms that are numbers: addresses, data, references, flags."""
_COUNTED = {0x0A: 1, 0x03: 2, 0x04: 4}
"""Bytes of the length before a block."""


@dataclass(slots=True)
class Entry:
    """One entry: its tag, its attributes by number, the entries within it, and its offset in .debug_info."""

    tag: int
    attributes: dict[int, Attribute]
    offset: int
    children: list[Entry] = field(default_factory=list)

    def text(self, attribute: int) -> str:
        """An attribute that is text; empty where there is none."""
        value = self.attributes.get(attribute)
        return value if isinstance(value, str) else ""

    def number(self, attribute: int) -> int | None:
        """An attribute that is a number, an address or a reference; None where there is none."""
        value = self.attributes.get(attribute)
        return value if isinstance(value, int) else None

    def walk(self) -> Iterator[Entry]:
        """Yield this entry and all within it."""
        waiting = [self]
        while waiting:
            entry = waiting.pop()
            yield entry
            waiting += reversed(entry.children)


@dataclass(frozen=True, slots=True)
class Dwarf:
    """What a PTX text says: the compile units, every entry by its offset, the bytes of .debug_loc, and the symbols' names."""

    units: tuple[Entry, ...]
    entries: Mapping[int, Entry]
    locations: bytes
    symbols: tuple[str, ...]


class Reader:
    """Reads numbers from bytes, lowest byte first. Raises Damaged where the bytes end too early."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else min(end, len(data))

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if count > self.end - self.at:
            raise Damaged
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, size: int) -> int:
        """The next `size` bytes as a number."""
        return int.from_bytes(self.take(size), "little")

    def variable(self, *, signed: bool = False) -> int:
        """A number in seven bits a byte [section 7.6]."""
        value, shift, more = 0, 0, True
        while more:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            more = byte >= 0x80
            if shift > 70:
                raise Damaged
        return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        """Text up to its zero byte."""
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            raise Damaged
        return self.take(end + 1 - self.at)[:-1].decode(errors="replace")


class Damaged(Exception):
    """The bytes are not what the format says, or have a form that is not read here."""


def read_dwarf(text: str) -> Dwarf:
    """Return the debug information of a PTX text (without comments); without units where it has none, or it is damaged."""
    sections, symbols = _assemble(text)
    try:
        units = tuple(_read_units(sections))
    except Damaged:
        units = ()
    entries = {entry.offset: entry for unit in units for entry in unit.walk()}
    return Dwarf(units, entries, sections.get("debug_loc", b""), symbols)


# -- text to bytes


def _assemble(text: str) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return each section's bytes by its name, and the names of variables that they refer to."""
    bodies = {found[1]: found[2] for found in _SECTION.finditer(text)}
    if not bodies:
        return {}, ()
    places = _code_labels(text)
    for name, body in bodies.items():
        places[f".{name}"] = 0
        offset = 0
        for label, bits, values in _ITEM.findall(body):
            if label:
                places[label] = offset
            else:
                offset += int(bits) // 8 * (values.count(",") + 1)
    symbols: dict[str, int] = {}
    return {name: _encode(body, places, symbols) for name, body in bodies.items()}, tuple(symbols)


def _code_labels(text: str) -> dict[str, int]:
    """Return the line of each label."""
    places, line, counted = {}, 1, 0
    for found in _LABEL.finditer(text):
        line += text.count("\n", counted, found.start(1))
        counted = found.start(1)
        places[found[1]] = line
    return places


def _encode(body: str, places: Mapping[str, int], symbols: dict[str, int]) -> bytes:
    data = bytearray()
    for _, bits, values in _ITEM.findall(body):
        size = int(bits or 0) // 8
        for value in values.split(",") if size else ():
            found = _VALUE.match(value.strip())
            number = 0
            if found is not None and found[1]:
                number = int(found[1])
            elif found is not None:
                place = places.get(found[2])
                number = SYMBOL | symbols.setdefault(found[2], len(symbols)) if place is None else place + int(found[3] or 0)
            data += (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return bytes(data)


# -- bytes to entries


def _read_units(sections: Mapping[str, bytes]) -> Iterator[Entry]:
    """Yield the root of each compile unit [section 7.5.1]."""
    info = sections.get("debug_info", b"")
    reader = Reader(info)
    while reader.at < reader.end:
        start = reader.at
        length, version = reader.number(4), reader.number(2)
        unit = Reader(info, reader.at, start + 4 + length)
        if version not in (2, 3, 4) or unit.end <= unit.at:
            raise Damaged
        kinds = _read_kinds(Reader(sections.get("debug_abbrev", b""), unit.number(4)))
        unit.take(1)
        yield from _read_tree(unit, start, kinds, sections.get("debug_str", b""))
        reader.at = unit.end


_Kind = tuple[int, bool, list[tuple[int, int]]]
"""An abbreviation: tag, whether entries stand within, and its attributes with their forms."""


def _read_kinds(reader: Reader) -> dict[int, _Kind]:
    """Return the abbreviations of a unit by their number [section 7.5.3]."""
    kinds: dict[int, _Kind] = {}
    while code := reader.variable():
        tag, has_children, attributes = reader.variable(), reader.number(1) == 1, []
        while (pair := (reader.variable(), reader.variable())) != (0, 0):
            attributes.append(pair)
        kinds[code] = tag, has_children, attributes
    return kinds


def _read_tree(reader: Reader, unit_start: int, kinds: Mapping[int, _Kind], texts: bytes) -> Iterator[Entry]:
    parents: list[Entry] = []
    while reader.at < reader.end:
        offset = reader.at
        code = reader.variable()
        if not code:
            if parents:
                parents.pop()
            continue
        if code not in kinds or len(parents) > DEPTH_LIMIT:
            raise Damaged
        tag, has_children, attributes = kinds[code]
        values = {name: _read_attribute(reader, form, unit_start, texts) for name, form in attributes}
        entry = Entry(tag, values, offset)
        if parents:
            parents[-1].children.append(entry)
        else:
            yield entry
        if has_children:
            parents.append(entry)


def _read_attribute(reader: Reader, form: int, unit_start: int, texts: bytes) -> Attribute:
    if form in _FIXED:
        within_unit = 0x11 <= form <= 0x14
        return reader.number(_FIXED[form]) + (unit_start if within_unit else 0)
    if form in _COUNTED:
        return reader.take(reader.number(_COUNTED[form]))
    match form:
        case 0x08:  # string
            return reader.text()
        case 0x0E:  # strp
            return Reader(texts, reader.number(4)).text()
        case 0x09 | 0x18:  # block, exprloc
            return reader.take(reader.variable())
        case 0x0D:  # sdata
            return reader.variable(signed=True)
        case 0x0F:  # udata
            return reader.variable()
        case 0x15:  # ref_udata
            return reader.variable() + unit_start
        case 0x19:  # flag_present
            return 1
    raise Damaged
