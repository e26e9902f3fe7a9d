"""Floating-point programs, against float64."""

from __future__ import annotations

from math import erf, sqrt

import numpy as np
import pytest
from running import blocks_for, in_every_build, program

pytestmark = in_every_build


@pytest.mark.parametrize("n", [1, 96, 250])
def test_n_body_accelerations(build: str, n: int) -> None:
    random = np.random.default_rng(n)
    bodies = random.standard_normal((n, 4), dtype=np.float32)
    bodies[:, 3] = random.random(n)
    accelerations = np.full((n, 3), np.nan, np.float32)
    program("n_body", build).run("accelerate", blocks_for(n, 96), 96, bodies, accelerations, n)
    x = bodies.astype(float)
    apart = x[None, :, :3] - x[:, None, :3]
    pulls = x[:, 3, None] * apart / ((apart**2).sum(2, keepdims=True) + 1e-3) ** 1.5
    np.testing.assert_allclose(accelerations, pulls.sum(1), rtol=0, atol=2e-6 * np.abs(pulls).sum(1).max())


@pytest.mark.parametrize("bits", [0, 1, 4, 9])
@pytest.mark.parametrize("threads", [64, 50])
def test_fft_of_every_length(build: str, bits: int, threads: int) -> None:
    random = np.random.default_rng(bits)
    signals = (random.standard_normal((3, 2**bits)) + 1j * random.standard_normal((3, 2**bits))).astype(np.complex64)
    out = np.zeros_like(signals)
    program("fft", build).run("fft", 3, threads, signals, out, bits, shared_bytes=8 * 2**bits)
    np.testing.assert_allclose(out, np.fft.fft(signals.astype(np.complex128)), rtol=0, atol=1e-5 * 2 ** (bits / 2))


@pytest.mark.parametrize("threads", [32, 128])
def test_sparse_matrix_times_vector(build: str, threads: int) -> None:
    rows, columns = 67, 90
    random = np.random.default_rng(threads)
    lengths = random.integers(0, columns, rows)
    lengths[[0, 5, 66]] = 0
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    places = np.concatenate([np.sort(random.choice(columns, length, replace=False)) for length in lengths]).astype(np.int32)
    entries, x = random.standard_normal(starts[-1]), random.standard_normal(columns)
    y = np.full(rows, np.nan)
    program("spmv", build).run("spmv", blocks_for(32 * rows, threads), threads, starts, places, entries, x, y, rows)
    dense = np.zeros((rows, columns))
    dense[np.repeat(np.arange(rows), lengths), places] = entries
    np.testing.assert_allclose(y, dense @ x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 8])
def test_linear_systems_in_local_arrays(build: str, size: int) -> None:
    n = 70
    random = np.random.default_rng(size)
    matrices, right = random.standard_normal((n, size, size)), random.standard_normal((n, size))
    matrices[::3, 0, 0] = 0 if size > 1 else 1  # pivoting is needed
    solutions = np.full((n, size), np.nan)
    program("local_arrays", build).run("solve", blocks_for(n, 24), 24, matrices, right, solutions, size, n)
    expected = np.linalg.solve(matrices, right[..., None])[..., 0]
    np.testing.assert_allclose(solutions, expected, rtol=1e-9 * np.linalg.cond(matrices).max(), atol=0)


def test_black_scholes_prices(build: str) -> None:
    n, rate, volatility = 300, 0.02, 0.3
    random = np.random.default_rng(3)
    spot, strike, years = (random.uniform(low, high, n).astype(np.float32) for low, high in ((5, 30), (1, 100), (0.25, 10)))
    calls, puts = np.zeros((2, n), np.float32)
    program("black_scholes", build).run("price", 4, 80, spot, strike, years, calls, puts, rate, volatility, n)
    s, k, t = (x.astype(float) for x in (spot, strike, years))
    d1 = (np.log(s / k) + (rate + volatility**2 / 2) * t) / (volatility * np.sqrt(t))
    cdf = np.vectorize(lambda x: (1 + erf(x / sqrt(2))) / 2)
    expected = s * cdf(d1) - k * np.exp(-rate * t) * cdf(d1 - volatility * np.sqrt(t))
    np.testing.assert_allclose(calls, expected, rtol=0, atol=1e-4)
    np.testing.assert_allclose(puts, expected - s + k * np.exp(-rate * t), rtol=0, atol=1e-4)  # put-call parity


def test_k_means_assigns_and_adds_up(build: str) -> None:
    n, k = 500, 7
    random = np.random.default_rng(7)
    points, centres = (random.standard_normal((count, 2), dtype=np.float32) for count in (n, k))
    labels, sums, sizes = np.full(n, -1, np.int32), np.zeros((k, 2)), np.zeros(k, np.uint32)
    program("k_means", build).run("assign", blocks_for(n, 100), 100, points, centres, labels, sums, sizes, n, k)
    distances = ((points[:, None].astype(float) - centres[None].astype(float)) ** 2).sum(2)
    chosen = distances[np.arange(n), labels]
    np.testing.assert_allclose(chosen, distances.min(1), rtol=1e-5)
    np.testing.assert_array_equal(sizes, np.bincount(labels, minlength=k))
    expected = np.stack([np.bincount(labels, points[:, axis].astype(float), k) for axis in (0, 1)], 1)
    np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-12)


def test_dot_products_in_half_precision(build: str) -> None:
    rows, pairs = 5, 77
    random = np.random.default_rng(16)
    a, b = random.standard_normal((2, rows, 2 * pairs)).astype(np.float16)
    out = np.zeros(rows, np.float16)
    program("half_dot", build).run("dot_half", rows, 32, a, b, out, pairs)
    products = (a * b).astype(float)  # each rounded to half
    np.testing.assert_allclose(out, products.sum(1), rtol=2**-10, atol=1e-5 * np.abs(products).sum(1).max())


def test_dot_products_in_bfloat16(build: str) -> None:
    rows, pairs = 5, 77
    random = np.random.default_rng(17)
    a, b = (random.standard_normal((2, rows, 2 * pairs), dtype=np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    out = np.zeros(rows, np.uint16)
    program("half_dot", build).run("dot_bfloat16", rows, 32, a, b, out, pairs)

    def widened(bits: np.ndarray) -> np.ndarray:
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(float)

    products = widened(a) * widened(b)
    np.testing.assert_allclose(widened(out), products.sum(1), rtol=2**-8, atol=1e-6 * np.abs(products).sum(1).max())
