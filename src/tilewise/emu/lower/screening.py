"""The quick look at accesses of all lanes together: which runs of bytes from their base they read or write, told in one call."""

from __future__ import annotations

from tilewise.emu.lower.body import Body
from tilewise.emu.lower.group import Group


def screen(body: Body, group: Group) -> None:
    """Tell the runtime, behind the check of a group, what its accesses read or write.

    Loads of global memory are looked at where their buffer is found; stores of which several lanes write one byte are suspect.
    """
    if group.space == "global" and not group.is_store:
        return
    lanes, kernel = body.lanes, body.kernel
    runs = _runs(group)
    name = f"@runs{len(kernel.constants)}"
    numbers = ", ".join(f"i32 {edge}" for run in runs for edge in run)
    kernel.constants.append(f"{name} = private constant [{2 * len(runs)} x i32] [{numbers}]")
    base = group.base.scalar if group.base.type == "i64" else lanes.define(f"zext {group.base.type} {group.base.scalar} to i64")
    kind = f"i32 {int(group.is_store)}, i32 {int(group.space == 'shared')}"
    function = body.context_field("screen_runs")
    lanes.emit(f"call void {function}(ptr %context, i64 {base}, ptr {name}, i32 {len(runs)}, {kind})")


def _runs(group: Group) -> list[tuple[int, int]]:
    """First byte and end of each run. Stores that overlap stay apart, so that the second of them is seen to write again."""
    pieces = sorted({(at, at + size) for offsets, size in group.accesses for at in offsets})
    if group.is_store:
        pieces = sorted((at, at + size) for offsets, size in group.accesses for at in offsets)
    runs: list[tuple[int, int]] = []
    for first, end in pieces:
        if runs and (first == runs[-1][1] or (not group.is_store and first < runs[-1][1])):
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((first, end))
    return runs
