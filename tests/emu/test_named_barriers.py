"""Barriers for some of a block's warps, arrivals that do not wait, and reductions over those that come."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from assembling import assemble, launch

from tilewise.core.errors import KernelFault
from tilewise.emu.machine import Emulation, emulate

START = """
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
ld.param.u64 %rd1, [a0];
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
shl.b32 %r3, %r1, 2;
"""
"""%r1: the thread; %r2: its warp; %rd1: its word in a0; %r3: its word in shared memory."""


def run(body: str, block: int = 128) -> tuple[npt.NDArray[np.uint32], Emulation]:
    out = np.full(block, 99, np.uint32)
    return out, emulate(launch(assemble(START + body, "u64", shared_bytes=4 * block), 1, block, out))


def test_pairs_of_warps_have_a_barrier_each() -> None:
    """Warps 0 and 2 exchange at barrier 1, warps 1 and 3 at barrier 2, whichever comes first."""
    out, emulation = run(
        """
        and.b32 %r4, %r2, 1;
        add.u32 %r4, %r4, 1;
        st.shared.u32 [%r3], %r1;
        bar.sync %r4, 64;
        xor.b32 %r5, %r3, 256;
        ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd1], %r6;
        ret;"""
    )
    assert emulation.counters.barriers == 2
    np.testing.assert_array_equal(out, np.arange(128) ^ 64)


@pytest.mark.parametrize("name", ["bar", "barrier", "bar.cta", "barrier.cta"])
def test_producers_arrive_and_consumers_wait(name: str) -> None:
    """Two slots, eight rounds: a producer runs ahead of its consumer by two rounds at most, else a value is lost."""
    out, _ = run(
        f"""
        and.b32 %r4, %r1, 63;
        shl.b32 %r4, %r4, 2;
        mov.u32 %r5, 0;
        mov.u32 %r9, 0;
        setp.ge.u32 %p1, %r1, 64;
        @%p1 bra CONSUME;
        PRODUCE:
        and.b32 %r6, %r5, 1;
        add.u32 %r7, %r6, 3;
        setp.lt.u32 %p2, %r5, 2;
        @!%p2 {name}.sync %r7, 128;
        shl.b32 %r8, %r6, 8;
        add.u32 %r8, %r8, %r4;
        mad.lo.u32 %r10, %r5, 100, %r1;
        st.shared.u32 [%r8], %r10;
        add.u32 %r7, %r6, 1;
        {name}.arrive %r7, 128;
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p3, %r5, 8;
        @%p3 bra PRODUCE;
        ret;
        CONSUME:
        and.b32 %r6, %r5, 1;
        add.u32 %r7, %r6, 1;
        {name}.sync %r7, 128;
        shl.b32 %r8, %r6, 8;
        add.u32 %r8, %r8, %r4;
        ld.shared.u32 %r10, [%r8];
        mad.lo.u32 %r9, %r9, 3, %r10;
        add.u32 %r7, %r6, 3;
        setp.lt.u32 %p2, %r5, 6;
        @%p2 {name}.arrive %r7, 128;
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p3, %r5, 8;
        @%p3 bra CONSUME;
        st.global.u32 [%rd1], %r9;
        ret;"""
    )
    wanted = np.full(128, 99, np.int64)
    wanted[64:] = 0
    for round_ in range(8):
        wanted[64:] = wanted[64:] * 3 + round_ * 100 + np.arange(64)
    np.testing.assert_array_equal(out, wanted.astype(np.uint32))


@pytest.mark.parametrize("block", [128, 100, 32])
@pytest.mark.parametrize("name", ["bar.red.{}", "barrier.cta.red.{}.aligned", "barrier.red.{}"])
@pytest.mark.parametrize("threshold", [0, 50, 200])
def test_reductions_over_the_block(block: int, name: str, threshold: int) -> None:
    body = f"""
    setp.lt.u32 %p1, %r1, {threshold};
    {name.format("popc")}.u32 %r4, 0, %p1;
    {name.format("and")}.pred %p2, 1, %p1;
    {name.format("or")}.pred %p3, 0, !%p1;
    selp.u32 %r5, 1000, 0, %p2;
    selp.u32 %r6, 2000, 0, %p3;
    add.u32 %r4, %r4, %r5;
    add.u32 %r4, %r4, %r6;
    st.global.u32 [%rd1], %r4;
    ret;"""
    out, emulation = run(body, block)
    holds = np.arange(block) < threshold
    np.testing.assert_array_equal(out, holds.sum() + 1000 * holds.all() + 2000 * (~holds).any())
    assert emulation.counters.barriers == 3


def test_a_reduction_over_some_warps() -> None:
    """Of warps 0 and 1 at barrier 5, and of 2 and 3 at barrier 6: a number for each pair."""
    out, _ = run(
        """
        shr.u32 %r4, %r2, 1;
        add.u32 %r4, %r4, 5;
        rem.u32 %r5, %r1, 3;
        setp.eq.u32 %p1, %r5, 0;
        barrier.red.popc.u32 %r6, %r4, 64, %p1;
        st.global.u32 [%rd1], %r6;
        ret;"""
    )
    third = np.arange(128) % 3 == 0
    np.testing.assert_array_equal(out, np.repeat([third[:64].sum(), third[64:].sum()], 64))


def test_lanes_come_to_an_unaligned_barrier_one_after_another() -> None:
    """barrier.sync without .aligned: a warp has come when all its lanes have, from whatever instruction."""
    out, emulation = run(
        """
        st.shared.u32 [%r3], %r1;
        and.b32 %r4, %r1, 1;
        setp.eq.u32 %p1, %r4, 0;
        @%p1 bra EVEN;
        barrier.sync 0;
        bra BEHIND;
        EVEN:
        barrier.sync 0;
        BEHIND:
        xor.b32 %r5, %r3, 256;
        ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd1], %r6;
        ret;"""
    )
    assert emulation.counters.barriers == 1
    np.testing.assert_array_equal(out, np.arange(128) ^ 64)


def test_too_few_warps_are_a_deadlock() -> None:
    body = """
    setp.ge.u32 %p1, %r1, 96;
    @%p1 ret;
    setp.ge.u32 %p2, %r1, 64;
    @%p2 bra WAIT;
    .loc 1 5 1
    bar.arrive 1, 128;
    ret;
    WAIT:
    .loc 1 7 1
    bar.sync 1, 128;
    ret;"""
    with pytest.raises(KernelFault) as caught:
        run(body)
    (fault,) = caught.value.faults
    assert (fault.kind, fault.line, fault.thread) == ("deadlock", 7, (64, 0, 0))  # type: ignore[attr-defined]
    assert "barrier 1, to which 3 of 4 warps have come" in fault.detail  # type: ignore[attr-defined]
