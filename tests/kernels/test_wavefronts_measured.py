"""The C runtime's wavefronts against those that Nsight Compute counted on an H200."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import pytest

from tilewise.emu import abi
from tilewise.hw.banks import conflict_ways

ROWS = json.loads((Path(__file__).parents[2] / "benchmarks" / "results" / "banks_h200.json").read_text())["rows"]
SHARED = 1
"""TW_SHARED"""


def count(row: dict[str, Any]) -> abi.SiteCounts:
    """Return what the runtime counts of one request to shared memory."""
    element = min(4, row["width"])
    site = abi.Site(SHARED, int(row["op"] == "store"), element, row["width"] // element)
    counts = abi.SiteCounts()
    memory = ctypes.create_string_buffer(ctypes.sizeof(abi.Context) + 64)
    context = abi.Context.from_address(-(-ctypes.addressof(memory) // 64) * 64)
    context.sites, context.site_counts = ctypes.addressof(site), ctypes.addressof(counts)
    context.addresses[:] = row["addresses"]
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)(abi.load_runtime().functions["count"])
    function(ctypes.addressof(context), 0, int(row["active"], 16))
    return counts


@pytest.mark.parametrize("kind", ["load", "store"])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_runtime_counts_what_was_measured(width: int, kind: str) -> None:
    for row in ROWS:
        if (row["width"], row["op"]) == (width, kind):
            counts = count(row)
            assert (counts.requests, counts.transactions) == (1, row["wavefronts_per_request"]), row["pattern"]
            assert counts.worst_ways == conflict_ways(row["addresses"], int(row["active"], 16), width, row["op"]), row["pattern"]
