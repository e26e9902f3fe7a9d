"""Softmax, layer norm and attention: right against float64, and attention's traffic as derived."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from running import blocks_for, in_every_build, program

pytestmark = in_every_build

Doubles = npt.NDArray[np.float64]
QUERIES, KEYS, D = 64, 16, 32
"""Of flash_attention.cu."""


def softmax(scores: Doubles) -> Doubles:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("columns", "threads"), [(1, 32), (100, 64), (517, 96)])
def test_online_softmax(build: str, columns: int, threads: int) -> None:
    rows = np.random.default_rng(columns).normal(0, 20, (5, columns)).astype(np.float32)
    rows[0] += 1000  # exp alone would overflow
    out = np.full_like(rows, np.nan)
    program("softmax", build).run("softmax", 5, threads, rows, out, columns)
    np.testing.assert_allclose(out, softmax(rows.astype(float)), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 100), (9, 333)])
def test_layer_norm(build: str, rows: int, columns: int) -> None:
    random = np.random.default_rng(columns)
    x = (random.standard_normal((rows, columns)) + 100).astype(np.float32)  # a mean far from zero
    gain, bias = random.standard_normal((2, columns), dtype=np.float32)
    out = np.full_like(x, np.nan)
    program("layer_norm", build).run("layer_norm", blocks_for(rows, 3), (32, 3), x, gain, bias, out, rows, columns, 1e-5)
    wide = x.astype(float)
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, normal * gain + bias, rtol=0, atol=5e-4)


def attention(q: Doubles, k: Doubles, v: Doubles, causal: bool) -> Doubles:
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(D)
    if causal:
        scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
    return softmax(scores) @ v


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("n", [1, 64, 150])
def test_flash_attention_is_right_and_never_stores_a_score(build: str, n: int, causal: bool) -> None:
    heads = 2
    q, k, v = np.random.default_rng(n).standard_normal((3, heads, n, D), dtype=np.float32)
    out = np.full_like(q, np.nan)
    blocks = blocks_for(n, QUERIES)
    scale = 1 / np.sqrt(D)
    run = program("flash_attention", build).run("attention", (blocks, heads), QUERIES, q, k, v, out, n, scale, int(causal))
    exact = attention(q.astype(float), k.astype(float), v.astype(float), causal)
    np.testing.assert_allclose(out, exact, rtol=0, atol=1e-5)

    seen = sum(min(n, (block + 1) * QUERIES) if causal else n for block in range(blocks))
    assert run.counters.requested_load_bytes == 4 * heads * (n * D + 2 * D * seen)  # not one load of a score
    assert run.counters.requested_store_bytes == 4 * heads * n * D  # nor a store of one
