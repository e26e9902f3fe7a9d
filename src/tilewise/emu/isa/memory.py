"""Loads and stores: each form only describes its access; one path (lower/access.py) bounds, counts and performs it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from tilewise.emu.isa.spec import BITS, BYTES, FLOATS, INTEGERS, access

ELEMENTS = ("b8", "u8", "s8", *BITS, *INTEGERS, *FLOATS, "b128")
VECTORS = "v2 v4 v8"
CACHE_OPERATORS = "ca cg cs lu cv wb wt"
"""How long a line is worth keeping: no effect on values or on counts."""
_L1 = ("", *(f"L1::{word}" for word in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")))
_L2 = ("", *(f"L2::{word}" for word in ("evict_normal", "evict_first", "evict_last")))
_POLICY = ("", "L2::cache_hint")
_FETCH = ("", "L2::64B", "L2::128B", "L2::256B")


def _hints(*parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(".".join(filter(None, words)) for words in product(*parts) if any(words))


LOAD_HINTS = _hints(_L1, _L2, _POLICY, _FETCH)
STORE_HINTS = _hints(_L1, _L2, _POLICY)
"""Which lines caches are to keep, and what the L2 may fetch along: no effect on values, nor on the counts of L1."""
SPACES = "global shared shared::cta shared::cluster local"
READABLE = f"{SPACES} const param param::entry param::func"
WRITABLE = f"{SPACES} param param::func"
SCOPES = "cta cluster gpu sys"
"""Whom a synchronising access orders: here every one orders all, as x86-64 does for what its blocks run on."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one instruction does to memory. `count` elements of PTX type `type` a lane, side by side."""

    kind: str
    """load, store or atomic; copy, commit or wait of cp.async."""
    space: str
    """global, shared, local, const, param or generic; async for the groups of cp.async."""
    type: str
    count: int
    order: str = ""
    """volatile, relaxed, acquire or release, where the instruction says so."""
    whole: bool = False
    """The elements are parts of one value, the lowest first."""
    operation: str = ""
    """Of an atomic: add, min, max, and, or, xor, inc, dec, exch or cas."""

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return BYTES[self.type]

    @property
    def bytes(self) -> int:
        """Bytes a lane."""
        return self.count * self.element_bytes


def describe(kind: str, space: str, type: str, vec: str = "", order: str = "") -> Access:
    """An access as its modifiers spell it; 128 bits are two elements."""
    count, space = int(vec[1:]) if vec else 1, space.partition("::")[0] or "generic"
    if type == "b128":
        return Access(kind, space, "b64", 2 * count, order, whole=True)
    return Access(kind, space, type, count, order)


@access(
    "ld{.weak}{.SPACE}{.COP}{.VEC}.TYPE d, [a]",
    SPACE=READABLE,
    COP=CACHE_OPERATORS,
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="weak cop",
)
@access(
    "ld{.SPACE}.HINT{.VEC}.TYPE d, [a]{, policy:b64}",
    SPACE="global",
    HINT=LOAD_HINTS,
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="hint",
)
@access("ldu{.SPACE}{.VEC}.TYPE d, [a]", SPACE="global", VEC=VECTORS, TYPE=ELEMENTS)
def load(*, space: str, vec: str, type: str) -> Access:
    return describe("load", space, type, vec)


@access("ld.global{.COP}.nc{.VEC}.TYPE d, [a]", COP=CACHE_OPERATORS, VEC=VECTORS, TYPE=ELEMENTS, no_effect="cop")
@access("ld.global.nc.HINT{.VEC}.TYPE d, [a]{, policy:b64}", HINT=LOAD_HINTS, VEC=VECTORS, TYPE=ELEMENTS, no_effect="hint")
def load_read_only(*, vec: str, type: str) -> Access:
    return describe("load", "global", type, vec)


@access("ld.volatile{.SPACE}{.VEC}.TYPE d, [a]", SPACE=SPACES, VEC=VECTORS, TYPE=ELEMENTS)
def load_volatile(*, space: str, vec: str, type: str) -> Access:
    return describe("load", space, type, vec, "volatile")


@access(
    "ld.ORDER.SCOPE{.SPACE}{.L1}{.VEC}.TYPE d, [a]",
    ORDER="relaxed acquire",
    SCOPE=SCOPES,
    SPACE=SPACES,
    L1=_L1[1:],
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="scope l1",
)
@access(
    "ld.SPACE.ORDER.SCOPE{.VEC}.TYPE d, [a]",
    SPACE=SPACES,
    ORDER="relaxed acquire",
    SCOPE=SCOPES,
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="scope",
)
def load_ordered(*, order: str, space: str, vec: str, type: str) -> Access:
    return describe("load", space, type, vec, order)


@access("ld.mmio.relaxed.sys{.SPACE}.TYPE d, [a]", SPACE="global", TYPE=ELEMENTS)
def load_mmio(*, space: str, type: str) -> Access:
    return describe("load", space, type, "", "volatile")


@access(
    "st{.weak}{.SPACE}{.COP}{.VEC}.TYPE [a], b",
    SPACE=WRITABLE,
    COP=CACHE_OPERATORS,
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="weak cop",
)
@access(
    "st{.SPACE}.HINT{.VEC}.TYPE [a], b{, policy:b64}",
    SPACE="global",
    HINT=STORE_HINTS,
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="hint",
)
def store(*, space: str, vec: str, type: str) -> Access:
    return describe("store", space, type, vec)


@access("st.volatile{.SPACE}{.VEC}.TYPE [a], b", SPACE=SPACES, VEC=VECTORS, TYPE=ELEMENTS)
def store_volatile(*, space: str, vec: str, type: str) -> Access:
    return describe("store", space, type, vec, "volatile")


@access(
    "st.ORDER.SCOPE{.SPACE}{.L1}{.VEC}.TYPE [a], b",
    ORDER="relaxed release",
    SCOPE=SCOPES,
    SPACE=SPACES,
    L1=_L1[1:],
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="scope l1",
)
@access(
    "st.SPACE.ORDER.SCOPE{.VEC}.TYPE [a], b",
    SPACE=SPACES,
    ORDER="relaxed release",
    SCOPE=SCOPES,
    VEC=VECTORS,
    TYPE=ELEMENTS,
    no_effect="scope",
)
def store_ordered(*, order: str, space: str, vec: str, type: str) -> Access:
    return describe("store", space, type, vec, order)


@access("st.mmio.relaxed.sys{.SPACE}.TYPE [a], b", SPACE="global", TYPE=ELEMENTS)
def store_mmio(*, space: str, type: str) -> Access:
    return describe("store", space, type, "", "volatile")
