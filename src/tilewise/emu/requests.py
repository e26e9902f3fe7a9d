"""Runs one block of a launch and finds, for each memory instruction, a request that took many transactions."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tilewise.core.counters import Counters, Request
from tilewise.core.errors import InstructionLimitReached, KernelFault, UnsupportedInstruction
from tilewise.core.launch import Dim3, Launch
from tilewise.emu.blueprint import SiteFacts
from tilewise.emu.compiled import parse_module
from tilewise.emu.jit import Target, host_target
from tilewise.emu.lower.step import Step
from tilewise.emu.lower.tally import SECTOR_BYTES, WIDEST_SHARED
from tilewise.emu.lower.watch import RequestWatch
from tilewise.emu.machine import Turns, run_kernel
from tilewise.emu.patterns import LANES
from tilewise.emu.tracing import WatchedKernel, blocks_communicate
from tilewise.emu.windows import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from tilewise.hw.banks import wavefronts
from tilewise.ptx.ast import Integer

BLOCK: Dim3 = (0, 0, 0)
"""The one that is watched."""
LOOKED_AT = 20_000
"""Requests whose transactions are counted, at most: up to 50 us each."""
INSTRUCTIONS = 2_000_000
"""Warp instructions of the run, at most."""

_TELL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint32)

Key = tuple[str, int]
"""A site: its space, and its line of the PTX."""


def add_examples(counters: Counters, launch: Launch, *, target: Target | None = None) -> Counters:
    """Return a launch's counters with an example for each site whose requests took more than one transaction.

    Block (0, 0, 0) runs once more, until each site has shown its worst request or 20,000 requests were looked at; the others run
    with it only where they may make each other wait. `launch` has arrays with their first contents, which are written to. A site
    that the block does not reach has no example.
    """
    costly = (site for site in counters.sites if site.space != "local" and site.worst > 1)
    wanted: dict[Key, int] = {(site.space, site.ptx_line): site.worst for site in costly}
    if not wanted:
        return counters
    search = _Search(launch, wanted, target or host_target())
    blocks = None if blocks_communicate(parse_module(launch.module.ptx)) else [0]
    with suppress(KernelFault, InstructionLimitReached, UnsupportedInstruction):  # what was seen before is what there is
        run_kernel(search.kernel, launch, Turns(threads=1), blocks=blocks, max_instructions=INSTRUCTIONS)
    found = ((site, search.found.get((site.space, site.ptx_line))) for site in counters.sites)
    sites = (replace(site, example=one) if one and one.transactions <= site.worst else site for site, one in found)
    return replace(counters, sites=tuple(sites))


class _Search:
    """The worst requests so far. `wanted` says how many transactions each place's worst took in the whole launch."""

    def __init__(self, launch: Launch, wanted: dict[Key, int], target: Target) -> None:
        self.found: dict[Key, Request] = {}
        self._wanted = wanted
        self._missing = set(wanted)
        self._looked_at = 0
        self._buffer = (ctypes.c_uint64 * (LANES + 1))()
        self._callback = _TELL(self._tell)
        tell = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self._watch = RequestWatch(BLOCK, ctypes.addressof(self._buffer), tell)
        self.kernel = WatchedKernel(launch, self._watch, target)

    def _tell(self, number: int) -> int:
        step = self._watch.steps[number]
        assert step.site is not None
        site = self.kernel.blueprint.sites[step.site]
        for space, addresses in self._by_space(site):
            key = (space, site.ptx_line)
            if key in self._missing:
                self._look_at(key, addresses, _lane_bytes(step, site), "load" if site.kind in ("load", "copy") else "store")
        return int(bool(self._missing) and self._looked_at < LOOKED_AT)

    def _by_space(self, site: SiteFacts) -> Iterator[tuple[str, list[int | None]]]:
        """The lanes' addresses in each space that they fall in."""
        active = self._buffer[LANES]
        addresses = [address if active >> lane & 1 else None for lane, address in enumerate(self._buffer[:LANES])]
        if not site.is_generic:
            yield site.space, addresses
            return
        for space in ("global", "shared"):
            part = [address if address is not None and _space_of(address) == space else None for address in addresses]
            if any(address is not None for address in part):
                yield space, [address - SHARED_WINDOW if address and space == "shared" else address for address in part]

    def _look_at(self, key: Key, addresses: Sequence[int | None], lane_bytes: int, kind: Any) -> None:
        self._looked_at += 1
        if key[0] == "shared":
            active = sum(1 << lane for lane, address in enumerate(addresses) if address is not None)
            part = min(lane_bytes, WIDEST_SHARED)
            starts = [[(address or 0) + first for address in addresses] for first in range(0, lane_bytes, part)]
            transactions = sum(wavefronts(start, active, part, kind) for start in starts)
        else:
            transactions = _sectors(addresses, lane_bytes)
        if key not in self.found or transactions > self.found[key].transactions:
            self.found[key] = Request(BLOCK, tuple(addresses), lane_bytes, transactions)
        if transactions >= self._wanted[key]:
            self._missing.discard(key)


def _space_of(address: int) -> str:
    if 0 <= address - SHARED_WINDOW < WINDOW_BYTES:
        return "shared"
    return "local" if 0 <= address - LOCAL_WINDOW < WINDOW_BYTES else "global"


def _sectors(addresses: Sequence[int | None], lane_bytes: int) -> int:
    starts = [address for address in addresses if address is not None]
    return len(
        {sector for start in starts for sector in range(start // SECTOR_BYTES, (start + lane_bytes - 1) // SECTOR_BYTES + 1)}
    )


def _lane_bytes(step: Step, site: SiteFacts) -> int:
    if site.kind != "copy":
        return site.bytes
    size = step.sources[2][0]
    assert isinstance(size, Integer)
    return size.value
