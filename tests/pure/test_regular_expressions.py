"""Python before 3.11.5 (Debian 12 has 3.11.2) matches possessively repeated groups wrongly [CPython issue 106052]."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewise

SOURCES = sorted(Path(tilewise.__file__).parent.rglob("*.py"))
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[?*+]|\{[\d,]+\})\+")


@pytest.mark.parametrize("pattern", [r"(?:ab)?+", r"(ab)*+c", r"(ab)++", r"(a){0,3}+"])
def test_possessive_groups_are_seen(pattern: str) -> None:
    assert POSSESSIVE_GROUP.search(pattern)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_group_is_repeated_possessively(path: Path) -> None:
    assert POSSESSIVE_GROUP.findall(path.read_text()) == []
