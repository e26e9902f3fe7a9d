"""The access patterns that settle how shared memory serves a warp: plain, shared among lanes, partial and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

LANES = range(32)
ALL = 0xFFFF_FFFF
POOL_BYTES = 32 * 1024
"""All addresses lie below it."""

MASKS = {
    "lane 0": 0x0000_0001,
    "lane 17": 0x0002_0000,
    "lanes 0 and 1": 0x0000_0003,
    "lanes 0 and 16": 0x0001_0001,
    "lanes 8 to 15": 0x0000_FF00,
    "lanes 0 to 7": 0x0000_00FF,
    "first half": 0x0000_FFFF,
    "second half": 0xFFFF_0000,
    "24 lanes": 0x00FF_FFFF,
    "even lanes": 0x5555_5555,
    "odd lanes": 0xAAAA_AAAA,
    "every other pair": 0x3333_3333,
    "every fourth lane": 0x1111_1111,
    "outer quarters": 0xFF00_00FF,
    "even quarters": 0x00FF_00FF,
    "half of each quarter": 0x0F0F_0F0F,
    "all but lane 31": 0x7FFF_FFFF,
}

PARTS = {
    "the first half": range(16),
    "the second half": range(16, 32),
    "the first quarter": range(8),
    "the last quarter": range(24, 32),
    "even quarters": (*range(8), *range(16, 24)),
    "inner quarters": range(8, 24),
    "all but lanes 0 to 3": range(4, 32),
    "all but lanes 28 to 31": range(28),
    "lanes 0 to 3": range(4),
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One warp access: a byte address a lane, and which lanes take part (bit i is lane i)."""

    name: str
    addresses: tuple[int, ...]
    active: int = ALL


Slots = Iterator[tuple[str, list[int], int]]
"""A name, the number of the slot that each lane accesses, a slot being one access wide, and the active lanes."""


def patterns(width: int) -> list[Pattern]:
    """Return the patterns for accesses of `width` bytes a lane, always the same ones; names are unique."""
    slots = [*_plain(), *_partial(width), *_random(width)]
    if width > 4:
        slots += [*_shared_in_parts(), *_shared_at_random(width)]
    return [Pattern(name, tuple(width * slot for slot in found), mask) for name, found, mask in slots] + list(_by_words(width))


def _plain() -> Slots:
    yield "contiguous", list(LANES), ALL
    yield "contiguous, from slot 3", [lane + 3 for lane in LANES], ALL
    yield "uniform", [0] * 32, ALL
    yield "uniform, slot 7", [7] * 32, ALL
    yield "reversed", list(reversed(LANES)), ALL
    yield "rotated by 5", [(lane + 5) % 32 for lane in LANES], ALL
    for lanes in (2, 4, 8, 16):
        yield f"{lanes} neighbours share", [lane // lanes for lane in LANES], ALL
        yield f"every {32 // lanes} lanes the same", [lane % (32 // lanes) for lane in LANES], ALL
    for distance in (2, 4, 8):
        yield f"lanes i and i^{distance} share", [lane // (2 * distance) * distance + lane % distance for lane in LANES], ALL
    for stride in (2, 3, 4, 5, 8, 16, 32, 33):
        yield f"stride of {stride} slots", [lane * stride for lane in LANES], ALL
    yield "rows of 8 slots, swizzled", [lane // 8 * 8 + (lane % 8 ^ lane // 8) for lane in LANES], ALL
    yield "column of rows of 8 slots", [lane * 8 + 3 for lane in LANES], ALL
    yield "column of rows of 8 slots, swizzled", [lane * 8 + (3 ^ lane % 8) for lane in LANES], ALL


def _by_words(width: int) -> Iterator[Pattern]:
    """Yield what a tiled product does: columns of padded tiles, fragments of thread tiles, transposing stores."""
    yield Pattern("column of padded rows of 32 words", tuple(lane * (128 + max(width, 4)) for lane in LANES))
    yield Pattern("16 threads 8 words apart, twice", tuple(lane % 16 * 32 for lane in LANES))
    yield Pattern("16 threads alike, 8 words apart", tuple(lane // 16 * 32 for lane in LANES))
    yield Pattern("transposed into padded rows", tuple(lane % 8 * (512 + max(width, 16)) + lane // 8 * width for lane in LANES))


def _partial(width: int) -> Slots:
    slots = {"contiguous": list(LANES)}
    if width >= 4:
        slots |= {"uniform": [5] * 32, "stride of 2": [2 * lane for lane in LANES]}
    if width > 4:
        slots |= {"i^1 share": [lane // 2 for lane in LANES], "i^2 share": [lane // 4 * 2 + lane % 2 for lane in LANES]}
    for mask_name, mask in MASKS.items():
        for name, found in slots.items():
            yield f"{mask_name}: {name}", found, mask


def _random(width: int) -> Slots:
    for seed in range(3):
        for among in (2, 4, 8, 16, 32, 64, 256, 1024):
            yield f"random among {among}, seed {seed}", _draw(f"{width} {among} {seed}", among), ALL
        for run in (8, 16, 32):
            random = Random(f"{width} shuffled {run} {seed}")
            order = [start + lane for start in range(0, 32, run) for lane in random.sample(range(run), run)]
            yield f"shuffled within {run} lanes, seed {seed}", order, ALL
        for among in (16, 64, 1024):
            key = f"{width} partial {among} {seed}"
            yield f"random lanes, random among {among}, seed {seed}", _draw(key, among), Random(key).getrandbits(32)


def _shared_in_parts() -> Slots:
    """Yield lanes that share in pairs only in parts of the warp, and access slots of their own elsewhere."""
    for name, part in PARTS.items():
        for distance in (1, 2):
            yield f"i^{distance} share in {name}", [lane & ~distance if lane in part else lane for lane in LANES], ALL
    for group, name in ((16, "halves"), (8, "quarters"), (4, "quads")):
        mixed = [lane & ~(1 + lane // group % 2) for lane in LANES]
        yield f"i^1 share in even {name}, i^2 in odd", mixed, ALL
    yield "uniform first half, contiguous second", [0 if lane < 16 else lane for lane in LANES], ALL
    yield "uniform first quarter, contiguous rest", [0 if lane < 8 else lane for lane in LANES], ALL
    yield "first two quarters the same", [lane % 8 if lane < 16 else lane for lane in LANES], ALL
    yield "quarters in turn the same", [lane % 8 + lane // 16 * 8 for lane in LANES], ALL


def _shared_at_random(width: int) -> Slots:
    """Yield lanes that share random slots in pairs: conflicts together with sharing."""
    for seed in range(2):
        for among in (16, 64, 1024):
            about, key = f"random among {among}, seed {seed}", f"{width} shared {among} {seed}"
            for distance in (1, 2, 4, 8, 16):
                drawn = _draw(f"{key} {distance}", among)
                yield f"i^{distance} share, {about}", [drawn[lane & ~distance] for lane in LANES], ALL
            drawn = _draw(f"{key} half", among)
            yield f"i^1 share in the first half, {about}", [drawn[lane & ~1 if lane < 16 else lane] for lane in LANES], ALL
            drawn, choice = _draw(f"{key} quads", among), Random(key).getrandbits(8)
            yield f"i^1 or i^2 share by quads, {about}", [drawn[lane & ~(1 + (choice >> lane // 4 & 1))] for lane in LANES], ALL
            for distance in (1, 2):
                drawn, mask = _draw(f"{key} masked {distance}", among), Random(f"{key} {distance} mask").getrandbits(32)
                yield f"random lanes, i^{distance} share, {about}", [drawn[lane & ~distance] for lane in LANES], mask


def _draw(key: str, among: int) -> list[int]:
    random = Random(key)
    return [random.randrange(among) for _ in LANES]
