"""Random kernels: the emulator's results and counts are those of a plain interpreter, thread by thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import reference
import warps
from assembling import launch
from drawing import LARGE, kernels
from hypothesis import HealthCheck, given, reject, settings
from programs import FLOATS, INPUT_WORDS, INTS, PLANES, PREDICATES, TILE, WIDES, If, Jump, Kernel, Loop, Statement, Writer

from tilewise.core.counters import Counters
from tilewise.core.launch import Launch
from tilewise.emu.jit import AVX2, Target
from tilewise.emu.machine import emulate

Array = npt.NDArray[Any]


def input_words() -> Array:
    """Small numbers, numbers of any size, and floats from -4 to 4: none is a NaN's bits."""
    random = np.random.default_rng(5)
    words = random.integers(0, 1 << 32, INPUT_WORDS, np.uint32) & np.uint32(0xBFFF_FFFF)
    words[::3] = random.integers(0, 1000, len(words[::3]))
    words[1::3] = random.uniform(-4, 4, len(words[1::3])).astype(np.float32).view(np.uint32)
    return words


INPUT = input_words()


def arrays(kernel: Kernel) -> tuple[Array, ...]:
    """The output, and what the variables are in the end: 32-bit ones, 64-bit ones."""
    out = np.arange(PLANES * kernel.chunks * kernel.chunk_bytes // 4, dtype=np.uint32)
    names = [*INTS, *FLOATS, *PREDICATES, *(TILE if kernel.has_tile else [])]
    last = np.full((len(names), kernel.total), 0xAAAA, np.uint32)
    return out, last, np.full((len(WIDES), kernel.total), 0xBBBB, np.uint64)


def prepare(kernel: Kernel, ptx: str) -> tuple[Launch, tuple[Array, ...]]:
    out, last, wide = arrays(kernel)
    dynamic = 2 * kernel.half_bytes if kernel.dynamic else 0
    args = (INPUT, out, out, last, wide, kernel.parameter)
    return launch(ptx, kernel.grid, kernel.block, *args, dynamic_shared_bytes=dynamic), (out, last, wide)


def assert_same_counts(counters: Counters, expected: warps.Totals) -> None:
    found = {
        (site.line, site.space): warps.Site(
            site.space,
            site.kind,
            site.opcode,
            site.requests,
            site.bytes,
            site.transactions,
            site.worst,
            site.worst_conflict_ways,
        )
        for site in counters.sites
        if site.requests
    }
    assert found == expected.sites
    assert (counters.barriers, counters.fma) == (expected.barriers, expected.fma)


def has_jump(statements: tuple[Statement, ...]) -> bool:
    return any(
        isinstance(item, Jump)
        or (isinstance(item, If) and (has_jump(item.then) or has_jump(item.otherwise)))
        or (isinstance(item, Loop) and has_jump(item.body))
        for item in statements
    )


def check(kernel: Kernel, target: Target | None = None, threads: int = 1) -> None:
    ptx = Writer(kernel).ptx()
    plain, expected = prepare(kernel, ptx)
    try:
        run = reference.interpret(plain)
    except reference.StoredNaN:
        reject()
    assert not run.faults
    emulated, found = prepare(kernel, ptx)
    emulation = emulate(emulated, threads=threads, target=target)
    for name, have, want in zip(("output", "32-bit variables", "64-bit variables"), found, expected, strict=True):
        np.testing.assert_array_equal(have, want, err_msg=name)
    assert_same_counts(emulation.counters, warps.count(run, "order"))
    if not has_jump(kernel.body):
        assert_same_counts(emulation.counters, warps.count(run, "post-dominators"))


SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@settings(max_examples=30, suppress_health_check=SLOW)
@given(kernels())
def test_random_kernels_do_and_count_what_the_reference_does(kernel: Kernel) -> None:
    check(kernel)


@settings(max_examples=4, suppress_health_check=SLOW)
@given(kernels(LARGE))
def test_so_they_do_in_blocks_of_many_warps(kernel: Kernel) -> None:
    check(kernel, threads=2)


@settings(max_examples=20, suppress_health_check=SLOW)
@given(kernels())
def test_so_they_do_for_an_older_processor_on_three_threads(kernel: Kernel) -> None:
    check(kernel, AVX2, 3)
