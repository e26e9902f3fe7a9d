"""The fp32 products that matmul runs on a GPU: tiles for the many, and two kernels for products of few rows or columns.

Sources, launch shapes and every constraint; which of them a product gets, and with what cut, is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from tilewise.core.launch import Dim3, Slot
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.core.source import KernelSource
from tilewise.hw.banks import WORD_BYTES
from tilewise.kernels.ladder import VECTOR
from tilewise.kernels.source import CUDA_FOLDER

FOLDER = CUDA_FOLDER / "fp32"
LEAST_FOR_TILES = (8, 0)
"""The compute capability that has cp.async."""
PAD = 4
"""Words a row of a transposed tile. The twin of PAD in copies.cuh."""
WARP_LANES = 32
LANES_DOWN, LANES_ACROSS = 4, 8
"""Of a warp in tiled.cu."""
SUM_WORDS = 1024
"""Of a tile, that a block of sum_parts adds."""
SUM_THREADS = 256
SPLIT_THREADS = 128
"""Of a block of sum_splits."""
FEW = 16
"""Most rows, or columns, that dot and columns take."""
FEW_THREADS = 256
LONGEST = 2**30
"""K at the most of dot and columns, which count it in 32 bits."""
COLUMNS_WIDTH = 128
"""Lines a block of columns.cu."""
MOST_SHARED_STEPS = 2**30
"""k-steps of all tiles that are cut, which the kernel counts in 32 bits."""

Word = Slot | int


@dataclass(frozen=True, slots=True)
class Tiles:
    """How tiled.cu is built."""

    tile: TilePlan
    stages: int
    """Tiles in shared memory at a time."""
    blocks_per_sm: int
    """What registers are shared out for."""
    copy_parts: int = 1
    """Into how many parts a k-step's copies are taken apart, to stand among its multiply-adds, where single words are copied."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How tiles go to blocks: the first `whole` one each, the others in `shares` of `share` k-steps each, cut along k."""

    whole: int
    shares: int
    share: int

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.whole + self.shares


@dataclass(frozen=True, slots=True)
class Call:
    """A launch without its module: what is built, and with which arguments it runs."""

    file: str
    """In cuda/fp32."""
    header: str
    """The text of plan.cuh."""
    kernel: str
    grid: Dim3
    block: Dim3
    args: tuple[Word, ...]
    dynamic_shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """An operand or the result in memory; `vectors` where it and its lines begin at multiples of 16 bytes."""

    at: Word
    leading: int
    vectors: bool


@dataclass(frozen=True, slots=True)
class Few:
    """How a product of few rows is shared out: outputs a thread S x R, warps along lines, and splits of k."""

    S: int
    R: int
    line_warps: int
    unroll: int
    splits: int
    chunk: int
    """k of one split."""


def fp32_source(file: str, header: str) -> KernelSource:
    """Return the source of a call."""
    path = FOLDER / file
    return KernelSource(
        text=path.read_text(encoding="utf-8"),
        name=str(path),
        headers=MappingProxyType({"plan.cuh": header}),
        include_paths=(FOLDER, CUDA_FOLDER),
    )


def threads(tile: TilePlan) -> int:
    """Return the threads of a block of tiled.cu."""
    return WARP_LANES * (tile.BM // (LANES_DOWN * tile.TM)) * (tile.BN // (LANES_ACROSS * tile.TN))


def tile_count(tile: TilePlan, problem: Problem) -> int:
    """Return the tiles of C."""
    return -(-problem.M // tile.BM) * -(-problem.N // tile.BN)


def step_count(tile: TilePlan, problem: Problem) -> int:
    """Return the k-steps of a tile."""
    return -(-problem.K // tile.BK)


def shared_bytes(tile: TilePlan, stages: int, layout: str) -> int:
    """Return the bytes of shared memory a block of tiled.cu takes."""
    rows = tile.BM + (PAD if layout[0] == "r" else 0) + tile.BN + (PAD if layout[1] == "c" else 0)
    return WORD_BYTES * stages * tile.BK * rows


def parts_words(tile: TilePlan, cut: Cut) -> int:
    """Return the float32 numbers of workspace that a cut takes: two parts of a tile a share."""
    return 2 * cut.shares * tile.BM * tile.BN


def tiled_calls(tiles: Tiles, cut: Cut, problem: Problem, a: Place, b: Place, c: Place, parts: Word) -> list[Call]:
    """Return the launches of C = A B by tiles; `parts` is where parts of tiles go, anything without shares."""
    tile = tiles.tile
    header = _tiled_header(tiles, problem, a, b)
    sizes = (problem.M, problem.N, problem.K)
    calls = [
        Call(
            "tiled.cu",
            header,
            "gemm",
            (cut.blocks, 1, 1),
            (threads(tile), 1, 1),
            (a.at, b.at, c.at, *sizes, a.leading, b.leading, c.leading, parts, cut.whole, max(1, cut.share)),
            shared_bytes(tile, tiles.stages, problem.layout),
        )
    ]
    if cut.shares:
        pieces = (tile_count(tile, problem) - cut.whole) * (tile.BM * tile.BN // SUM_WORDS)
        arguments = (parts, c.at, *sizes, c.leading, cut.whole, cut.share)
        calls.append(Call("sum_parts.cu", _sum_header(tile), "sum_parts", (pieces, 1, 1), (SUM_THREADS, 1, 1), arguments))
    return calls


def tiled_objections(tile: TilePlan, problem: Problem, capability: tuple[int, int]) -> tuple[str, ...]:
    """Return a sentence for each reason why tiled.cu does not run a problem on a GPU of that compute capability."""
    found = []
    if capability < LEAST_FOR_TILES:
        have = "{}.{}".format(*capability)
        found.append(f"its cp.async needs compute capability 8.0, and the device has {have}: r05 runs there.")
    if problem.K == 0:
        found.append("K = 0 leaves no k-step: r02 stores the zeros.")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Short:
    """A product of few rows or columns in the terms of dot and columns: Y = X W^T, or its transpose."""

    rows: int
    lines: int
    K: int
    k_runs: bool
    """Whether k runs along memory in the long operand, W."""
    is_left: bool
    """Whether X is A."""


def as_short(problem: Problem) -> Short:
    """Return the problem with its shorter side of C as rows."""
    is_left = problem.M <= problem.N
    if is_left:
        return Short(problem.M, problem.N, problem.K, not problem.b_row_major, is_left)
    return Short(problem.N, problem.M, problem.K, problem.a_row_major, is_left)


def few_objections(problem: Problem, k_runs: bool) -> tuple[str, ...]:
    """Return a sentence for each reason why dot (`k_runs`) or columns does not run a problem."""
    short = as_short(problem)
    found = []
    if short.rows > FEW:
        found.append(f"C has {short.rows} rows and columns or more, and the kernel takes at most {FEW} of one of them.")
    if short.k_runs != k_runs:
        kernel, other = ("dot", "columns") if k_runs else ("columns", "dot")
        found.append(f"{kernel} reads the longer operand the other way round: {other} is for layout {problem.layout!r}.")
    if problem.K == 0:
        found.append("K = 0 leaves nothing to read: r02 stores the zeros.")
    if problem.K > LONGEST:
        found.append(f"K = {problem.K} is more than the {LONGEST} that the kernel counts: fp32 takes any.")
    return tuple(found)


def few_blocks(short: Short, few: Few) -> int:
    """Return the blocks along lines."""
    return -(-short.lines // (few.line_warps * few.R if short.k_runs else COLUMNS_WIDTH))


def few_calls(few: Few, problem: Problem, a: Place, b: Place, c: Place, parts: Word) -> list[Call]:
    """Return the launches of a product of few rows or columns; `parts` is where the sums of splits go, anything with one."""
    short = as_short(problem)
    w, x = (b, a) if short.is_left else (a, b)
    x_order = problem.layout[0] if short.is_left else "rc"[problem.layout[1] == "r"]  # as X is stored: "r" has rows along k
    x_row, x_k = (x.leading, 1) if x_order == "r" else (1, x.leading)
    y = (1, c.leading) if short.is_left else (c.leading, 1)  # from line to line, and from row to row
    vectors = w.vectors and (x_k == 1 and x.vectors if short.k_runs else short.lines % VECTOR == 0)
    split = few.splits > 1
    target, strides = (parts, (1, short.lines)) if split else (c.at, y)
    calls = [
        Call(
            "dot.cu" if short.k_runs else "columns.cu",
            _few_header(few, vectors),
            "gemm",
            (few_blocks(short, few), few.splits, 1),
            (FEW_THREADS, 1, 1),
            (w.at, x.at, target, short.lines, short.rows, short.K, w.leading, x_row, x_k, *strides, few.chunk),
        )
    ]
    if split:
        grid = (-(-short.lines * short.rows // SPLIT_THREADS), 1, 1)
        arguments = (parts, c.at, short.lines, short.rows, *y, few.splits)
        calls.append(Call("sum_splits.cu", "", "sum_splits", grid, (SPLIT_THREADS, 1, 1), arguments))
    return calls


def _tiled_header(tiles: Tiles, problem: Problem, a: Place, b: Place) -> str:
    a_width = VECTOR if not problem.a_row_major and a.vectors and problem.M % VECTOR == 0 else 1
    b_width = VECTOR if problem.b_row_major and b.vectors and problem.N % VECTOR == 0 else 1
    tile = tiles.tile
    numbers = {
        "BM": tile.BM,
        "BN": tile.BN,
        "BK": tile.BK,
        "TM": tile.TM,
        "TN": tile.TN,
        "STAGES": tiles.stages,
        "BLOCKS_PER_SM": tiles.blocks_per_sm,
        "COPY_PARTS": tiles.copy_parts,
        "A_WIDTH": a_width,
        "B_WIDTH": b_width,
    }
    return _header(numbers, {"A_ROW_MAJOR": problem.a_row_major, "B_ROW_MAJOR": problem.b_row_major})


def _sum_header(tile: TilePlan) -> str:
    return _header({"BM": tile.BM, "BN": tile.BN, "BK": tile.BK}, {})


def _few_header(few: Few, vectors: bool) -> str:
    numbers = {"S": few.S, "R": few.R, "LINE_WARPS": few.line_warps, "UNROLL": few.unroll}
    return _header(numbers, {"VECTORS": vectors})


def _header(numbers: dict[str, int], truths: dict[str, bool]) -> str:
    lines = [f"constexpr int {name} = {value};" for name, value in numbers.items()]
    lines += [f"constexpr bool {name} = {str(value).lower()};" for name, value in truths.items()]
    return "\n".join(["#pragma once", "", "namespace plan {", "", *lines, "", "}  // namespace plan", ""])
