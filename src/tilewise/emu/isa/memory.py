"""Loads and stores: each form only describes its access; one path (lower/access.py) bounds, counts and performs it."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.emu.isa.spec import BITS, BYTES, FLOATS, INTEGERS, access

ELEMENTS = ("b8", "u8", "s8", *BITS, *INTEGERS, *FLOATS)
VECTORS = "v2 v4"
CACHE_HINTS = "ca cg cs lu cv wb wt"
"""How long a line is worth keeping: no effect on values or on counts."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one instruction does to memory. `count` elements of PTX type `type` a lane, side by side."""

    kind: str
    """load or store; copy, commit or wait of cp.async."""
    space: str
    """global, shared or param; async for the groups of cp.async."""
    type: str
    count: int

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return BYTES[self.type]

    @property
    def bytes(self) -> int:
        """Bytes a lane."""
        return self.count * self.element_bytes


@access(
    "ld{.weak}.SPACE{.COP}{.VEC}.TYPE d, [a]",
    SPACE="global shared",
    COP=CACHE_HINTS,
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="weak cop",
)
def load(*, space: str, vec: str, type: str) -> Access:
    return Access("load", space, type, _elements(vec))


@access("ld.global{.COP}.nc{.VEC}.TYPE d, [a]", COP=CACHE_HINTS, VEC=VECTORS, TYPE=ELEMENTS, no_effect="cop")
def load_read_only(*, vec: str, type: str) -> Access:
    return Access("load", "global", type, _elements(vec))


@access("ld.param{.VEC}.TYPE d, [a]", VEC=VECTORS, TYPE=ELEMENTS)
def load_parameter(*, vec: str, type: str) -> Access:
    return Access("load", "param", type, _elements(vec))


@access(
    "st{.weak}.SPACE{.COP}{.VEC}.TYPE [a], b",
    SPACE="global shared",
    COP=CACHE_HINTS,
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="weak cop",
)
def store(*, space: str, vec: str, type: str) -> Access:
    return Access("store", space, type, _elements(vec))


def _elements(vec: str) -> int:
    return int(vec[1:]) if vec else 1
