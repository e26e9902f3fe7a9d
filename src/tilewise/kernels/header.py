"""The comment at the head of a rung's source: its idea, the picture of its tiles, the limiter it removes, the one it leaves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from tilewise.kernels.ladder import Rung
from tilewise.kernels.source import CUDA_FOLDER

_FIRST = re.compile(r"(?P<name>r\d\d)  (?P<title>[^:]+): (?P<idea>.+)")
_LAST = re.compile(r"(?P<key>Removes|Left): +(?P<text>.+)")


@dataclass(frozen=True, slots=True)
class Header:
    """What a rung's source says of itself, in its own words."""

    name: str
    title: str
    idea: str
    picture: tuple[str, ...]
    """Lines without the comment's marks, blank ones at its ends and the indent that all share left out."""
    removes: str
    leaves: str


def read_header(rung: Rung) -> Header:
    """Return the header of a rung's source. Raises ValueError for one that is not of the form CONTRIBUTING.md asks for."""
    text = (CUDA_FOLDER / "rungs" / rung.file).read_text(encoding="utf-8")
    comment = takewhile(lambda line: line.startswith("//"), text.splitlines())
    return parse_header([line.removeprefix("//").rstrip() for line in comment])


def parse_header(lines: list[str]) -> Header:
    """Return the header that a comment's lines hold: the idea, then the picture, then `Removes:` and `Left:`."""
    first = _FIRST.fullmatch(" ".join(lines[:1]).strip())
    tails = [index for index, line in enumerate(lines) if _LAST.match(line.strip())]
    if first is None or len(tails) != 2:
        raise ValueError(f"not a rung's header: {lines[:1]}")
    texts = {}
    for start, end in zip(tails, [*tails[1:], len(lines)], strict=True):
        words = _LAST.fullmatch(" ".join(line.strip() for line in lines[start:end]).strip())
        assert words is not None
        texts[words["key"]] = words["text"]
    return Header(first["name"], first["title"], first["idea"], _picture(lines[1 : tails[0]]), texts["Removes"], texts["Left"])


def _picture(lines: list[str]) -> tuple[str, ...]:
    while lines and not lines[0]:
        lines = lines[1:]
    while lines and not lines[-1]:
        lines = lines[:-1]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return tuple(line[indent:] for line in lines)
