from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilewise.core.errors import TilewiseError
from tilewise.render.files import open_folder, write_whole


def test_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    assert open_folder(tmp_path / "a" / "b").is_dir()
    assert list(open_folder(tmp_path / "a" / "b").iterdir()) == []


def test_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/no-folder"), Path("a\0b")):
        with pytest.raises(TilewiseError, match=r"cannot be written \(.+\): give a folder of your own"):
            open_folder(folder)


def test_file_is_replaced_whole_and_with_the_usual_rights(tmp_path: Path) -> None:
    path = tmp_path / "ladder.json"
    path.write_text("old")
    usual = tmp_path / "usual"
    usual.write_text("")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode == usual.stat().st_mode
    assert {entry.name for entry in tmp_path.iterdir()} == {"ladder.json", "usual"}


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ladder.json"
    path.write_text("old")

    def fail(source: Path, target: Path) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(TilewiseError, match=r"ladder\.json cannot be written \(no space left on device\)"):
        write_whole(path, b"new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["ladder.json"]
