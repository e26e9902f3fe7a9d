"""Shuffles, votes, matches and reductions against their definitions, lane by lane in Python; lanes that wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from assembling import SOURCE, assemble, launch

from tilewise.core.errors import KernelFault
from tilewise.emu.machine import emulate

Words = npt.NDArray[np.uint32]
FULL = 0xFFFFFFFF
BLOCKS = 12

LOAD = """
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 32, %r1;
mul.wide.u32 %rd5, %r3, 4;
ld.param.u64 %rd1, [a0];
add.s64 %rd1, %rd1, %rd5;
ld.param.u64 %rd2, [a1];
add.s64 %rd2, %rd2, %rd5;
ld.param.u64 %rd3, [a2];
add.s64 %rd3, %rd3, %rd5;
ld.global.u32 %r10, [%rd1];
ld.global.u32 %r11, [%rd2];
"""
"""%r10 and %r11: the lane's words of a0 and a1; %rd3: its word in a2. A warp a block."""


def run(body: str, a: Words, b: Words, lanes: int = 32) -> Words:
    """Launch BLOCKS warps of `lanes` lanes; return a2, 99 where nothing was stored."""
    out = np.full((BLOCKS, 32), 99, np.uint32)
    emulate(launch(assemble(LOAD + body + "\nst.global.u32 [%rd3], %r20;\nret;", "u64 u64 u64"), BLOCKS, lanes, a, b, out))
    return out


def words(seed: int, high: int = 1 << 32) -> Words:
    return np.random.default_rng(seed).integers(0, high, (BLOCKS, 32), dtype=np.uint64).astype(np.uint32)


def expect(lanes: Sequence[int], meaning: Callable[[int, int], int]) -> Words:
    """meaning(block, lane) for these lanes, 99 elsewhere."""
    out = np.full((BLOCKS, 32), 99, np.uint32)
    for block in range(BLOCKS):
        for lane in lanes:
            out[block, lane] = meaning(block, lane) & FULL
    return out


# -- shuffles


def shuffled(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The pseudocode of the manual's shfl.sync."""
    bval, cval, mask = b & 0x1F, c & 0x1F, c >> 8 & 0x1F
    max_lane = (lane & mask) | (cval & ~mask)
    min_lane = lane & mask
    if mode == "up":
        j = lane - bval
        pval = j >= max_lane
    elif mode == "down":
        j = lane + bval
        pval = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        pval = j <= max_lane
    else:
        j = min_lane | (bval & ~mask)
        pval = j <= max_lane
    return (j if pval else lane), pval


CLAMPS = {
    "up": [0x0000, 0x1800, 0x1C00],
    "down": [0x1F, 0x181F, 0x1E1F],
    "bfly": [0x1F, 0x101F, 0x0F],
    "idx": [0x1F, 0x181F, 0x7],
}


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("lanes", [32, 20])
def test_shuffles_by_a_literal(mode: str, lanes: int) -> None:
    a = words(1)
    for distance in (0, 1, 5, 16, 31, 33):
        for clamp in CLAMPS[mode]:
            body = f"shfl.sync.{mode}.b32 %r20|%p1, %r10, {distance}, {clamp}, -1;\n@!%p1 add.u32 %r20, %r20, 1;"
            reads = [shuffled(mode, lane, distance, clamp) for lane in range(32)]
            whole = [lane for lane in range(lanes) if reads[lane][0] < lanes]
            got = run(body, a, a, lanes)
            wanted = expect(whole, lambda block, lane, reads=reads: int(a[block, reads[lane][0]]) + (not reads[lane][1]))  # type: ignore[misc]
            np.testing.assert_array_equal(got[:, whole], wanted[:, whole])


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("source", ["lane", "warp"])
def test_shuffles_by_a_register(mode: str, source: str) -> None:
    """A distance and a clamp a lane, or the same of all lanes that only the run tells."""
    a, b = words(2), words(3)
    if source == "warp":
        b[:] = b[:, :1]
    clamp = CLAMPS[mode][1]
    one = "ld.param.u64 %rd4, [a1];\nmul.wide.u32 %rd6, %r2, 128;\nadd.s64 %rd4, %rd4, %rd6;\nld.global.u32 %r11, [%rd4];"
    body = one if source == "warp" else ""
    body += f"\nshfl.sync.{mode}.b32 %r20|%p1, %r10, %r11, {clamp}, -1;\n@!%p1 add.u32 %r20, %r20, 1;"

    def meaning(block: int, lane: int) -> int:
        read, valid = shuffled(mode, lane, int(b[block, lane]), clamp)
        return int(a[block, read]) + (not valid)

    np.testing.assert_array_equal(run(body, a, b), expect(range(32), meaning))


def test_one_lane_to_all_by_a_register_of_the_warp() -> None:
    body = "rem.u32 %r12, %r2, 32;\nshfl.sync.idx.b32 %r20, %r10, %r12, 31, -1;"
    a = words(4)
    np.testing.assert_array_equal(run(body, a, a), expect(range(32), lambda block, lane: int(a[block, block % 32])))


def test_shuffled_lane_numbers() -> None:
    body = "shfl.sync.down.b32 %r20, %r1, 3, 31, -1;\nmul.lo.u32 %r20, %r20, 5;"
    a = words(5)
    np.testing.assert_array_equal(run(body, a, a), expect(range(32), lambda block, lane: 5 * (lane + 3 if lane < 29 else lane)))


def test_halves_of_a_warp_shuffle_apart() -> None:
    """In two branches, each half naming itself."""
    body = """
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra LOW;
    shfl.sync.bfly.b32 %r20, %r10, 3, 31, 0xffff0000;
    bra END;
    LOW:
    shfl.sync.bfly.b32 %r20, %r10, 5, 31, 0x0000ffff;
    END:"""
    a = words(6)
    np.testing.assert_array_equal(
        run(body, a, a), expect(range(32), lambda block, lane: int(a[block, lane ^ (5 if lane < 16 else 3)]))
    )


# -- votes


VOTES: dict[str, Callable[[list[bool]], bool]] = {
    "all": all,
    "any": any,
    "uni": lambda values: len(set(values)) == 1,
}


@pytest.mark.parametrize("mode", VOTES)
@pytest.mark.parametrize("lanes", [32, 20])
@pytest.mark.parametrize("predicate", ["%p1", "!%p1"])
def test_votes(mode: str, lanes: int, predicate: str) -> None:
    a = words(7, 6)
    a[0], a[1] = 0, 1
    body = f"setp.ne.u32 %p1, %r10, 0;\nvote.sync.{mode}.pred %p2, {predicate}, -1;\nselp.u32 %r20, 1, 0, %p2;"

    def meaning(block: int, lane: int) -> int:
        return VOTES[mode]([(value != 0) == (predicate == "%p1") for value in a[block, :lanes].tolist()])

    np.testing.assert_array_equal(run(body, a, a, lanes), expect(range(lanes), meaning))


@pytest.mark.parametrize("opcode", ["vote.sync.ballot.b32", "vote.ballot.sync.b32"])
@pytest.mark.parametrize("member", [FULL, 0x0FF0F00F])
def test_ballots(opcode: str, member: int) -> None:
    a = words(8, 2)
    body = f"setp.ne.u32 %p1, %r10, 0;\n{opcode} %r20, %p1, {member:#x};"

    def meaning(block: int, lane: int) -> int:
        return sum(1 << other for other in range(32) if a[block, other]) & member

    got, wanted = run(body, a, a), expect(range(32), meaning)
    named = [lane for lane in range(32) if member >> lane & 1]
    np.testing.assert_array_equal(got[:, named], wanted[:, named])


def test_each_half_votes_in_one_instruction() -> None:
    """Each lane names its own half of the warp."""
    a = words(9, 2)
    body = """
    setp.ne.u32 %p1, %r10, 0;
    and.b32 %r12, %r1, 16;
    mov.u32 %r14, 0xffff;
    shl.b32 %r12, %r14, %r12;
    vote.sync.ballot.b32 %r20, %p1, %r12;
    redux.sync.add.u32 %r13, %r10, %r12;
    mad.lo.u32 %r20, %r13, 7, %r20;"""

    def meaning(block: int, lane: int) -> int:
        named = range(lane & 16, (lane & 16) + 16)
        return sum(1 << other for other in named if a[block, other]) + 7 * sum(int(a[block, other]) for other in named)

    np.testing.assert_array_equal(run(body, a, a), expect(range(32), meaning))


def test_active_lanes_and_the_elected_one() -> None:
    body = """
    and.b32 %r12, %r1, 3;
    setp.ne.u32 %p1, %r12, 2;
    mov.u32 %r20, 0;
    @%p1 bra END;
    activemask.b32 %r13;
    elect.sync %r14|%p2, %r13;
    selp.u32 %r20, 100, 200, %p2;
    add.u32 %r20, %r20, %r14;
    add.u32 %r20, %r20, %r13;
    END:"""
    a = words(10)
    active = 0x44444444
    wanted = expect(range(32), lambda block, lane: active + 2 + (100 if lane == 2 else 200) if lane % 4 == 2 else 0)
    np.testing.assert_array_equal(run(body, a, a), wanted)
    body = "activemask.b32 %r20;\nelect.sync _|%p2, -1;\n@%p2 add.u32 %r20, %r20, 2;"
    for lanes in (32, 20):
        wanted = expect(range(lanes), lambda block, lane, lanes=lanes: (1 << lanes) - 1 + 2 * (lane == 0))  # type: ignore[misc]
        np.testing.assert_array_equal(run(body, a, a, lanes), wanted)


# -- matches and reductions


@pytest.mark.parametrize("member", [FULL, 0xF0F0F0FF])
def test_matches(member: int) -> None:
    a = words(11, 5)
    a[0] = 3
    named = [lane for lane in range(32) if member >> lane & 1]
    body = f"match.any.sync.b32 %r12, %r10, {member:#x};\nmatch.all.sync.b32 %r13|%p1, %r10, {member:#x};\n"
    body += "selp.u32 %r20, 1, 0, %p1;\nadd.u32 %r20, %r20, %r12;\nmad.lo.u32 %r20, %r13, 3, %r20;"

    def meaning(block: int, lane: int) -> int:
        equal = sum(1 << other for other in named if a[block, other] == a[block, lane])
        return equal + (1 + 3 * member if equal == member else 0)

    got, wanted = run(body, a, a), expect(named, meaning)
    np.testing.assert_array_equal(got[:, named], wanted[:, named])


def test_matches_of_64_bits() -> None:
    a, b = words(12, 2), words(13, 2)
    body = "mov.b64 %rd7, {%r10, %r11};\nmatch.any.sync.b64 %r20, %rd7, -1;"

    def meaning(block: int, lane: int) -> int:
        same = (a[block] == a[block, lane]) & (b[block] == b[block, lane])
        return sum(1 << other for other in range(32) if same[other])

    np.testing.assert_array_equal(run(body, a, b), expect(range(32), meaning))


def signed(value: int) -> int:
    return value - (value >> 31 << 32)


REDUCTIONS: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda x, y: x + y & FULL,
    "min.u32": min,
    "max.u32": max,
    "add.s32": lambda x, y: x + y & FULL,
    "min.s32": lambda x, y: min(x, y, key=signed),
    "max.s32": lambda x, y: max(x, y, key=signed),
    "and.b32": lambda x, y: x & y,
    "or.b32": lambda x, y: x | y,
    "xor.b32": lambda x, y: x ^ y,
}


@pytest.mark.parametrize("operation", REDUCTIONS)
@pytest.mark.parametrize(("member", "lanes"), [(FULL, 32), (0x0F0F0F0F, 32), (FULL, 20)])
def test_reductions(operation: str, member: int, lanes: int) -> None:
    a = words(14)
    named = [lane for lane in range(lanes) if member >> lane & 1]
    body = f"redux.sync.{operation} %r20, %r10, {member:#x};"

    def meaning(block: int, lane: int) -> int:
        result = int(a[block, named[0]])
        for other in named[1:]:
            result = REDUCTIONS[operation](result, int(a[block, other]))
        return result

    got, wanted = run(body, a, a, lanes), expect(named, meaning)
    np.testing.assert_array_equal(got[:, named], wanted[:, named])


@pytest.mark.parametrize("operation", ["min", "max"])
@pytest.mark.parametrize("absolute", ["", ".abs"])
@pytest.mark.parametrize("nan", ["", ".NaN"])
def test_float_reductions(operation: str, absolute: str, nan: str) -> None:
    values = np.random.default_rng(15).standard_normal((BLOCKS, 32)).astype(np.float32)
    values[0, 5] = np.nan
    values[1] = np.nan
    values[2] = np.where(np.arange(32) % 2, 0.0, -0.0)
    out = np.full((BLOCKS, 32), 99, np.uint32)
    body = f"mov.b32 %f1, %r10;\nredux.sync.{operation}{absolute}{nan}.f32 %f2, %f1, -1;\nmov.b32 %r20, %f2;"
    out = run(body, values.view(np.uint32), values.view(np.uint32))
    operand = np.abs(values) if absolute else values
    for block in range(BLOCKS):
        row = operand[block]
        if np.isnan(row).all() or (nan and np.isnan(row).any()):
            wanted = 0x7FFFFFFF
        elif block == 2 and not absolute:
            wanted = 0x80000000 if operation == "min" else 0
        else:
            wanted = int((np.nanmin(row) if operation == "min" else np.nanmax(row)).view(np.uint32))
        np.testing.assert_array_equal(out[block], wanted)


# -- lanes that come together


def test_lanes_wait_for_those_that_they_name() -> None:
    """Odd and even lanes come to the shuffle on different ways, the odd ones through a loop of as many rounds as their number."""
    body = """
    and.b32 %r12, %r1, 1;
    setp.eq.u32 %p1, %r12, 0;
    mov.u32 %r13, %r10;
    mov.u32 %r14, 0;
    @%p1 bra TOGETHER;
    ROUND:
    add.u32 %r13, %r13, 1;
    add.u32 %r14, %r14, 1;
    setp.lt.u32 %p2, %r14, %r1;
    @%p2 bra ROUND;
    TOGETHER:
    shfl.sync.bfly.b32 %r20, %r13, 1, 31, -1;"""
    a = words(16)

    def meaning(block: int, lane: int) -> int:
        other = lane ^ 1
        return int(a[block, other]) + (other if other % 2 else 0)

    np.testing.assert_array_equal(run(body, a, a), expect(range(32), meaning))


def test_lanes_that_wait_keep_their_registers() -> None:
    """The shuffle overwrites its own operand while lanes of the other group still wait for a third with theirs."""
    body = """
    mov.u32 %r20, %r10;
    mov.u32 %r12, 0xffffffff;
    setp.lt.u32 %p1, %r1, 8;
    @%p1 mov.u32 %r12, 0xff;
    setp.ge.u32 %p2, %r1, 24;
    @%p2 bra LATE;
    bra MEET;
    LATE:
    add.u32 %r20, %r20, 1000;
    MEET:
    shfl.sync.bfly.b32 %r20, %r20, 1, 31, %r12;
    add.u32 %r20, %r20, 7;"""
    a = words(17)

    def meaning(block: int, lane: int) -> int:
        other = lane ^ 1
        return int(a[block, other]) + (1000 if other >= 24 else 0) + 7

    np.testing.assert_array_equal(run(body, a, a), expect(range(32), meaning))


@pytest.mark.parametrize("leave", ["ret", "exit"])
def test_lanes_that_left_are_not_waited_for(leave: str) -> None:
    body = f"""
    setp.ge.u32 %p1, %r1, 11;
    @!%p1 bra STAY;
    st.global.u32 [%rd3], %r1;
    {leave};
    STAY:
    setp.ne.u32 %p2, %r10, 0;
    vote.sync.ballot.b32 %r20, %p2, -1;"""
    a = words(18, 2)

    def meaning(block: int, lane: int) -> int:
        return sum(1 << other for other in range(11) if a[block, other]) if lane < 11 else lane

    np.testing.assert_array_equal(run(body, a, a), expect(range(32), meaning))


def test_a_guard_leaves_lanes_out() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 16;
    mov.u32 %r20, 5;
    @%p1 vote.sync.ballot.b32 %r20, %p1, 0xffff;
    @!%p1 bar.warp.sync 0xffff0000;"""
    a = words(19)
    np.testing.assert_array_equal(run(body, a, a), expect(range(32), lambda block, lane: 0xFFFF if lane < 16 else 5))


def test_lanes_that_never_come_are_a_fault_and_the_others_go_on() -> None:
    body = """
    setp.ge.u32 %p1, %r1, 8;
    @%p1 bra SECOND;
    .loc 1 5 1
    bar.warp.sync -1;
    bra END;
    SECOND:
    .loc 1 9 1
    bar.warp.sync -1;
    END:
    mov.u32 %r20, %r1;"""
    out = np.full((BLOCKS, 32), 99, np.uint32)
    with pytest.raises(KernelFault) as caught:
        emulate(launch(assemble(LOAD + body + "\nst.global.u32 [%rd3], %r20;", "u64 u64 u64"), BLOCKS, 32, out, out, out))
    fault = caught.value.faults[0]
    assert (fault.kind, fault.file, fault.line, fault.thread) == ("missing lanes", SOURCE, 5, (0, 0, 0))  # type: ignore[attr-defined]
    assert "0x000000ff" in fault.detail  # type: ignore[attr-defined]
    assert "0xffffff00" in fault.detail  # type: ignore[attr-defined]
    np.testing.assert_array_equal(out, np.broadcast_to(np.arange(32), (BLOCKS, 32)))
