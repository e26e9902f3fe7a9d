"""Lanes that part and meet again: each keeps the registers that it had, whatever others of its warp wrote meanwhile."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from assembling import assemble, launch

from tilewise.emu.machine import emulate

START = """
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [a0];
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
and.b32 %r3, %r1, 1;
setp.ne.u32 %p1, %r3, 0;
ld.param.u32 %r2, [a1];
setp.ne.u32 %p2, %r2, 0;
"""
"""%r1: the thread; %rd1: its word in a0; %p1: odd threads; %p2: whether a1 is set."""


def run(body: str, value: int = 0, block: int = 32) -> npt.NDArray[np.uint32]:
    out = np.full(block, 99, np.uint32)
    emulate(launch(assemble(START + body, "u64 u32"), 1, block, out, value))
    return out


def test_lanes_past_a_block_behind_a_barrier_keep_what_it_overwrites() -> None:
    """The odd lanes go to BEHIND by a branch, not by its barrier; the even ones, ahead of them, still need the old %r9."""
    out = run(
        """
        mov.u32 %r9, 0;
        @!%p2 bra ROUND;
        bar.sync 0;
        BEHIND:
        mov.u32 %r9, 1;
        bra END;
        ROUND:
        @%p1 bra BEHIND;
        mov.u32 %r4, 6;
        END:
        st.global.u32 [%rd1], %r9;
        ret;"""
    )
    np.testing.assert_array_equal(out, np.arange(32) % 2)


@pytest.mark.parametrize("block", [32, 31, 70])
def test_the_two_sides_of_an_if_write_one_register(block: int) -> None:
    out = run(
        "@%p1 bra ODD;\nmov.u32 %r9, 10;\nbra END;\nODD:\nmov.u32 %r9, 20;\nEND:\nst.global.u32 [%rd1], %r9;\nret;", block=block
    )
    np.testing.assert_array_equal(out, np.where(np.arange(block) % 2, 20, 10))


@pytest.mark.parametrize("block", [32, 31, 70])
def test_lanes_that_left_a_loop_keep_their_round(block: int) -> None:
    """%r9 is one number for all lanes that are still in the loop, and another for each that left."""
    out = run(
        """
        mov.u32 %r9, 100;
        AGAIN:
        add.u32 %r9, %r9, 1;
        sub.u32 %r4, %r9, 100;
        setp.lt.u32 %p3, %r4, %r1;
        @%p3 bra AGAIN;
        st.global.u32 [%rd1], %r9;
        ret;""",
        block=block,
    )
    np.testing.assert_array_equal(out, 100 + np.maximum(np.arange(block), 1))


def test_lanes_exchange_two_registers_in_turn() -> None:
    """The lanes of an inner if swap; the others wait with theirs as they were."""
    out = run(
        """
        mov.u32 %r10, 1;
        mov.u32 %r11, 2;
        mov.u32 %r5, 0;
        AGAIN:
        shr.u32 %r6, %r1, %r5;
        and.b32 %r6, %r6, 1;
        setp.eq.u32 %p3, %r6, 0;
        @%p3 bra SKIP;
        mov.u32 %r12, %r10;
        mov.u32 %r10, %r11;
        mov.u32 %r11, %r12;
        SKIP:
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p4, %r5, 5;
        @%p4 bra AGAIN;
        st.global.u32 [%rd1], %r10;
        ret;"""
    )
    np.testing.assert_array_equal(out, [1 + lane.bit_count() % 2 for lane in range(32)])


@pytest.mark.parametrize("instruction", ["mov.b32 %f1, %r1;", "mov.b32 %f1, 5;", "mov.b32 %f1, %r2;"])
def test_integer_bits_stay_whole_in_a_float_register(instruction: str) -> None:
    """Across a branch, where a register is kept with what is known of it: a lane pattern, a constant, one value for the warp."""
    out = run(f"{instruction}\n@%p2 bra NEXT;\nNEXT:\nmov.b32 %r9, %f1;\nst.global.u32 [%rd1], %r9;\nret;", 7)
    np.testing.assert_array_equal(out, np.arange(32) if "%r1" in instruction else 5 if "5" in instruction else 7)


@pytest.mark.parametrize("value", [0, 9])
def test_zero_extension_of_a_sum_with_a_negative_part(value: int) -> None:
    """(value & 15) - 5 may be negative, 64 + lane more than makes up for it: the high half of the extended sum is 0."""
    out = run(
        """
        and.b32 %r4, %r2, 15;
        sub.s32 %r5, %r4, 5;
        or.b32 %r6, %r1, 64;
        add.s32 %r7, %r6, %r5;
        cvt.u64.u32 %rd5, %r7;
        shr.u64 %rd6, %rd5, 32;
        add.u64 %rd7, %rd5, %rd6;
        st.global.u32 [%rd1], %rd6;
        mul.wide.u32 %rd8, %r7, 3;
        shr.u64 %rd8, %rd8, 8;
        add.u64 %rd8, %rd8, %rd6;
        st.global.u32 [%rd1], %rd8;
        ret;""",
        value,
    )
    np.testing.assert_array_equal(out, (64 + np.arange(32) + value - 5) * 3 >> 8)


@pytest.mark.parametrize("branch", ["@%p1 bra NEXT;", "@!%p1 bra NEXT;", "@%p2 bra NEXT;", "bra NEXT;"])
def test_a_branch_to_the_next_instruction_keeps_all_lanes(branch: str) -> None:
    np.testing.assert_array_equal(run(f"{branch}\nNEXT:\nst.global.u32 [%rd1], %r1;\nret;"), np.arange(32))
