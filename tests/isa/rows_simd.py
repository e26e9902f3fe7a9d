"""Rows of several small numbers in one register, number by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import exact
from row import row
from rows_float import single

WORDS = "u32 s32"
ROUNDINGS = "rn rz rm rp"


def fields(a: int, width: int, type: str) -> list[int]:
    """The numbers in a word, lowest first."""
    parts = [a >> place & ((1 << width) - 1) for place in range(0, 32, width)]
    return [part - (1 << width) if type[0] == "s" and part >> width - 1 else part for part in parts]


@row("dp4a.ATYPE.BTYPE d:b32, a:ATYPE, b:BTYPE, c:b32", ATYPE=WORDS, BTYPE=WORDS)
def dp4a(a: int, b: int, c: int, *, atype: str, btype: str) -> int:
    return c + sum(x * y for x, y in zip(fields(a, 8, atype), fields(b, 8, btype), strict=True))


@row("dp2a.PART.ATYPE.BTYPE d:b32, a:ATYPE, b:BTYPE, c:b32", PART="lo hi", ATYPE=WORDS, BTYPE=WORDS)
def dp2a(a: int, b: int, c: int, *, part: str, atype: str, btype: str) -> int:
    low, high = fields(a, 16, atype)
    factors = fields(b, 8, btype)[2 if part == "hi" else 0 :]
    return c + low * factors[0] + high * factors[1]


# -- two 16-bit integers

Halfwords = tuple[int, int]


@row("add.TYPE d, a, b", TYPE="u16x2 s16x2", sm=90)
def add_halfwords(a: Halfwords, b: Halfwords) -> tuple[int, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))


@row("min.u16x2 d, a, b", sm=90)
def min_halfwords(a: Halfwords, b: Halfwords) -> tuple[int, ...]:
    return tuple(map(min, a, b))


@row("max.u16x2 d, a, b", sm=90)
def max_halfwords(a: Halfwords, b: Halfwords) -> tuple[int, ...]:
    return tuple(map(max, a, b))


@row("min{.relu}.s16x2 d, a, b", sm=90)
def min_signed_halfwords(a: Halfwords, b: Halfwords, *, relu: str) -> tuple[int, ...]:
    return tuple(max(0, min(x, y)) if relu else min(x, y) for x, y in zip(a, b, strict=True))


@row("max{.relu}.s16x2 d, a, b", sm=90)
def max_signed_halfwords(a: Halfwords, b: Halfwords, *, relu: str) -> tuple[int, ...]:
    return tuple(max(0, x, y) if relu else max(x, y) for x, y in zip(a, b, strict=True))


# -- two floats

Floats = tuple[float, float]


def both(operation: Callable[..., float], *operands: Floats, rnd: str, ftz: str) -> tuple[float, ...]:
    return tuple(single(operation, *parts, rnd=rnd, ftz=ftz) for parts in zip(*operands, strict=True))


@row("add{.RND}{.ftz}.f32x2 d, a, b", RND=ROUNDINGS, sm=100)
def add_floats(a: Floats, b: Floats, *, rnd: str, ftz: str) -> tuple[float, ...]:
    return both(exact.add, a, b, rnd=rnd, ftz=ftz)


@row("sub{.RND}{.ftz}.f32x2 d, a, b", RND=ROUNDINGS, sm=100)
def sub_floats(a: Floats, b: Floats, *, rnd: str, ftz: str) -> tuple[float, ...]:
    return both(exact.add, a, (-b[0], -b[1]), rnd=rnd, ftz=ftz)


@row("mul{.RND}{.ftz}.f32x2 d, a, b", RND=ROUNDINGS, sm=100)
def mul_floats(a: Floats, b: Floats, *, rnd: str, ftz: str) -> tuple[float, ...]:
    return both(exact.mul, a, b, rnd=rnd, ftz=ftz)


@row("fma.RND{.ftz}.f32x2 d, a, b, c", RND=ROUNDINGS, sm=100)
def fma_floats(a: Floats, b: Floats, c: Floats, *, rnd: str, ftz: str) -> tuple[float, ...]:
    return both(exact.fma, a, b, c, rnd=rnd, ftz=ftz)


# -- video instructions

VIDEO: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda x, y: x + y,
    "vsub": lambda x, y: x - y,
    "vavrg": lambda x, y: (x + y + (x + y >= 0)) >> 1,
    "vabsdiff": lambda x, y: abs(x - y),
    "vmin": min,
    "vmax": max,
}


def state_video(name: str, count: int) -> None:
    operation, width = VIDEO[name], 32 // count

    @row(
        f"{name}{count}.DTYPE.ATYPE.BTYPE{{.MODE}} d:DTYPE, a:ATYPE, b:BTYPE, c:DTYPE",
        DTYPE=WORDS,
        ATYPE=WORDS,
        BTYPE=WORDS,
        MODE="sat add",
    )
    def video(a: int, b: int, c: int, *, dtype: str, atype: str, btype: str, mode: str) -> Any:
        results = [operation(x, y) for x, y in zip(fields(a, width, atype), fields(b, width, btype), strict=True)]
        if mode == "add":
            return c + sum(results)
        least, most = (-(1 << width - 1), (1 << width - 1) - 1) if dtype[0] == "s" else (0, (1 << width) - 1)
        kept = [max(least, min(most, result)) for result in results] if mode == "sat" else results
        return sum((part & ((1 << width) - 1)) << place * width for place, part in enumerate(kept))


for _name in VIDEO:
    for _count in (2, 4):
        state_video(_name, _count)
