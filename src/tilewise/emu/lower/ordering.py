"""Telling the runtime, in kernels that are observed, of what orders memory without accessing it: fences and __syncwarp."""

from __future__ import annotations

from tilewise.emu.lower.body import Body
from tilewise.emu.lower.step import Step

FENCES = ("fence", "membar")
WARP_SYNC = "bar.warp.sync"


def tell_order(body: Body, step: Step) -> None:
    """Emit a call of the runtime behind an instruction that orders its lanes' accesses."""
    opcode = step.instruction.opcode
    words = opcode.split(".")
    field = "fence" if words[0] in FENCES else "warp_sync" if opcode == WARP_SYNC else ""
    if not field:
        return
    lanes, mask = body.lanes, body.mask or "-1"
    if body.guard is not None:
        mask = lanes.define(f"and i32 {mask}, {lanes.mask_bits(body.guard)}")
    lanes.emit(f"call void {body.context_field(field)}(ptr %context, ptr %warp, i32 {mask}, i32 {int('cta' in words)})")
