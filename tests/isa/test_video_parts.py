"""Video instructions on bytes and halves of registers: read with their signs, written between what a third operand keeps."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from assembling import assemble
from gpu_driver import gpu
from rows_simd import VIDEO
from rows_video import PLAIN, SHIFTS, saturated, shifted
from test_operands import LANE, START, Words, run

from tilewise.core.errors import TilewiseError, UnsupportedInstruction

PARTS = {"b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16), "": (0, 32)}
MENDED = "h1"
"""The part into which the assembler of CUDA 13.0, and of driver 580, puts a result's upper half; 13.5 puts the lower, as the
manual says. Not asked of a GPU."""
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


@dataclass(frozen=True, slots=True)
class Merge:
    """An instruction that writes a part of %r9: of parts of a word and of the same word turned by 13 bits, which is %r4."""

    name: str
    types: tuple[str, str, str]
    sat: str
    target: str
    a: str
    b: str

    def __str__(self) -> str:
        mode = ".wrap" if self.name in SHIFTS else ""
        a, b = (f"{register}{'.' if part else ''}{part}" for register, part in (("%r2", self.a), ("%r4", self.b)))
        return f"{self.name}.{'.'.join(self.types)}{self.sat}{mode} %r9.{self.target}, {a}, {b}, %r3;"

    @property
    def body(self) -> str:
        return f"mov.b32 %r3, {KEPT};\nshf.l.wrap.b32 %r4, %r2, %r2, 13;\n{self}"

    def of(self, word: int) -> int:
        """What it leaves in %r9."""
        dtype = self.types[0]
        a = read(word, self.a, self.types[1])
        b = read((word << 13 | word >> 19) & 0xFFFFFFFF, self.b, self.types[2])
        result = shifted(self.name, a, b, "wrap") if self.name in SHIFTS else VIDEO[self.name](a, b)
        if self.sat and self.name in SHIFTS:
            result = saturated(self.name, result, dtype)
        elif self.sat:
            most = (1 << PARTS[self.target][1] - (dtype == "s32")) - 1
            result = result if 0 <= result <= most else most
        return written(result, self.target, KEPT)


def merges() -> list[Merge]:
    """Each instruction into each part with and without saturation, of types and parts by turns."""
    turns = random.Random(1)
    listed = []
    for name, sat, target in product(PLAIN + SHIFTS, ("", ".sat"), list(PARTS)[:-1]):
        dtype, atype, btype = (turns.choice(("u32", "s32")) for _ in range(3))
        types = (dtype, atype, "u32" if name in SHIFTS else btype)
        listed.append(Merge(name, types, sat, target, *turns.choices(list(PARTS), k=2)))
    return listed


def differing(merge: Merge, got: Words) -> list[str]:
    return [hex(word) for word, result in zip(WORDS.tolist(), got.tolist(), strict=True) if result != merge.of(word)]


@pytest.mark.parametrize("merge", merges(), ids=str)
def test_parts_are_read_and_written(merge: Merge) -> None:
    assert not differing(merge, run(merge.body, WORDS))


@pytest.mark.gpu
def test_gpu_reads_and_writes_the_same_parts() -> None:
    if gpu().sm < 90:
        pytest.skip(f"needs sm_90, this is sm_{gpu().sm}")
    wrong = {}
    for merge in (each for each in merges() if each.target != MENDED):
        store = "ld.param.u64 %rd3, [a1];\nadd.s64 %rd3, %rd3, %rd2;\nst.global.b32 [%rd3], %r9;\nret;"
        output = np.zeros(4 * len(WORDS), np.uint8)
        gpu().run(assemble(f"{START}{merge.body}\n{store}", "u64 u64"), "k", 1, 32, WORDS.view(np.uint8), output)
        if words := differing(merge, output.view(np.uint32)):
            wrong[str(merge)] = words
    assert not wrong


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
