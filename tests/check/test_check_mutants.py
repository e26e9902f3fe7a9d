"""Mutants of the ladder: what the operators change, and that check sees it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mutant_check import judge
from mutating import Mutant, drop_guards, miscount_stages, mutants, shift_guards, swap_indices

from tilewise.build.nvrtc import compile_source
from tilewise.core.compare import compare
from tilewise.core.problem import Problem
from tilewise.emu.machine import emulate
from tilewise.engine.operands import as_matrix, product_launch
from tilewise.kernels.ladder import LADDER, Rung, rung
from tilewise.kernels.source import CUDA_FOLDER, kernel_source

every_rung = pytest.mark.parametrize("row", LADDER, ids=[row.name for row in LADDER])


def mutant(name: str) -> Mutant:
    """The only mutant whose name begins so."""
    (found,) = (one for one in mutants(rung(name[:3])) if one.name.startswith(name))
    return found


# -- what is changed


@pytest.mark.parametrize(
    ("operator", "line", "changed"),
    [
        (drop_guards, "if (row < M && col + q < N) x = y;", ["if (true && col + q < N) x = y;", "if (row < M && true) x = y;"]),
        (drop_guards, "if (row >= M || col >= N) return;", ["if (false || col >= N) return;", "if (row >= M || false) return;"]),
        (drop_guards, "if (lines >= WIDTH && x) {", ["if (true && x) {"]),
        (drop_guards, "const bool b = is_aligned(B, ldb);", ["const bool b = true;"]),
        (drop_guards, "for (int k = 0; k < K; ++k) {", []),
        (shift_guards, "if (i >= BK * WIDTH) break;", ["if (i > BK * WIDTH) break;"]),
        (swap_indices, "a = b_tile[stage][kk][4 * j + i];", ["a = b_tile[stage][4 * j + i][kk];"]),
        (swap_indices, "__shared__ float a_tile[2][BK];", []),
        (swap_indices, "s += A[a_index(row, k0 + k, lda)];", ["s += A[a_index(k0 + k, row, lda)];"]),
        (miscount_stages, "cp_async_wait_group<0>();", ["cp_async_wait_group<1>();"]),
        (miscount_stages, "float a_tile[2][BK][BM];", ["float a_tile[1][BK][BM];", "float a_tile[3][BK][BM];"]),
    ],
)
def test_operator_changes_one_thing(operator: object, line: str, changed: list[str]) -> None:
    assert [text for _, text in operator(line)] == changed  # type: ignore[operator]  # one of the operators


@every_rung
def test_each_barrier_wait_and_commit_is_dropped_and_moved(row: Rung) -> None:
    text = (CUDA_FOLDER / "rungs" / row.file).read_text()
    ordering = sum(text.count(word) for word in ("__syncthreads();", "cp_async_wait_group<0>();", "cp_async_commit_group();"))
    changes = [one.change for one in mutants(row) if one.file.endswith(row.file)]
    assert sum(change.startswith("dropped") for change in changes) == ordering
    assert ordering <= sum(change.startswith("moved") and "return" not in change for change in changes) <= 2 * ordering


@every_rung
def test_mutants_differ_from_their_rung_and_from_each_other(row: Rung) -> None:
    texts = [one.text for one in mutants(row)]
    assert len(set(texts)) == len(texts) >= 10
    assert not set(texts) & {(CUDA_FOLDER / one.file).read_text() for one in mutants(row)}


# -- what becomes of them


@pytest.mark.parametrize("build", [(), ("-G",)], ids=["optimised", "unoptimised"])
@pytest.mark.parametrize("line", [42, 46])
def test_r03_without_a_barrier_computes_a_wrong_number_under_seed_1(line: int, build: tuple[str, ...]) -> None:
    row, problem = rung("r03"), Problem(100, 100, 100)
    without = mutant(f"r03 r03_smem_tile.cu:{line} dropped")
    a, b = np.random.default_rng(1).standard_normal((2, 100, 100), dtype=np.float32)
    for text, is_right in ((None, True), (without.text, False)):
        source = kernel_source(row, row.default_plan, "rr")
        module = compile_source(source if text is None else replace(source, text=text), "compute_90a", build)
        c = np.zeros_like(a)
        emulate(product_launch(module, row, row.default_plan, problem, as_matrix(a), as_matrix(b), as_matrix(c)), seed=1)
        assert compare(c, a, b).correct is is_right


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("r01 r01_naive.cu:22 row >= M is false", "oob.global"),
        ("r03 r03_smem_tile.cu:42 dropped", "race.shared"),
        ("r03 r03_smem_tile.cu:46 dropped", "race.shared"),
        ("r03 r03_smem_tile.cu:46 moved __syncthreads(); up", "race.shared"),
        ("r03 r03_smem_tile.cu:45 a_tile[kk][y]", "wrong.result"),
        pytest.param("r04 r04_thread_tile.cu:39 i >= BM * BK is false", "race.shared", marks=pytest.mark.slow),
        ("r06 r06_double_buffer.cu:48 dropped", "async.cp_async_wait"),
        ("r06 r06_double_buffer.cu:49 dropped", "race.shared"),
        ("r06 r06_double_buffer.cu:29 [1] for [2]", "async.cp_async_wait"),
    ],
)
def test_mutant_is_killed(name: str, kind: str) -> None:
    judgement = judge(mutant(name))
    assert judgement.fate == "killed", judgement
    assert judgement.reason.startswith(kind)


@pytest.mark.slow
def test_guard_that_moves_past_a_constant_is_equivalent() -> None:
    assert judge(mutant("r02 r02_coalesced.cu:21 moved if (row >= M || col >= N) return; down")).fate == "equivalent"


def test_mutant_that_does_not_compile_is_stillborn() -> None:
    assert judge(mutant("r02 r02_coalesced.cu:21 moved if (row >= M || col >= N) return; up")).fate == "stillborn"
