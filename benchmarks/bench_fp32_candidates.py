"""Time every build and cut of the fp32 kernels that could serve a product, in turns with cuBLAS: what cost/fp32.py is fitted to.

    python benchmarks/bench_fp32_candidates.py [--suite square,odd | --shapes FILE] [--seconds 600] [--output FILE]

Builds all in parallel first. A candidate's result is checked in float64 before it is timed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem
from tilewise.cost.fp32 import SHARINGS, possible_cuts, share_out
from tilewise.engine.bench import versions
from tilewise.engine.built import build_fp32
from tilewise.engine.gpu_operands import GpuOperands
from tilewise.engine.matmul_gpu import make_ready
from tilewise.engine.operands import WORD_BYTES
from tilewise.engine.peers import open_peers, true_float32
from tilewise.engine.rules import Candidate
from tilewise.engine.suites import load_shapes, load_suites
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import Gpu, open_gpu
from tilewise.gpu.memory import Memory
from tilewise.gpu.timing import Effort, Work, time_interleaved
from tilewise.hw.device import Device
from tilewise.kernels.fp32 import FEW, Cut, Few, Place, Tiles, as_short, few_calls, threads, tiled_calls

EFFORT = Effort(round_seconds=5e-4, total_seconds=0.2, least_rounds=5, most_rounds=15)
KEPT = 24
"""Candidates of a product that the result has: the fastest."""
LARGE_FLOPS = 4e10
"""Products of more are timed with tiles of 128 x 128 and more alone, smaller ones also with others."""


def tiles(bm: int, bn: int, bk: int, tm: int, tn: int, stages: int, blocks: int, parts: int) -> Tiles:
    """A build of tiled.cu, in a line."""
    return Tiles(TilePlan(bm, bn, bk, tm, tn), stages, blocks, parts)


LARGE = (
    tiles(256, 128, 8, 16, 8, 4, 1, 4),
    tiles(256, 128, 8, 16, 8, 4, 1, 1),
    tiles(128, 256, 8, 8, 16, 4, 1, 4),
    tiles(128, 128, 8, 16, 8, 4, 2, 1),
    tiles(128, 128, 8, 16, 8, 4, 2, 2),
    tiles(128, 128, 8, 16, 8, 4, 2, 8),
    tiles(128, 128, 8, 8, 16, 4, 2, 2),
    tiles(64, 128, 8, 16, 8, 4, 4, 4),
)
SMALL = (
    tiles(64, 128, 8, 8, 8, 4, 4, 1),
    tiles(64, 128, 8, 8, 8, 4, 4, 2),
    tiles(64, 128, 8, 8, 8, 4, 4, 4),
    tiles(64, 128, 16, 8, 8, 2, 4, 1),
    tiles(64, 128, 16, 8, 8, 3, 3, 1),
    tiles(64, 64, 8, 8, 8, 4, 8, 2),
    tiles(64, 64, 16, 8, 8, 3, 6, 1),
    tiles(64, 64, 16, 4, 4, 3, 3, 1),
    tiles(64, 64, 16, 4, 4, 3, 3, 4),
    tiles(64, 64, 16, 8, 4, 3, 4, 1),
    tiles(32, 128, 16, 4, 8, 2, 4, 1),
    tiles(32, 128, 8, 8, 8, 4, 8, 2),
    tiles(32, 64, 16, 4, 4, 4, 6, 1),
    tiles(32, 32, 16, 4, 4, 4, 8, 1),
    tiles(32, 32, 8, 4, 4, 6, 8, 1),
)


def main() -> None:
    """Build, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", help="as of `tilewise bench`; all by default")
    parser.add_argument("--shapes", type=Path, help="a file of products, as of `tilewise bench`")
    parser.add_argument("--seconds", type=float, default=600.0, help="no product is begun after so many")
    parser.add_argument("--output", type=Path, default=Path("fp32_candidates.json"))
    arguments = parser.parse_args()
    started, gpu, device, peers = time.monotonic(), open_gpu(0), device_of(0), open_peers(["cublas"])
    suites = arguments.suite.split(",") if arguments.suite else None
    shapes = load_shapes(arguments.shapes) if arguments.shapes else load_suites(suites)
    work = [(shape.problem, list(candidates(shape.problem, device))) for shape in shapes]
    build(work, device)
    print(f"built in {time.monotonic() - started:.0f} s", flush=True)
    result: dict[str, Any] = {
        "device": gpu.name,
        "date": time.strftime("%Y-%m-%d"),
        "command": " ".join(["python", *sys.argv]),
        "versions": versions(gpu, peers),
        "rows": [],
    }
    with true_float32(peers):
        for problem, choices in work:
            if time.monotonic() - started > arguments.seconds:
                print("out of time")
                break
            result["rows"].append(measure(gpu, device, problem, choices))
            arguments.output.write_text(as_text(result), encoding="utf-8")


def candidates(problem: Problem, device: Device) -> Iterator[Candidate]:
    """All that could serve a product: tiles with their cuts, and for few rows dot or columns."""
    short = as_short(problem)
    if short.rows <= FEW:
        for few in fews(problem, device):
            yield Candidate(
                "dot" if short.k_runs else "columns", TilePlan(few.S, few.R, few.chunk, few.S, few.R), "", 0.0, few=few
            )
        return
    for each in LARGE if problem.flops > LARGE_FLOPS else LARGE + SMALL:
        if 2 * max(32, problem.M) >= each.tile.BM and 2 * max(32, problem.N) >= each.tile.BN:
            for cut in possible_cuts(each, problem, device):
                yield Candidate("fp32", each.tile, "", 0.0, tiles=each, cut=cut)


def fews(problem: Problem, device: Device) -> Iterator[Few]:
    """How a product of few rows could be shared out: as planned, with other warps along lines, passes and splits."""
    planned = share_out(problem, device)
    yield planned
    if as_short(problem).k_runs:
        for R, line_warps, unroll in {(each.R, each.line_warps, each.unroll) for each in SHARINGS.values()}:
            if planned.S * R <= 128 and planned.S * unroll * R <= 256:
                yield from (few for few in (replace(planned, R=R, line_warps=line_warps, unroll=unroll),) if few != planned)


def build(work: Sequence[tuple[Problem, Sequence[Candidate]]], device: Device) -> None:
    """Compile what the candidates need, on all cores, into the cache on disk."""
    calls = {call for problem, choices in work for candidate in choices for call in builds(problem, candidate)}
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_build, [(*call, device.arch) for call in sorted(calls)], chunksize=1))


def builds(problem: Problem, candidate: Candidate) -> set[tuple[str, str]]:
    """File and header of each of a candidate's kernels."""
    whole = problem.K % 4 == 0
    a, b = (Place(0, 4, whole if k_runs else side % 4 == 0) for k_runs, side in _sides(problem))
    c = Place(0, 4, problem.N % 4 == 0)
    if candidate.few is not None:
        calls = few_calls(candidate.few, problem, a, b, c, 0)
    else:
        assert candidate.tiles is not None  # of fp32
        assert candidate.cut is not None
        calls = tiled_calls(candidate.tiles, candidate.cut, problem, a, b, c, 0)
    return {(call.file, call.header) for call in calls}


def _sides(problem: Problem) -> tuple[tuple[bool, int], tuple[bool, int]]:
    return (problem.a_row_major, problem.M), (not problem.b_row_major, problem.N)


def _build(what: tuple[str, str, str]) -> None:
    build_fp32(*what)


def measure(gpu: Gpu, device: Device, problem: Problem, choices: Sequence[Candidate]) -> dict[str, Any]:
    """Time one product by each candidate, and print the fastest."""
    operands = GpuOperands(gpu, device, problem)
    (peer,) = open_peers(["cublas"])
    works: dict[str, Work] = {"cublas": peer.make_work(operands)}
    workspaces = []
    for number, candidate in enumerate(choices):
        ready = make_ready(operands.geometries, (0, 0, 0), lambda part, candidate=candidate: candidate)  # type: ignore[misc]  # one argument
        workspace = Memory(gpu, WORD_BYTES * max(1, ready.workspace), operands.stream)
        workspaces.append(workspace)  # for as long as it is timed
        addresses = [(*operands.addresses(each), workspace.address) for each in range(operands.sets)]

        def work(stream: int, number: int, prepared: Any = ready.prepared, addresses: Any = addresses) -> None:
            gpu.enqueue(prepared, stream, addresses[number])

        operands.poison()
        work(operands.stream, 0)
        if not operands.check().correct:
            raise SystemExit(f"{problem}: {describe(candidate)} is wrong")
        works[str(number)] = work
    times = {
        name: 1e6 * timing.spread.median
        for name, timing in time_interleaved(gpu, works, sets=operands.sets, effort=EFFORT).items()
    }
    rows = [describe(candidate) | {"us": round(times[str(number)], 2)} for number, candidate in enumerate(choices)]
    rows.sort(key=lambda row: row["us"])
    name = f"{problem.M}x{problem.N}x{problem.K} {problem.layout}"
    shown = "; ".join(f"{times['cublas'] / row['us']:.3f} {short_name(row)}" for row in rows[:4])
    print(f"{name}: cuBLAS {times['cublas']:.1f} us; {shown}", flush=True)
    sizes = {"m": problem.M, "n": problem.N, "k": problem.K, "layout": problem.layout}
    kept = [row for place, row in enumerate(rows) if place < KEPT]
    return {**sizes, "cublas_us": round(times["cublas"], 2), "candidates": kept}


def as_text(result: dict[str, Any]) -> str:
    """JSON, a candidate a line."""
    *head, rows = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in result.items())
    rows = rows.replace('{"m"', '\n{"m"').replace('{"kernel"', '\n {"kernel"')
    return "{" + ",\n".join([*head, rows]) + "}\n"


def describe(candidate: Candidate) -> dict[str, Any]:
    """A candidate as the result keeps it."""
    tile, few = candidate.tile, candidate.few
    if few is not None:
        shared = {"lines_a_warp": few.R, "line_warps": few.line_warps, "unroll": few.unroll, "splits": few.splits}
        return {"kernel": candidate.kernel, **shared}
    assert candidate.tiles is not None  # of fp32
    assert candidate.cut is not None
    cut: Cut = candidate.cut
    return {
        "kernel": candidate.kernel,
        "tile": f"{tile.BM} x {tile.BN} x {tile.BK}",
        "thread_tile": f"{tile.TM} x {tile.TN}",
        "stages": candidate.tiles.stages,
        "copy_parts": candidate.tiles.copy_parts,
        "threads": threads(tile),
        "cut": [cut.whole, cut.shares, cut.share],
    }


def short_name(row: dict[str, Any]) -> str:
    """A candidate in few letters."""
    if "tile" not in row:
        return "{kernel} R{lines_a_warp} warps{line_warps} u{unroll} /{splits}".format(**row)
    return "{tile} ({thread_tile}) s{stages} p{copy_parts} {cut}".format(**row).replace(" x ", "x")


if __name__ == "__main__":
    main()
