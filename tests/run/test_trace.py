"""`tilewise trace`: what one thread sees at a line, against NumPy's account of the same thread."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commanding import Tilewise, Write
from others_kernels import MATMUL

import tilewise as package

LOADS, PRODUCT = "10-11", "13"
"""Lines of MATMUL as STATED: the copies of the tiles, and the product of two of their elements."""
STATED = (
    "// tilewise: --grid n/16,n/16 --block 16,16 --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=64\n"
)
ARCHS = ["sm_75", "sm_90a", "sm_100", "sm_120"]


@pytest.fixture
def matmul(write: Write) -> Path:
    return write(STATED + MATMUL)


@pytest.fixture
def operands(tilewise: Tilewise, matmul: Path, tmp_path: Path) -> tuple[Any, Any]:
    """A and B, as `tilewise run` fills them."""
    tilewise("run", matmul, "--out", f"A={tmp_path}/a.npy", "--out", f"B={tmp_path}/b.npy")
    return np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy")


def accesses(report: Any, place: str) -> list[tuple[str, str, Any]]:
    """Kind, place and value of the accesses to an array, in order."""
    found = [step["access"] for steps in report["passes"] for step in steps if step["access"]]
    return [(one["kind"], one["place"], one["values"][0]) for one in found if one["place"].startswith(f"{place}[")]


def named(report: Any, role: str, name: str) -> list[Any]:
    return [value["value"] for steps in report["passes"] for step in steps for value in step[role] if value["name"] == name]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("build", ["unoptimised", "optimised"])
def test_tiles_are_copied_step_by_step(
    tilewise: Tilewise, matmul: Path, operands: tuple[Any, Any], arch: str, build: str
) -> None:
    """Thread (5, 3) of block (1, 2) copies A[35, k0+5] and B[k0+3, 21] to a[3][5] and b[3][5], for k0 = 0, 16, 32, 48."""
    a, b = operands
    where = ["--block", "1,2", "--thread", "5,3", "--arch", arch, "--build", build]
    report = tilewise.json("trace", matmul, *where, "--line", LOADS)
    steps = range(0, 64, 16)
    assert accesses(report, "A") == [("load", f"A[35, {k0 + 5}]", pytest.approx(a[35, k0 + 5])) for k0 in steps]
    assert accesses(report, "B") == [("load", f"B[{k0 + 3}, 21]", pytest.approx(b[k0 + 3, 21])) for k0 in steps]
    assert accesses(report, "a") == [("store", "a[53]", pytest.approx(a[35, k0 + 5])) for k0 in steps]
    assert accesses(report, "b") == [("store", "b[53]", pytest.approx(b[k0 + 3, 21])) for k0 in steps]
    assert report["has_names"] is (build == "unoptimised")
    if build == "unoptimised":
        assert len(report["passes"]) == 4
        assert list(dict.fromkeys(named(report, "reads", "k0"))) == list(steps)
        assert set(named(report, "reads", "r")) == {35}
        assert set(named(report, "reads", "c")) == {21}


@pytest.mark.parametrize("arch", ARCHS)
def test_sum_grows_product_by_product(tilewise: Tilewise, matmul: Path, operands: tuple[Any, Any], arch: str) -> None:
    a, b = operands
    report = tilewise.json("trace", matmul, "--block", "1,2", "--thread", "5,3", "--line", PRODUCT, "--arch", arch)
    sums = np.cumsum(a[35].astype(np.float64) * b[:, 21])
    seen = list(dict.fromkeys(named(report, "writes", "s")))
    assert [value for value in seen if value] == pytest.approx(sums.tolist(), rel=1e-4, abs=1e-4)
    loads = accesses(report, "a")
    assert [place for _, place, _ in loads] == 4 * [f"a[{16 * 3 + k}]" for k in range(16)]
    assert [value for _, _, value in loads] == pytest.approx(a[35].tolist())


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100"])
def test_rung_is_followed_past_the_edge(tilewise: Tilewise, arch: str, tmp_path: Path) -> None:
    """r03's thread (3, 7) of block (1, 0) copies A[7, k0+3] while k0 + 3 < K = 70, and zeros past it."""
    rung = Path(str(files("tilewise.kernels"))) / "cuda" / "rungs" / "r03_smem_tile.cu"
    line = next(number for number, text in enumerate(rung.read_text().splitlines(), 1) if "a_tile[a_row][a_k] =" in text)
    arguments = ["A=f32[m,k]:normal", "B=f32[k,n]:normal", "C=f32[m,n]", "m=40", "n=50", "k=65", "lda=k", "ldb=n", "ldc=n"]
    facts: list[str | Path] = [
        "--grid",
        "2,2",
        *(word for text in arguments for word in ("--arg", text)),
        "-I",
        rung.parent.parent,
        "--arch",
        arch,
    ]
    tilewise("run", rung, "--block", "32,32", *facts, "--out", f"A={tmp_path}/a.npy")
    a = np.load(tmp_path / "a.npy")
    where = ["--block", "1,0", "--thread", "3,7", "--line", str(line), "--block-size", "32,32"]
    report = tilewise.json("trace", rung, *where, *facts)
    assert accesses(report, "A") == [("load", f"A[7, {k}]", pytest.approx(a[7, k])) for k in (3, 35)]
    stores = accesses(report, "a_tile")
    assert [value for _, _, value in stores] == pytest.approx([a[7, 3], a[7, 35], 0])
    assert len({place for _, place, _ in stores}) == 1


LOCAL = """struct Pair { float a; int b; };
__global__ void k(float* out, Pair pair, int n) {
  float kept[4];
  for (int i = 0; i < n; ++i) kept[i & 3] = pair.a * i;
  float last = kept[n & 3];
  if (threadIdx.x >= 40)
    last = -1;
  out[threadIdx.x] = last;
}
"""
LOCAL_FACTS = ["--grid", "1", "--block-size", "48", "--arg", "out=f32[48]", "--arg", "pair=f32[2]:full(1.5)", "--arg", "n=6"]


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100"])
def test_array_in_local_memory_has_its_name(tilewise: Tilewise, write: Write, arch: str) -> None:
    report = tilewise.json("trace", write(LOCAL), *LOCAL_FACTS, "--thread", "33", "--line", "4", "--arch", arch)
    assert accesses(report, "kept") == [("store", f"kept[{i % 4}]", 1.5 * i) for i in range(6)]
    report = tilewise.json("trace", write(LOCAL), *LOCAL_FACTS, "--thread", "33", "--line", "5", "--arch", arch)
    assert accesses(report, "kept") == [("load", "kept[2]", 3.0)]
    assert named(report, "writes", "last") == [3.0]


def test_line_that_only_other_threads_reach_is_silent(tilewise: Tilewise, write: Write) -> None:
    command: list[str | Path] = ["trace", write(LOCAL), *LOCAL_FACTS, "--line", "7"]
    assert tilewise.json(*command, "--thread", "39")["passes"] == []
    assert "the thread does not come here" in tilewise(*command, "--thread", "39")
    assert set(named(tilewise.json(*command, "--thread", "40"), "writes", "last")) == {-1}


INLINED = """__device__ __forceinline__ float shifted(const float* x, int i) {
  return x[i + 1];
}
__global__ void k(float* out, const float* x) {
  out[threadIdx.x] = shifted(x, threadIdx.x);
}
"""


@pytest.mark.parametrize("line", ["2", "5"])
def test_line_of_an_inlined_function_and_of_its_call_are_both_found(tilewise: Tilewise, write: Write, line: str) -> None:
    facts = ["--grid", "1", "--block-size", "4", "--arg", "out=f32[4]", "--arg", "x=f32[5]:arange", "--thread", "2"]
    report = tilewise.json("trace", write(INLINED), *facts, "--line", line, "--build", "optimised")
    assert accesses(report, "x") == [("load", "x[3]", 3.0)]
    assert accesses(report, "out") == ([("store", "out[2]", 3.0)] if line == "5" else [])


def test_ptx_without_source_lines_is_followed_by_its_own(tilewise: Tilewise, write: Write) -> None:
    ptx = package.compile('extern "C" __global__ void k(int* x) { x[threadIdx.x] = 42; }', "k.cu").ptx
    bare = "\n".join(line for line in ptx.splitlines() if ".loc" not in line and ".file" not in line)
    line = next(number for number, text in enumerate(bare.splitlines(), 1) if "st.global" in text)
    facts = ["--grid", "1", "--block-size", "4", "--arg", "x=s32[4]", "--thread", "3"]
    report = tilewise.json("trace", write(bare, "k.ptx"), *facts, "--line", str(line))
    assert [step["access"]["place"] for steps in report["passes"] for step in steps] == ["x[3]"]


def test_words_show_each_pass_with_its_variables(tilewise: Tilewise, matmul: Path) -> None:
    shown = tilewise("trace", matmul, "--block", "1,2", "--thread", "5,3", "--line", "10")
    assert "mm, block 1,2,0, thread 5,3,0" in shown
    assert f"{matmul}:10: a[ty][tx] = A[r * n + k0 + tx];" in shown
    words = " ".join(shown.split())
    assert re.search(r" 2 r = 35 n = 64 k0 = 16 tx = 5 A = &A\[0, 0\] load A\[35, 21\] = \S+ ty = 3 store a\[53\] = ", words)
    assert "%" not in words
    assert "%rd" in tilewise("trace", matmul, "--line", "10", "--registers")
    assert "%rd" in tilewise("trace", matmul, "--line", "10", "--build", "optimised")


def test_each_line_of_a_pass_begins_anew(tilewise: Tilewise, matmul: Path) -> None:
    shown = tilewise("trace", matmul, "--block", "1,2", "--thread", "5,3", "--line", "10", "--line", "16")
    assert re.findall(r"^(\d+|) +(10:|16:)", shown, re.MULTILINE) == [*((str(one), "10:") for one in range(1, 5)), ("", "16:")]


def test_lines_of_another_kernel_are_not_this_ones(tilewise: Tilewise, write: Write) -> None:
    file = write(STATED + MATMUL + 'extern "C" __global__ void other(int* x) {\n  x[0] = 1;\n}\n')
    assert "no instruction stands at line 19: the nearest lines with some are 14, 16, 17" in tilewise(
        "trace", file, "--kernel", "mm", "--line", "19", code=2
    )


def test_limit_ends_the_trace_and_says_so(tilewise: Tilewise, matmul: Path) -> None:
    report = tilewise.json("trace", matmul, "--line", PRODUCT, "--limit", "10")
    assert sum(map(len, report["passes"])) == 10
    assert "only the first 10 runs of an instruction are shown" in report["ended"]


def test_faults_end_the_trace_and_what_was_seen_is_shown(tilewise: Tilewise, matmul: Path) -> None:
    shown = tilewise("trace", matmul, "--line", "10", "--arg", "A=f32[n]:normal", "--thread", "3,1")
    assert "load address 0x" in shown
    assert "out of bounds" in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--line", "6000"], "no instruction stands at line 6000: the nearest lines with some are"),
        (["--line", "4"], "the nearest lines with some are"),
        (["--line", "x.cuh:3"], "no instruction stands at line x.cuh:3: no such file is part of the kernel"),
        (["--line", "0"], "--line '0' names no lines"),
        (["--line", "9-7"], "--line '9-7' names no lines"),
        (["--line", "1-99999"], "--line '1-99999' names no lines"),
        (["--line", "ten"], "--line 'ten' names no lines: give such as 21, 17-20 or tile.cuh:9"),
        (["--line", "10", "--block", "4,0"], "block (4, 0, 0) is not one of 4 x 4 x 1"),
        (["--line", "10", "--thread", "0,16"], "thread (0, 16, 0) is not one of 16 x 16 x 1"),
        (["--line", "10", "--thread", "-1"], "--thread '-1' is no place"),
        (["--line", "10", "--block", "1;2"], "--block '1;2' is no place"),
        (["--line", "10", "--limit", "0"], "--limit 0 is not a number of instructions"),
        (["--line", "10", "--kernel", "nn"], "no kernel 'nn'"),
        (["--line", "10", "--block-size", "x"], "--block, column 1"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_words(tilewise: Tilewise, matmul: Path, options: list[str], said: str) -> None:
    assert said in tilewise("trace", matmul, *options, code=2)


def test_file_without_facts_says_what_is_missing(tilewise: Tilewise, write: Write) -> None:
    assert "the launch has no --grid and --block" in tilewise("trace", write(MATMUL), "--line", "9", code=2)
