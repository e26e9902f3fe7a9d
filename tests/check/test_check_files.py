"""`tilewise check --sarif --html`: what a real check writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commanding import Tilewise

from tilewise.checkers.lessons import kind_lessons

LESSON = kind_lessons()["perf.bank_conflict"]
LINE = 1 + LESSON.path.read_text().split("\n").index("    y[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];")


def test_check_writes_sarif_relative_to_where_it_runs(
    tilewise: Tilewise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "k.cu").write_text(LESSON.path.read_text())
    monkeypatch.chdir(tmp_path)
    tilewise("check", "src/k.cu", "--kernel", "bad", "--sarif", "out.sarif", "--fail-on", "warning", code=1)
    (run,) = json.loads(Path("out.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("perf.bank_conflict", "warning")
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("src/k.cu", LINE)


@pytest.mark.parametrize(("kernel", "pictures"), [("bad", 1), ("fixed", 0)])
def test_check_writes_a_page_with_pictures_of_what_costs(kernel: str, pictures: int, tilewise: Tilewise, tmp_path: Path) -> None:
    tilewise("check", LESSON.path, "--kernel", kernel, "--html", tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text()
    assert page.count("<svg") == pictures
    assert page.count("the fullest bank has 32 words") == 2 * pictures  # for the eye, and for a screen reader
    assert f'id="s0-{LINE}"' in page


def test_file_that_cannot_be_written_is_a_sentence(tilewise: Tilewise, tmp_path: Path) -> None:
    for flag in ("--sarif", "--html"):
        assert "cannot be written" in tilewise("check", LESSON.path, "--kernel", "fixed", flag, tmp_path / "no" / "x", code=2)
