"""The bank rule against a step-by-step simulation of banks, hand-worked patterns, and laws."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.hw.banks import FULL_MASK, AccessKind, conflict_ways, lane_groups, wavefronts

MASKS = st.integers(0, FULL_MASK)
KINDS: st.SearchStrategy[AccessKind] = st.sampled_from(["load", "store"])


def warps(size: int, top: int = 4096) -> st.SearchStrategy[list[int]]:
    slots = st.integers(0, top // size - 1) | st.integers(0, 3)
    return st.lists(slots.map(lambda slot: slot * size), min_size=32, max_size=32)


def serve_step_by_step(addresses: list[int], active: int) -> int:
    """Return the passes until all 4-byte lanes are served, each bank giving one word a pass to whoever waits for it."""
    waiting = {lane: addresses[lane] // 4 for lane in range(32) if active >> lane & 1}
    passes = 0
    while waiting:
        chosen: dict[int, int] = {}
        for word in waiting.values():
            chosen.setdefault(word % 32, word)
        waiting = {lane: word for lane, word in waiting.items() if chosen[word % 32] != word}
        passes += 1
    return passes


@given(warps(4), MASKS, KINDS)
def test_four_byte_accesses_take_the_passes_of_a_bank_simulation(addresses: list[int], active: int, kind: AccessKind) -> None:
    assert wavefronts(addresses, active, 4, kind) == serve_step_by_step(addresses, active)
    assert conflict_ways(addresses, active, 4, kind) == wavefronts(addresses, active, 4, kind)


@pytest.mark.parametrize(
    ("address", "ways"),
    [
        (lambda lane: 4 * lane, 1),
        (lambda lane: 8 * lane, 2),
        (lambda lane: 12 * lane, 1),
        (lambda lane: 128 * lane, 32),
        (lambda lane: 132 * lane, 1),
        (lambda lane: 64, 1),
        (lambda lane: 4 * (lane ^ 17), 1),
        (lambda lane: 128 * (lane % 4), 4),
    ],
    ids=[
        "rows",
        "every second word",
        "every third",
        "a column of 32",
        "a padded column",
        "one word",
        "swizzled",
        "four words of a bank",
    ],
)
def test_four_byte_patterns(address: Callable[[int], int], ways: int) -> None:
    assert wavefronts([address(lane) for lane in range(32)], FULL_MASK, 4, "store") == ways


@given(warps(1), KINDS)
def test_bytes_of_one_word_are_one_word(addresses: list[int], kind: AccessKind) -> None:
    whole_words = [address // 4 * 4 for address in addresses]
    assert wavefronts(addresses, FULL_MASK, 1, kind) == wavefronts(whole_words, FULL_MASK, 4, kind)


@pytest.mark.parametrize(
    ("size", "address", "active", "expected"),
    [
        (8, lambda lane: 8 * lane, FULL_MASK, (2, 1)),
        (8, lambda lane: 0, FULL_MASK, (1, 1)),
        (8, lambda lane: 8 * (lane // 2), FULL_MASK, (1, 1)),
        (8, lambda lane: 8 * (lane // 4 * 2 + lane % 2), FULL_MASK, (1, 1)),
        (8, lambda lane: 8 * (lane % 16), FULL_MASK, (2, 1)),
        (8, lambda lane: 16 * lane, FULL_MASK, (4, 2)),
        (8, lambda lane: 8 * lane, 0x0000_FFFF, (1, 1)),
        (8, lambda lane: 8 * lane, 0x5555_5555, (2, 2)),
        (16, lambda lane: 16 * lane, FULL_MASK, (4, 1)),
        (16, lambda lane: 0, FULL_MASK, (2, 1)),
        (16, lambda lane: 16 * (lane // 2), FULL_MASK, (2, 1)),
        (16, lambda lane: 16 * (lane // 4 * 2 + lane % 2), FULL_MASK, (2, 1)),
        (16, lambda lane: 16 * (lane % 8), FULL_MASK, (4, 1)),
        (16, lambda lane: 32 * lane, FULL_MASK, (8, 2)),
        (16, lambda lane: 128 * lane, FULL_MASK, (32, 8)),
        (16, lambda lane: 16 * lane, 0x0000_00FF, (1, 1)),
        (16, lambda lane: 0, 0x0000_0001, (1, 1)),
    ],
)
def test_wide_loads(size: int, address: Callable[[int], int], active: int, expected: tuple[int, int]) -> None:
    addresses = [address(lane) for lane in range(32)]
    assert (wavefronts(addresses, active, size, "load"), conflict_ways(addresses, active, size, "load")) == expected


@given(st.sampled_from([8, 16]).flatmap(lambda size: st.tuples(st.just(size), warps(size), MASKS)))
def test_loads_that_agree_in_pairs_are_served_in_half_the_groups(case: tuple[int, list[int], int]) -> None:
    size, addresses, active = case
    paired = [addresses[lane // 2] for lane in range(32)]
    groups = lane_groups(paired, active, size, "load")
    assert {lane // (256 // size) for group in groups for lane in group} == {group[0] // (256 // size) for group in groups}
    assert len(groups) <= size // 8


@given(st.sampled_from([8, 16]).flatmap(lambda size: st.tuples(st.just(size), warps(size), MASKS)))
def test_stores_are_served_by_halves_and_quarters_of_the_warp(case: tuple[int, list[int], int]) -> None:
    size, addresses, active = case
    lanes = 128 // size
    parts = [sum(active & 1 << lane for lane in range(first, first + lanes)) for first in range(0, 32, lanes)]
    assert len(lane_groups(addresses, active, size, "store")) == sum(part > 0 for part in parts)
    assert wavefronts(addresses, active, size, "store") == sum(wavefronts(addresses, part, size, "store") for part in parts)


@given(st.sampled_from([1, 2, 4, 8, 16]).flatmap(lambda size: st.tuples(st.just(size), warps(size), MASKS, KINDS)))
def test_laws_of_every_width(case: tuple[int, list[int], int, AccessKind]) -> None:
    size, addresses, active, kind = case
    count, ways = wavefronts(addresses, active, size, kind), conflict_ways(addresses, active, size, kind)
    groups = lane_groups(addresses, active, size, kind)
    lanes = [lane for lane in range(32) if active >> lane & 1]
    touched = {byte // 4 for lane in lanes for byte in range(addresses[lane], addresses[lane] + size)}
    assert sorted(lane for group in groups for lane in group) == lanes
    assert -(-len(touched) // 32) <= count <= max(len(lanes), len(groups))
    assert ways <= count <= ways * len(groups)
    shifted = [address + 128 for address in addresses]
    assert (wavefronts(shifted, active, size, kind), conflict_ways(shifted, active, size, kind)) == (count, ways)


def test_inactive_lanes_do_not_matter() -> None:
    addresses = [4 * lane if lane < 8 else 128 * lane for lane in range(32)]
    assert wavefronts(addresses, 0xFF, 4, "load") == 1
    assert wavefronts(addresses, 0, 4, "load") == 0
    assert conflict_ways(addresses, 0, 4, "load") == 0


@pytest.mark.parametrize(("lanes", "size"), [(32, 3), (32, 32), (31, 4), (0, 4)])
def test_what_no_warp_does_is_refused(lanes: int, size: int) -> None:
    with pytest.raises(ValueError, match=str(size if lanes == 32 else lanes)):
        wavefronts([0] * lanes, FULL_MASK, size, "load")
