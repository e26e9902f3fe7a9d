"""A run may take so many instructions and no more; endless loops are stopped and named."""

from __future__ import annotations

import time

import numpy as np
import pytest
from assembling import assemble, launch

from tilewise.core.errors import InstructionLimitReached, TilewiseError
from tilewise.emu import observe as observing
from tilewise.emu.machine import emulate

ENDLESS = "\t.loc 1 3 1\n\tmov.u32 %r1, %tid.x;\n\t.loc 1 4 1\nAGAIN:\n\tadd.s32 %r1, %r1, 1;\n\tbra AGAIN;\n"
COUNTING = """
	ld.param.u32 %r1, [a0];
	mov.u32 %r2, 0;
AGAIN:
	add.s32 %r2, %r2, 1;
	setp.lt.s32 %p1, %r2, %r1;
	@%p1 bra AGAIN;
	ret;
"""
DIVERGING = """
	ld.param.u32 %r1, [a0];
	mov.u32 %r2, %laneid;
AGAIN:
	add.s32 %r2, %r2, 1;
	setp.lt.s32 %p1, %r2, %r1;
	@%p1 bra AGAIN;
	ret;
"""
RACING = """
	ld.param.u64 %rd1, [a0];
	ld.param.u32 %r1, [a1];
	mov.u32 %r2, 0;
AGAIN:
	st.global.u32 [%rd1], %r2;
	red.global.add.u32 [%rd1+4], 1;
	add.s32 %r2, %r2, 1;
	setp.ne.s32 %p1, %r2, %r1;
	@%p1 bra AGAIN;
	ret;
"""
"""Stores to one word and counts in the next, as often as a1 says; for ever, if that is 0."""


@pytest.mark.parametrize("threads", [1, 2])
def test_endless_loop_is_stopped_and_named(threads: int) -> None:
    started = time.monotonic()
    with pytest.raises(
        InstructionLimitReached, match=r"^kernel\.cu:4: stopped after [\d,]+ warp instructions, .* at most 1,000,000 "
    ):
        emulate(launch(assemble(ENDLESS), 4, 64), threads=threads, max_instructions=1_000_000)
    assert time.monotonic() - started < 20


def test_limit_is_exact_for_a_run_that_ends() -> None:
    """2 warps of 2 blocks take 2 + 3 x 1000 + 1 instructions each."""
    instructions = 4 * (2 + 3 * 1000 + 1)
    run = launch(assemble(COUNTING, "u32"), 2, 64, 1000)
    emulate(run, max_instructions=instructions)
    with pytest.raises(InstructionLimitReached, match=rf"stopped after {instructions:,} warp instructions.*: 100% of them"):
        emulate(run, max_instructions=instructions - 1)


def test_lanes_that_parted_are_counted_as_they_run() -> None:
    """Lane l leaves the loop after 100 - l turns (at least one): all 32 share each turn of the loop but the last ones."""
    run = launch(assemble(DIVERGING, "u32"), 1, 32, 100)
    turns = 100  # of lane 0, which runs longest
    emulate(run, max_instructions=2 + 3 * turns + 32)
    with pytest.raises(InstructionLimitReached):
        emulate(run, max_instructions=2 + 3 * turns - 1)


@pytest.mark.parametrize("limit", [0, -1, 1.5, "9"])
def test_limit_that_is_no_number_of_instructions_is_refused(limit: object) -> None:
    with pytest.raises(TilewiseError, match="max_instructions = "):
        emulate(launch(assemble("\tret;"), 1, 32), max_instructions=limit)  # type: ignore[arg-type]


def test_structure_is_passed_by_value() -> None:
    text = assemble("\tld.param.u64 %rd1, [a0];\n\tld.param.f32 %f1, [a1+4];\n\tst.global.f32 [%rd1], %f1;\n\tret;", "u64 u64")
    text = text.replace(".param .u64 a1", ".param .align 4 .b8 a1[8]")
    out = np.zeros(1, np.float32)
    emulate(launch(text, 1, 1, out, np.void(np.array([1.5, 2.5], np.float32).tobytes())))
    assert out[0] == 2.5
    for wrong in (np.void(b"1234"), 3, np.float32(1)):
        with pytest.raises(TilewiseError, match=r"parameter 1 is a structure of 8, passed by value: give a NumPy scalar"):
            emulate(launch(text, 1, 1, out, wrong))


@pytest.mark.parametrize(("turns", "is_endless"), [(2000, False), (0, True)])
def test_launch_is_watched_to_its_end_only_where_it_has_one(
    monkeypatch: pytest.MonkeyPatch, turns: int, is_endless: bool
) -> None:
    """Two warps of 3 + 5 x 2000 + 1 instructions, of which 1,000 are watched at first."""
    monkeypatch.setattr(observing, "UNTRIED_INSTRUCTIONS", 1000)
    held = np.zeros(2, np.uint32)
    seen = observing.observe(launch(assemble(RACING, "u64 u32"), 1, 64, held, turns), max_instructions=50_000_000)
    assert seen.observed.conflicts
    if is_endless:
        assert "at most 50,000,000 are allowed" in seen.stopped
        assert seen.counters.global_store_requests < 1_000_000  # of the 10 million that ran
    else:
        assert not seen.stopped
        assert seen.counters.global_store_requests == 2 * turns
        assert held[1] == 64 * turns  # and not what earlier runs counted
