from __future__ import annotations

import json

import pytest

from tilewise.cli.main import main
from tilewise.hw.catalog import DEVICES
from tilewise.hw.device import FIGURES


def output_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_overview_shows_every_device_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    shown = output_of(["devices"], capsys)
    for key, device in DEVICES.items():
        assert key in shown
        assert device.sources["hbm_bandwidth_bytes_per_s"] in " ".join(shown.split("\n"))


def test_one_device_shows_each_figure_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output_of(["devices", "a100-80gb"], capsys).splitlines()
    for name in FIGURES:
        line = next(line for line in lines if line.startswith(name + " "))
        assert f"{getattr(DEVICES['a100-80gb'], name):,}" in line
        assert DEVICES["a100-80gb"].sources[name].split()[0] in line


def test_json_has_every_figure_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    devices = json.loads(output_of(["devices", "--json"], capsys))
    assert [device["key"] for device in devices] == list(DEVICES)
    for device in devices:
        assert {*FIGURES} <= device.keys()
        assert device["sources"].keys() == {*FIGURES}


def test_unknown_device_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["devices", "rtx4091"])
    assert stop.value.code == 2
    assert "Did you mean rtx4090" in capsys.readouterr().err
