"""What holds of every register that lives across blocks, and which of them lanes that wait elsewhere still need.

Both at once, since each hangs on the other: a branch on a value that is not uniform lets lanes part, and a register written while
others wait for its old value is no pattern any more. Kleene iteration from "never written", one dry run of each block a round;
what then still counts as never written is any one value.
"""

from __future__ import annotations

from tilewise.emu.lanes import Lanes
from tilewise.emu.lower.access import Memory
from tilewise.emu.lower.body import Body, Kernel
from tilewise.emu.lower.frame import Frame
from tilewise.emu.lower.ordering import tell_named, tell_order, tell_shuffle
from tilewise.emu.lower.parting import Parting
from tilewise.emu.lower.program import Program
from tilewise.emu.lower.step import Step
from tilewise.emu.patterns import Shape, allow_zero, join

WIDEN_AFTER = 4
"""Rounds after which a bound that still moves is given up."""


def analyse(program: Program, grid_limits: tuple[int, int, int]) -> tuple[dict[str, Shape], tuple[frozenset[str], ...]]:
    """Return the registers' shapes, and for each block the registers whose old values lanes elsewhere may still need."""
    lanes = Lanes()
    lanes.dry = True
    shapes: dict[str, Shape] = {}
    conflicts: tuple[frozenset[str], ...] = (frozenset(),) * len(program.steps)
    dirty = set(range(len(program.steps)))
    parting = Parting(program)
    parted: set[int] = set()
    readers = _readers(program)
    round_ = 0
    while dirty:
        kernel = Kernel(program, shapes, Frame(0, {}, 0), True, grid_limits, conflicts)
        changed: set[str] = set()
        newly_parted: list[int] = []
        for position in sorted(dirty):
            body, parts = _dry_run(lanes, kernel, position)
            if parts and position not in parted:
                newly_parted.append(position)
            for name, shape in body.written_shapes().items():
                merged = join(shapes[name], shape, widen=round_ >= WIDEN_AFTER) if name in shapes else shape
                if name in program.live_in[program.entry]:
                    merged = allow_zero(merged)
                if merged != shapes.get(name):
                    shapes[name] = merged
                    changed.add(name)
        dirty = set().union(*(readers[name] for name in changed))
        if newly_parted:
            parted.update(newly_parted)
            before, conflicts = conflicts, parting.add(newly_parted)
            dirty |= {position for position, names in enumerate(conflicts) if names != before[position]}
        if not dirty:
            unwritten = readers.keys() - shapes.keys()
            shapes |= dict.fromkeys(unwritten, Shape())
            dirty = set().union(*(readers[name] for name in unwritten))
        round_ += 1
    return shapes, conflicts


def _readers(program: Program) -> dict[str, set[int]]:
    """The blocks at whose start each register is live: those that may read it."""
    readers: dict[str, set[int]] = {}
    for position, names in enumerate(program.live_in):
        for name in names:
            readers.setdefault(name, set()).add(position)
    return readers


def _dry_run(lanes: Lanes, kernel: Kernel, position: int) -> tuple[Body, bool]:
    """Run one block dry; return it and whether its branch can part the lanes."""
    body = Body(lanes, kernel, (position,))
    body.mask = "%dry"
    memory = Memory(body)
    for step in kernel.program.steps[position]:
        if step.control == "switch":
            number = body.value(*step.sources[0])
            return body, number is not None and not number.is_uniform
        if step.control is not None and step.instruction.guard is not None:
            condition = body.predicate(step)
            return body, condition is not None and not condition.is_uniform
        run_step(body, memory, step)
    return body, False


def run_step(body: Body, memory: Memory, step: Step) -> None:
    """Lower one instruction that does not end its block."""
    if step.form is None or step.control is not None or step.form.kind == "hint":
        return
    body.guard = body.predicate(step) if step.instruction.guard is not None else None
    if step.access is not None:
        memory.lower(step)
    else:
        if body.kernel.view and not body.lanes.dry:
            tell_named(body, step)
            tell_shuffle(body, step)
        body.apply(step)
        if body.kernel.view and not body.lanes.dry:
            tell_order(body, step)
    body.guard = None
