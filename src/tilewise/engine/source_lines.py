"""Lines of a source that a user names, such as 21, 17-20 or tile.cuh:9, and the instructions of a module that stand at them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError
from tilewise.ptx.ast import Function, Instruction, Position

LINES_LIMIT = 1000
"""Of one range."""
NEAREST = 3
"""Lines that an error offers."""

_LINES = re.compile(r"(?:(?P<file>[^:]+):)?(?P<first>[0-9]{1,7})(?:-(?P<last>[0-9]{1,7}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Lines first..last (inclusive) of a file; `file` is the end of its path, None for the kernel's own."""

    file: str | None
    first: int
    last: int

    def __str__(self) -> str:
        lines = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.file}:{lines}" if self.file else lines


def parse_lines(text: str) -> SourceLines:
    """Return the lines that a text names.

    Raises TilewiseError for anything else.
    """
    found = _LINES.fullmatch(text)
    first = int(found["first"]) if found else 0
    last = int(found["last"] or first) if found else 0
    if found is None or not 1 <= first <= last < first + LINES_LIMIT:
        raise TilewiseError(f"--line {text!r} names no lines: give such as 21, 17-20 or tile.cuh:9.")
    return SourceLines(found["file"], first, last)


def place_of(instruction: Instruction, lines: Sequence[SourceLines], own_file: str | None) -> Position | None:
    """Return the place within `lines` at which an instruction stands, itself or by a call that it was inlined from.

    Where a module has no source lines, its own take their place (`own_file` is None then).
    """
    for place in _chain(instruction, own_file):
        for wanted in lines:
            if wanted.first <= place.line <= wanted.last and _is_file(place.file, wanted.file, own_file):
                return place
    return None


def own_file(function: Function) -> str | None:
    """Return the file that a kernel stands in; None without line information."""
    return function.position.file if function.position else None


def refuse_empty(functions: Sequence[Function], lines: Sequence[SourceLines], kernel_file: str | None) -> TilewiseError:
    """Return the error for lines without an instruction, with the nearest that have some."""
    instructions = (item for function in functions for item in function.body if isinstance(item, Instruction))
    places = (place for item in instructions for place in _chain(item, kernel_file))
    wanted = lines[0]
    known = {place.line for place in places if _is_file(place.file, wanted.file, kernel_file)}
    near = sorted(sorted(known, key=lambda line: abs(line - wanted.first))[:NEAREST])
    what = " and ".join(map(str, lines))
    hint = f"the nearest lines with some are {', '.join(map(str, near))}" if near else "no such file is part of the kernel"
    return TilewiseError(f"no instruction stands at line {what}: {hint}.")


def _chain(instruction: Instruction, kernel_file: str | None) -> Iterator[Position]:
    """The instruction's place, then those of the calls that it was inlined from."""
    if kernel_file is None:
        yield Position("", instruction.ptx_line, 0)
        return
    place = instruction.position
    while place is not None:
        yield place
        place = place.inlined_at


def _is_file(file: str, wanted: str | None, kernel_file: str | None) -> bool:
    return file == (kernel_file or "") if wanted is None else file == wanted or file.endswith(f"/{wanted}")
