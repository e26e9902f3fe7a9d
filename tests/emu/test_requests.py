"""Examples of requests: the addresses that the source states, and as many transactions as the site's worst."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tilewise
from tilewise.core.counters import Counters, Request
from tilewise.emu.machine import emulate
from tilewise.emu.requests import add_examples
from tilewise.hw.banks import conflict_ways

SOURCE = """
extern "C" __global__ void strided(float* out, const float* in, int stride) {
    __shared__ float tile[1024];
    tile[threadIdx.x * stride % 1024] = in[threadIdx.x];        // line 4
    __syncthreads();
    if (threadIdx.x >= 24) out[threadIdx.x * stride] = tile[threadIdx.x];   // line 6
}
"""


def examples(source: str, grid: Any, block: Any, *args: Any, kernel: str = "strided", **options: Any) -> Counters:
    launch = tilewise.Launch(tilewise.compile(source, "strided.cu", **options), kernel, grid, block, args)
    return add_examples(emulate(launch).counters, launch)


def example(counters: Counters, line: int, space: str) -> Request:
    (found,) = [site.example for site in counters.sites if (site.line, site.space) == (line, space) and site.example]
    return found


@pytest.mark.parametrize("options", [(), ("-G",)])
@pytest.mark.parametrize("stride", [2, 8, 32])
def test_example_has_the_addresses_of_the_worst_request(stride: int, options: tuple[str, ...]) -> None:
    n = 64 * 32
    counters = examples(SOURCE, 3, 64, np.zeros(n, np.float32), np.ones(64, np.float32), stride, options=options)
    store = example(counters, 4, "shared")
    assert [address - store.addresses[0] for address in store.addresses] == [  # type: ignore[operator]
        4 * (lane * stride % 1024) for lane in range(32)
    ]
    assert store.transactions == conflict_ways(store.addresses, 0xFFFF_FFFF, 4, "store") == stride  # type: ignore[arg-type]

    out = example(counters, 6, "global")
    assert out.lane_bytes == 4
    whole = [address for address in out.addresses if address is not None]
    assert len(whole) == 32  # the second warp's: all its lanes store, of the first only eight
    assert {later - earlier for earlier, later in itertools.pairwise(whole)} == {4 * stride}
    assert out.transactions == min(32, 4 * stride)


def test_lanes_at_rest_have_no_address() -> None:
    counters = examples(SOURCE, 1, 32, np.zeros(2048, np.float32), np.ones(64, np.float32), 32)
    assert [lane for lane, address in enumerate(example(counters, 6, "global").addresses) if address is not None] == [
        *range(24, 32)
    ]


COPY = """
extern "C" __global__ void copy(float* out, const float* in) {
    __shared__ __align__(16) float tile[32 * 4];
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + 4 * threadIdx.x);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + 16 * threadIdx.x));  // line 5
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    out[threadIdx.x] = tile[4 * threadIdx.x];
}
"""


def test_example_of_an_asynchronous_copy_is_of_global_memory() -> None:
    counters = examples(COPY, 1, 32, np.zeros(32, np.float32), np.ones(512, np.float32), kernel="copy")
    copy = example(counters, 5, "global")
    assert (copy.lane_bytes, copy.transactions) == (16, 32)
    assert copy.addresses[1] - copy.addresses[0] == 64  # type: ignore[operator]


def test_counters_of_a_kernel_without_costly_requests_stay_as_they_are() -> None:
    source = 'extern "C" __global__ void none(float* x) { if (threadIdx.x == 0) x[0] = 1.0f; }'
    launch = tilewise.Launch(tilewise.compile(source, "none.cu"), "none", (1, 1, 1), (32, 1, 1), (np.zeros(1, np.float32),))
    counters = emulate(launch).counters
    assert add_examples(counters, launch) == counters
