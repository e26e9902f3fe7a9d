"""The wording of compile errors: NVRTC's log, cut down to the errors, at the user's own files and lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.core.errors import CompileError, TilewiseError
from tilewise.core.source import KernelSource

SHOWN = 8
"""Errors that a message quotes; the log has them all."""

_AT_LINE = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): (?:\w+ )?error(?: #[\w-]+)?: (?P<text>.*)")
_COMMAND_LINE = re.compile(r"Command-line error(?: #[\w-]+)?: (?P<text>.*)")
_PTXAS_AT_LINE = re.compile(r"ptxas .*, line (?P<line>\d+); (?:error|fatal)\s*: (?P<text>.*)")
_PTXAS = re.compile(r"ptxas (?:error|fatal)\s*: (?P<text>.*)")
_NAME_MAP = "__nv_name_map"
"""The file that NVRTC makes of the names it is asked for."""
_ABORTED = "Ptx assembly aborted due to errors"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error: `place` is "file:line", or a file alone; `quote` shows the line with a caret, or is empty."""

    place: str
    text: str
    quote: str = ""

    def __str__(self) -> str:
        return f"{self.place}: error: {self.text}" + (f"\n{self.quote}" if self.quote else "")


def compile_error(source: KernelSource, log: str, ptx: str) -> CompileError:
    """Return the error for a compile that failed with `log`; `ptx` is what ptxas was given, where it came to that."""
    errors = [error for block in _blocks(log) if (error := _read_block(source, block, ptx))]
    count = f"{len(errors)} error{'s' * (len(errors) != 1)}"
    lines = [f"{source.name} does not compile: {count}.", *(str(error) for error in errors[:SHOWN])]
    if len(errors) > SHOWN:
        lines.append(f"and {len(errors) - SHOWN} more.")
    return CompileError("\n".join(lines if errors else [f"{source.name} does not compile.", log]), log)


def name_error(source: KernelSource, log: str, names: Sequence[str]) -> TilewiseError | None:
    """Return the error for a compile that failed because no kernel has one of `names`; None where something else is wrong."""
    places = [match for block in _blocks(log) if (match := _AT_LINE.match(block[0]))]
    if not names or not places or any(match["file"] != _NAME_MAP for match in places):
        return None
    return TilewiseError(f"no kernel is called {' or '.join(names)}: {places[0]['text']}.", where=source.name)


def _blocks(log: str) -> list[list[str]]:
    """Return the lines of each diagnostic: NVRTC's end at an empty line, each of ptxas's is one line."""
    blocks: list[list[str]] = [[]]
    for line in log.splitlines():
        if not line.strip():
            blocks.append([])
        elif line.startswith("ptxas "):
            blocks += [[line], []]
        else:
            blocks[-1].append(line)
    return [block for block in blocks if block]


def _read_block(source: KernelSource, block: list[str], ptx: str) -> Diagnostic | None:
    """Return the error in a block, None for a warning, a remark or a closing count."""
    head = block[0]
    if match := _AT_LINE.match(head):
        return Diagnostic(f"{match['file']}:{match['line']}", match["text"], "\n".join(block[1:]))
    if match := _COMMAND_LINE.match(head):
        return Diagnostic(source.name, match["text"])
    if match := _PTXAS_AT_LINE.match(head):
        return _at_source(source, ptx, int(match["line"]), _decimal(match["text"]))
    if (match := _PTXAS.match(head)) and match["text"] != _ABORTED:
        return Diagnostic(source.name, _decimal(match["text"]))
    return None


def _at_source(source: KernelSource, ptx: str, ptx_line: int, text: str) -> Diagnostic:
    """Return an error of ptxas at the source line whose instructions hold line `ptx_line` of the PTX."""
    lines = ptx.splitlines()
    instruction = lines[ptx_line - 1].strip() if ptx_line <= len(lines) else ""
    text = f"{text} (in the PTX instruction {instruction!r})"
    locations = re.findall(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)", "\n".join(lines[:ptx_line]), re.MULTILINE)
    if not locations:
        return Diagnostic(source.name, text)
    index, line, column = (int(part) for part in locations[-1])
    files = {int(number): name for number, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.MULTILINE)}
    file = files.get(index, source.name)
    return Diagnostic(f"{file}:{line}", text, _quote(source, file, line, column))


def _quote(source: KernelSource, file: str, line: int, column: int) -> str:
    """Return line `line` of the source or of an in-memory header with a caret below column `column` (from 1)."""
    text = source.text if file == source.name else source.headers.get(file, "")
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    quoted = lines[line - 1]
    indent = re.sub(r"[^\t]", " ", quoted[: max(column - 1, 0)])
    return f"  {quoted}\n  {indent}^"


def _decimal(text: str) -> str:
    """Return ptxas's hexadecimal sizes in decimal."""
    return re.sub(r"\b0x[0-9a-f]+\b", lambda match: str(int(match[0], 16)), text)
