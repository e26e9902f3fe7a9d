"""Telling the runtime, in kernels that are observed, of what it does not see: fences, __syncwarp, shuffles by some lanes."""

from __future__ import annotations

from tilewise.emu.lower.body import Body
from tilewise.emu.lower.step import Step
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value, vector_type

FENCES = ("fence", "membar")
WARP_SYNC = "bar.warp.sync"
ALL = (1 << LANES) - 1
SHUFFLE = "shfl.sync"
SHUFFLES = ("up", "down", "bfly", "idx")
"""In the order of the runtime's."""


def tell_order(body: Body, step: Step) -> None:
    """Emit a call of the runtime behind an instruction that orders its lanes' accesses."""
    opcode = step.instruction.opcode
    words = opcode.split(".")
    field = "fence" if words[0] in FENCES else "warp_sync" if opcode == WARP_SYNC else ""
    if field:
        _call(body, field, f"i32 {_active(body)}, i32 {int('cta' in words)}")


def tell_named(body: Body, step: Step) -> None:
    """Emit a call of the runtime before an instruction for lanes that it names, if these need not be all."""
    named = body.value(*step.sources[-1]) if step.meets else None
    if named is None or named.constant in (ALL, -1):
        return
    body.lanes.emit(f"store {vector_type('i32')} {body.lanes.vector(named)}, ptr {body.context_address('values')}")
    _call(body, "named", f"i32 {step.site}, i32 {_active(body)}")


def tell_shuffle(body: Body, step: Step) -> None:
    """Emit a call of the runtime before a shuffle in which not all lanes need take part."""
    if not step.instruction.opcode.startswith(SHUFFLE) or not (body.careful or body.guard is not None):
        return
    operands = [body.value(*source) for source in step.sources[1:4]]
    mode = SHUFFLES.index(step.modifiers["mode"].strip("."))
    for index, operand in enumerate(operands):
        value = operand or Value("i32", "0")
        place = body.context_address("values", 4 * LANES * index)
        body.lanes.emit(f"store {vector_type('i32')} {body.lanes.vector(value)}, ptr {place}")
    _call(body, "shuffle", f"i32 {step.site}, i32 {_active(body)}, i32 {mode}")


def _call(body: Body, field: str, arguments: str) -> None:
    body.lanes.emit(f"call void {body.context_field(field)}(ptr %context, ptr %warp, {arguments})")


def _active(body: Body) -> str:
    """The lanes that carry out the instruction at hand."""
    mask = body.mask or "-1"
    return mask if body.guard is None else body.lanes.define(f"and i32 {mask}, {body.lanes.mask_bits(body.guard)}")
