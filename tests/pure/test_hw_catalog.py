"""The catalogue against figures that stand beside its own: peak rates, bus widths and data rates as the vendor publishes them."""

from __future__ import annotations

import pytest

from tilewise.core.errors import TilewiseError
from tilewise.hw.catalog import ALIASES, DEVICES, device

FP32_TFLOPS = {
    "h200": 67,
    "h100": 66.9,
    "h100-pcie": 51.2,
    "b200": 75,
    "a100-80gb": 19.5,
    "a100-40gb": 19.5,
    "v100": 15.7,
    "l40s": 91.6,
    "l4": 30.3,
    "t4": 8.1,
    "rtx5090": 104.8,
    "rtx4090": 82.6,
    "rtx3090": 35.6,
}
"""Peaks of the vendor's datasheets."""

BUS_BITS_AND_GBITS_A_PIN = {
    "h200": (6144, 6.402),
    "h100": (5120, 5.238),
    "h100-pcie": (5120, 3.186),
    "b200": (7680, 7.992),
    "a100-80gb": (5120, 3.186),
    "a100-40gb": (5120, 2.43),
    "v100": (4096, 1.754),
    "l40s": (384, 18),
    "l4": (192, 12.5),
    "t4": (256, 10),
    "rtx5090": (512, 28),
    "rtx4090": (384, 21),
    "rtx3090": (384, 19.5),
}


@pytest.mark.parametrize("key", DEVICES)
def test_units_times_clock_give_the_published_peak(key: str) -> None:
    assert DEVICES[key].fp32_flops_per_s / 1e12 == pytest.approx(FP32_TFLOPS[key], rel=0.01)


@pytest.mark.parametrize("key", DEVICES)
def test_bandwidth_is_bus_times_data_rate(key: str) -> None:
    bits, gbits = BUS_BITS_AND_GBITS_A_PIN[key]
    assert DEVICES[key].hbm_bandwidth_bytes_per_s / 1e9 == pytest.approx(bits * gbits / 8, rel=0.03)


@pytest.mark.parametrize("key", DEVICES)
def test_every_source_says_something(key: str) -> None:
    assert all(len(source) > 10 for source in DEVICES[key].sources.values())


def test_h200_is_the_gpu_that_was_measured() -> None:
    h200 = device("h200")
    assert (h200.sms, h200.l2_bytes, h200.shared_bytes_per_block_optin) == (132, 60 * 2**20, 227 * 2**10)
    assert h200.fp32_flops_per_s >= 61.0e12
    assert h200.hbm_bandwidth_bytes_per_s >= 4.47e12


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("h100", "h100"),
        ("H100", "h100"),
        ("H100 SXM", "h100"),
        ("h100_pcie", "h100-pcie"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("rtx-4090", "rtx4090"),
        ("4090", "rtx4090"),
        ("Tesla T4", "t4"),
        ("a100", "a100-80gb"),
        ("A100 40GB", "a100-40gb"),
    ],
)
def test_names_and_aliases(name: str, key: str) -> None:
    assert device(name).key == key


def test_keys_names_and_aliases_are_distinct() -> None:
    assert [device(row.name) for row in DEVICES.values()] == list(DEVICES.values())
    assert [device(key) for key in DEVICES] == list(DEVICES.values())
    assert all(device(alias).key == key for alias, key in ALIASES.items())
    assert not set(ALIASES) & set(DEVICES)


@pytest.mark.parametrize(("name", "hint"), [("h20", "h200"), ("RTX 4080", "rtx4090"), ("", "There is a100-40gb")])
def test_unknown_names_are_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(TilewiseError, match=hint):
        device(name)


def test_only_volta_needs_the_older_compiler() -> None:
    assert [key for key, row in DEVICES.items() if row.compiler_requirement] == ["v100"]
    assert "tilewise[cu12]" in str(device("v100").compiler_requirement)
