"""Watching one thread: its numbers at chosen lines of the PTX, against what the program computes for it."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from assembling import assemble, launch

from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Dim3
from tilewise.emu.machine import emulate
from tilewise.emu.tracing import Event, blocks_communicate, watch_thread
from tilewise.emu.windows import ARGUMENTS_BASE
from tilewise.ptx.parse import parse


def lines_with(ptx: str, *marks: str) -> frozenset[int]:
    return frozenset(number for number, line in enumerate(ptx.splitlines(), 1) if any(mark in line for mark in marks))


def watch(ptx: str, marks: list[str], grid: Any, block: Any, *args: Any, at: tuple[Dim3, Dim3], **options: Any) -> list[Event]:
    found = watch_thread(launch(ptx, grid, block, *args), *at, lines_with(ptx, *marks), **{"limit": 1000, **options})
    assert not found.ended
    return list(found.events)


def written(events: list[Event], register: str) -> list[int]:
    return [
        number
        for event in events
        for slot, number in zip(event.instruction.slots, event.numbers, strict=True)
        if (slot.role, slot.register) == ("written", register)
    ]


LOOP = """
	ld.param.u64 %rd1, [a0];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, 0;
	mov.u32 %r4, 0;
AGAIN:
	add.s32 %r3, %r3, 1;
	mad.lo.s32 %r4, %r3, %r2, %r4; // sum
	setp.lt.u32 %p1, %r3, %r1;
	@%p1 bra AGAIN; // the thread's number of turns
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3+8], %r4; // store
	ret;
"""


@pytest.mark.parametrize(("block", "thread"), [(1, 5), (3, 37), (2, 69), (2, 31), (0, 1)])
def test_each_turn_of_a_divergent_loop_is_told(block: int, thread: int) -> None:
    """Thread t adds 1, 2, ..., t times its block's number; lanes leave the loop one by one, the last warp is not full."""
    ptx = assemble(LOOP, "u64")
    out = np.zeros(72, np.uint32)
    events = watch(ptx, ["// sum"], 4, 70, out, at=((block, 0, 0), (thread, 0, 0)))
    assert written(events, "%r4") == [block * turn * (turn + 1) // 2 for turn in range(1, thread + 1)]
    assert [[slot.register for slot in event.instruction.slots] for event in events[:1]] == [["%r3", "%r2", "%r4", "%r4"]]
    assert [event.numbers[0] for event in events] == list(range(1, thread + 1))


def test_access_tells_where_and_what() -> None:
    ptx = assemble(LOOP, "u64")
    (event,) = watch(ptx, ["// store"], 4, 70, np.zeros(72, np.uint32), at=((3, 0, 0), (9, 0, 0)))
    assert (event.instruction.kind, event.instruction.space, event.instruction.element_bytes) == ("store", "global", 4)
    assert [(slot.role, slot.register) for slot in event.instruction.slots] == [
        ("address", ""),
        ("read", "%rd3"),
        ("read", "%r4"),
    ]
    assert event.numbers == (ARGUMENTS_BASE + 4 * 9 + 8, ARGUMENTS_BASE + 4 * 9, 3 * 45)


def test_only_the_threads_block_runs_and_writes() -> None:
    out = np.full(72, 99, np.uint32)
    watch(assemble(LOOP, "u64"), ["// store"], 4, 70, out, at=((2, 0, 0), (0, 0, 0)))
    turns = np.maximum(np.arange(70), 1)
    np.testing.assert_array_equal(out, [99, 99, *(turns * (turns + 1))])


def test_watched_run_computes_what_an_unwatched_one_does() -> None:
    ptx = assemble(LOOP, "u64").replace("mov.u32 %r2, %ctaid.x;", "mov.u32 %r2, 5;")
    one, other = np.zeros((2, 72), np.uint32)
    watch(ptx, ["%r"], 1, 70, one, at=((0, 0, 0), (40, 0, 0)))
    emulate(launch(ptx, 1, 70, other))
    np.testing.assert_array_equal(one, other)


GUARDED = """
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	and.b32 %r3, %r1, 1;
	setp.eq.u32 %p1, %r3, 0; // even
	mov.u32 %r4, 7;
	@!%p1 add.u32 %r4, %r4, %r2; // odd adds
	@%p1 sub.u32 %r4, %r4, %r2; // even subtracts
	ret;
"""


@pytest.mark.parametrize("x", [4, 5])
def test_guarded_instruction_is_told_where_it_is_carried_out(x: int) -> None:
    ptx = assemble(GUARDED)
    events = watch(ptx, ["// even", "// odd", "subtracts"], 1, (8, 8), at=((0, 0, 0), (x, 3, 0)))
    opcodes = [event.instruction.instruction.opcode for event in events]
    assert opcodes == ["setp.eq.u32", "add.u32" if x % 2 else "sub.u32"]
    assert written(events, "%p1") == [int(x % 2 == 0)]
    assert written(events, "%r4") == [7 + 3 if x % 2 else 7 - 3]


VECTORS = """
	ld.param.u64 %rd1, [a0];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 16;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3]; // vector
	cvt.f64.f32 %fd1, %f3;
	add.f64 %fd2, %fd1, %fd1; // double
	st.shared.f32 [buffer+12], %f4; // shared
	ret;
"""


def test_vectors_doubles_and_shared_addresses_are_told() -> None:
    values = np.arange(256, dtype=np.float32).reshape(64, 4) / 4
    ptx = assemble(VECTORS, "u64", shared_bytes=16)
    events = watch(ptx, ["// vector", "// double", "// shared"], 1, 64, values, at=((0, 0, 0), (35, 0, 0)))
    loaded = [struct.unpack("<f", struct.pack("<I", number))[0] for name in "1234" for number in written(events, f"%f{name}")]
    assert loaded == values[35].tolist()
    (double,) = written(events, "%fd2")
    assert struct.unpack("<d", struct.pack("<Q", double))[0] == 2 * values[35, 2]
    store = events[-1]
    assert store.instruction.space == "shared"
    assert store.numbers[0] == 12
    buffer, loaded_from = (events[index].address for index in (-1, 0))
    found = watch_thread(launch(ptx, 1, 64, values), (0, 0, 0), (0, 0, 0), frozenset(), limit=1).places
    inside = {place.name for place in found for address in (buffer, loaded_from) if place.low <= (address or 0) < place.high}
    assert inside == {"buffer", "argument 0"}
    assert store.instruction.elements == 1


def test_limit_ends_an_endless_loop() -> None:
    ptx = assemble("\tmov.u32 %r1, 0;\nAGAIN:\n\tadd.s32 %r1, %r1, 1; // next\n\tbra AGAIN;\n")
    found = watch_thread(launch(ptx, 1, 64), (0, 0, 0), (13, 0, 0), lines_with(ptx, "// next"), limit=7)
    assert written(list(found.events), "%r1") == list(range(1, 8))
    assert found.ended == "only the first 7 runs of an instruction are shown"


def test_what_was_seen_before_a_stop_or_a_fault_is_kept() -> None:
    ptx = assemble("\tmov.u32 %r1, 5; // once\nAGAIN:\n\tadd.s32 %r1, %r1, 1;\n\tbra AGAIN;\n")
    found = watch_thread(launch(ptx, 1, 64), (0, 0, 0), (0, 0, 0), lines_with(ptx, "// once"), limit=9, max_instructions=9999)
    assert written(list(found.events), "%r1") == [5]
    assert "stopped after" in found.ended
    ptx = assemble("\tld.param.u64 %rd1, [a0];\n\tld.global.u32 %r1, [%rd1+4096]; // beyond\n\tret;", "u64")
    found = watch_thread(launch(ptx, 1, 1, np.zeros(4)), (0, 0, 0), (0, 0, 0), lines_with(ptx, "// beyond"), limit=9)
    assert len(found.events) == 1
    assert "out of bounds" in found.ended


def test_all_blocks_run_where_they_may_wait_for_each_other() -> None:
    ptx = assemble("\tld.param.u64 %rd1, [a0];\n\tred.global.add.u32 [%rd1], 1; // count\n\tret;", "u64")
    counter = np.zeros(1, np.uint32)
    events = watch(ptx, ["// count"], 5, 64, counter, at=((3, 0, 0), (40, 0, 0)))
    assert len(events) == 1
    assert counter[0] == 5 * 64


def test_instruction_that_the_emulator_lacks_ends_the_trace() -> None:
    ptx = assemble("\tmov.u32 %r1, 5; // once\n\tno.such.u32 %r1, %r1;\n\tret;")
    found = watch_thread(launch(ptx, 1, 64), (0, 0, 0), (0, 0, 0), lines_with(ptx, "// once"), limit=9)
    assert written(list(found.events), "%r1") == [5]
    assert "does not have no.such.u32" in found.ended


@pytest.mark.parametrize(
    ("block", "thread", "said"),
    [((4, 0, 0), (0, 0, 0), r"block \(4, 0, 0\) is not one of 4 x 1 x 1"), ((0, 0, 0), (0, 2, 0), r"thread \(0, 2, 0\)")],
)
def test_thread_that_there_is_not_is_refused(block: Dim3, thread: Dim3, said: str) -> None:
    with pytest.raises(TilewiseError, match=said):
        watch_thread(launch(assemble("\tret;"), 4, (8, 2)), block, thread, frozenset({1}), limit=1)


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("atom.global.add.u32 %r1, [%rd1], 1;", True),
        ("red.global.add.u32 [%rd1], 1;", True),
        ("ld.volatile.global.u32 %r1, [%rd1];", True),
        ("ld.acquire.gpu.global.u32 %r1, [%rd1];", True),
        ("st.relaxed.gpu.global.u32 [%rd1], %r1;", True),
        ("ld.global.nc.u32 %r1, [%rd1];", False),
        ("st.global.u32 [%rd1], %r1;", False),
        ("bar.sync 0;", False),
    ],
)
def test_blocks_communicate_by_atomics_and_strong_accesses(instruction: str, expected: bool) -> None:
    assert blocks_communicate(parse(assemble(f"\t{instruction}\n\tret;"))) is expected
