from __future__ import annotations

import dataclasses
import re

import pytest

from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import LAYOUTS, Problem
from tilewise.hw.catalog import device
from tilewise.kernels.ladder import LADDER, Rung, bank_pad, block, grid, objections, rung, shared_bytes
from tilewise.kernels.source import CUDA_FOLDER

every_rung = pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)


def test_rungs_are_found_by_name() -> None:
    assert [rung(row.name) for row in LADDER] == list(LADDER)


def test_unknown_rung_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(TilewiseError, match=r"no rung 'r30'.*Did you mean r0\d"):
        rung("r30")


@every_rung
def test_names_files_and_numbers_agree(row: Rung) -> None:
    assert row.file.startswith(row.name + "_")
    assert row.file == f"{row.name}_{row.title.replace(' ', '_')}.cu"
    assert (CUDA_FOLDER / "rungs" / row.file).is_file()


@every_rung
def test_plans_of_the_ladder_meet_no_objection(row: Rung) -> None:
    for plan in (row.default_plan, *(plan for _, plan in row.variants)):
        assert objections(row, plan, problem=Problem(1000, 1000, 1000)) == ()


def test_thread_tile_comes_as_a_column_too() -> None:
    ((name, plan),) = rung("r04").variants
    assert (name, plan.TN) == ("1-D", 1)
    assert plan.TM > 1


@every_rung
def test_block_has_the_plans_threads(row: Rung) -> None:
    x, y, z = block(row, row.default_plan)
    assert x * y * z == row.default_plan.threads <= 1024


def test_thread_axes_follow_the_rung() -> None:
    plan = TilePlan(16, 8, 1)
    assert block(rung("r01"), plan) == (16, 8, 1)
    assert block(rung("r02"), plan) == (8, 16, 1)
    assert block(rung("r04"), TilePlan(64, 32, 8, 4, 2)) == (256, 1, 1)


@pytest.mark.parametrize(("M", "N", "expected"), [(1, 1, (1, 1, 1)), (32, 64, (4, 1, 1)), (33, 65, (5, 2, 1))])
def test_grid_covers_the_product(M: int, N: int, expected: tuple[int, int, int]) -> None:
    assert grid(TilePlan(32, 16, 8), Problem(M, N, 5)) == expected


@pytest.mark.parametrize("S", [8, 16, 32])
def test_square_tiles_take_two_s_squared_words(S: int) -> None:
    assert shared_bytes(rung("r03"), TilePlan(S, S, S)) == 2 * S * S * 4


def test_transposed_tiles_are_padded() -> None:
    plan = TilePlan(32, 32, 32)
    assert [shared_bytes(rung("r03"), plan, layout) for layout in LAYOUTS] == [8192, 8320, 8320, 8448]
    assert [bank_pad(run) for run in (1, 8, 16, 32, 64)] == [32, 4, 2, 1, 1]


@pytest.mark.parametrize(
    ("name", "plan", "sentences"),
    [
        ("r01", TilePlan(32, 32, 8, 2, 1), ["computes one output", "give BK = 1"]),
        ("r02", TilePlan(64, 32, 1), ["takes 2048 threads"]),
        ("r03", TilePlan(32, 16, 32), ["give BM = BN = BK"]),
        ("r03", TilePlan(16, 16, 16, 1, 2), ["computes one output"]),
        ("r03", TilePlan(33, 33, 33), ["takes 1089 threads"]),
        (
            "r04",
            TilePlan(60, 64, 8, 8, 5),
            ["TM = 8 does not divide BM = 60.*give TM = 6", "TN = 5 does not divide BN = 64.*give TN = 4"],
        ),
        ("r04", TilePlan(128, 128, 8, 16, 16), ["takes 288 registers.*255"]),
        ("r04", TilePlan(256, 256, 32, 8, 8), ["bytes of shared memory.*49152"]),
        ("r05", TilePlan(64, 64, 6, 4, 2), ["TN = 2, but a thread moves 4", "BK = 6, but a thread moves 4"]),
        ("r06", TilePlan(64, 64, 6, 2, 4), ["TM = 2, but a thread moves 4"]),
        (
            "r07",
            TilePlan(48, 96, 8, 8, 8),
            ["BM = 48 is no multiple.*4 TM = 32.*give BM = 64", "BN = 96 is no multiple.*give BN = 128"],
        ),
        ("r04", TilePlan(0, 64, -8, 1, 1), ["BM = 0 is not a tile size", "BK = -8 is not a tile size"]),
    ],
)
def test_bad_plans_meet_their_objections(name: str, plan: TilePlan, sentences: list[str]) -> None:
    found = objections(rung(name), plan)
    assert len(found) == len(sentences)
    for sentence, expected in zip(found, sentences, strict=True):
        assert re.search(expected, sentence)
        assert sentence.endswith(".")


def test_offered_tile_meets_no_objection() -> None:
    plan = TilePlan(60, 64, 8, 8, 5)
    assert objections(rung("r04"), dataclasses.replace(plan, TM=6, TN=4)) == ()


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (Problem(65535 * 32 + 1, 1, 1), "M = 2097121 takes 65536 rows of blocks"),
        (Problem(1, 2**31 - 1, 1), "N = 2147483647, rounded up.*at most 2147483616"),
        (Problem(1, 1, 2**31 - 31), "K = 2147483617, rounded up.*at most 2147483616"),
    ],
)
def test_problems_beyond_the_kernels_indices_are_refused(problem: Problem, sentence: str) -> None:
    (found,) = objections(rung("r03"), TilePlan(32, 32, 32), problem=problem)
    assert re.search(sentence, found)


def test_device_states_the_limits_and_the_capability() -> None:
    h200 = device("h200")
    small = dataclasses.replace(h200, threads_per_block=512, shared_bytes_per_block=4096)
    newer = dataclasses.replace(rung("r03"), least_compute_capability=(9, 1))
    plan = TilePlan(32, 32, 32)
    assert objections(rung("r03"), plan, h200) == ()
    assert [re.search(r"than the \d+", sentence)[0] for sentence in objections(rung("r03"), plan, small)] == [  # type: ignore[index]
        "than the 512",
        "than the 4096",
    ]
    assert objections(newer, plan, h200) == (
        f"this rung needs compute capability 9.1; {h200.name} has 9.0: choose a lower rung or a newer device.",
    )


def test_largest_problems_meet_no_objection() -> None:
    largest = Problem(65535 * 32, 2**31 - 32, 2**31 - 32)
    assert objections(rung("r03"), TilePlan(32, 32, 32), problem=largest) == ()
