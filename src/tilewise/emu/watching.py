"""The memory that a watched run writes what it saw into: conflicts, loads of what nobody had written, barriers."""

from __future__ import annotations

import ctypes
from collections.abc import Collection

from tilewise.emu import abi
from tilewise.emu.arguments import BoundBuffer
from tilewise.emu.blueprint import Blueprint

CONFLICTS_KEPT = 1024
UNWRITTEN_KEPT = 256


class Watching:
    """One watched run. `empty`: the buffers without contents; `shadowed`: those whose accesses are remembered from the start."""

    def __init__(
        self, blueprint: Blueprint, buffers: tuple[BoundBuffer, ...], empty: Collection[int], shadowed: Collection[int]
    ) -> None:
        sites = max(1, len(blueprint.sites))
        self.conflicts = (abi.Conflict * CONFLICTS_KEPT)()
        self.unwritten = (abi.Unwritten * UNWRITTEN_KEPT)()
        self.shorts = (abi.Short * sites)()
        self.passes = (ctypes.c_uint32 * sites)()
        self.orders = (ctypes.c_uint32 * sites)()
        self.written = {index: (ctypes.c_uint8 * ((buffers[index].high - buffers[index].low) // 8 + 1))() for index in empty}
        """For each buffer without contents at first: a bit a byte that has been written."""
        self.stores = {index: (ctypes.c_uint8 * sites)() for index in empty}
        """For each of those: whether each site has written it."""
        self._shadowed = shadowed
        self._table: ctypes.Array[abi.Buffer] | None = None
        self.raw = abi.Watch(
            conflicts=ctypes.addressof(self.conflicts),
            unwritten=ctypes.addressof(self.unwritten),
            conflict_capacity=CONFLICTS_KEPT,
            unwritten_capacity=UNWRITTEN_KEPT,
            shorts=ctypes.addressof(self.shorts),
            passes=ctypes.addressof(self.passes),
            orders=ctypes.addressof(self.orders),
            site_count=sites,
        )

    @property
    def address(self) -> int:
        """Where the runtime finds it."""
        return ctypes.addressof(self.raw)

    def attach(self, table: ctypes.Array[abi.Buffer]) -> None:
        """Have the run's buffers watched."""
        self._table = table
        for index, bits in self.written.items():
            table[index].written = ctypes.addressof(bits)
            table[index].stores = ctypes.addressof(self.stores[index])
        for index in self._shadowed:
            table[index].is_shadowed = 1

    def to_shadow(self) -> set[int]:
        """Buffers that have been both read and written: those to remember from the start."""
        assert self._table is not None
        both = abi.READS | abi.WRITES
        return {index for index, row in enumerate(self._table) if row.touched & both == both}
