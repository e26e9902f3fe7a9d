"""Checks that an access at scalar + offsets is aligned and in bounds: one for all accesses of a block that share a base.

A check stands where its first access does, and is written when all of them are known: at the block's end.
"""

from __future__ import annotations

from ctypes import sizeof

from tilewise.emu.abi import Context, Range
from tilewise.emu.isa.memory import Access
from tilewise.emu.lanes import Lanes
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.group import Group
from tilewise.emu.lower.request import is_aligned
from tilewise.emu.lower.screening import screen
from tilewise.emu.patterns import LANES, wrap
from tilewise.emu.value import Value


class Checks:
    """The checks of one block."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.lanes = body.lanes
        self.cold: list[str] = []
        """Lines for the end of the function: what rarely runs."""
        self._groups: dict[tuple[str, str, bool], Group] = {}

    def finish(self) -> None:
        """Write the checks of all groups."""
        for group in reversed(self._groups.values()):  # the later ones first: their lines move nobody else's
            self._emit_group_check(group)

    def has_group(self, access: Access, base: Value) -> bool:
        """Whether an access with this base has come before."""
        return _key(access, base) in self._groups

    def group(self, access: Access, base: Value, offset: int) -> Group:
        """The group of accesses with this base, whose check covers this one too."""
        key, offsets = _key(access, base), offsets_of(base, offset)
        first, end = min(offsets), max(offsets) + access.bytes
        group = self._groups.get(key)
        if group is None:
            for name in ("shared", "screen_runs") if self.body.kernel.view else ("shared",):
                self.body.context_field(name)  # loaded before the check, which may need it
            line, pointer = len(self.lanes.lines), self.lanes.fresh("%pointer")
            group = Group(base.base(), access.space, access.kind == "store", line, first, end, pointer)
            self._groups[key] = group
            self.lanes.lines.append("")
        group.first, group.end = min(group.first, first), max(group.end, end)
        group.accesses.append((offsets, access.bytes))
        if not is_aligned(access, moved(self.lanes, base, offset)):
            group.alignments.add((access.bytes, offsets[0] % access.bytes))
        return group

    def shared_pointer(self, base: Value) -> str:
        """A pointer to a shared address that is known to be good."""
        if base.constant is not None:
            return self.body.address(self.body.context_field("shared"), base.constant)
        return self.lanes.define(f"getelementptr i8, ptr {self.body.context_field('shared')}, i32 {base.scalar}")

    def _emit_group_check(self, group: Group) -> None:
        """Write the check of a group into the line kept for it."""
        lanes, after = self.lanes, self.lanes.lines[group.line + 1 :]
        del lanes.lines[group.line :]
        self.emit(group, f"bail{self.body.position}", lanes.fresh("checked"))
        lanes.lines += after

    def emit(self, group: Group, bail: str, go_on: str) -> None:
        """Branch to `bail` or `go_on`, open `go_on` and define the pointer to the base there."""
        ok = self._alignment_ok(group)
        if group.space == "shared":
            self._emit_shared_check(group, ok, bail, go_on)
        else:
            self._emit_range_check(group, ok, bail, go_on)
        if self.body.kernel.view == "screened":
            screen(self.body, group)

    def _emit_shared_check(self, group: Group, ok: str | None, bail: str, go_on: str) -> None:
        lanes = self.lanes
        first = lanes.define(f"add i32 {group.base.scalar}, {wrap(group.first, 32)}")
        start = lanes.define(f"zext i32 {first} to i64")
        end = lanes.define(f"add i64 {start}, {group.end - group.first}")
        limit = lanes.define(f"load i64, ptr {self.body.context_address('shared_bytes')}")
        inside = lanes.define(f"icmp ule i64 {end}, {limit}")
        condition = lanes.define(f"and i1 {ok}, {inside}") if ok else inside
        lanes.emit(f"br i1 {condition}, label %{go_on}, label %{bail}, !prof !0")
        lanes.label(go_on)
        base = lanes.define(f"sub i64 {start}, {group.first}")  # not the scalar: scalar + offset may have wrapped
        lanes.emit(f"{group.pointer} = getelementptr i8, ptr {self.body.context_field('shared')}, i64 {base}")

    def _alignment_ok(self, group: Group) -> str | None:
        ok, type_ = None, group.base.type
        for size, remainder in sorted(group.alignments):
            start = self.lanes.define(f"add {type_} {group.base.scalar}, {remainder}")
            low_bits = self.lanes.define(f"and {type_} {start}, {size - 1}")
            aligned = self.lanes.define(f"icmp eq {type_} {low_bits}, 0")
            ok = self.lanes.define(f"and i1 {ok}, {aligned}") if ok else aligned
        return ok

    def _emit_range_check(self, group: Group, ok: str | None, bail: str, go_on: str) -> None:
        """Global memory: the buffer that this group fell in last, else the runtime looks for another."""
        lanes, index = self.lanes, self.body.kernel.groups
        group.entry = index
        self.body.kernel.groups += 1
        if ok:
            aligned = lanes.fresh("aligned")
            lanes.emit(f"br i1 {ok}, label %{aligned}, label %{bail}, !prof !0")
            lanes.label(aligned)
        start = lanes.define(f"add i64 {group.base.scalar}, {group.first}")
        entry = self.entry(group)
        inside = self._inside_range(entry, start)
        search = lanes.fresh("search")
        lanes.emit(f"br i1 {inside}, label %{go_on}, label %{search}, !prof !0")
        lanes.label(go_on)
        delta = lanes.define(f"load i64, ptr {self.body.address(entry, 16)}")
        host = lanes.define(f"add i64 {group.base.scalar}, {delta}")
        lanes.emit(f"{group.pointer} = inttoptr i64 {host} to ptr")
        resolve = lanes.fresh("%resolve")
        extent = group.end - group.first
        found = lanes.fresh("%found")
        kind = f"i32 {int(group.is_store)}, i32 {int(group.space == 'generic')}"
        self.cold += [
            f"{search}:",
            f"  {resolve}.at = getelementptr i8, ptr %context, i64 {Context.resolve.offset}",
            f"  {resolve} = load ptr, ptr {resolve}.at",
            f"  {found} = call i32 {resolve}(ptr %context, i32 {index}, i64 {start}, i64 {extent}, {kind})",
            f"  {found}.yes = icmp ne i32 {found}, 0",
            f"  br i1 {found}.yes, label %{go_on}, label %{bail}",
        ]

    def _inside_range(self, entry: str, start: str) -> str:
        lanes = self.lanes
        low = lanes.define(f"load i64, ptr {entry}")
        starts = lanes.define(f"load i64, ptr {self.body.address(entry, 8)}")
        return lanes.define(f"icmp ult i64 {lanes.define(f'sub i64 {start}, {low}')}, {starts}")

    def entry(self, group: Group) -> str:
        """The range-cache entry of a group whose check is written."""
        ranges = self.lanes.define(f"load ptr, ptr {self.body.context_address('ranges')}")
        return self.body.address(ranges, sizeof(Range) * group.entry)


def offsets_of(base: Value, offset: int) -> tuple[int, ...]:
    """Where each lane stands, counted from the scalar."""
    return tuple(lane + offset for lane in base.offsets) if base.offsets else (offset,) * LANES


def moved(lanes: Lanes, base: Value, offset: int) -> Value:
    """base + offset."""
    return lanes.binary("add", base, lanes.constant(base.type, offset)) if offset else base


def _key(access: Access, base: Value) -> tuple[str, str, bool]:
    return access.space, f"{base.scalar}", access.kind == "store"
