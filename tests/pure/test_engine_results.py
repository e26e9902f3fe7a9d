from __future__ import annotations

import io
import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rich.console import Console

from tilewise.core.errors import TilewiseError
from tilewise.engine.results import FILE_NAME, BenchResult, BenchRow, changes, geometric_mean, load_result
from tilewise.render.bench import describe_changes, render_bench, summarise

ROW = BenchRow(
    suite="square",
    m=512,
    n=512,
    k=512,
    dtype="f32",
    layout="rc",
    ours_us=10.0,
    peer="cublas",
    peer_us=20.0,
    ratio=2.0,
    lo=1.9,
    hi=2.1,
    kernel="r07 64 x 64 x 16, thread tile 4 x 4",
    max_relative_error=1e-7,
    correct=True,
    peer_correct=True,
    method="graph",
)
RESULT = BenchResult(
    device="NVIDIA H200",
    command="tilewise bench",
    date="2026-11-30",
    versions={"tilewise": "0.1.0"},
    clocks={"sm_mhz": {"median": 1980.0, "low": 1900.0, "high": 1980.0}},
    rows=(ROW, replace(ROW, suite="skinny", m=1, peer_us=5.0, ratio=0.5, lo=0.4, hi=0.6)),
)


def test_result_comes_back_from_its_file(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(json.dumps(asdict(RESULT)))
    assert load_result(tmp_path) == RESULT


def test_files_carry_the_fields_that_others_read() -> None:
    stored = asdict(RESULT)
    assert {"device", "command", "versions", "clocks", "rows"} <= set(stored)
    assert {"suite", "m", "n", "k", "dtype", "layout", "ours_us", "peer", "peer_us", "ratio", "lo", "hi"} <= set(
        stored["rows"][0]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is no result of tilewise bench"),
        ('{"rows": [{}]}', "is no result of tilewise bench: 'suite' is missing"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(TilewiseError, match=re.escape(message)):
        load_result(tmp_path)


def test_missing_file_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(TilewiseError, match="give a folder of bench --save"):
        load_result(tmp_path)


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)


def test_comparison_takes_products_of_both_and_finds_the_worst() -> None:
    before = replace(RESULT, rows=(replace(ROW, ours_us=30.0), replace(RESULT.rows[1], ours_us=5.0), replace(ROW, m=3)))
    found = changes(RESULT, before)
    assert [change.speedup for change in found] == [3.0, 0.5]
    (sentence,) = describe_changes(found)
    assert "1.22 over 2 products" in sentence
    assert "the worst 0.5 at 1 x 512 x 512 rc" in sentence


def test_nothing_in_common_is_said() -> None:
    assert list(describe_changes([])) == ["the two results share no product: there is nothing to compare."]


def test_summary_gives_means_by_suite_and_names_what_is_wrong() -> None:
    rows = (*RESULT.rows, replace(ROW, k=7, correct=False))
    found = dict(summarise(replace(RESULT, rows=rows)))
    assert found["of cublas's speed"].startswith("1.26 over 3 products")
    assert found["  skinny"].startswith("0.5 over 1 products")
    assert found["WRONG"] == "512 x 512 x 7 rc"
    assert "slower at 1" in found["of cublas's speed"]


def test_table_shows_each_product_with_its_spread_and_the_clocks() -> None:
    text = io.StringIO()
    render_bench(RESULT, Console(file=text, width=110))
    shown = text.getvalue()
    assert "sm_mhz 1980 (1900 to 1980)" in shown
    row = r"512 x 512 x 512 rc +r07 64 x 64 x 16 +10\.0 us +26\.8 +cublas +20\.0 us +2\.000 \(1\.900 to 2\.100\)"
    assert re.search(row, shown)
    assert max(map(len, shown.splitlines())) <= 110


def test_rows_that_were_not_timed_in_a_graph_are_marked() -> None:
    text = io.StringIO()
    long = replace(ROW, m=57_344, n=57_344, k=28_672, method="events", kernel="r07 128 x 128 x 8, thread tile 8 x 8")
    render_bench(replace(RESULT, rows=(long,)), Console(file=text, width=110))
    assert "* 2.000 (1.900 to 2.100)" in text.getvalue()
    assert "* timed call by call" in text.getvalue()


def test_a_run_without_peers_has_no_ratios() -> None:
    text = io.StringIO()
    alone = replace(ROW, peer="", peer_us=0.0, ratio=0.0, lo=0.0, hi=0.0)
    render_bench(replace(RESULT, rows=(alone,)), Console(file=text, width=160))
    assert "speed" not in text.getvalue()
