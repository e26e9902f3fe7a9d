"""`tilewise ladder --save`: figures and pictures in a folder."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import tilewise
from tilewise.cli.main import main
from tilewise.hw.catalog import device


def run(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    raise AssertionError("the command line always exits")


def test_save_writes_figures_and_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "folder"
    assert run(["ladder", "64", "--rungs", "r01,r03", "--json", "--save", str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == {"ladder.json", "roofline.svg", "roofline.png"}
    shown = capsys.readouterr()
    assert json.loads((folder / "ladder.json").read_text()) == json.loads(shown.out)
    assert shown.err == f"tilewise: {folder} has ladder.json, roofline.svg, roofline.png.\n"
    assert ElementTree.parse(folder / "roofline.svg").getroot().tag.endswith("svg")
    assert (folder / "roofline.png").read_bytes().startswith(b"\x89PNG")


def test_save_without_matplotlib_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilewise.cli.ladder.find_spec", lambda name: None)
    assert run(["ladder", "8", "--rungs", "r01", "--save", str(tmp_path)]) == 0
    assert "no pictures: they need matplotlib (pip install 'tilewise[plot]')" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["ladder.json"]


def test_folder_that_cannot_be_written_is_refused_before_the_climb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ladder", "4096", "--save", "/proc/no-folder"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("tilewise: /proc/no-folder cannot be written (")
    assert shown.err.count("\n") == 1


def test_pictures_are_the_same_every_time() -> None:
    pytest.importorskip("matplotlib")
    from tilewise.render.roofline import draw_roofline

    rows = tilewise.ladder(64, rungs=["r02", "r03"])
    first, second = (draw_roofline(rows, device("h200")) for _ in range(2))
    assert first == second
    assert b"<dc:date>" not in first["roofline.svg"]


def test_marks_stand_at_the_intensities_and_the_bound() -> None:
    from tilewise.render.roofline import marks

    rows = tilewise.ladder(128, rungs=["r01", "r03", "r05", "r06"])
    naive, tiled, shared = marks(rows)
    assert naive.requested == 0.25
    assert naive.sectors == pytest.approx(2 / 33)
    assert (tiled.requested, tiled.sectors) == (8, 8)
    assert tiled.bound == pytest.approx(2 * 128**3 / rows[1].floors["shared"])
    assert naive.names == ("r01 naive",)
    assert [name[:3] for name in shared.names] == ["r05", "r06"]


def test_ladder_without_save_loads_no_matplotlib() -> None:
    code = (
        "import sys\n"
        "from tilewise.cli.main import main\n"
        "try:\n    main(['ladder', '8', '--rungs', 'r01', '--json'])\nexcept SystemExit:\n    pass\n"
        "print('matplotlib' in sys.modules, file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stderr.strip() == "False"
