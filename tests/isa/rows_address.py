"""Addresses of state spaces: shared memory's generic addresses stand apart, the others are as they are."""

from __future__ import annotations

from row import row

SHARED_FROM = 0x0200_0000
"""Where generic addresses of shared memory begin."""
OTHERS = "global const local param param::entry"
SHARED = "shared shared::cta shared::cluster"
SPACES = {"local": (0x0100_0000, 0x0200_0000), "shared": (0x0200_0000, 0x0300_0000), "param": (0x0300_0000, 0x0400_0000)}
EDGES = tuple(
    sorted({edge + by for pair in SPACES.values() for edge in pair for by in (-1, 0, 5)} | {0x7F00_0000_0010, 0x1000_0000})
)


@row("cvta{.to}.SPACE.u64 d, a", SPACE=OTHERS, portable=False)
def cvta(a: int) -> int:
    return a


@row("cvta.SPACE.u64 d, a", SPACE=SHARED, portable=False)
def cvta_shared(a: int) -> int:
    return a + SHARED_FROM


@row("cvta.to.SPACE.u64 d, a", SPACE=SHARED, portable=False)
def cvta_to_shared(a: int) -> int:
    return a - SHARED_FROM


@row("isspacep.SPACE p:pred, a:u64", SPACE=f"global const local param param::entry {SHARED}", values={"a": EDGES}, portable=False)
def isspacep(a: int, *, space: str) -> bool:
    name = space.split("::")[0]
    if name in SPACES:
        return SPACES[name][0] <= a < SPACES[name][1]
    return 0x1000_0000 <= a < 0x7E00_0000_0000 if name == "const" else 0x7E00_0000_0000 <= a < 1 << 63


@row(
    "createpolicy.fractional.FIRST{.REST}.b64 d{, fraction:f32}",
    FIRST="L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged",
    REST="L2::evict_first L2::evict_unchanged",
    portable=False,
)
def create_policy(fraction: float = 1.0) -> int:
    return 0
