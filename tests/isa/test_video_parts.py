"""Video instructions on bytes and halves of registers: read with their signs, written between what a third operand keeps."""

from __future__ import annotations

import numpy as np
import pytest
from rows_video import clamp
from test_operands import LANE, run

from tilewise.core.errors import TilewiseError, UnsupportedInstruction

PARTS = {"b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16)}
KEPT = 0x11223344
WORDS = np.random.default_rng(1).integers(0, 1 << 32, 32, np.uint32)


def read(word: int, part: str, type_: str) -> int:
    start, width = PARTS[part]
    value = word >> start & (1 << width) - 1
    return value - (1 << width) if type_[0] == "s" and value >> width - 1 else value


def written(value: int, part: str, kept: int) -> int:
    start, width = PARTS[part]
    mask = (1 << width) - 1 << start
    return kept & ~mask | value << start & mask


@pytest.mark.parametrize("sat", ["", ".sat"])
@pytest.mark.parametrize("target", PARTS)
@pytest.mark.parametrize(("a", "b"), [("b0", "h1"), ("b3", "b1"), ("h0", "b2")])
@pytest.mark.parametrize("types", [("u32", "s32", "u32"), ("s32", "u32", "s32")], ids="".join)
def test_parts_are_read_and_written(sat: str, target: str, a: str, b: str, types: tuple[str, str, str]) -> None:
    got = run(f"mov.u32 %r3, {KEPT};\nvsub.{'.'.join(types)}{sat} %r9.{target}, %r2.{a}, %r2.{b}, %r3;", WORDS)
    for word, result in zip(WORDS.tolist(), got.tolist(), strict=True):
        difference = read(word, a, types[1]) - read(word, b, types[2])
        kept = clamp(difference, types[0], PARTS[target][1]) if sat else difference
        assert result == written(kept, target, KEPT), hex(word)


def test_a_part_that_is_shifted_compared_and_multiplied() -> None:
    words = WORDS.tolist()
    assert run("vshr.u32.s32.u32.wrap.add %r9, %r2.h1, %r2.b0, 7;", WORDS).tolist() == [
        ((read(word, "h1", "s32") >> (word & 31)) + 7) % (1 << 32) for word in words
    ]
    assert run("vset.u32.u32.gt %r9, %r2.b0, %r2.b1;", WORDS).tolist() == [int(word & 255 > word >> 8 & 255) for word in words]
    assert run("vmad.s32.s32.s32 %r9, %r2.h0, %r2.h1, 5;", WORDS).tolist() == [
        (read(word, "h0", "s32") * read(word, "h1", "s32") + 5) % (1 << 32) for word in words
    ]


def test_a_part_needs_what_holds_the_others() -> None:
    with pytest.raises(TilewiseError, match="fourth operand"):
        run("vadd.u32.u32.u32 %r9.b0, %r2, %r2;", LANE)


def test_other_instructions_take_no_parts() -> None:
    with pytest.raises(UnsupportedInstruction, match="add"):
        run("add.u32 %r9, %r2.b0, %r2;", LANE)
