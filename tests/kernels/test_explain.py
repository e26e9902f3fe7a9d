"""Every topic of `tilewise explain`: what it derives is what a run counts, at many sizes, and it fits the terminal."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from tilewise.checkers.base import kinds
from tilewise.cli.explain import parse_thread_tile
from tilewise.cli.main import main
from tilewise.core.errors import TilewiseError
from tilewise.core.lesson import Check, Count, Equation, Lesson, Question, Table, explain
from tilewise.engine.topics import TOPICS
from tilewise.engine.topics.barriers import without_barrier
from tilewise.engine.topics.measure import MOST_PRODUCTS, countable
from tilewise.hw.catalog import DEVICES, device
from tilewise.kernels.header import read_header
from tilewise.kernels.ladder import LADDER, rung
from tilewise.kernels.source import kernel_source
from tilewise.render.lesson import render_lesson, render_topics, show_figure

SIZES = [(64, 64, 64), (37, 61, 47), (1, 1, 1), (96, 32, 5), (33, 40, 8), (8, 100, 3)]
IDEAS = [topic.name for topic in TOPICS.values() if topic.group == "ideas"]

every_topic = pytest.mark.parametrize("topic", [*(row.name for row in LADDER), *IDEAS])
every_size = pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: "x".join(map(str, sizes)))


def ask(topic: str, sizes: tuple[int, int, int] | None = None, **choices: object) -> Lesson:
    M, N, K = sizes or (None, None, None)
    return explain(topic, Question(device("h200"), M, N, K, **choices))  # type: ignore[arg-type]  # the tests' own


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    shown = capsys.readouterr()
    return int(stop.value.code or 0), shown.out, shown.err


def different(lesson: Lesson) -> list[Check]:
    assert lesson.checks
    return [check for check in lesson.checks if not check.holds]


def value_of(lesson: Lesson, name: str) -> float:
    return next(part.value for part in lesson.parts if isinstance(part, Equation) and part.name == name)


def test_every_rung_idea_and_kind_is_a_topic() -> None:
    assert list(TOPICS) == [
        *(row.name for row in LADDER),
        *("tiling", "barriers", "coalescing", "banks", "intensity", "registers", "pipelining"),
        *kinds(),
    ]


@every_size
@pytest.mark.parametrize("topic", IDEAS)
def test_what_is_derived_is_what_is_counted(topic: str, sizes: tuple[int, int, int]) -> None:
    assert different(ask(topic, sizes)) == []


@pytest.mark.parametrize("tile", [8, 16, 32])
@pytest.mark.parametrize("topic", ["tiling", "barriers", "banks", "intensity"])
def test_derivation_holds_for_every_tile(topic: str, tile: int) -> None:
    assert different(ask(topic, (48, 41, 40), tile=tile)) == []


@pytest.mark.parametrize("thread_tile", [(1, 1), (8, 1), (1, 8), (4, 4), (5, 3)])
def test_derivation_holds_for_every_thread_tile(thread_tile: tuple[int, int]) -> None:
    lesson = ask("registers", (70, 50, 20), thread_tile=thread_tile)
    assert different(lesson) == []
    TM, TN = thread_tile
    assert value_of(lesson, "words an FMA") == (TM + TN) / (TM * TN)


@pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)
def test_every_claim_of_a_rung_is_held(row: object) -> None:
    lesson = ask(row.name)  # type: ignore[attr-defined]  # a Rung
    assert different(lesson) == []
    assert len(lesson.checks) >= 7


def test_rung_is_explained_in_its_sources_words() -> None:
    header, lesson = read_header(rung("r05")), ask("r05")
    assert header.idea in lesson.title
    assert any(header.picture == getattr(part, "lines", None) for part in lesson.parts)
    (plans,) = [part for part in ask("r04").parts if isinstance(part, Table)]
    assert plans.header == ("", "r04", "r04 1-D")
    assert ("thread tile", "8 x 8", "8 x 1") in plans.rows


def test_tiling_at_whole_tiles_divides_by_the_side() -> None:
    lesson = ask("tiling", (64, 128, 96), tile=16)
    assert value_of(lesson, "words") == 2 * 64 * 128 * 96
    assert [part.value for part in lesson.parts if isinstance(part, Equation) and part.name == "words"][
        1
    ] == 2 * 64 * 128 * 96 / 16
    assert value_of(lesson, "reduction") == 16


def test_ridge_is_the_devices() -> None:
    h200 = device("h200")
    assert value_of(ask("intensity", (64, 64, 64)), "ridge") == h200.fp32_flops_per_s / h200.hbm_bandwidth_bytes_per_s
    assert value_of(ask("intensity", (64, 64, 64)), "side that reaches it") == 56


def test_missing_barrier_shows_in_the_product() -> None:
    (table,) = [part for part in ask("barriers", (64, 64, 64)).parts if isinstance(part, Table)]
    wrong = {row[0]: int(row[1].replace(",", "")) for row in table.rows}
    assert wrong["r03"] == 0
    assert wrong["without 1"] > 1000
    assert wrong["without 2"] > 1000


def test_one_barrier_is_taken_out_and_nothing_else() -> None:
    source = kernel_source(rung("r03"), rung("r03").default_plan, "rr")
    first, second = (without_barrier(source, index).text for index in (0, 1))
    assert source.text.count("__syncthreads();") == 2
    assert first.count("__syncthreads();") == second.count("__syncthreads();") == 1
    assert first != second
    assert len(first) == len(second) == len(source.text) - len("__syncthreads();")


@pytest.mark.parametrize("sizes", [(4096, 4096, 4096), (2**31 - 1, 3, 5), (100_001, 70_003, 9), (10, 20, 30)])
def test_large_sizes_are_counted_on_smaller_ones_of_the_same_form(sizes: tuple[int, int, int]) -> None:
    plan = rung("r03").default_plan
    ran = countable(sizes, plan)
    assert ran[0] * ran[1] * ran[2] <= MOST_PRODUCTS
    for asked, reduced, tile in zip(sizes, ran, (plan.BM, plan.BN, plan.BK), strict=True):
        assert reduced <= asked
        assert reduced % tile == asked % tile
        assert reduced >= min(asked, tile)


def test_reduction_is_said_and_derived_for_the_sizes_asked() -> None:
    lesson = ask("tiling", (20_000, 30_001, 10))
    (count,) = [part for part in lesson.parts if isinstance(part, Count)]
    assert "20,000 x 30,001 x 10 would take long" in count.run
    assert value_of(lesson, "words") == 2 * 20_000 * 30_001 * 10
    assert different(lesson) == []


@every_topic
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(topic: str, width: int) -> None:
    lesson = ask(topic, None if topic.startswith("r0") else (64, 64, 64))
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    render_lesson(lesson, console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert "\x1b" not in text
    for check in lesson.checks:
        assert show_figure(check.counted, 9) in text
    words = " ".join(text.split())
    assert lesson.title in words


def test_list_names_every_topic() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    render_topics(list(TOPICS.values()), console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"  {name} " in text for name in TOPICS)


def test_command_line_shows_lists_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["explain"], capsys)
    assert code == 0
    assert "pipelining" in out
    code, out, _ = run(["explain", "tiling", "--m", "64", "--k", "32", "--tile", "8", "--json"], capsys)
    lesson = json.loads(out)
    assert (code, lesson["topic"], lesson["holds"]) == (0, "tiling", True)
    (count,) = [part for part in lesson["parts"] if part["kind"] == "count"]
    assert count["checks"][1] == {
        "what": "r03, requested by loads",
        "derived": 2 * 64 * 64 * 32 // 8 * 4,
        "counted": 2 * 64 * 64 * 32 // 8 * 4,
        "unit": "B",
        "holds": True,
    }
    assert [topic["topic"] for topic in json.loads(run(["explain", "--json"], capsys)[1])] == list(TOPICS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tilling"], "there is no topic 'tilling'. Did you mean tiling"),
        (["zzz"], "there is no topic 'zzz'. tilewise explain lists them."),
        (["r30"], "Did you mean r0"),
        (["tiling", "--tile", "12"], "tile = 12 is not a side"),
        (["tiling", "--m", "0"], "M = 0 is not a whole number of at least 1"),
        (["tiling", "--m", "-3"], "M = -3 is not a size"),
        (["tiling", "--thread-tile", "8x8"], "tiling does not take --thread-tile: it takes --m, --n, --k and --tile."),
        (["r03", "--m", "64"], "r03 does not take --m, --n, --k: it takes only --device."),
        (["registers", "--thread-tile", "8x"], "thread tile '8x' is not of the form TMxTN"),
        (["registers", "--thread-tile", "0x4"], "thread tile '0x4' is not of the form TMxTN"),
        (["registers", "--thread-tile", "99x99"], "more than the 255"),
        (["r06", "--device", "t4"], "needs compute capability 8.0"),
        (["tiling", "--device", "h20"], "Did you mean h200"),
    ],
)
def test_what_cannot_be_explained_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(["explain", *arguments], capsys)
    assert (code, out) == (2, "")
    assert err.startswith("tilewise: ")
    assert message in err


def test_figure_that_differs_is_a_finding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tilewise.engine.topics.tiling.loaded_words", lambda sizes, S: 7)
    code, out, err = run(["explain", "tiling", "--m", "32"], capsys)
    assert code == 1
    assert "DIFFERENT" in out
    assert "counted otherwise than stated: r03, requested by loads" in err


@pytest.mark.parametrize(("text", "expected"), [("8x4", (8, 4)), ("8", (8, 8)), (" 8 X 1 ", (8, 1))])
def test_thread_tiles_are_read(text: str, expected: tuple[int, int]) -> None:
    assert parse_thread_tile(text) == expected


@pytest.mark.parametrize("text", ["", "x", "8x", "-8x8", "8x8x8", "99999x1", "٣"])  # with an Arabic three
def test_other_texts_are_no_thread_tiles(text: str) -> None:
    with pytest.raises(TilewiseError, match="is not of the form TMxTN"):
        parse_thread_tile(text)


@pytest.mark.parametrize("key", [key for key, one in DEVICES.items() if one.compute_capability >= (8, 0)])
def test_occupancy_and_clocks_are_of_the_device(key: str) -> None:
    lesson = explain("registers", Question(DEVICES[key], 32, 32, 8, thread_tile=(4, 4)))
    assert 0 < value_of(lesson, "occupancy") <= 1
    assert different(lesson) == []
