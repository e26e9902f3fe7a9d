"""Threads that wait for each other go on, in whatever order they take turns; those that wait for nothing are told."""

# KernelFault.faults holds plain objects, and a grid may be a number:
# mypy: disable-error-code="attr-defined,arg-type"

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewise.build.nvrtc import compile as compile_cuda
from tilewise.core.errors import InstructionLimitReached, KernelFault, TilewiseError
from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.emu.compiled import parse_module
from tilewise.emu.lower.program import prepare
from tilewise.emu.machine import Emulation, emulate

SOURCE = (Path(__file__).parent / "cuda/waiting.cu").read_text()
OPTIMISED, DEBUG = (), ("-G",)
SEEDS = (0, 1, 2**63 + 5)
each_way = pytest.mark.parametrize(
    ("options", "seed"), [(options, seed) for options in (OPTIMISED, DEBUG) for seed in SEEDS], ids=lambda value: str(value)
)
each_build = pytest.mark.parametrize("options", [OPTIMISED, DEBUG], ids=["optimised", "debug"])


@cache
def module(options: tuple[str, ...]) -> Module:
    return compile_cuda(SOURCE, "waiting.cu", arch="sm_90a", options=options)


def run(options: tuple[str, ...], kernel: str, grid: int, block: int, *args: Any, **how: Any) -> Emulation:
    return emulate(Launch(module(options), kernel, grid, block, args), **how)


# -- lanes


@each_way
@pytest.mark.parametrize("block", [32, 20, 96])
def test_lanes_take_a_lock(options: tuple[str, ...], seed: int, block: int) -> None:
    lock, count, order = np.zeros(1, np.int32), np.zeros(1, np.int32), np.full(block, -1, np.int32)
    run(options, "lanes_take_a_lock", 1, block, lock, count, order, seed=seed)
    assert (lock[0], count[0]) == (0, block)
    np.testing.assert_array_equal(np.sort(order), np.arange(block))


@each_way
@pytest.mark.parametrize("block", [32, 50])
def test_lanes_wait_for_each_other(options: tuple[str, ...], seed: int, block: int) -> None:
    turn, out = np.zeros(1, np.int32), np.full(block, -1, np.int32)
    run(options, "lanes_wait_for_the_next", 1, block, turn, out, seed=seed)
    np.testing.assert_array_equal(out, np.arange(block)[::-1])


@each_way
def test_lanes_answer_each_other(options: tuple[str, ...], seed: int) -> None:
    boxes = np.zeros(32, np.int32)
    run(options, "odd_lanes_answer_even", 1, 32, boxes, 20, seed=seed)
    np.testing.assert_array_equal(boxes, [20, 400] * 16)


# -- warps


@each_way
@pytest.mark.parametrize("warps", [1, 2, 8])
def test_warps_wait_for_each_other(options: tuple[str, ...], seed: int, warps: int) -> None:
    out = np.full(warps + 32 * warps, -1, np.int32)
    run(options, "warps_hand_on", 1, 32 * warps, out, seed=seed)
    np.testing.assert_array_equal(out[:warps], np.arange(warps)[::-1])
    np.testing.assert_array_equal(out[warps:], 1)


@each_way
def test_a_ring_between_warps(options: tuple[str, ...], seed: int) -> None:
    out = np.full(50, -1, np.int32)
    run(options, "ring_of_warps", 1, 64, out, 50, seed=seed)
    np.testing.assert_array_equal(out, 3 * np.arange(50))


# -- blocks


@each_way
def test_a_ticket_lock(options: tuple[str, ...], seed: int) -> None:
    lock, total = np.zeros(2, np.uint32), np.zeros(1, np.int32)
    run(options, "ticket_lock", 300, 64, lock, total, seed=seed)
    assert (lock.tolist(), int(total[0])) == ([300, 300], sum(range(300)))


@each_way
def test_the_first_block_waits_for_the_last(options: tuple[str, ...], seed: int) -> None:
    flag, out = np.zeros(1, np.int32), np.full(100, -1, np.int32)
    run(options, "last_block_first", 100, 32, flag, out, seed=seed)
    np.testing.assert_array_equal(out, np.arange(100)[::-1])


@each_way
def test_a_barrier_of_the_grid(options: tuple[str, ...], seed: int) -> None:
    n, rounds = 16 * 64, 7
    values = np.random.default_rng(5).standard_normal(n, dtype=np.float32)
    wanted = values.copy()
    for _ in range(rounds):
        wanted = np.float32(0.5) * (np.concatenate([wanted[:1], wanted[:-1]]) + np.concatenate([wanted[1:], wanted[-1:]]))
    other, arrived = np.zeros(n, np.float32), np.zeros(1, np.uint32)
    run(options, "smooth", 16, 64, values, other, n, rounds, arrived, seed=seed)
    np.testing.assert_array_equal(other, wanted)
    assert arrived[0] == 16 * rounds


@each_way
def test_scan_with_look_back(options: tuple[str, ...], seed: int) -> None:
    tiles, block = 200, 128
    values = np.random.default_rng(6).integers(-100, 100, tiles * block, dtype=np.int32)
    out, states, next_tile = np.zeros_like(values), np.zeros(tiles, np.uint64), np.zeros(1, np.uint32)
    run(options, "look_back", tiles, block, values, out, states, next_tile, seed=seed)
    np.testing.assert_array_equal(out, np.cumsum(values, dtype=np.int32))


@each_build
def test_blocks_that_wait_must_fit_at_once(options: tuple[str, ...]) -> None:
    flag, out = np.zeros(1, np.int32), np.full(100, -1, np.int32)
    with pytest.raises(KernelFault) as caught:
        run(options, "last_block_first", 100, 32, flag, out, resident_blocks=99)
    (fault,) = caught.value.faults
    assert (fault.kind, fault.count) == ("deadlock", 99)
    assert "blocks that have not started: 1, that are on their way: 99" in fault.detail
    run(options, "last_block_first", 100, 32, flag, out, resident_blocks=100)


# -- for nothing


def _line(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line)


@each_build
def test_all_that_wait_for_nothing_are_named(options: tuple[str, ...]) -> None:
    with pytest.raises(KernelFault) as caught:
        run(options, "nobody_comes", 1, 96, np.zeros(1, np.int32))
    found = {(fault.kind, fault.opcode[:2], fault.thread[0], fault.count, fault.line) for fault in caught.value.faults}
    loop, barrier = _line("while (*flag == 0) {"), _line("__syncthreads();  // of those that do not wait")
    assert found == {("deadlock", "ba", 0, 2, barrier), ("deadlock", "ld", 40, 2, loop)}


@each_build
def test_where_each_warp_stands_is_told(options: tuple[str, ...]) -> None:
    with pytest.raises(KernelFault) as caught:
        run(options, "nobody_comes", 2, 256, np.zeros(1, np.int32))
    details = sorted(fault.detail for fault in caught.value.faults)
    assert details == [
        "warps 0-1 wait at barrier 0, to which 1 of 8 warps have come: nobody can go on",
        "warps 1-7 wait here (lanes 0xffffff00 of warp 1) for a value that nobody will write",
    ]
    assert [fault.count for fault in caught.value.faults] in ([14, 4], [4, 14])


@each_build
def test_a_loop_for_ever(options: tuple[str, ...]) -> None:
    with pytest.raises(KernelFault) as caught:
        run(options, "for_ever", 1, 64)
    (fault,) = caught.value.faults
    assert (fault.kind, fault.thread) == ("deadlock", (3, 0, 0))


@each_build
def test_a_lock_taken_twice(options: tuple[str, ...]) -> None:
    with pytest.raises(KernelFault) as caught:
        run(options, "lock_twice", 2, 1, np.zeros(1, np.int32))
    assert {fault.kind for fault in caught.value.faults} == {"deadlock"}
    assert sum(fault.count for fault in caught.value.faults) == 2
    if options == OPTIMISED:  # else they sleep in a function of CUDA's
        assert {fault.line for fault in caught.value.faults} == {_line("while (atomicCAS(lock, 0, 1) != 0) __nanosleep")}
        assert all(fault.opcode.startswith("atom") for fault in caught.value.faults)


@each_build
def test_who_gives_up_by_himself_is_not_stuck(options: tuple[str, ...]) -> None:
    out = np.zeros(32, np.int32)
    run(options, "until_late", 1, 32, np.zeros(1, np.int32), out, 300_000)
    np.testing.assert_array_equal(out, 300_000)
    late = np.zeros(32, np.int64)
    run(options, "until_the_clock", 1, 32, np.zeros(1, np.int32), late, 20_000_000)
    np.testing.assert_array_equal(late, 1)


def test_a_budget_ends_what_waits() -> None:
    with pytest.raises(InstructionLimitReached):
        run(OPTIMISED, "until_the_clock", 1, 32, np.zeros(1, np.int32), np.zeros(32, np.int64), 1 << 60, max_instructions=100_000)


WAITING = {
    "lanes_take_a_lock",
    "lanes_wait_for_the_next",
    "odd_lanes_answer_even",
    "warps_hand_on",
    "ring_of_warps",
    "ticket_lock",
    "last_block_first",
    "smooth",
    "look_back",
    "nobody_comes",
    "for_ever",
    "lock_twice",
    "until_late",
    "until_the_clock",
}
ORDINARY = {"tiled_product", "counted", "nested", "first_match", "halving", "next_item"}


@each_build
def test_which_loops_wait(options: tuple[str, ...]) -> None:
    parsed = parse_module(module(options).ptx)
    programs = {function.name: prepare(parsed, function.name, (64, 1, 1)) for function in parsed.functions if function.is_entry}
    assert {name for name, program in programs.items() if program.yields} == WAITING
    assert programs.keys() == WAITING | ORDINARY
    within = {"warps_hand_on", "ring_of_warps", "for_ever"} if options == OPTIMISED else {"for_ever"}  # else all is generic
    assert {name for name in WAITING if not programs[name].waits_for_blocks} >= within


@pytest.mark.parametrize(("name", "value"), [("seed", -1), ("seed", 1.5), ("resident_blocks", 0), ("threads", "2")])
def test_turns_are_numbers(name: str, value: object) -> None:
    with pytest.raises(TilewiseError, match=name):
        run(OPTIMISED, "for_ever", 1, 32, **{name: value})
