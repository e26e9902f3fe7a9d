"""Accesses of one block that share a base register: one check covers them all."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewise.emu.value import Value


@dataclass(slots=True)
class Group:
    """Accesses of one block with one base: a single check covers them. Bytes from the base: first to end (exclusive)."""

    base: Value
    space: str
    is_store: bool
    line: int
    """Where the check will stand in the text, once all members are known."""
    first: int
    end: int
    pointer: str
    """The name of what stands after the check: a pointer to the base."""
    accesses: list[tuple[tuple[int, ...], int]] = field(default_factory=list)
    """Where the lanes of each access stand from the base, and its bytes a lane."""
    entry: int = 0
    """Its range-cache entry, once its check is written (global and generic)."""
    alignments: set[tuple[int, int]] = field(default_factory=set)
    """(bytes, remainder): base + remainder must be a multiple of bytes."""
