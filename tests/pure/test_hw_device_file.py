from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewise.core.errors import TilewiseError
from tilewise.hw.catalog import device
from tilewise.hw.device_file import MOST_BYTES, find_device


def mine() -> dict[str, object]:
    given: dict[str, object] = json.loads(device("h200").to_json())
    return {**given, "key": "mine", "sms": 99}


@pytest.mark.parametrize("wrap", [False, True])
def test_file_of_a_device_is_found(tmp_path: Path, wrap: bool) -> None:
    path = tmp_path / "my.json"
    path.write_text(json.dumps([mine()] if wrap else mine()))
    found = find_device(str(path))
    assert (found.key, found.sms, found.clock_hz) == ("mine", 99, device("h200").clock_hz)


def test_file_without_the_ending_is_found_too(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text(json.dumps(mine()))
    assert find_device(str(path)).key == "mine"


def test_names_come_before_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("h200").write_text("no device")
    assert find_device("h200") == device("h200")
    assert find_device("H200") == device("h200")


@pytest.mark.parametrize("name", ["h20", "", "\0", "x" * 5000])
def test_what_is_neither_is_refused_as_a_name(name: str) -> None:
    with pytest.raises(TilewiseError, match=r"no device .* in the catalogue"):
        find_device(name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff{}", "not UTF-8 text: byte 0"),
        (b"{", "not JSON"),
        (b"[1, 2]", "give a JSON object"),
        (json.dumps({**mine(), "sms": -3}).encode(), "sms = -3 is not positive"),
        (json.dumps({**mine(), "sms": 10**30}).encode(), "sms = 10+ is more than any GPU has"),
        (b"[" * 100_000, "brackets too deep"),
        (b"1" * 5000, "number too long"),
        (b" " * (MOST_BYTES + 1), "longer than 1,048,576 bytes"),
    ],
)
def test_bad_file_is_refused_by_name(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "my.json"
    path.write_bytes(content)
    with pytest.raises(TilewiseError, match=message) as refused:
        find_device(str(path))
    assert str(refused.value).startswith(f"{path}: ")


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TilewiseError, match=r"my\.json: the device file cannot be read: no such file"):
        find_device(str(tmp_path / "my.json"))
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(TilewiseError, match="cannot be read: is a directory"):
        find_device(str(tmp_path / "folder.json"))
