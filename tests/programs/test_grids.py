"""Stencils, convolution and pictures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from running import blocks_for, in_every_build, program

pytestmark = in_every_build

FILTER = np.array([[1, 4, 7, 4, 1], [4, 16, 26, 16, 4], [7, 26, 41, 26, 7], [-4, -16, -26, -16, -4], [-1, -4, -7, -4, 0.5]])


def weighted(image: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], mode: str) -> npt.NDArray[np.float64]:
    """Each point's neighbourhood times `weights`, the image padded as numpy.pad has it."""
    radius = len(weights) // 2
    padded = np.pad(image, radius, mode=mode)  # type: ignore[call-overload]  # the mode is a parameter
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape)
    return np.asarray(np.einsum("ijkl,kl->ij", windows, weights))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (10, 30), (37, 61), (3, 100)])
def test_stencil_in_two_dimensions(build: str, rows: int, columns: int) -> None:
    image = np.random.default_rng(rows).standard_normal((rows, columns), dtype=np.float32)
    out = np.full_like(image, np.nan)
    grid = (blocks_for(columns, 30), blocks_for(rows, 10))
    program("stencil_2d", build).run("smooth", grid, (30, 10), image, out, rows, columns)
    weights = np.outer([1, 2, 1], [1, 2, 1]) / 16.0
    np.testing.assert_allclose(out, weighted(image.astype(float), weights, "constant"), rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 9, 17), (7, 21, 35)])
def test_stencil_in_three_dimensions(build: str, shape: tuple[int, int, int]) -> None:
    nz, ny, nx = shape
    field = np.random.default_rng(nz).standard_normal(shape, dtype=np.float32)
    out = np.full_like(field, np.nan)
    grid = (blocks_for(nx, 16), blocks_for(ny, 8))
    program("stencil_3d", build).run("diffuse", grid, (16, 8), field, out, nx, ny, nz, 0.1)
    expected = field.astype(float)
    x = field.astype(float)
    around = x[2:, 1:-1, 1:-1] + x[:-2, 1:-1, 1:-1] + x[1:-1, 2:, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 1:-1, 2:]
    expected[1:-1, 1:-1, 1:-1] += 0.1 * (around + x[1:-1, 1:-1, :-2] - 6 * x[1:-1, 1:-1, 1:-1])
    np.testing.assert_allclose(out, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize(("rows", "columns", "block"), [(1, 1, (8, 4)), (19, 50, (24, 5)), (40, 33, (32, 8))])
def test_convolution_with_a_filter_in_constant_memory(build: str, rows: int, columns: int, block: tuple[int, int]) -> None:
    image = np.random.default_rng(rows).standard_normal((rows, columns), dtype=np.float32)
    out = np.full_like(image, np.nan)
    grid = (blocks_for(columns, block[0]), blocks_for(rows, block[1]))
    program("convolution", build).run("convolve", grid, block, image, out, rows, columns)
    np.testing.assert_allclose(out, weighted(image.astype(float), FILTER, "edge"), rtol=0, atol=1e-4)


@pytest.mark.parametrize("block", [(32, 4), (20, 7)])
def test_mandelbrot_counts_are_exact(build: str, block: tuple[int, int]) -> None:
    width, height, limit = 75, 50, 60
    left, top, step = np.float32(-2), np.float32(-1.2), np.float32(0.043)
    rounds = np.full((height, width), -1, np.int32)
    grid = (blocks_for(width, block[0]), blocks_for(height, block[1]))
    program("mandelbrot", build).run("mandelbrot", grid, block, rounds, width, height, left, top, step, limit)

    x, y = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None]
    real, imaginary = np.broadcast_arrays(left + x * step, top + y * step)
    a, b = np.zeros((2, height, width), np.float32)
    expected, inside = np.zeros((height, width), int), np.full((height, width), True)
    for _ in range(limit):
        inside &= a * a + b * b <= 4
        expected[inside] += 1
        a, b = np.where(inside, (a * a - b * b) + real, a), np.where(inside, np.float32(2) * (a * b) + imaginary, b)
    np.testing.assert_array_equal(rounds, expected)


def test_life_on_a_torus(build: str) -> None:
    rows, columns = 13, 1024
    cells = np.random.default_rng(13).random((rows, columns)) < 0.35
    board = np.packbits(cells, axis=1, bitorder="little").view(np.uint32)
    for _ in range(3):
        after = np.zeros_like(board)
        program("life", build).run("live", blocks_for(rows, 3), (32, 3), board, after, rows)
        around = sum(np.roll(cells, (dy, dx), (0, 1)).astype(int) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - cells
        cells = (around == 3) | (cells & (around == 2))
        np.testing.assert_array_equal(after, np.packbits(cells, axis=1, bitorder="little").view(np.uint32))
        board = after
