"""Occupancy against NVIDIA's own calculator, published examples, and a block-by-block packing of an SM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.errors import TilewiseError
from tilewise.cost.occupancy import Occupancy, launch_objections, occupancy
from tilewise.hw.catalog import DEVICES, device
from tilewise.hw.device import Device

NVIDIA = json.loads((Path(__file__).parent / "data" / "occupancy_nvidia.json").read_text())["rows"]
BY_CAPABILITY = {f"{row.compute_capability[0]}.{row.compute_capability[1]}": row for row in DEVICES.values()}
H200 = device("h200")

DEVICE = st.sampled_from(list(DEVICES.values()))
THREADS = st.integers(1, 1024)
REGISTERS = st.integers(0, 255)


@pytest.mark.parametrize("capability", BY_CAPABILITY)
def test_equals_nvidias_calculator(capability: str) -> None:
    rows = [row for row in NVIDIA if row[0] == capability]
    assert len(rows) >= 50
    for _, threads, registers, shared, blocks, by_warps, by_registers, by_shared, by_blocks in rows:
        gpu = BY_CAPABILITY[capability]
        if blocks == 0:
            assert launch_objections(gpu, threads, registers, shared), (threads, registers, shared)
            continue
        found = occupancy(gpu, threads, registers, shared)
        limits: dict[str, Any] = {"registers": None, "shared": None, **dict(found.limits)}
        assert found.blocks_per_sm == blocks, (threads, registers, shared)
        assert limits == {"warps": by_warps, "registers": by_registers, "shared": by_shared, "blocks": by_blocks}


@pytest.mark.parametrize(("threads", "blocks", "percent"), [(128, 12, 75), (320, 4, 62.5)])
def test_best_practices_guides_example_of_37_registers(threads: int, blocks: int, percent: float) -> None:
    found = occupancy(device("v100"), threads, 37, 0)
    assert (found.blocks_per_sm, 100 * found.fraction, found.limiter) == (blocks, percent, "registers")


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "expected"),
    [
        (1024, 32, 0, (2, 64, 1.0, "warps")),
        (32, 32, 0, (32, 32, 0.5, "blocks")),
        (256, 128, 16_384, (2, 16, 0.25, "registers")),
        (256, 32, 32_768, (6, 48, 0.75, "shared")),
        (128, 64, 232_448, (1, 4, 0.0625, "shared")),
        (33, 255, 0, (4, 8, 0.125, "registers")),
    ],
)
def test_h200_by_hand(threads: int, registers: int, shared: int, expected: tuple[int, int, float, str]) -> None:
    found = occupancy(H200, threads, registers, shared)
    assert (found.blocks_per_sm, found.warps_per_sm, found.fraction, found.limiter) == expected


def pack_an_sm(gpu: Device, threads: int, registers: int, shared: int) -> int:
    """Return the blocks that fit when they are placed one by one, each warp on the sub-partition with most registers left."""
    free = [gpu.registers_per_sm // 4] * 4
    free_warps, free_shared, blocks = gpu.threads_per_sm // 32, gpu.shared_bytes_per_sm, 0
    takes = next(
        size for size in range(0, 2**18, gpu.shared_allocation_unit_bytes) if size >= shared + gpu.reserved_shared_bytes_per_block
    )
    warp_takes = next(size for size in range(0, 2**14, 256) if size >= registers * 32)
    while blocks < gpu.blocks_per_sm:
        for _ in range((threads + 31) // 32):
            roomiest = max(range(4), key=lambda part: free[part])
            free[roomiest] -= warp_takes
            free_warps -= 1
        free_shared -= takes
        if min(*free, free_warps, free_shared) < 0:
            break
        blocks += 1
    return blocks


@given(DEVICE, THREADS, REGISTERS, st.integers(0, 49_152))
def test_equals_packing_an_sm_block_by_block(gpu: Device, threads: int, registers: int, shared: int) -> None:
    if launch_objections(gpu, threads, registers, shared):
        return
    assert occupancy(gpu, threads, registers, shared).blocks_per_sm == pack_an_sm(gpu, threads, registers, shared)


def fitting(gpu: Device, threads: int, registers: int, shared: int) -> Occupancy | None:
    return None if launch_objections(gpu, threads, registers, shared) else occupancy(gpu, threads, registers, shared)


@given(DEVICE, THREADS, REGISTERS, st.integers(0, 232_448), st.sampled_from(["registers", "shared"]))
def test_taking_more_never_fits_more(gpu: Device, threads: int, registers: int, shared: int, more_of: str) -> None:
    less = fitting(gpu, threads, registers, shared)
    more = fitting(gpu, threads, registers + (more_of == "registers"), shared + (more_of == "shared"))
    if more is not None:
        assert less is not None
        assert more.blocks_per_sm <= less.blocks_per_sm


@given(DEVICE, THREADS, REGISTERS, st.integers(0, 232_448))
def test_what_can_be_launched_fits_once(gpu: Device, threads: int, registers: int, shared: int) -> None:
    found = fitting(gpu, threads, registers, shared)
    if found is not None:
        assert found.blocks_per_sm >= 1
        assert 0 < found.fraction <= 1
        assert dict(found.limits)[found.limiter] == found.blocks_per_sm == min(dict(found.limits).values())


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "message"),
    [
        (0, 32, 0, "a block of 0 threads: H200 SXM takes 1 to 1024"),
        (1025, 32, 0, "a block of 1025 threads"),
        (1024, 65, 0, "65 registers a thread for 1024 threads .* at most 64"),
        (32, 256, 0, "256 registers a thread: H200 SXM has 0 to 255"),
        (32, 32, 232_449, "232449 bytes of shared memory a block: H200 SXM has 0 to 232448"),
    ],
)
def test_blocks_that_cannot_be_launched(threads: int, registers: int, shared: int, message: str) -> None:
    with pytest.raises(TilewiseError, match=message):
        occupancy(H200, threads, registers, shared)


def test_every_reason_is_given() -> None:
    assert len(launch_objections(H200, 1024, 128, 10**6)) == 2


@given(DEVICE, THREADS, st.integers(1, 255))
def test_the_registers_it_says_would_fit_do(gpu: Device, threads: int, registers: int) -> None:
    for sentence in launch_objections(gpu, threads, registers, 0):
        most = int(sentence.split("at most ")[1].split()[0])
        assert not launch_objections(gpu, threads, most, 0)
        assert launch_objections(gpu, threads, most + 1, 0)
