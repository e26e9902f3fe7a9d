"""Source positions: `.file`, `.loc` and the names in `.section .debug_str`. Knows nothing of instructions."""

from __future__ import annotations

import re
from dataclasses import replace

from tilewise.ptx.ast import Position

_FILE = re.compile(r'^[ \t]*\.file\s++(\d{1,9})\s++"((?:[^"\\\n]++|\\.)*)"', re.MULTILINE)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_SECTION = re.compile(r"\.section\s++([\w.$]++)\s*+\{([^{}]*+)\}", re.ASCII)
_STRING_LINE = re.compile(r"([A-Za-z_$][\w$]*+)\s*+:|\.b8\s++([\d,\s]++)", re.ASCII)

CHAIN_LIMIT = 64
"""Calls inlined into each other, at most: no compiler goes so deep, and positions are compared by recursion."""

Location = tuple[int, int, int]
"""File number, line, column."""


class LineTable:
    """Turns `.loc` directives into positions.

    `files` are the paths by number; `strings` those of .debug_str by the offset they begin at; `labels` offsets there by name.
    """

    def __init__(self, files: dict[int, str], strings: dict[int, str], labels: dict[str, int]) -> None:
        self.files = files
        self._strings = strings
        self._labels = labels
        self._latest: dict[Location, Position] = {}

    def enter_function(self) -> None:
        """Forget the positions of the function before: an inlined_at refers to a `.loc` of its own function."""
        self._latest.clear()

    def position(self, place: Location, function: tuple[str, int] | None, inlined_at: Location | None) -> Position:
        """Return the position of a `.loc` with a line of at least 1.

        `function` is the label and offset after `function_name`. The chain of callers comes from the `.loc` before this one that
        names the place of `inlined_at` (PTX ISA, "Debugging Directives: .loc": it must lexically precede).
        """
        position = self._place(place, self._name(*function) if function else None)
        if inlined_at is not None:
            caller = self._latest.get(inlined_at) or self._place(inlined_at, None)
            position = _inline(position, caller)
        self._latest[place] = position
        return position

    def _place(self, place: Location, function: str | None) -> Position:
        return Position(self._file(place[0]), place[1], place[2], function)

    def _file(self, number: int) -> str:
        return self.files.get(number, f"<file {number}>")

    def _name(self, label: str, offset: int) -> str | None:
        start = self._labels.get(label)
        return None if start is None else self._strings.get(start + offset)


def read_line_table(text: str) -> LineTable:
    """Return the line table of a PTX text (without comments), whose `.file` and `.section` blocks may come after the code."""
    files = {int(number): _unescaped(path) for number, path in _FILE.findall(text)}
    strings = bytearray()
    labels: dict[str, int] = {".debug_str": 0}
    for section in _SECTION.finditer(text):
        if section.group(1) == ".debug_str":
            _read_strings(section.group(2), strings, labels)
    return LineTable(files, _split_strings(bytes(strings)), labels)


def _inline(position: Position, caller: Position) -> Position:
    """Return `position` with its caller's chain; recursion that comes back to it ends there, as does a chain of CHAIN_LIMIT."""
    above: Position | None = caller
    place = position.line, position.column, position.file, position.function
    for _ in range(CHAIN_LIMIT):
        if above is None:
            return replace(position, inlined_at=caller)
        if (above.line, above.column, above.file, above.function) == place:
            return above
        above = above.inlined_at
    return position


def _read_strings(body: str, strings: bytearray, labels: dict[str, int]) -> None:
    for line in _STRING_LINE.finditer(body):
        label, values = line.groups()
        if label is not None:
            labels[label] = len(strings)
        else:
            strings.extend(int(value[-9:]) & 0xFF for value in re.findall(r"\d+", values))


def _split_strings(data: bytes) -> dict[int, str]:
    """Return each string that a zero byte ends, by the offset it begins at."""
    found: dict[int, str] = {}
    start = 0
    for piece in data.split(b"\0")[:-1]:
        found[start] = piece.decode("utf-8", "replace")
        start += len(piece) + 1
    return found


def _unescaped(path: str) -> str:
    """A path whose bytes beyond ASCII are written as octal numbers, each byte of a character by itself."""
    return _ESCAPE.sub(_escaped_byte, path.encode(errors="replace")).decode("utf-8", "replace")


def _escaped_byte(escape: re.Match[bytes]) -> bytes:
    code = escape.group(1)
    return bytes([int(code, 8) & 255]) if len(code) == 3 else bytes(code)
