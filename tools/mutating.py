"""Mutants of the ladder's sources: each differs from a rung in one place where a careless hand might have slipped.

Knows the sources' text; running the mutants is mutant_check.py's business. Every operator reads one line and yields what may
stand in its place, with a word on what was done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilewise.kernels.ladder import Rung
from tilewise.kernels.source import CUDA_FOLDER

Change = tuple[str, str]
"""What was done, and the new text of the line."""

_ORDERING = re.compile(r"\s*(__syncthreads|__syncwarp|cp_async_wait_group<\d+>|cp_async_commit_group)\(\);")
_EXIT = re.compile(r"\s*if \(.*\) return;")
_LEAVES = re.compile(r"\b(return|break);")
_INCLUDE = re.compile(r'#include "(async_copy\.cuh)"')
_COMPARISON = re.compile(r"(?<![\w.])([\w.]+(?: [-+*/%] [\w.]+)*) (<|<=|>=|>) ([\w.]+(?: [-+*/%] (?:[\w.]+|\([^()]*\)))*)")
_ALIGNMENT = re.compile(r"\bis_aligned\([^()]*\)(?! \{)|\baligned(?= &&)")
_CLAMP = re.compile(r"max\(0, min\(4, [^()]*\)\)")
_TILE = re.compile(r"\b(?:a_tile|b_tile|tile)(?=\[)")
_INDEX = re.compile(r"\b([abc]_index)\(([^,()]+), ([^,()]+), ")
_THREAD = re.compile(r"threadIdx\.([xy])")
_STAGES = (
    (re.compile(r"\[2\](?=\[BK\])"), ("[1]", "[3]")),
    (re.compile(r"stage \^= 1"), ("stage ^= 0",)),
    (re.compile(r"copy_tiles\(stage \^ 1, "), ("copy_tiles(stage, ",)),
    (re.compile(r"copy_tiles\(stage, 0\)"), ("copy_tiles(stage ^ 1, 0)",)),
    (re.compile(r"cp_async_wait_group<0>"), ("cp_async_wait_group<1>",)),
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed file of a rung."""

    rung: str
    file: str
    """Relative to the folder of the CUDA sources, such as "rungs/r03_smem_tile.cu"."""
    line: int
    change: str
    """What was done, such as "dropped __syncthreads()"."""
    text: str
    """The file's new text."""

    @property
    def name(self) -> str:
        """Such as "r03 async_copy.cuh:24 k < depth is true"."""
        return f"{self.rung} {self.file.rpartition('/')[2]}:{self.line} {self.change}"


def mutants(rung: Rung) -> tuple[Mutant, ...]:
    """Return all mutants of a rung, each text once: of its own file, and of the header that copies its tiles."""
    own = f"rungs/{rung.file}"
    found: dict[tuple[str, str], Mutant] = {}
    for file in (own, *_INCLUDE.findall(_read(own))):
        lines = _read(file).splitlines()
        for number in range(len(lines)):
            for done, changed in _changes(lines, number):
                text = "\n".join(changed) + "\n"
                found.setdefault((file, text), Mutant(rung.name, file, number + 1, done, text))
    return tuple(found.values())


def _read(file: str) -> str:
    return (CUDA_FOLDER / file).read_text(encoding="utf-8")


def _changes(lines: list[str], number: int) -> Iterator[tuple[str, list[str]]]:
    """Yield what was done and the file's lines, for each mutant of one line."""
    code = _code(lines[number])
    if not code.strip() or "static_assert" in code:
        return
    if _ORDERING.match(code):
        yield f"dropped {code.strip()}", [*lines[:number], "", *lines[number + 1 :]]
    if _ORDERING.match(code) or _EXIT.match(code):
        yield from _moves(lines, number)
    for operator in OPERATORS:
        for done, changed in operator(code):
            yield done, [*lines[:number], changed, *lines[number + 1 :]]


def _code(line: str) -> str:
    return line.partition("//")[0].rstrip()


# -- lines that change places


def _moves(lines: list[str], number: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the file with a line above the code before it, and below the code behind it, a pragma going with its loop."""
    moved, rest = lines[number], [*lines[:number], *lines[number + 1 :]]
    above = _nearest_code(rest, number - 1, -1)
    if above is not None:
        while above > 0 and rest[above - 1].strip().startswith("#pragma"):
            above -= 1
        yield f"moved {_code(moved).strip()} up", [*rest[:above], moved, *rest[above:]]
    below = _nearest_code(rest, number, 1)
    if below is not None:
        while rest[below].strip().startswith("#pragma"):
            below += 1
        yield f"moved {_code(moved).strip()} down", [*rest[: below + 1], moved, *rest[below + 1 :]]


def _nearest_code(lines: list[str], start: int, step: int) -> int | None:
    number = start
    while 0 <= number < len(lines):
        if _code(lines[number]).strip():
            return number
        number += step
    return None


# -- operators on one line


def drop_guards(code: str) -> Iterator[Change]:
    """Each comparison that keeps a thread within the edges lets it go on; each clamp of a copy's size takes all of it."""
    if code.lstrip().startswith("for "):
        return
    held = "false" if _LEAVES.search(code) else "true"
    for found in _COMPARISON.finditer(code):
        yield f"{found[0]} is {held}", _replaced(code, found, held)
    for found in _ALIGNMENT.finditer(code):
        yield f"{found[0]} is true", _replaced(code, found, "true")
    for found in _CLAMP.finditer(code):
        yield f"{found[0]} is 4", _replaced(code, found, "4")


def shift_guards(code: str) -> Iterator[Change]:
    """Each edge lies one further out."""
    if code.lstrip().startswith("for "):
        return
    for found in _COMPARISON.finditer(code):
        wider = {"<": "<=", ">=": ">"}.get(found[2])
        if wider is not None:
            done = f"{found[1]} {wider} {found[3]}"
            yield done, _replaced(code, found, done)


def swap_indices(code: str) -> Iterator[Change]:
    """The last two indices of a tile, the first two of an operand, and a thread's x and y change places."""
    if "__shared__" not in code:
        for found in _TILE.finditer(code):
            brackets = _subscripts(code, found.end())
            if len(brackets) >= 2:
                (start, middle), (_, end) = brackets[-2:]
                swapped = code[middle:end] + code[start:middle]
                yield f"{found[0]}{swapped}", code[:start] + swapped + code[end:]
    for found in _INDEX.finditer(code):
        swapped = f"{found[1]}({found[3]}, {found[2]}, "
        yield f"{swapped}...)", _replaced(code, found, swapped)
    for found in _THREAD.finditer(code):
        other = "threadIdx.y" if found[1] == "x" else "threadIdx.x"
        yield f"{other} for {found[0]}", _replaced(code, found, other)


def miscount_stages(code: str) -> Iterator[Change]:
    """One slot or group of copies more or less."""
    for pattern, replacements in _STAGES:
        for found in pattern.finditer(code):
            for replacement in replacements:
                yield f"{replacement} for {found[0]}", _replaced(code, found, replacement)


OPERATORS: tuple[Callable[[str], Iterator[Change]], ...] = (drop_guards, shift_guards, swap_indices, miscount_stages)


def _replaced(code: str, found: re.Match[str], text: str) -> str:
    return code[: found.start()] + text + code[found.end() :]


def _subscripts(code: str, at: int) -> list[tuple[int, int]]:
    """Where each of the subscripts that follow each other begins and ends, brackets included."""
    found = []
    while code[at : at + 1] == "[":
        depth, end = 0, at
        while True:
            depth += {"[": 1, "]": -1}.get(code[end], 0)
            end += 1
            if depth == 0:
                break
        found.append((at, end))
        at = end
    return found
