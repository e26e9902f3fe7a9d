"""What fuzzing feeds to the parts that read what others wrote, and what must hold of each: an answer, or a TilewiseError.

The parts: launch facts and arguments, expectations, and PTX, from its text to a watched run. An input is drawn near the grammar,
or made from a right one with a few changes. What is looked for are crashes and exceptions of other kinds.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tilewise.build.nvrtc import compile_source
from tilewise.core.argument import FILLS
from tilewise.core.dtypes import ALIASES, DTYPES
from tilewise.core.errors import TilewiseError
from tilewise.core.launch_facts import FLAGS, read_comment_facts
from tilewise.core.module import Module
from tilewise.core.source import KernelSource
from tilewise.engine.arguments import whole_numbers
from tilewise.engine.check_call import check
from tilewise.engine.estimate import FUNCTIONS, exact
from tilewise.engine.expect import parse_expectation
from tilewise.engine.filling import plan_shape

Edit = tuple[int, str, int, str]
"""A line of a text, what is done to it (one of ACTIONS), which of its words that is about, and a new word."""
ACTIONS = ("drop", "double", "swap", "word", "word", "word", "insert")

MAX_INSTRUCTIONS = 20_000
"""Warp instructions of a run: mutated code seldom ends by itself."""

KERNEL = """
__device__ __noinline__ int twice(int v) { return v < 40 ? 2 * v : v; }
extern "C" __global__ void k(const float* x, float* y, unsigned* count, int n) {
    __shared__ float tile[2][32];
    float kept[4];
    const int t = threadIdx.x;
    for (int i = 0; i < 4; ++i) kept[i] = x[(t + i * n) & 63];
    for (int step = 0; step < n; ++step) {
        tile[step & 1][t & 31] = kept[step & 3] + twice(t);
        __syncthreads();
        if (t % 3) y[t] += tile[step & 1][31 - (t & 31)] + __shfl_xor_sync(__activemask(), kept[1], 1);
        atomicAdd(count, 1u);
    }
    y[t] = (n & 1) ? kept[n & 3] : __expf(y[t]);
}
"""


PTX_WORDS = (
    *("%r1", "%r2", "%rd1", "%rd2", "%f1", "%p1", "%tid.x", "0", "-1", "4294967295", "0x7fffffffffffffff", "0f7F800000"),
    *(
        ".u32",
        ".s64",
        ".f32",
        ".shared",
        ".global",
        ".local",
        "@%p1 ret;",
        "@!%p1 bra $L__BB0_1;",
        "ret;",
        "trap;",
        "exit;",
        "{",
        "}",
    ),
    *("bar.sync 0;", "bar.sync 1, 64;", "@%p1 bar.arrive 1, 64;", "bar.warp.sync 65535;", "membar.gl;", "activemask.b32 %r1;"),
    *(
        "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1];",
        "st.global.u8 [%rd2], 7;",
        "st.local.u32 [%rd1], %r1;",
        "ld.u64 %rd2, [%rd1];",
    ),
    *(
        "add.s64 %rd2, %rd2, 3;",
        "atom.global.add.u32 %r1, [%rd2], 1;",
        "shfl.sync.idx.b32 %r1|%p1, %r2, 40, 31, 7;",
        "neg.s32 %r2, %r1;",
    ),
    *("cp.async.ca.shared.global [%r1], [%rd2], 4;", "cp.async.wait_all;", "div.s32 %r1, %r2, 0;", ".reg .b32 %r<4>;", "\x00"),
)


# -- texts


def _sequences(pieces: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    return st.lists(pieces, max_size=most).map("".join)


_NAMES = st.sampled_from(["A", "B", "x", "n", "m", "axis", "T", "_", "None", "é"])
_NUMBERS = st.sampled_from(
    ["0", "1", "-1", "3", "8", "9", "64", "0x10", "1.5", "1e308", "1e999", "nan", "9" * 25]
) | st.integers().map(str)


@cache
def expectations() -> st.SearchStrategy[str]:
    """Return texts that are expectations, nearly."""
    leaves = _NAMES | _NUMBERS
    binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "@", "**", "&", "|", "^", "<<", ">>", "<", "==", "and", "if", ","])
    calls = st.sampled_from(sorted(FUNCTIONS)) | _NAMES
    indices = st.sampled_from(["[:]", "[::-1]", "[None, 1:]", "[n]", "[..., 0]", "[:, ::2]", "[x]", ".T", ".shape", ".__class__"])

    def wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return (
            st.tuples(inner, binary, inner).map(" ".join)
            | st.tuples(calls, st.lists(inner, max_size=3)).map(lambda call: f"{call[0]}({', '.join(call[1])})")
            | st.tuples(calls, inner, _NUMBERS).map(lambda call: f"{call[0]}({call[1]}, axis={call[2]}, keepdims=1)")
            | st.tuples(inner, indices).map("".join)
            | inner.map("({})".format)
            | inner.map("-{}".format)
        )

    return st.recursive(leaves, wider, max_leaves=10) | st.text(max_size=60)


@cache
def facts() -> st.SearchStrategy[str]:
    """Return comment lines that are launch facts, nearly."""
    word = st.sampled_from(
        [*FLAGS, *DTYPES, *ALIASES, *FILLS, "n", "A=", "=", "[", "]", "(", ")", ",", ";", ":", "+", "-", "*", "/", "%"]
    )
    other = st.sampled_from([" ", "  ", "'", '"', "\\", "x.npy", "../x.npy", "/x.npy", "\0", "\t", "#"]) | _NUMBERS
    line = _sequences(word | other | word.map(" {} ".format), 24)
    return st.lists(line.map("// tilewise: {}".format) | st.text(max_size=80), max_size=3).map("\n".join)


@cache
def ptx_edits() -> st.SearchStrategy[list[Edit]]:
    """Return a few changes of the lines of a PTX text."""
    edit = st.tuples(
        st.integers(0, 1 << 12), st.sampled_from(ACTIONS), st.integers(0, 7), st.sampled_from(PTX_WORDS) | st.text(max_size=3)
    )
    return st.lists(edit, min_size=1, max_size=4)


def edited(text: str, edits: list[Edit]) -> str:
    """Return a text with the edits made, one after the other."""
    lines = text.splitlines()
    for number, action, place, word in edits:
        at = number % len(lines)
        match action:
            case "drop":
                del lines[at]
            case "double":
                lines.insert(at, lines[at])
            case "swap":
                lines[at], lines[at - 1] = lines[at - 1], lines[at]
            case "insert":
                lines.insert(at, word)
            case _:
                words = re.split(r"([\s,;\[\]]+)", lines[at])
                words[2 * place % len(words)] = word
                lines[at] = "".join(words)
    return "\n".join(lines) + "\n"


# -- what must hold


def read_facts(text: str) -> None:
    """Facts are read, their numbers evaluated and their arrays laid out."""
    with contextlib.suppress(TilewiseError):
        for stated in read_comment_facts(text, "k.cu", Path("/")):
            names = whole_numbers(stated)
            for argument in stated.args:
                shape = getattr(argument.value, "shape", None)
                if shape is not None:
                    plan_shape(argument.value, names)  # type: ignore[arg-type]  # an array has a shape


def evaluate_expectation(text: str) -> None:
    """An expectation is parsed, and evaluated on small arrays."""
    values: dict[str, Any] = {
        "A": np.arange(12.0).reshape(3, 4),
        "B": np.ones((4, 2)),
        "x": np.linspace(-1, 1, 4),
        "n": 3,
        "m": 0,
    }
    with contextlib.suppress(TilewiseError):
        expectation = parse_expectation(text)
        expectation.check_names(values)
        expectation.evaluate({name: exact(np.asarray(value)) for name, value in values.items()})


def check_ptx(edits: list[Edit]) -> None:
    """Changed PTX is checked: parsed, compiled and run, watched, up to a limit."""
    args = {"x": np.ones(64, np.float32), "y": np.zeros(64, np.float32), "count": np.zeros(1, np.uint32), "n": 3}
    with contextlib.suppress(TilewiseError):
        check(
            Module("k.ptx", "", edited(_ptx(), edits)), grid=2, block=64, args=args, threads=1, max_instructions=MAX_INSTRUCTIONS
        )


@cache
def _ptx() -> str:
    return compile_source(KernelSource(KERNEL, "k.cu"), "compute_90a").ptx


TARGETS: dict[str, tuple[Callable[[], st.SearchStrategy[Any]], Callable[[Any], None]]] = {
    "facts": (facts, read_facts),
    "expect": (expectations, evaluate_expectation),
    "ptx": (ptx_edits, check_ptx),
}
"""By name: what is drawn, and what takes it."""
