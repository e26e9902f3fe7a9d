from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Console

from tilewise.core.plan import TilePlan
from tilewise.engine.row import LadderRow
from tilewise.render.json import as_json
from tilewise.render.terminal import render_ladder
from tilewise.render.units import show_bytes, show_count, show_ratio, show_seconds, strip_controls

NAIVE = LadderRow(
    rung="r02",
    title="coalesced",
    variant="",
    m=1024,
    n=1024,
    k=1024,
    layout="rr",
    tile=TilePlan(32, 32, 1),
    on="emulator",
    blocks=1024,
    sampled_blocks=None,
    device="h200",
    correct=True,
    max_relative_error=2.5e-7,
    requested_load_bytes=8_589_934_592,
    formula_load_bytes=8_589_934_592,
    load_reduction_vs_naive=1.0,
    global_load_requests=67_108_864,
    global_load_sectors=167_772_160,
    global_store_sectors=131_072,
    sectors_per_request=2.5,
    shared_load_requests=0,
    shared_store_requests=0,
    shared_load_wavefronts=0,
    shared_store_wavefronts=0,
    worst_bank_conflict_ways=0,
    shared_words_per_fma=0.0,
    barriers=0,
    barriers_per_k_step=0.0,
    fma=2**30,
    registers=32,
    shared_bytes=0,
    occupancy=1.0,
    occupancy_limiter="warps",
    arithmetic_intensity_requested=0.25,
    arithmetic_intensity_sectors=0.4,
    ridge_without_cache=13.9392,
    floors={"hbm": 2.6e-6, "l1": 1.6e-4, "shared": 0.0, "fma": 3.2e-5},
    bound="l1",
    seconds=0.1,
    gflops=21.5,
)
"""The H200's own counts at 1024^3, as Nsight Compute gives them."""


def tiled(**changes: object) -> LadderRow:
    figures = {name: getattr(NAIVE, name) for name in LadderRow.__dataclass_fields__}
    figures |= {
        "rung": "r03",
        "title": "smem tile",
        "tile": TilePlan(32, 32, 32),
        "requested_load_bytes": 268_435_456,
        "load_reduction_vs_naive": 32.0,
        "global_load_sectors": 8_388_608,
        "sectors_per_request": 4.0,
        "shared_load_wavefronts": 67_108_864,
        "worst_bank_conflict_ways": 1,
        "shared_words_per_fma": 2.0,
        "barriers_per_k_step": 2.0,
        "shared_bytes": 8192,
        "arithmetic_intensity_requested": 8.0,
        "bound": "shared",
        "floors": {"hbm": 2.6e-6, "l1": 8e-6, "shared": 2.64e-4, "fma": 3.3e-5},
    }
    return LadderRow(**(figures | changes))


def shown(*rows: LadderRow, width: int = 110, tile: int | None = None) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    render_ladder(rows, console, tile=tile)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    return text


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_words_say_what_a_rung_lowers_and_what_limits_it() -> None:
    words = one_line(shown(NAIVE, tiled()))
    assert "requested bytes fall 32 x to 268.4 MB, L1 sectors fall 20 x to 8.389 M, for 8,192 B of shared memory a block" in words
    assert "Limited now by shared-memory wavefronts: 264 us at the least, 8 x the floor of its FMAs." in words
    assert "barriers a k-step fall" not in words


def test_words_tell_what_a_second_stage_saves() -> None:
    words = one_line(shown(tiled(), tiled(rung="r06", shared_load_wavefronts=33_554_432, barriers_per_k_step=1.0)))
    assert "r06 shared wavefronts fall 2 x to 33.55 M, barriers a k-step fall 2 x to 1." in words


def test_variant_stands_beside_its_rung() -> None:
    text = shown(NAIVE, tiled(rung="r04", title="thread tile", variant="1-D"), tiled(rung="r04", title="thread tile"))
    assert "r04 1-D no figure falls" not in one_line(text)
    assert "r04 1-D requested bytes fall 32 x" in one_line(text)
    assert "r04 no figure falls below r04 1-D's" in one_line(text)


def test_sample_is_said_in_table_and_words() -> None:
    text = shown(NAIVE, tiled(sampled_blocks=5))
    (line,) = [line for line in text.splitlines() if line.startswith("  blocks")]
    assert line.split() == ["blocks", "1,024", "5", "of", "1,024"]
    assert "r03 5 of 1,024. Counts are theirs times blocks / blocks that ran" in one_line(text)
    assert "sample" not in shown(NAIVE, tiled())


def test_ridge_is_worded_as_the_derivation_that_ignores_caches() -> None:
    words = one_line(shown(NAIVE, tiled(arithmetic_intensity_requested=14.0)))
    assert "by the derivation that ignores caches, the h200 turns compute-bound at 13.9 FLOP a requested byte" in words
    assert "r02 0.25 (below), r03 14 (above)" in words


def test_tile_line_is_exact_where_the_tile_divides() -> None:
    words = one_line(shown(tiled(), tile=32))
    assert "S = 32 requested bytes fall exactly 32 x, from 8,589,934,592 to 268,435,456, with 2 S^2 x 4 B = 8,192 B" in words


def test_tile_line_says_where_it_would_be_exact() -> None:
    words = one_line(shown(tiled(load_reduction_vs_naive=27.5), tile=32))
    assert "fall 27.5 x (32 x where 32 divides M and N)" in words


def test_wrong_result_stands_out() -> None:
    text = shown(NAIVE, tiled(correct=False, max_relative_error=0.5))
    assert "NO" in text
    assert "WRONG RESULT, off by 5.0e-01" in text


def test_counts_are_said_to_be_of_the_ptx() -> None:
    assert "compiled to PTX" in one_line(shown(NAIVE))


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_line_is_wider_than_the_terminal_and_no_figure_is_cut(width: int) -> None:
    text = shown(NAIVE, tiled(), NAIVE, tiled(), tiled(), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("268.4 MB") >= 3
    assert "…" not in text


def test_foreign_text_is_neither_markup_nor_control() -> None:
    text = shown(tiled(device="[red]h\x1b[31m200\u202e", title="[bold]t"))
    assert "[red]h[31m200" in text
    assert "[bold]t" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (show_bytes(9_999), "9,999 B"),
        (show_bytes(268_435_456), "268.4 MB"),
        (show_count(99_999), "99,999"),
        (show_count(1_107_296_256), "1.107 G"),
        (show_count(999_999), "1.000 M"),
        (show_seconds(0.0), "0"),
        (show_seconds(1.5), "1.50 s"),
        (show_seconds(2.64e-4), "264 us"),
        (show_seconds(4e-10), "0.400 ns"),
        (show_ratio(0.25), "0.25"),
        (show_ratio(2 / 33), "0.0606"),
        (show_ratio(128.0), "128"),
        (show_ratio(1048576.0), "1,048,576"),
        (strip_controls("a\tb\x00\x1b[0m\u202ec"), "a b[0mc"),
    ],
)
def test_figures_are_written_for_people(text: str, expected: str) -> None:
    assert text == expected


def test_json_of_a_row_reads_back() -> None:
    row = json.loads(as_json([tiled().to_json()]))[0]
    assert row["tile"] == {"bm": 32, "bn": 32, "bk": 32, "tm": 1, "tn": 1}
    assert row["floors"]["shared"] == 2.64e-4


def test_json_has_null_for_what_json_cannot_say() -> None:
    assert json.loads(as_json(tiled(max_relative_error=math.inf).to_json()))["max_relative_error"] is None
