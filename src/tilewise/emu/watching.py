"""The memory that a run writes what it saw into: a screened one whether anything may be wrong, a watched one what is."""

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
        self.compared = (ctypes.c_uint32 * sites)()
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
            compared=ctypes.addressof(self.compared),
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

    def is_read(self, index: int) -> bool:
        """Whether the kernel has read from a buffer."""
        assert self._table is not None
        return bool(self._table[index].touched & abi.READS)

    def to_shadow(self) -> set[int]:
        """Buffers that have been both read and written: those to remember from the start."""
        assert self._table is not None
        both = abi.READS | abi.WRITES
        return {index for index, row in enumerate(self._table) if row.touched & both == both}


class Screening:
    """One screened run. `empty` are the buffers without contents."""

    def __init__(self, buffers: tuple[BoundBuffer, ...], empty: Collection[int]) -> None:
        self._empty = empty
        self._stored = {
            index: (ctypes.c_uint64 * ((buffer.high - buffer.low) // 64 + 1))()
            for index, buffer in enumerate(buffers)
            if buffer.writable
        }
        self._sizes = {index: buffers[index].high - buffers[index].low for index in empty}
        self.raw = abi.Screen()

    @property
    def address(self) -> int:
        """Where the runtime finds it."""
        return ctypes.addressof(self.raw)

    @property
    def is_suspect(self) -> bool:
        """Whether the launch needs a closer look, or a buffer without contents has not been written everywhere."""
        return bool(self.raw.is_suspect) or any(self._stored_bytes(index) < size for index, size in self._sizes.items())

    def attach(self, table: ctypes.Array[abi.Buffer]) -> None:
        """Have the run's buffers looked at."""
        for index, bits in self._stored.items():
            table[index].stored = ctypes.addressof(bits)
        for index in self._empty:
            table[index].is_empty = 1

    def _stored_bytes(self, index: int) -> int:
        import numpy as np

        return int(np.bitwise_count(np.frombuffer(bytes(self._stored[index]), np.uint64)).sum())
