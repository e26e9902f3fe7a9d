"""What the runtime saw of a watched launch, as facts: instructions as places, addresses as arrays, numbers as threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from tilewise.core.facts import Access, AccessKind, Conflict, Fault, IdleBarrier, Observed, ShortBarrier, Uninitialised, Unwritten
from tilewise.core.launch import Dim3, Launch
from tilewise.core.place import Place
from tilewise.emu import abi
from tilewise.emu.arguments import BoundBuffer
from tilewise.emu.blueprint import Blueprint, SiteFacts
from tilewise.emu.watching import Watching
from tilewise.ptx.mangled import local_name

SPACES = ("global", "shared", "local")
"""In the order of enum tw_space."""
Fact = TypeVar("Fact")


def describe(
    blueprint: Blueprint,
    launch: Launch,
    buffers: tuple[BoundBuffer, ...],
    faults: tuple[Fault, ...],
    faults_lost: int,
    watching: Watching | None,
) -> Observed:
    """Return all that was seen of a launch; of one that was not watched, its faults."""
    faults = merge_faults(faults)
    if watching is None:
        return Observed(faults, (), (), (), (), (), faults_lost)
    reader = _Reader(blueprint, launch, buffers, watching)
    return Observed(
        faults=faults,
        conflicts=tuple(_merge(reader.conflicts(), _conflict_key, _join_conflicts)),
        uninitialised=tuple(_merge(reader.uninitialised(), _load_key, _add_counts)),
        unwritten=tuple(reader.unwritten()),
        idle_barriers=tuple(reader.idle_barriers()),
        short_barriers=tuple(reader.short_barriers()),
        lost=faults_lost + int(watching.raw.lost),
    )


def merge_faults(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return faults with those of copies of one access, as unrolled loops have them, as one with their total."""
    return tuple(_merge(faults, _fault_key, _add_fault_counts))


def _merge(facts: Iterable[Fact], key: Callable[[Fact], object], join: Callable[[Fact, Fact], Fact]) -> Iterable[Fact]:
    """Make one of facts that differ in nothing but copies of an instruction that the compiler made."""
    merged: dict[object, Fact] = {}
    for fact in facts:
        known = merged.get(key(fact))
        merged[key(fact)] = fact if known is None else join(known, fact)
    return merged.values()


def _line(place: Place) -> object:
    return [(one.file, one.line) for one in (place, *place.inlined_from)]


def _fault_key(fact: Fault) -> object:
    if fact.access is None:  # threads that wait: where they do is told of each instruction
        return fact
    return repr((fact.kind, fact.space, fact.access, fact.array, fact.wrapped, _line(fact.place)))


def _add_fault_counts(one: Fault, other: Fault) -> Fault:
    return replace(one, count=one.count + other.count)


def _conflict_key(fact: Conflict) -> object:
    return repr((fact.space, fact.array, _line(fact.first.place), _line(fact.second.place), fact.is_pending))


def _load_key(fact: Uninitialised) -> object:
    return repr((fact.space, fact.array, _line(fact.access.place)))


def _join_conflicts(one: Conflict, other: Conflict) -> Conflict:
    example = one if one.first.kind != "read" and one.second.kind != "read" else other  # where both write, that is what counts
    return replace(
        example,
        in_warp=one.in_warp and other.in_warp,
        across_blocks=one.across_blocks or other.across_blocks,
        same_value=one.same_value and other.same_value,
        needs_fence=one.needs_fence and other.needs_fence,
        count=one.count + other.count,
    )


def _add_counts(one: Uninitialised, other: Uninitialised) -> Uninitialised:
    return replace(one, count=one.count + other.count)


def place_of(site: SiteFacts) -> Place:
    """Where an instruction stands: in the source, or in the PTX text."""
    return site.source or Place("", site.ptx_line)


class _Reader:
    """Reads one watched run."""

    def __init__(self, blueprint: Blueprint, launch: Launch, buffers: tuple[BoundBuffer, ...], watching: Watching) -> None:
        self._blueprint, self._launch, self._buffers, self._watching = blueprint, launch, buffers, watching

    def conflicts(self) -> Iterator[Conflict]:
        """Accesses that nothing orders, each pair the one first that comes first in the program's order."""
        for raw in self._watching.conflicts[: self._watching.raw.conflict_count]:
            if self._is_settled(raw):
                continue
            sides = [self._side(raw, side) for side in (0, 1)]
            if raw.sequences[1] < raw.sequences[0] and not raw.is_pending:
                sides.reverse()
            array, offset = self._array(raw.space, int(raw.address))
            yield Conflict(
                space="shared" if raw.space == abi.SPACES["shared"] else "global",
                array=array,
                offset=offset,
                first=sides[0],
                second=sides[1],
                in_warp=bool(raw.in_warp),
                across_blocks=bool(raw.across_blocks),
                is_pending=bool(raw.is_pending),
                same_value=bool(raw.same_value),
                needs_fence=bool(raw.needs_fence),
                count=int(raw.count),
            )

    def _is_settled(self, raw: abi.Conflict) -> bool:
        """Whether a read races with nothing but atomics, and a compare and swap then finds out whether it still holds."""
        sites, compared = self._blueprint.sites, self._watching.compared
        one, other = raw.sites
        return any(compared[read] and sites[update].traits & abi.UPDATES for read, update in ((one, other), (other, one)))

    def uninitialised(self) -> Iterator[Uninitialised]:
        """Loads of what nobody had written."""
        for raw in self._watching.unwritten[: self._watching.raw.unwritten_count]:
            array, offset = self._array(raw.space, int(raw.address))
            access = self._access(raw.site, int(raw.block), raw.thread, raw.iteration, raw.space)
            yield Uninitialised(SPACES[raw.space], array, offset, access, int(raw.count))  # type: ignore[arg-type]

    def unwritten(self) -> Iterator[Unwritten]:
        """Arrays without contents at first of which bytes were never written."""
        import numpy as np

        for index, bits in self._watching.written.items():
            buffer = self._buffers[index]
            size = buffer.high - buffer.low
            missing = np.flatnonzero(np.unpackbits(np.frombuffer(bytes(bits), np.uint8), bitorder="little")[:size] == 0)
            if missing.size:
                stores, is_read = self._stores_to(index), self._watching.is_read(index)
                yield Unwritten(buffer.name, int(missing[0]), int(missing.size), stores, is_read)

    def idle_barriers(self) -> Iterator[IdleBarrier]:
        """Barriers that ordered nothing by themselves; those that also reduce tell threads something, and are none."""
        watching = self._watching
        for index, site in enumerate(self._blueprint.sites):
            if watching.passes[index] and not watching.orders[index] and ".red" not in site.opcode:
                yield IdleBarrier(place_of(site), int(watching.passes[index]))

    def short_barriers(self) -> Iterator[ShortBarrier]:
        """Barriers passed after lanes of the same warp had left the kernel."""
        for raw, site in zip(self._watching.shorts, self._blueprint.sites, strict=False):
            if raw.count:
                yield ShortBarrier(place_of(site), self._block(int(raw.block)), self._thread(raw.thread), int(raw.count))

    def _stores_to(self, index: int) -> tuple[Place, ...]:
        """The instructions that store to a buffer without contents."""
        sites = zip(self._blueprint.sites, self._watching.stores[index], strict=False)
        return tuple(dict.fromkeys(place_of(site) for site, has_stored in sites if has_stored))

    def _side(self, raw: abi.Conflict, side: int) -> Access:
        return self._access(raw.sites[side], int(raw.blocks[side]), raw.threads[side], raw.iterations[side], raw.space)

    def _access(self, number: int, block: int, thread: int, iteration: int, space: int) -> Access:
        site = self._blueprint.sites[number]
        kind = self._kind(site, SPACES[space])
        return Access(place_of(site), site.opcode, kind, self._block(block), self._thread(thread), iteration)

    def _kind(self, site: SiteFacts, space: str) -> AccessKind:
        if site.kind == "copy":
            return "copy" if space == "shared" else "read"
        return {"load": "read", "store": "write", "atomic": "atomic"}[site.kind]  # type: ignore[return-value]

    def _block(self, number: int) -> Dim3:
        x, y, _ = self._launch.grid
        return number % x, number // x % y, number // (x * y)

    def _thread(self, number: int) -> Dim3:
        x, y, _ = self._launch.block
        return number % x, number // x % y, number // (x * y)

    def _array(self, space: int, address: int) -> tuple[str, int]:
        """The array that an address lies in, and how far from its start."""
        if space == abi.SPACES["shared"]:
            found = [(name, start) for name, start in self._blueprint.shared_variables if start <= address]
            return (local_name(found[-1][0]), address - found[-1][1]) if found else ("", address)
        for buffer in self._buffers:
            if buffer.low <= address < buffer.high:
                return buffer.name, address - buffer.low
        return "", address
