"""The kernels that matmul runs on a GPU, on the emulator: any size, layout, alignment and cut, against float64."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from tilewise.build.nvrtc import compile_source
from tilewise.core.launch import Launch
from tilewise.core.problem import LAYOUTS, Layout, Problem
from tilewise.cost.fp32 import CROWDED, LARGE, MIDDLE, NARROW, SMALL, TALL, TINY, Tiling, estimate_tiled, share_out
from tilewise.emu.machine import emulate
from tilewise.hw.device import Device
from tilewise.hw.device_file import find_device
from tilewise.kernels.fp32 import (
    Call,
    Cut,
    Few,
    Place,
    few_calls,
    fp32_source,
    parts_words,
    step_count,
    tile_count,
    tiled_calls,
)

Floats = npt.NDArray[np.float32]
TILINGS = {"tall": TALL, "large": LARGE, "crowded": CROWDED, "middle": MIDDLE, "small": SMALL, "narrow": NARROW, "tiny": TINY}
UNWRITTEN = np.float32(np.nan)


@dataclass(frozen=True)
class Stored:
    """A matrix in a buffer that begins `offset` words behind a multiple of 16 bytes and ends with it; NaN between lines."""

    values: Floats
    buffer: Floats
    leading: int
    offset: int

    @property
    def place(self) -> Place:
        return Place(self.buffer, self.leading, self.offset % 4 == 0 and self.leading % 4 == 0)  # type: ignore[arg-type]  # an array


def stored(values: Floats, order: str, pad: int, offset: int) -> Stored:
    lines, length = values.shape if order == "r" else values.shape[::-1]
    leading = length + pad
    raw = np.full(8 + offset + lines * leading, UNWRITTEN)
    first = -(raw.ctypes.data // 4) % 4 + offset
    buffer = raw[first : first + (lines - 1) * leading + length]
    view = np.lib.stride_tricks.as_strided(buffer, (lines, length), (4 * leading, 4))
    view = view if order == "r" else view.T
    view[...] = values
    return Stored(view, buffer, leading, offset)


@dataclass(frozen=True)
class Product:
    problem: Problem
    a: Stored
    b: Stored
    c: Stored

    def run(self, calls: list[Call], threads: int = 1, seed: int = 0) -> Floats:
        for call in calls:
            module = compile_source(fp32_source(call.file, call.header), "compute_90a")
            shared = call.dynamic_shared_bytes
            launch = Launch(module, call.kernel, call.grid, call.block, call.args, dynamic_shared_bytes=shared)
            emulate(launch, threads=threads, seed=seed)
        return self.c.values.copy()

    def tiled(self, tiling: Tiling, cut: Cut) -> list[Call]:
        parts = np.full(max(1, parts_words(tiling.tiles.tile, cut)), UNWRITTEN)
        return tiled_calls(tiling.tiles, cut, self.problem, self.a.place, self.b.place, self.c.place, parts)  # type: ignore[arg-type]

    def few(self, few: Few) -> list[Call]:
        parts = np.full(few.splits * self.problem.M * self.problem.N, UNWRITTEN)
        return few_calls(few, self.problem, self.a.place, self.b.place, self.c.place, parts)  # type: ignore[arg-type]  # an array

    def assert_right(self) -> None:
        """K multiply-adds, in any order, err by at most K u / (1 - K u) times |A||B| [Higham, Accuracy and Stability, 3.1]."""
        a, b, c = (matrix.values.astype(np.float64) for matrix in (self.a, self.b, self.c))
        bound = self.problem.K * 2.0**-24
        assert np.all(np.abs(c - a @ b) <= bound / (1 - bound) * (np.abs(a) @ np.abs(b))), self.problem
        padding = np.ones(self.c.buffer.shape, dtype=bool)
        np.lib.stride_tricks.as_strided(padding, c.shape, (self.c.leading, 1))[...] = False
        assert np.isnan(self.c.buffer[padding]).all()


def make(problem: Problem, pads: tuple[int, int, int] = (0, 0, 0), offsets: tuple[int, int, int] = (0, 0, 0)) -> Product:
    draw = np.random.default_rng(problem.M + problem.N + problem.K)
    a = draw.standard_normal((problem.M, problem.K), dtype=np.float32)
    b = draw.standard_normal((problem.K, problem.N), dtype=np.float32)
    c = np.full((problem.M, problem.N), UNWRITTEN)
    matrices = zip((a, b, c), (*problem.layout, "r"), pads, offsets, strict=True)
    return Product(problem, *(stored(values, order, pad, offset) for values, order, pad, offset in matrices))


def halves(tiling: Tiling, problem: Problem, whole: int = 0) -> Cut:
    """A cut whose shares are about half a tile each, and begin and end within tiles."""
    work = (tile_count(tiling.tiles.tile, problem) - whole) * step_count(tiling.tiles.tile, problem)
    share = max(1, step_count(tiling.tiles.tile, problem) // 2 + 1)
    return Cut(whole, -(-work // share), share)


def whole(tiling: Tiling, problem: Problem) -> Cut:
    return Cut(tile_count(tiling.tiles.tile, problem), 0, 0)


QUICK = (("narrow", "rc"), ("small", "rc"), ("middle", "rc"), *(("tiny", layout) for layout in LAYOUTS))
"""Tilings that are compiled for this CPU in two seconds; the larger a thread tile, the longer."""


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        pytest.param(name, layout, marks=() if (name, layout) in QUICK else pytest.mark.slow)
        for name in TILINGS
        for layout in LAYOUTS
    ],
)
def test_tiles_are_right_round_their_edges(name: str, layout: Layout) -> None:
    tiling, tile = TILINGS[name], TILINGS[name].tiles.tile
    for sizes, pads, offsets in (
        ((tile.BM, tile.BN, tile.BK), (0, 0, 0), (0, 0, 0)),
        ((tile.BM + 1, tile.BN - 1, 3 * tile.BK + 1), (3, 1, 2), (1, 2, 3)),
        ((tile.BM - 4, tile.BN + 4, 5 * tile.BK - 1), (4, 4, 4), (0, 0, 0)),
        ((1, 1, 1), (0, 0, 0), (0, 0, 1)),
    ):
        product = make(Problem(*sizes, layout=layout), pads, offsets)
        product.run(product.tiled(tiling, whole(tiling, product.problem)))
        product.assert_right()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tiles_cut_along_k_are_right(layout: Layout) -> None:
    problem = Problem(70, 130, 165, layout=layout)
    for tiling in (SMALL, TINY) if layout == "rc" else (TINY,):
        tiles = tile_count(tiling.tiles.tile, problem)
        for first in (0, 1, tiles - 1):
            product = make(problem, (0, 0, 3))
            product.run(product.tiled(tiling, halves(tiling, problem, first)))
            product.assert_right()


def test_shares_of_more_than_a_tile_store_whole_ones_themselves() -> None:
    problem = Problem(64, 320, 48)
    product = make(problem)
    product.run(product.tiled(SMALL, Cut(1, 3, 5)))  # 4 tiles of 3 k-steps: shares of a tile and two thirds
    product.assert_right()


def test_same_bits_whatever_runs_first() -> None:
    problem = Problem(65, 100, 150, layout="rc")
    cut = halves(TINY, problem)
    found = []
    for threads, seed in ((1, 0), (2, 1), (2, 7)):
        product = make(problem)
        found.append(product.run(product.tiled(TINY, cut), threads, seed))
    assert all(np.array_equal(found[0], each) for each in found[1:])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [1, 3, pytest.param(16, marks=pytest.mark.slow)])
def test_few_rows_or_columns_are_right(rows: int, layout: Layout, h200: Device) -> None:
    for lines, K, pads, offsets, splits in (
        (140, 260, (0, 0, 0), (0, 0, 0), 1),
        (37, 257, (1, 3, 2), (1, 2, 3), 3),
        (rows, 5, (0, 0, 0), (0, 0, 0), 1),
    ):
        for M, N in ((rows, lines), (lines, rows)):
            problem = Problem(M, N, K, layout=layout)
            product, few = make(problem, pads, offsets), share_out(problem, h200)
            chunk = -(-K // (4 * splits)) * 4
            product.run(product.few(Few(few.S, few.R, few.line_warps, few.unroll, -(-K // chunk), chunk)))
            product.assert_right()


@pytest.mark.parametrize(
    ("count", "names"), [(8, ["tiny"]), pytest.param(24, ["tiny", "narrow", "small"], marks=pytest.mark.slow)]
)
def test_random_problems(count: int, names: list[str], h200: Device) -> None:
    draw = random.Random(11)
    for _ in range(count):
        M, N, K = (draw.choice((draw.randint(1, 40), draw.randint(1, 150), 64, 128)) for _ in range(3))
        problem = Problem(M, N, K, layout=draw.choice(LAYOUTS))
        pads, offsets = ([draw.choice((0, 0, 1, 4, 7)) for _ in range(3)] for _ in range(2))
        product = make(problem, (pads[0], pads[1], pads[2]), (offsets[0], offsets[1], offsets[2]))
        if min(problem.M, problem.N) <= 16 and draw.random() < 0.5:
            product.run(product.few(share_out(problem, h200)))
        else:
            tiling = TILINGS[draw.choice(names)]
            cut = draw.choice((whole, halves, lambda tiling, problem: estimate_tiled(tiling, problem, h200).cut))
            product.run(product.tiled(tiling, cut(tiling, problem)))
        product.assert_right()


@pytest.mark.parametrize("name", TILINGS)
@pytest.mark.parametrize("sizes", [(4096, 4096, 4096), (8192, 8192, 8192), (64, 64, 131_072), (512, 28_672, 4096), (1, 1, 1)])
def test_cuts_cover_every_step_once(name: str, sizes: tuple[int, int, int], h200: Device) -> None:
    problem, tile = Problem(*sizes), TILINGS[name].tiles.tile
    cut = estimate_tiled(TILINGS[name], problem, h200).cut
    work = (tile_count(tile, problem) - cut.whole) * step_count(tile, problem)
    assert cut.shares == (-(-work // cut.share) if work else 0)


def test_nan_and_infinity_spread_as_ieee_says() -> None:
    product = make(Problem(41, 43, 45), (2, 2, 2))
    a, b = product.a.values, product.b.values
    a[3, 5], a[7, 44], b[0, 11], b[44, 2] = np.nan, np.inf, -np.inf, 0.0
    result = product.run(product.tiled(TINY, halves(TINY, product.problem)))
    with np.errstate(invalid="ignore"):
        exact = a.astype(np.float64) @ b.astype(np.float64)
    finite = np.isfinite(exact)
    assert np.isnan(result[7, 2])
    assert np.isnan(result[3]).all()
    np.testing.assert_array_equal(result[~finite], exact[~finite].astype(np.float32))
    np.testing.assert_allclose(result[finite], exact[finite], atol=1e-4)


@pytest.fixture
def h200() -> Device:
    return find_device("h200")
