"""What the emulator does not have is an error where a thread reaches it, at its source line, and nothing where none does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from assembling import SOURCE, assemble, launch

from tilewise.core.errors import TilewiseError, UnsupportedInstruction
from tilewise.emu.machine import emulate

LINE = 23

MISSING = {
    "frobnicate.u32 %r9, %r1;": "frobnicate.u32",
    "mov.u32 %r9, %tid;": "%tid",
    "mov.u32 %clock, %r9;": "%clock",
    "mov.u64 %rd9, targets;": "targets",
    "ld.global.u32 %r9, [targets];": "targets",
    "add.f32 %f1, %f2, 5;": "5",
    "add.s64 %rd4, 0f7F800000, %rd5;": "0f7F800000",
    "ld.param.u32 %r9, [buffer];": "buffer",
    "ld.param.u32 %r9, [a1+4];": "a1",
    "ld.param.v2.u32 {%r9, %r8}, [a1];": "a1",
    "add.s32 %r9, %r8, 0d3FF0000000000000;": "0d3FF0000000000000",
    "ld.shared.v4.b64 {%rd4, %rd5, %rd6, %rd7}, [%r1];": "32 bytes",
    "call.uni (%r9), malloc, (%r1);": "malloc",
}
"""Instructions, and a word that the message must have."""

missing = pytest.mark.parametrize(("instruction", "word"), MISSING.items(), ids=[text.split()[0] for text in MISSING])


def run(before: str, instruction: str, value: int, block: int = 64) -> npt.NDArray[np.uint32]:
    """Launch with a word for each thread; `before` decides who comes to the instruction."""
    ptx = assemble(
        f"""
        mov.u32 %r1, %tid.x;
        ld.param.u64 %rd1, [a0];
        mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd1, %rd1, %rd2;
        ld.param.u32 %r2, [a1];
        setp.ge.u32 %p1, %r1, %r2;
        setp.ge.u32 %p2, %r2, 64;
        mov.f32 %f2, 0f00000000;
        targets: .branchtargets PAST;
        {before}
        .loc 1 {LINE} 1
        {instruction}
        PAST:
        .loc 1 99 1
        st.global.u32 [%rd1], 5;
        ret;
        """,
        "u64 u32",
        shared_bytes=64,
        outside=".extern .func (.param .b32 result) malloc (.param .b32 size);",
    )
    out = np.zeros(block, np.uint32)
    emulate(launch(ptx, 1, block, out, value))
    return out


@missing
@pytest.mark.parametrize("before", ["@%p2 bra PAST;", "@!%p1 bra PAST;"], ids=["together", "parted"])
def test_an_instruction_that_nobody_reaches_is_no_obstacle(instruction: str, word: str, before: str) -> None:
    np.testing.assert_array_equal(run(before, instruction, 64), 5)


@missing
@pytest.mark.parametrize("value", [0, 10, 40, 63])
def test_one_that_some_lane_reaches_is_an_error_at_its_line(instruction: str, word: str, value: int) -> None:
    with pytest.raises(UnsupportedInstruction) as caught:
        run("@!%p1 bra PAST;", instruction, value)
    assert f"{SOURCE}:{LINE}:" in str(caught.value)
    assert word in str(caught.value)


@pytest.mark.parametrize("block", [64, 50])
@pytest.mark.parametrize("instruction", ["frobnicate.u32 %r9, %r1;", "mov.u32 %r9, %ctaid;", "call.uni (%r9), malloc, (%r1);"])
def test_a_guard_keeps_lanes_from_reaching_it(instruction: str, block: int) -> None:
    np.testing.assert_array_equal(run("", f"@%p1 {instruction}", 64, block), 5)
    with pytest.raises(UnsupportedInstruction, match=instruction.split()[0]):
        run("", f"@%p1 {instruction}", block - 1, block)


UNKNOWN = """
    setp.lt.u32 %p3, %r1, %r2;
    @%p3 bra OTHER;
    ld.global.u32 %r11, [%rd1];
    add.u32 %r10, %r9, %r11;
    bra MERGE;
    OTHER:
    ld.param.u32 %r10, [a1];
    MERGE:
    st.global.u32 [%rd1], %r10;
    ret;"""
"""Makes of %r9, and of a1, what no one shape can hold."""


def test_what_stands_only_behind_it_is_no_obstacle() -> None:
    np.testing.assert_array_equal(run("@%p2 bra PAST;", f"frobnicate.u32 %r9, %r1;{UNKNOWN}", 64), 5)


@pytest.mark.parametrize("value", [64, 63, 40])
def test_a_register_that_nobody_writes_has_any_value(value: int) -> None:
    out = run("", UNKNOWN, value)
    np.testing.assert_array_equal(out[:value], value)


def test_destinations_that_nobody_wants() -> None:
    out = np.arange(32, dtype=np.uint32)
    body = """
    ld.param.u64 %rd1, [a0];
    mov.u32 %r1, %tid.x;
    ld.global.v4.u32 {_, %r5, _, _}, [%rd1];
    setp.lt.u32 %p1|_, %r1, 5;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    bar.sync 0;
    @%p1 st.global.u32 [%rd1], %r5;
    ret;"""
    emulate(launch(assemble(body, "u64"), 1, 32, out))
    np.testing.assert_array_equal(out, [1] * 5 + list(range(5, 32)))


def test_an_unknown_kernel_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(TilewiseError, match=r"no kernel 'j'\. .*k"):
        emulate(replace(launch(assemble("ret;"), 1, 32), kernel="j"))
