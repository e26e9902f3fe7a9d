from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewise.build.cache import Cache, key_of
from tilewise.cli.main import main
from tilewise.core.settings import CACHE_DIR, CACHE_LIMIT


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    shown = capsys.readouterr()
    return int(stop.value.code or 0), shown.out, shown.err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_DIR, str(tmp_path / "cache"))
    monkeypatch.setenv(CACHE_LIMIT, "7")
    return tmp_path / "cache"


def fill(folder: Path) -> int:
    kept = Cache(folder)
    for name in ("one", "two"):
        kept.put(key_of(name), {"ptx": b"x" * 1000})
    (folder / "a file of the user's").write_text("stays")
    return kept.stats().bytes


def test_empty_cache_is_shown_without_making_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["cache"], capsys)
    assert code == 0
    assert out == f"folder  {folder}\nentries 0\nbytes   0 B\nlimit   7.000 MB\n"
    assert not folder.exists()


def test_entries_are_shown_and_cleared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = fill(folder)
    held = {"folder": str(folder), "entries": 2, "bytes": size, "limit_bytes": 7_000_000}
    assert json.loads(run(["cache", "--json"], capsys)[1]) == {"action": "show", **held}
    assert json.loads(run(["cache", "clear", "--json"], capsys)[1]) == {"action": "clear", **held}
    assert [path.name for path in folder.iterdir()] == ["a file of the user's"]
    assert run(["cache", "clear"], capsys)[1] == f"removed 0 entries, 0 B, from {folder}\n"


def test_folder_of_somebody_else_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(folder)
    folder.chmod(0o777)
    code, out, err = run(["cache", "clear"], capsys)
    assert (code, out) == (2, "")
    assert err == f"tilewise: the cache folder {folder} cannot be used: others may write to it: mode 777.\n"
    assert len(list(folder.iterdir())) == 3


def test_misspelt_action_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(["cache", "claer"], capsys)
    assert code == 2
    assert "Did you mean clear?" in err
