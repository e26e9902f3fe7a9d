"""Barriers: who waits for whom, what is legal, and what is said when nobody can go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from assembling import SOURCE, assemble, launch

from tilewise.core.errors import KernelFault
from tilewise.core.facts import Fault
from tilewise.emu.machine import Emulation, emulate

START = """
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [a0];
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
shl.b32 %r2, %r1, 2;
"""
"""%r1: the thread; %r2: its word in shared memory; %rd1: its word in a0."""

# What each thread wrote before the barrier is read behind it by its partner in the other warp.
EXCHANGE = """
xor.b32 %r3, %r2, 128;
ld.shared.u32 %r4, [%r3];
st.global.u32 [%rd1], %r4;
"""


def run(body: str, threads: int, block: int = 64, grid: int = 1) -> tuple[npt.NDArray[np.uint32], Emulation]:
    """Launch with a word for each thread of one block, all 99, and a thread number for `body` to tell threads apart by."""
    out = np.full(block, 99, np.uint32)
    ptx = assemble(START + body, "u64 u32", shared_bytes=4 * block)
    return out, emulate(launch(ptx, grid, block, out, threads))


def faults_of(*args: Any, **more: Any) -> tuple[Fault, ...]:
    with pytest.raises(KernelFault) as caught:
        run(*args, **more)
    return caught.value.faults  # type: ignore[return-value]


LEAVING = {
    "guarded ret": "@%p1 ret;",
    "guarded exit": "@%p1 exit;",
    "branch to the end": "@%p1 bra END;",
    "work, then ret": "@!%p1 bra STAY;\nst.global.u32 [%rd1], 7;\nret;\nSTAY:",
    "a loop, then ret": "@!%p1 bra STAY;\nmov.u32 %r9, %r1;\nAGAIN:\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 80;\n"
    "@%p2 bra AGAIN;\nst.global.u32 [%rd1], 7;\nret;\nSTAY:",
}


@pytest.mark.parametrize("leaving", LEAVING.values(), ids=LEAVING.keys())
@pytest.mark.parametrize("stay", [64, 63, 48, 33, 32, 31, 1])
def test_threads_that_left_are_not_waited_for(leaving: str, stay: int) -> None:
    body = f"""
    st.shared.u32 [%r2], %r1;
    ld.param.u32 %r5, [a1];
    setp.ge.u32 %p1, %r1, %r5;
    {leaving}
    bar.sync 0;
    {EXCHANGE}
    bar.sync 0;
    END: ret;"""
    out, emulation = run(body, stay)
    assert emulation.counters.barriers == 2
    threads = np.arange(64)
    np.testing.assert_array_equal(out, np.where(threads < stay, threads ^ 32, 7 if "7" in leaving else 99))


def test_lanes_that_go_round_a_barrier_leave_those_at_it_waiting() -> None:
    """Lanes of warp 0 wait for warp 1, though the rest of their warp comes to the block behind the barrier first, and leaves."""
    body = f"""
    st.shared.u32 [%r2], %r1;
    setp.ge.u32 %p2, %r1, 32;
    @%p2 bra WAIT;
    ld.param.u32 %r5, [a1];
    setp.ge.u32 %p1, %r1, %r5;
    @%p1 bra BEHIND;
    WAIT:
    bar.sync 0;
    BEHIND:
    {EXCHANGE}
    ret;"""
    out, emulation = run(body, 16)
    assert emulation.counters.barriers == 1
    np.testing.assert_array_equal(out[:16], np.arange(32, 48))  # 0 if they had not waited
    np.testing.assert_array_equal(out[32:], np.arange(32))


def test_whole_warps_may_come_from_different_instructions() -> None:
    body = f"""
    st.shared.u32 [%r2], %r1;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra SECOND;
    bar.sync 0;
    bra BEHIND;
    SECOND:
    barrier.sync 0;
    BEHIND:
    {EXCHANGE}
    ret;"""
    out, emulation = run(body, 0, grid=3)
    assert emulation.counters.barriers == 3
    np.testing.assert_array_equal(out, np.arange(64) ^ 32)


def test_a_barrier_in_a_loop_counts_every_round() -> None:
    """Each round adds what the partner had; after n rounds of doubling and exchange both hold the same sum."""
    body = """
    mov.u32 %r6, 0;
    mov.u32 %r7, %r1;
    ROUND:
    st.shared.u32 [%r2], %r7;
    bar.sync 1;
    xor.b32 %r3, %r2, 128;
    ld.shared.u32 %r4, [%r3];
    bar.sync 1;
    add.u32 %r7, %r7, %r4;
    add.u32 %r6, %r6, 1;
    ld.param.u32 %r5, [a1];
    setp.lt.u32 %p1, %r6, %r5;
    @%p1 bra ROUND;
    st.global.u32 [%rd1], %r7;
    ret;"""
    out, emulation = run(body, 5)
    assert emulation.counters.barriers == 10
    threads = np.arange(64)
    np.testing.assert_array_equal(out, (threads + (threads ^ 32)) * 16)


@pytest.mark.parametrize("block", [32, 64, 50])
def test_lanes_of_a_warp_that_come_apart_to_a_barrier_are_a_fault(block: int) -> None:
    body = """
    .loc 1 5 1
    setp.ge.u32 %p1, %r1, 7;
    @%p1 bra SECOND;
    .loc 1 6 1
    bar.sync 0;
    bra BEHIND;
    SECOND:
    .loc 1 8 1
    bar.sync 0;
    BEHIND:
    st.global.u32 [%rd1], %r1;
    ret;"""
    faults = faults_of(body, 0, block=block)
    (fault,) = faults
    assert (fault.kind, fault.file) == ("divergent barrier", SOURCE)
    assert fault.line in (6, 8)
    lanes = "0x0000007f" if fault.line == 6 else "0xffffff80"
    assert lanes in fault.detail
    assert fault.thread == ((0, 0, 0) if fault.line == 6 else (7, 0, 0))


def test_warps_at_different_barriers_are_a_deadlock_and_other_blocks_go_on() -> None:
    body = """
    mov.u32 %r9, %ctaid.x;
    setp.ne.u32 %p2, %r9, 1;
    @%p2 bra BEHIND;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra SECOND;
    .loc 1 6 1
    bar.sync 0;
    bra BEHIND;
    SECOND:
    .loc 1 8 1
    bar.sync 3;
    BEHIND:
    st.global.u32 [%rd1], %r9;
    ret;"""
    faults = faults_of(body, 0, grid=4)
    assert [(fault.kind, fault.block, fault.thread, fault.line) for fault in faults] == [
        ("deadlock", (1, 0, 0), (0, 0, 0), 6),
        ("deadlock", (1, 0, 0), (32, 0, 0), 8),
    ]
    assert "barrier 0, to which 1 of 2 warps" in faults[0].detail
    assert "barrier 3, to which 1 of 2 warps" in faults[1].detail


def test_a_barrier_s_number_may_stand_in_a_register() -> None:
    body = f"""
    st.shared.u32 [%r2], %r1;
    ld.param.u32 %r5, [a1];
    bar.sync %r5;
    {EXCHANGE}
    ret;"""
    out, _ = run(body, 7)
    np.testing.assert_array_equal(out, np.arange(64) ^ 32)


def test_a_kernel_may_end_in_a_barrier() -> None:
    out, emulation = run("st.global.u32 [%rd1], %r1;\nbar.sync 0;", 0)
    assert emulation.counters.barriers == 1
    np.testing.assert_array_equal(out, np.arange(64))


def test_a_guarded_barrier_is_one_for_the_lanes_whose_guard_holds() -> None:
    """Warp 1 comes with all its lanes, warp 0 with 16; the others of warp 0 go on and leave."""
    body = f"""
    st.shared.u32 [%r2], %r1;
    ld.param.u32 %r5, [a1];
    setp.lt.u32 %p1, %r1, %r5;
    setp.ge.u32 %p2, %r1, 32;
    or.pred %p1, %p1, %p2;
    @%p1 bar.sync 0;
    @!%p1 ret;
    {EXCHANGE}
    ret;"""
    out, emulation = run(body, 16)
    assert emulation.counters.barriers == 1
    np.testing.assert_array_equal(out[:16], np.arange(32, 48))
    np.testing.assert_array_equal(out[32:], np.arange(32))
