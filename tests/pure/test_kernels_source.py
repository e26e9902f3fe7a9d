from __future__ import annotations

import re

import pytest

from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.kernels.ladder import LADDER, Rung, rung
from tilewise.kernels.source import CUDA_FOLDER, SYMBOL, kernel_source, render_plan

every_rung = pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)
constants = re.compile(r"^constexpr (?:int|bool) (\w+) = (\w+);", re.MULTILINE)


def test_rendered_plan_names_what_the_one_on_disk_names() -> None:
    on_disk = dict(constants.findall((CUDA_FOLDER / "plan.cuh").read_text()))
    rendered = dict(constants.findall(render_plan(TilePlan(64, 32, 8, 4, 2), "cr")))
    assert list(rendered) == list(on_disk)
    assert list(rendered.values()) == ["64", "32", "8", "4", "2", "false", "true"]


@pytest.mark.parametrize(("layout", "flags"), [("rr", "tt"), ("rc", "tf"), ("cr", "ft"), ("cc", "ff")])
def test_layout_becomes_two_flags(layout: str, flags: str) -> None:
    rendered = dict(constants.findall(render_plan(TilePlan(32, 32, 32), layout)))  # type: ignore[arg-type]  # parametrised
    assert rendered["A_ROW_MAJOR"][0] + rendered["B_ROW_MAJOR"][0] == flags


@every_rung
def test_source_is_the_rungs_own_file(row: Rung) -> None:
    source = kernel_source(row, row.default_plan, "rr")
    path = CUDA_FOLDER / "rungs" / row.file
    assert source.name == str(path)
    assert source.text == path.read_text()
    assert source.include_paths == (CUDA_FOLDER,)
    assert source.headers["plan.cuh"] == render_plan(row.default_plan, "rr")


def test_bad_plan_is_refused_with_every_objection() -> None:
    with pytest.raises(TilewiseError, match=r"r04 cannot be built with TilePlan\(.*give TM = 6.*give TN = 4"):
        kernel_source(rung("r04"), TilePlan(60, 64, 8, 8, 5), "rr")


@every_rung
def test_rung_teaches_one_idea_on_a_page(row: Rung) -> None:
    text = (CUDA_FOLDER / "rungs" / row.file).read_text()
    lines = text.splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 140
    assert lines[0].startswith(f"// {row.name}  {row.title}: ")
    assert re.search(r"^// Removes: \w", text, re.MULTILINE)
    assert re.search(r"^// Left:    \w", text, re.MULTILINE)
    assert 'extern "C" __global__ void __launch_bounds__(' in text
    assert f" {SYMBOL}(" in text
