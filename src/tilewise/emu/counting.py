"""From what a run counted (blocks, alignments, single requests) to the counters that people read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilewise.core.counters import Counters, SiteCounters
from tilewise.emu.blueprint import Blueprint, SiteFacts
from tilewise.emu.lower.program import COUNTED_SPACES
from tilewise.emu.patterns import LANES

Counts = tuple[Any, Any, Any]


def add_up(blueprint: Blueprint, counts: list[Counts], barriers: int) -> Counters:
    """Return the launch's counters from each host thread's counts; sums and maxima, so the threads' number shows nowhere."""
    import numpy as np

    blocks = sum(np.frombuffer(block_counts, np.uint64).astype(object) for block_counts, _, _ in counts).reshape(-1, 3)  # type: ignore[union-attr]
    histograms = sum(np.frombuffer(histogram, np.uint64).astype(object) for _, _, histogram in counts)
    totals = [_site_totals(index, counts) for index in range(len(blueprint.sites))]
    tally = blueprint.tally
    for position, site in tally.requests:
        runs = int(blocks[position, 0])
        totals[site]["requests"] += runs
        totals[site]["lanes"] += LANES * runs
    for position, site, transactions, ways in tally.constant:
        runs = int(blocks[position, 0])
        totals[site]["transactions"] += transactions * runs
        if runs:
            _raise_to(totals[site], transactions, ways)
    for number in tally.requesting:
        site, cells = tally.histograms[number][0], histograms[32 * number : 32 * number + 32]  # type: ignore[index]
        runs = sum(map(int, cells))
        totals[site]["requests"] += runs
        totals[site]["lanes"] += LANES * runs
    for number, (site, table) in enumerate(tally.histograms):
        for start, (transactions, ways) in enumerate(table):
            times = int(histograms[32 * number + start])  # type: ignore[index]
            totals[site]["transactions"] += transactions * times
            if times:
                _raise_to(totals[site], transactions, ways)
    fma = _count_fma(blueprint, blocks[:, 0], blocks[:, 2])
    fma += sum(total["lanes"] for site, total in zip(blueprint.sites, totals, strict=True) if site.kind == "fma")
    sites = tuple(
        _site_counters(site, total)
        for site, total in zip(blueprint.sites, totals, strict=True)
        if site.space in COUNTED_SPACES and (total["requests"] or not site.is_generic)
    )
    written = sum(total["written_bytes"] for total in totals)
    return replace(sum_sites(sites), barriers=barriers, fma=fma, shared_async_store_bytes=written)


def _count_fma(blueprint: Blueprint, runs: Any, lanes: Any) -> int:
    """Thread FMAs, of runs with all lanes together (counted for a chain's first block) and of lanes one by one."""
    together = sum(LANES * int(runs[chain[0]]) * blueprint.fma[block] for chain in blueprint.chains for block in chain)
    return together + sum(count * int(lanes[block]) for block, count in enumerate(blueprint.fma))


def sum_sites(sites: tuple[SiteCounters, ...]) -> Counters:
    """Return the totals over all sites."""

    def total(field: str, space: str, *kinds: str) -> int:
        return sum(getattr(site, field) for site in sites if site.space == space and site.kind in kinds)

    return Counters(
        requested_load_bytes=total("bytes", "global", "load", "copy"),
        requested_store_bytes=total("bytes", "global", "store"),
        global_load_requests=total("requests", "global", "load", "copy"),
        global_load_sectors=total("transactions", "global", "load", "copy"),
        global_store_requests=total("requests", "global", "store"),
        global_store_sectors=total("transactions", "global", "store"),
        shared_load_requests=total("requests", "shared", "load"),
        shared_load_bytes=total("bytes", "shared", "load"),
        shared_load_wavefronts=total("transactions", "shared", "load"),
        shared_store_requests=total("requests", "shared", "store"),
        shared_store_bytes=total("bytes", "shared", "store"),
        shared_store_wavefronts=total("transactions", "shared", "store"),
        global_atomic_requests=total("requests", "global", "atomic"),
        global_atomic_sectors=total("transactions", "global", "atomic"),
        shared_atomic_requests=total("requests", "shared", "atomic"),
        shared_atomic_wavefronts=total("transactions", "shared", "atomic"),
        worst_bank_conflict_ways=max((site.worst_conflict_ways for site in sites if site.space == "shared"), default=0),
        sites=sites,
    )


def _site_totals(index: int, counts: list[Counts]) -> dict[str, int]:
    rows = [site_counts[index] for _, site_counts, _ in counts]
    totals = {
        field: sum(int(getattr(row, field)) for row in rows)
        for field in ("requests", "lanes", "transactions", "read_bytes", "written_bytes")
    }
    totals |= {field: max(int(getattr(row, field)) for row in rows) for field in ("worst", "worst_ways")}
    return totals


def _raise_to(total: dict[str, int], transactions: int, ways: int) -> None:
    total["worst"] = max(total["worst"], transactions)
    total["worst_ways"] = max(total["worst_ways"], ways)


def _site_counters(site: SiteFacts, total: dict[str, int]) -> SiteCounters:
    return SiteCounters(
        space=site.space,  # type: ignore[arg-type]
        kind=site.kind,  # type: ignore[arg-type]
        file=site.file,
        line=site.line,
        opcode=site.opcode,
        requests=total["requests"],
        bytes=total["read_bytes"] if site.kind == "copy" else total["lanes"] * site.bytes,
        transactions=total["transactions"],
        worst=total["worst"],
        worst_conflict_ways=total["worst_ways"],
        ptx_line=site.ptx_line,
    )
