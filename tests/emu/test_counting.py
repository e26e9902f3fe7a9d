"""What the runtime counts of single requests at random addresses: wavefronts as in hw/banks, sectors by their definition."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tilewise.emu import abi
from tilewise.hw.banks import AccessKind, conflict_ways, wavefronts

LANES = 32
MASKS = st.one_of(
    st.just(2**LANES - 1), st.sampled_from([1, 1 << 31, 0xFFFF, 0x55555555, 0x33333333, 0]), st.integers(0, 2**LANES - 1)
)


def count(addresses: Sequence[int], mask: int, size: int, space: str, kind: str) -> abi.SiteCounts:
    """What the runtime counts for one request."""
    site = abi.Site(abi.SPACES[space], int(kind == "store"), size, 1)
    counts, context = abi.SiteCounts(), abi.Context()
    context.sites, context.site_counts = ctypes.addressof(site), ctypes.addressof(counts)
    context.addresses[:] = addresses
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)(abi.load_runtime().functions["count"])
    function(ctypes.addressof(context), 0, mask)
    return counts


@st.composite
def lanes(draw: st.DrawFn, size: int) -> list[int]:
    """Addresses of 32 lanes, aligned to `size`: a stride with a swizzle, pairs of lanes at one address, a few places, or any."""
    base, stride, swizzle = draw(st.integers(0, 64)), draw(st.integers(-3, 36)), draw(st.integers(0, 31))
    few = draw(st.lists(st.integers(0, 300), min_size=1, max_size=5))
    pairs = draw(st.sampled_from([1, 2, 3, 4, 16, 31]))
    kinds = [
        [base + 96 + stride * (lane ^ swizzle) for lane in range(LANES)],
        [base + 96 + stride * (lane & ~pairs) for lane in range(LANES)],
        [few[lane % len(few)] for lane in range(LANES)],
        draw(st.lists(st.integers(0, 400), min_size=LANES, max_size=LANES)),
    ]
    return [abs(place) * size for place in draw(st.sampled_from(kinds))]


@settings(max_examples=400)
@given(st.data(), st.sampled_from([1, 2, 4, 8, 16]), MASKS, st.sampled_from(["load", "store"]))
def test_wavefronts(data: st.DataObject, size: int, mask: int, kind: AccessKind) -> None:
    addresses = data.draw(lanes(size))
    counts = count(addresses, mask, size, "shared", kind)
    expected = wavefronts(addresses, mask, size, kind) if mask else 0
    assert (counts.transactions, counts.worst) == (expected, expected)
    assert counts.worst_ways == (conflict_ways(addresses, mask, size, kind) if mask else 0)
    assert (counts.requests, counts.lanes) == (int(mask != 0), mask.bit_count())


@settings(max_examples=300)
@given(st.data(), st.sampled_from([1, 2, 4, 8, 16, 32]), MASKS)
def test_sectors(data: st.DataObject, size: int, mask: int) -> None:
    addresses = data.draw(lanes(size))
    counts = count(addresses, mask, size, "global", "load")
    active = [address for lane, address in enumerate(addresses) if mask >> lane & 1]
    sectors = {byte // 32 for address in active for byte in range(address, address + size)}
    assert (counts.transactions, counts.worst, counts.requests) == (len(sectors), len(sectors), int(mask != 0))


@settings(max_examples=200)
@given(st.data(), st.sampled_from([1, 2, 4, 8, 16]), MASKS)
def test_sectors_of_local_memory(data: st.DataObject, size: int, mask: int) -> None:
    """Word w of lane l stands at word 32 w + l; each step of 4 bytes is a request of its own."""
    addresses = data.draw(lanes(size))
    counts = count(addresses, mask, size, "local", "load")
    active = [(lane, address) for lane, address in enumerate(addresses) if mask >> lane & 1]
    steps = range(max(1, size // 4))
    assert counts.transactions == sum(
        len({(32 * (address // 4 + step) + lane) * 4 // 32 for lane, address in active}) for step in steps
    )
