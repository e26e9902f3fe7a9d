"""What the emulator takes for known of lanes is true: values, bounds of unchecked accesses, and the faults that must be seen.

Chains of integer operations on thread numbers, block numbers and parameters, straight or in a loop, whose results are stored,
and used as addresses that may be anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import reference
from assembling import assemble, launch
from drawing import BLOCKS, CUBES, dim3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewise.core.errors import KernelFault
from tilewise.core.launch import Launch
from tilewise.emu.machine import emulate

SHARED_BYTES, MIDDLE = 192, 256
"""Static shared memory, and how many bytes of the array stand on either side of its pointer."""
VALUES = 12
"""Registers: %r10 to %r21; each begins as something and is then computed from those before it."""
WIDE = [f"%rd{10 + index}" for index in range(3)]


@dataclass(frozen=True)
class Chain:
    """A kernel: how its registers follow from each other, what is done to them in a loop, what is accessed."""

    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    steps: tuple[str, ...]
    inside: tuple[str, ...]
    accesses: tuple[str, ...]
    parameters: tuple[tuple[int, int], ...]
    """Two numbers for each of the launches; the first one's low bits are the loop's rounds."""

    @property
    def ptx(self) -> str:
        """The module; a line number for each instruction."""
        loop = ["and.b32 %r3, %r1, 15;", "mov.u32 %r4, 0;", "AGAIN:", *self.inside, "add.u32 %r4, %r4, 1;"]
        loop += ["setp.lt.u32 %p1, %r4, %r3;", "@%p1 bra AGAIN;"]
        lines = [*_START, *self.steps, *(loop if self.inside else []), *_END, *self.accesses, "ret;"]
        text = "".join(line + "\n" if line.endswith(":") else f".loc 1 {i + 1} 1\n{line}\n" for i, line in enumerate(lines))
        return assemble(text, "u64 u64 u64 u32 u32", shared_bytes=SHARED_BYTES)


_START = [
    *("ld.param.u32 %r1, [a3];", "ld.param.u32 %r2, [a4];", "ld.param.u64 %rd3, [a2];", f"add.s64 %rd3, %rd3, {MIDDLE};"),
    "setp.ge.u32 %p2, %r1, 16;",
]

ROW_BYTES = 8 * VALUES * 2 + 8 * len(WIDE)


def _probes() -> list[str]:
    """Stores each register as it is, shifted, and extended both ways."""
    lines = []
    for index in range(VALUES):
        name, place = f"%r{10 + index}", 16 * index
        lines += [
            f"cvt.u64.u32 %rd5, {name};",
            f"cvt.s64.s32 %rd6, {name};",
            f"shr.s32 %r7, {name}, 3;",
            "mul.wide.u32 %rd7, %r7, 5;",
        ]
        lines += ["xor.b64 %rd7, %rd7, %rd6;", f"st.global.u64 [%rd1+{place}], %rd5;", f"st.global.u64 [%rd1+{place + 8}], %rd7;"]
    return lines + [f"st.global.u64 [%rd1+{16 * VALUES + 8 * index}], {name};" for index, name in enumerate(WIDE)]


_END = [
    *("mov.u32 %r5, %tid.z;", "mov.u32 %r6, %ntid.y;", "mov.u32 %r7, %tid.y;", "mad.lo.u32 %r5, %r5, %r6, %r7;"),
    *("mov.u32 %r6, %ntid.x;", "mov.u32 %r7, %tid.x;", "mad.lo.u32 %r5, %r5, %r6, %r7;"),
    *("mov.u32 %r6, %ctaid.x;", "mul.lo.u32 %r6, %r6, 128;", "add.u32 %r5, %r5, %r6;", f"mul.wide.u32 %rd1, %r5, {ROW_BYTES};"),
    *("ld.param.u64 %rd2, [a0];", "add.s64 %rd1, %rd1, %rd2;", "ld.param.u64 %rd4, [a1];", "mul.wide.u32 %rd2, %r5, 4;"),
    *("add.s64 %rd4, %rd4, %rd2;", *_probes()),
]
"""A row a thread, 128 threads a block; %rd4 is the thread's word for what it loads."""

# -- strategies

POWERS = st.integers(0, 31).map(lambda bit: 1 << bit)
MASKS = st.one_of(
    st.sampled_from(
        [7, 15, 31, 63, 127, 0xFFFF, 0xFFFFFFE0, 0xFFFFFFF0, 0xFFFFFF80, 0xE0, 0x60, 30, 24, 16, 32, 48, 64, 96, 128]
    ),
    POWERS,
    st.integers(0, 2**32 - 1),
)
SMALL = st.one_of(st.integers(-64, 130), st.sampled_from([256, -256, 1024, -4096, 65536, 2**31 - 1, -(2**31)]))
FACTORS = st.one_of(
    st.sampled_from([2, 3, 4, 8, 12, 16, 32, 33, 64, 132, -1, -4, -32, 65536, 2**30, 2**31 - 1]), st.integers(-9, 40)
)
THREADS = "%tid.x %tid.x %tid.x %tid.y %tid.z %laneid"


def _choose(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words.split())


@st.composite
def beginnings(draw: st.DrawFn, into: str) -> str:
    """A thread's number, moved about, or a number that all lanes share and whose bounds are known."""
    if draw(st.booleans()):
        change = draw(_choose("or.b32 xor.b32 add.u32"))
        return f"mov.u32 {into}, {draw(_choose(THREADS))}; {change} {into}, {into}, {draw(MASKS)};"
    bounded = f"and.b32 {into}, {draw(_choose('%r1 %r2'))}, {draw(MASKS)};"
    bounded = draw(
        st.sampled_from([bounded, bounded, f"mov.u32 {into}, %ctaid.x;", f"mov.u32 {into}, {draw(_choose('%r1 %r2'))};"])
    )
    return f"{bounded} sub.s32 {into}, {into}, {draw(SMALL)};"


@st.composite
def operations(draw: st.DrawFn, into: str, known: list[str]) -> str:
    """One instruction on what is known, mostly on the latest, with numbers that keep what is known of lanes, or just not."""
    source = st.one_of(st.just(known[-1]), st.sampled_from(known))
    a, b = draw(source), draw(st.sampled_from(known))
    wide, x, y = (draw(st.sampled_from(WIDE)) for _ in range(3))
    small, mask, factor = str(draw(SMALL)), str(draw(MASKS)), str(draw(FACTORS))
    shift, sign = str(draw(st.integers(0, 12))), draw(_choose("u s"))
    choices = [
        *(f"add.{sign}32 {into}, {a}, {b};", f"sub.s32 {into}, {a}, {b};", f"add.s32 {into}, {a}, {small};"),
        *(f"sub.s32 {into}, {small}, {a};", f"mul.lo.s32 {into}, {a}, {factor};", f"mad.lo.s32 {into}, {a}, {factor}, {b};"),
        *(f"shl.b32 {into}, {a}, {shift};", f"shr.{sign}32 {into}, {a}, {shift};", f"and.b32 {into}, {a}, {mask};"),
        *(f"or.b32 {into}, {a}, {mask};", f"xor.b32 {into}, {a}, {mask};", f"selp.b32 {into}, {a}, {b}, %p2;"),
        *(f"neg.s32 {into}, {a};", f"min.{sign}32 {into}, {a}, {small};", f"mul.hi.{sign}32 {into}, {a}, {factor};"),
        *(
            f"cvt.{sign}32.{draw(_choose('u8 s8 u16 s16'))} {into}, {a};",
            f"cvt.u32.u64 {into}, {x};",
            f"xor.b32 {into}, {a}, {b};",
        ),
        f"mov.b32 {into}, {b}; setp.lt.{sign}32 %p2, {a}, {small};",
    ]
    wides = [
        *(f"cvt.u64.u32 {wide}, {a};", f"cvt.s64.s32 {wide}, {a};", f"mul.wide.{sign}32 {wide}, {a}, {factor};"),
        *(f"mad.wide.{sign}32 {wide}, {a}, {factor}, {x};", f"add.s64 {wide}, {x}, {y};", f"sub.s64 {wide}, {x}, {small};"),
        *(f"shl.b64 {wide}, {x}, {shift};", f"shr.{sign}64 {wide}, {x}, {shift};", f"and.b64 {wide}, {x}, {mask};"),
        *(f"xor.b64 {wide}, {x}, {mask};", f"mul.lo.s64 {wide}, {x}, {factor};"),
    ]
    text = draw(st.sampled_from(choices))
    return text + (draw(st.sampled_from(wides)) if draw(st.booleans()) else "")


def _split(text: str) -> list[str]:
    return [f"{instruction.strip()};" for instruction in text.split(";") if instruction.strip()]


@st.composite
def accesses(draw: st.DrawFn) -> list[str]:
    """Loads, and stores of a constant, at what the registers hold, plus a little; a barrier sets each apart from the others."""
    lines = []
    for _ in range(draw(st.integers(0, 3))):
        type_, size = draw(st.sampled_from([("u8", 1), ("u8", 1), ("u16", 2), ("u32", 4)]))
        offset = size * draw(st.integers(-4, 40))
        lines.append("bar.sync 0;")
        if draw(st.booleans()):
            where, space = f"[%r{10 + draw(st.integers(0, VALUES - 1))}+{offset}]", "shared"
        else:
            lines.append(f"add.s64 %rd5, %rd3, {draw(st.sampled_from(WIDE))};")
            where, space = f"[%rd5+{offset}]", "global"
        if draw(st.integers(0, 2)):
            lines += [f"ld.{space}.{type_} {'%rs1' if size == 2 else '%r8'}, {where};"]
            lines += ["cvt.u32.u16 %r8, %rs1;"] * (size == 2) + ["st.global.u32 [%rd4], %r8;", "add.s64 %rd4, %rd4, 2048;"]
        else:
            lines += ["mov.u16 %rs1, 30583;", "mov.u32 %r8, 2004318071;"]  # the same byte throughout
            lines += [f"st.{space}.{type_} {where}, {'%rs1' if size == 2 else '%r8'};"]
    return lines


NUMBERS = st.one_of(
    st.integers(0, 40), st.sampled_from([63, 64, 255, 4096, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 32]), st.integers(0, 2**32 - 1)
)


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """Two beginnings, then one value after the other; in a loop, some of them again."""
    names = [f"%r{10 + index}" for index in range(VALUES)]
    steps = [draw(beginnings(names[0])), draw(beginnings(names[1]))]
    steps += [f"cvt.{draw(_choose('u64.u32 s64.s32'))} {wide}, {draw(st.sampled_from(names[:2]))};" for wide in WIDE]
    steps.append(f"{draw(_choose('add.s32 add.s32 sub.s32'))} {names[2]}, {names[0]}, {names[1]};")
    for index in range(3, VALUES):
        steps.append(draw(operations(names[index], names[:index])))
    inside = [draw(operations(draw(st.sampled_from(names)), names)) for _ in range(draw(st.sampled_from([0, 0, 1, 2, 4])))]
    return Chain(
        block=dim3(draw(st.sampled_from([32, 32, *BLOCKS, *CUBES, 64, 128, (32, 4)]))),
        grid=dim3(draw(st.sampled_from([1, 2, 3]))),
        steps=tuple(_split("".join(steps))),
        inside=tuple(_split("".join(inside))),
        accesses=tuple(draw(accesses())),
        parameters=tuple(draw(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=3))),
    )


def prepare(chain: Chain, ptx: str, numbers: tuple[int, int]) -> tuple[Launch, tuple[np.ndarray, ...]]:
    blocks = chain.grid[0]
    arrays = (
        np.zeros((128 * blocks, ROW_BYTES // 8), np.uint64),
        np.zeros((4, 512), np.uint32),
        (np.arange(2 * MIDDLE) % 251).astype(np.uint8),
    )
    return launch(ptx, chain.grid, chain.block, *arrays, *numbers), arrays


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(chains())
def test_values_and_faults_are_those_of_each_thread_by_itself(chain: Chain) -> None:
    check(chain)


def check(chain: Chain) -> None:
    ptx = chain.ptx
    for numbers in chain.parameters:
        plain, expected = prepare(chain, ptx, numbers)
        run = reference.interpret(plain)
        emulated, found = prepare(chain, ptx, numbers)
        faults = {}
        try:
            emulate(emulated, threads=1)
        except KernelFault as fault:
            faults = {(f.kind, f.line): f.count for f in fault.faults}  # type: ignore[attr-defined]
        for have, want in zip(found, expected, strict=True):
            np.testing.assert_array_equal(have, want)
        assert faults == dict(run.faults)
