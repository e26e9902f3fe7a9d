"""Memory traffic that a kernel could spare: sectors without use, banks in each other's way, elements requested over and over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.checkers.base import ArrayState, Evidence, Kind, checker
from tilewise.core.counters import SiteCounters
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.ptx.ast import Function, Instruction
from tilewise.ptx.origins import access_origins, place_of

UNCOALESCED = Kind(
    "perf.uncoalesced",
    "warning",
    "A warp's access to global memory touches far more sectors than the bytes that it asks for fill.",
)
BANK_CONFLICT = Kind(
    "perf.bank_conflict", "warning", "Lanes of a warp access different words of one shared-memory bank, one after another."
)
TRAFFIC = Kind("perf.traffic", "note", "Each element of an array is requested from global memory many times.")

SECTOR_BYTES, WAVEFRONT_BYTES = 32, 128
"""[CUDA Programming Guide, Device Memory Accesses and Shared Memory]"""
SECTORS_FACTOR = 2.0
"""Rows that begin anywhere cost one sector more than the least: up to twice as many for one-byte elements, never more. What takes
more than that is strided."""
CONFLICT_FACTOR = 1.5
"""Wavefronts over the least, averaged over a line's requests: below, a conflict is rare or only at an edge."""
REQUESTS_FACTOR = 16
"""A 16 x 16 tile, the smallest in common use, divides requests by 16: an element requested less often gains little."""
_WIDTH = re.compile(r"(\.v(?P<count>\d))?\.[a-z]+(?P<bits>\d+)$")
TURN = "let consecutive threads (threadIdx.x) access consecutive elements: exchange x and y, or go through shared memory"
PAD = "change the length of the rows, as from tile[32][32] to tile[32][33], or swizzle the column with the row"


@dataclass(frozen=True, slots=True)
class _Line:
    """The accesses of one line to one array."""

    place: Place
    array: str
    state: ArrayState | None
    sites: tuple[SiteCounters, ...]

    @property
    def verb(self) -> str:
        return "stores to" if self.sites[0].kind == "store" else "loads from"

    def total(self, field: str) -> int:
        return sum(getattr(site, field) for site in self.sites)


@checker(UNCOALESCED, BANK_CONFLICT, TRAFFIC)
def find_traffic(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each line whose accesses waste traffic; of the optimised build alone."""
    if evidence.counters is None:
        return
    for line in _lines(evidence, evidence.counters.sites):
        first = line.sites[0]
        if first.space == "global" and first.kind != "atomic":
            yield from _uncoalesced(evidence, line)
        if first.space == "shared" and first.kind in ("load", "store"):
            yield from _bank_conflict(evidence, line)
        if first.space == "global" and first.kind in ("load", "copy"):
            yield from _traffic(evidence, line)


def _uncoalesced(evidence: Evidence, line: _Line) -> Iterator[Finding]:
    requests, sectors = line.total("requests"), line.total("transactions")
    least = sum(_least_sectors(site) for site in line.sites)
    rows = sum(site.requests * (_lane_bytes(site) + 1) for site in line.sites)
    if not requests or sectors <= max(SECTORS_FACTOR * least, rows):
        return
    each, needed = sectors / requests, least / requests
    message = f"{line.verb} {line.array or 'global memory'}: {each:.3g} sectors a request where its bytes fill {needed:.3g}"
    yield _finding(evidence, UNCOALESCED, line, message, TURN, sectors)


def _lane_bytes(site: SiteCounters) -> int:
    """Bytes a lane, which are also the sectors of 32 lanes' consecutive elements: of those some lanes may stay away."""
    found = _WIDTH.search(site.opcode)
    return int(found["count"] or 1) * int(found["bits"]) // 8 if found else 0


def _least_sectors(site: SiteCounters) -> float:
    """The sectors that a site's bytes fill; at least one a request."""
    return max(site.bytes / SECTOR_BYTES, site.requests)


def _bank_conflict(evidence: Evidence, line: _Line) -> Iterator[Finding]:
    requests, wavefronts = line.total("requests"), line.total("transactions")
    least = sum(max(site.bytes / WAVEFRONT_BYTES, site.requests) for site in line.sites)
    ways = max(site.worst_conflict_ways for site in line.sites)
    if not requests or ways < 2 or wavefronts < CONFLICT_FACTOR * least:
        return
    each = wavefronts / requests
    message = f"{line.verb} {line.array or 'shared memory'}: {ways}-way bank conflict, {each:.3g} wavefronts a request"
    yield _finding(evidence, BANK_CONFLICT, line, message, PAD, wavefronts)


def _traffic(evidence: Evidence, line: _Line) -> Iterator[Finding]:
    state = line.state
    if state is None or state.bytes <= SECTOR_BYTES or _is_staged(evidence):  # a flag or a counter is no data
        return
    times = line.total("bytes") / state.bytes
    if times < REQUESTS_FACTOR:
        return
    requested = (
        f"requests {line.total('bytes'):,} bytes of {state.name}, which has {state.bytes:,}: each element {_shown(times)} times"
    )
    fix = f"copy tiles of {state.name} to shared memory, once a block: tiles of side S divide the requests by S"
    yield _finding(evidence, TRAFFIC, line, requested, fix, round(times))


def _is_staged(evidence: Evidence) -> bool:
    """Whether what is loaded goes through shared memory, for the most part."""
    counters = evidence.counters
    assert counters is not None
    return 2 * (counters.shared_store_bytes + counters.shared_async_store_bytes) > counters.requested_load_bytes


def _finding(evidence: Evidence, kind: Kind, line: _Line, message: str, fix: str, count: int) -> Finding:
    return Finding(kind.name, kind.severity, evidence.build, message, fix, (line.place,), line.array, count=count)


# -- sites by line and array


def _lines(evidence: Evidence, sites: tuple[SiteCounters, ...]) -> Iterator[_Line]:
    """Yield the accesses of each line to each array, those of one kind and space together."""
    known = _instructions(evidence)
    grouped: dict[object, _Line] = {}
    for site in sites:
        if site.ptx_line not in known or not site.requests:
            continue
        function, instruction = known[site.ptx_line]
        place = place_of(instruction)
        array, state = _array(evidence, function, site)
        key = place.file, place.line, site.space, site.kind, array
        line = grouped.get(key)
        grouped[key] = _Line(place, array, state, (site,) if line is None else (*line.sites, site))
    yield from grouped.values()


def _instructions(evidence: Evidence) -> dict[int, tuple[Function, Instruction]]:
    return {
        item.ptx_line: (function, item)
        for function in (evidence.function, *evidence.callees)
        for item in function.body
        if isinstance(item, Instruction)
    }


def _array(evidence: Evidence, function: Function, site: SiteCounters) -> tuple[str, ArrayState | None]:
    """The array that a site accesses, by name; empty where it may be one of several."""
    origins = access_origins(function).get(site.ptx_line, frozenset())
    if function is evidence.function:
        names = {parameter.name: state for parameter, state in zip(function.parameters, evidence.arguments, strict=True)}
        found = [names[origin] for origin in origins if origin in names and names[origin].shape]
        if len(found) == 1 and site.space == "global":
            return found[0].name, found[0]
        origins = origins - names.keys()
    symbols = [origin for origin in origins if site.space == "shared"]
    return (evidence.label(symbols[0]), None) if len(symbols) == 1 else ("", None)


def _shown(times: float) -> str:
    return f"{times:,.0f}" if times >= 100 else f"{times:.3g}"
