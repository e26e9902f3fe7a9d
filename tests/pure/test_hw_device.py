"""A device's JSON: what goes out comes back, and whatever is wrong is named with its value."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import pytest

from tilewise.core.errors import TilewiseError
from tilewise.hw.catalog import DEVICES, device
from tilewise.hw.device import FIGURES, GIVEN_BY_USER, Device


@pytest.mark.parametrize("key", DEVICES)
def test_json_round_trip(key: str) -> None:
    original = DEVICES[key]
    assert Device.from_json(original.to_json()) == original
    assert pickle.loads(pickle.dumps(original)) == original
    assert hash(Device.from_json(original.to_json())) == hash(original)


def changed(**values: Any) -> str:
    return json.dumps({**json.loads(device("h200").to_json()), **values})


def test_device_file_needs_no_sources() -> None:
    given = json.loads(device("h200").to_json())
    given["sources"] = {"sms": "counted them"}
    mine = Device.from_json(json.dumps(given))
    assert mine.sources["sms"] == "counted them"
    assert mine.sources["l2_bytes"] == GIVEN_BY_USER
    del given["sources"]
    assert set(Device.from_json(json.dumps(given)).sources) == set(FIGURES)


def test_whole_numbers_may_be_written_with_an_exponent() -> None:
    mine = Device.from_json(changed(clock_hz=1.5e9))
    assert mine.clock_hz == 1_500_000_000
    assert isinstance(mine.clock_hz, int)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sms": "132"}, r'sms = "132" is not a number'),
        ({"sms": True}, "sms = true is not a number"),
        ({"sms": 13.5}, "sms = 13.5 is not a whole number"),
        ({"sms": 0}, "sms = 0 is not positive"),
        ({"clock_hz": -1}, "clock_hz = -1 is not positive"),
        ({"clock_hz": float("inf")}, "clock_hz = Infinity is not a finite number"),
        ({"l1_sectors_per_sm_per_clock": float("nan")}, "NaN is not a finite number"),
        ({"threads_per_sm": 2000}, "threads_per_sm = 2000 is not a multiple of a warp's 32"),
        (
            {"shared_bytes_per_block_optin": 10**6},
            "shared_bytes_per_block_optin = 1000000 is more than shared_bytes_per_sm = 233472",
        ),
        ({"arch": "sm_80"}, "arch = 'sm_80' does not name compute capability 9.0: give 'sm_90'"),
        ({"arch": 90}, "arch = 90 is not a text"),
        ({"name": ""}, 'name = "" is not a text'),
        ({"compute_capability": 9.0}, r'compute_capability = 9.0 is not of the form "9.0"'),
        ({"clock": 1}, "no field 'clock'. Did you mean clock_hz"),
        ({"sources": {"clock": "x"}}, "sources has 'clock', which is no figure"),
        ({"sources": "x"}, 'sources = "x" is not an object of strings'),
        ({"sources": {"sms": 1}}, "is not an object of strings"),
    ],
)
def test_wrong_figures_are_named_with_their_value(values: dict[str, Any], message: str) -> None:
    with pytest.raises(TilewiseError, match=message):
        Device.from_json(changed(**values))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: .* line 1, column 2"),
        ("[1]", r"holds \[1\]; give a JSON object"),
        ("{}", "missing: key, name, arch, compute_capability, sms"),
    ],
)
def test_what_is_no_device_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(TilewiseError, match=message):
        Device.from_json(text)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(TilewiseError, match=r"clocks.*sms.*l2_bytes"):
        Device.from_json(changed(clocks=1, sms="a", l2_bytes=0.5))


def test_a_figure_without_a_source_is_refused() -> None:
    h200 = device("h200")
    with pytest.raises(TilewiseError, match="sources must name each figure and nothing else, but sms is missing"):
        replace(h200, sources={name: source for name, source in h200.sources.items() if name != "sms"})


def test_sources_cannot_be_changed_from_outside() -> None:
    mine = dict(device("h200").sources)
    row = replace(device("h200"), sources=mine)
    mine.clear()
    assert set(row.sources) == set(FIGURES)
