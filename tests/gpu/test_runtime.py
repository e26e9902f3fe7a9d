"""Launches, the check in float64, timing, ladder and bench on a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import tilewise
from tilewise.core.compare import compare
from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch
from tilewise.core.problem import LAYOUTS, Layout, Problem
from tilewise.engine.bench import bench
from tilewise.engine.built import build_rung
from tilewise.engine.choice import choose
from tilewise.engine.gpu_operands import GpuOperands
from tilewise.engine.ladder_gpu import ladder_on_gpu, peak_work, rung_launch
from tilewise.engine.suites import Shape
from tilewise.gpu.device import device_of
from tilewise.gpu.driver import open_gpu
from tilewise.gpu.run import run
from tilewise.gpu.timing import Effort, time_interleaved

pytestmark = pytest.mark.gpu
Floats = npt.NDArray[np.float32]
QUICK = Effort(round_seconds=5e-4, total_seconds=0.02)
NCU_RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "ncu_ladder_h200.json"


def operands(problem: Problem) -> tuple[Floats, Floats, GpuOperands]:
    made = GpuOperands(open_gpu(0), device_of(0), problem, rotate=False)
    random = np.random.default_rng(1)
    a = random.standard_normal((problem.M, problem.K), dtype=np.float32)
    b = random.standard_normal((problem.K, problem.N), dtype=np.float32)
    made.put(a, b)
    return a, b, made


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (127, 129, 131), (128, 128, 128), (257, 64, 1000)])
def test_every_rung_against_float64(sizes: tuple[int, int, int], layout: Layout) -> None:
    problem = Problem(*sizes, layout=layout)
    a, b, made = operands(problem)
    gpu = made.gpu
    for choice in choose(None, made.device):
        made.poison()
        module = build_rung(choice.rung.name, choice.plan, layout, made.device.arch)
        gpu.launch(rung_launch(module, choice, problem), made.stream, made.addresses(0))
        c = np.empty((problem.M, problem.N), np.float32)
        made.arrays(0)[2].memory.copy_to(c)
        on_host, on_gpu = compare(c, a, b), made.check()
        assert on_host.correct, choice.label
        assert on_gpu.wrong == 0
        assert on_gpu.max_relative_error == pytest.approx(on_host.max_relative_error, rel=1e-6)


def test_check_finds_one_wrong_element_among_many() -> None:
    a, b, made = operands(Problem(500, 400, 300))
    c = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    c[499, 399] += 1
    made.arrays(0)[2].memory.copy_from(c)
    assert made.check().wrong == 1


def test_a_launch_on_numpy_arrays() -> None:
    source = (
        'extern "C" __global__ void add(float* to, const double* from, int n) { for (int i = 0; i < n; ++i) to[i] += from[i]; }'
    )
    module = tilewise.compile(source, "add.cu", arch=device_of(0).arch)
    to, source_array = np.ones(8, np.float32), np.arange(8.0)
    run(Launch(module, "add", (1, 1, 1), (1, 1, 1), (to, source_array, 8)))
    np.testing.assert_array_equal(to, np.arange(1, 9))


def test_ptx_runs_where_there_is_no_cubin() -> None:
    major, minor = open_gpu(0).capability
    source = 'extern "C" __global__ void set(int* to) { *to = 7; }'
    module = tilewise.compile(source, "set.cu", arch=f"compute_{major}{minor}")
    if "13.0" not in module.compiler and open_gpu(0).driver_version < (13, 5):
        pytest.skip("the driver may be older than the compiler's PTX")
    to = np.zeros(1, np.int32)
    run(Launch(module, "set", (1, 1, 1), (1, 1, 1), (to,)))
    assert to[0] == 7


def test_clusters_and_much_shared_memory() -> None:
    if open_gpu(0).capability < (9, 0):
        pytest.skip("needs compute capability 9.0")
    source = """
    extern "C" __global__ void ranks(int* to) {
        extern __shared__ int shared[];
        unsigned rank, count;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
        shared[20000] = rank + 10 * count;
        to[blockIdx.x] = shared[20000];
    }
    """
    module = tilewise.compile(source, "ranks.cu", arch=device_of(0).arch)
    to = np.zeros(8, np.int32)
    run(Launch(module, "ranks", (8, 1, 1), (1, 1, 1), (to,), cluster=(4, 1, 1), dynamic_shared_bytes=100_000))
    np.testing.assert_array_equal(to, [40, 41, 42, 43, 40, 41, 42, 43])


FAULT = """
import numpy as np, tilewise
from tilewise.gpu.device import device_of
from tilewise.gpu.run import run
module = tilewise.compile('extern "C" __global__ void bad(int* p) { p[1ll << 40] = 1; }', "bad.cu", arch=device_of(0).arch)
try:
    run(tilewise.Launch(module, "bad", (1, 1, 1), (1, 1, 1), (np.zeros(1, np.int32),)))
except tilewise.TilewiseError as error:
    print(type(error).__name__, error)
"""


def test_a_fault_is_a_sentence_that_points_to_the_emulator() -> None:
    found = subprocess.run([sys.executable, "-c", FAULT], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("KernelFault")
    assert "accessed memory that is not there" in found.stdout


def test_module_of_another_architecture_is_refused() -> None:
    other = "sm_80" if open_gpu(0).capability >= (9, 0) else "sm_90"
    module = tilewise.compile('extern "C" __global__ void nothing() {}', "nothing.cu", arch=other)
    with pytest.raises(TilewiseError, match="compile it for the GPU's own architecture"):
        run(Launch(module, "nothing", (1, 1, 1), (1, 1, 1), ()))


def test_timing_captures_a_graph_and_takes_positive_time() -> None:
    problem = Problem(256, 256, 256)
    made = GpuOperands(open_gpu(0), device_of(0), problem)
    (choice,) = choose(["r07"], made.device) if made.device.compute_capability >= (8, 0) else choose(["r05"], made.device)
    gpu = made.gpu
    prepared = [gpu.prepare(rung_launch(build_rung(choice.rung.name, choice.plan, "rr", made.device.arch), choice, problem))]
    work = {"x": lambda stream, number: gpu.enqueue(prepared, stream, made.addresses(number))}
    timing = time_interleaved(gpu, work, sets=made.sets, effort=QUICK)["x"]
    assert timing.method == "graph"
    assert timing.calls >= made.sets > 10
    assert 1e-7 < timing.spread.low <= timing.spread.median <= timing.spread.high < 1


def test_peak_of_multiply_adds_is_near_the_data_sheet() -> None:
    device = device_of(0)
    work, flops = peak_work(open_gpu(0), device)
    seconds = time_interleaved(open_gpu(0), {"peak": work}, sets=1, effort=QUICK)["peak"].spread.median
    assert 0.5 < flops / seconds / device.fp32_flops_per_s < 1.05


def test_ladder_times_every_rung() -> None:
    rows = ladder_on_gpu(Problem(256, 192, 320, layout="rc"), effort=QUICK)
    assert [row.rung for row in rows] == [choice.rung.name for choice in choose(None, device_of(0))]
    for row in rows:
        assert row.correct
        assert row.tflops == pytest.approx(2 * 256 * 192 * 320 / row.seconds / 1e12)
        assert 0 < row.percent_of_fma_peak < 105


def test_counters_equal_those_of_the_same_rungs_on_an_h200() -> None:
    if device_of(0).key != "h200":
        pytest.skip("the counts were taken on an H200")
    try:
        rows = ladder_on_gpu(Problem(1024, 1024, 1024), rungs=["r03", "r07"], counters=True, effort=QUICK)
    except TilewiseError as error:
        pytest.skip(str(error))
    known = {row["rung"]: row["ncu"] for row in json.loads(NCU_RESULT.read_text())["rows"]}
    for row in rows:
        assert row.counted is not None
        for name in ("global_load_sectors", "global_store_sectors", "fma"):
            assert row.counted[name] == known[row.rung][name], (row.rung, name)


@pytest.mark.parametrize("peer", ["cublas", "cupy", "triton"])
def test_bench_checks_and_times_peers(peer: str) -> None:
    pytest.importorskip("torch" if peer == "cublas" else peer)
    shapes = [Shape("x", Problem(256, 128, 192, layout="rc")), Shape("x", Problem(77, 65, 33, layout="cr"))]
    result = bench(shapes, vs=[peer], effort=QUICK)
    assert [row.problem for row in result.rows] == [("x", 256, 128, 192, "f32", "rc"), ("x", 77, 65, 33, "f32", "cr")]
    for row in result.rows:
        assert row.correct
        assert row.peer_correct
        assert row.lo <= row.ratio <= row.hi
        assert row.method == ("events" if peer == "cupy" else "graph")  # CuPy refuses cuBLAS calls under capture
    assert result.versions["driver"].startswith("CUDA ")
