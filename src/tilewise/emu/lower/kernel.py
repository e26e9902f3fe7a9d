"""A whole kernel as LLVM IR: the fast function, for all lanes together, and the careful one, lane by lane, over one frame."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.emu import abi
from tilewise.emu.lanes import Lanes
from tilewise.emu.lower.access import Memory
from tilewise.emu.lower.analysis import analyse, run_step
from tilewise.emu.lower.body import LARGE_GRID, SMALL_GRID, Body, Kernel, View
from tilewise.emu.lower.chains import is_register_tile
from tilewise.emu.lower.flow import Flow
from tilewise.emu.lower.frame import Frame, lay_out
from tilewise.emu.lower.program import Program
from tilewise.emu.lower.tally import Tally
from tilewise.emu.lower.watch import Watcher
from tilewise.emu.patterns import Shape

FUNCTION = "warp"
"""The name of either function in its module: i32 warp(ptr context, ptr warp), returning an enum tw_status."""

METADATA = '!0 = !{!"branch_weights", i32 1000, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 1000}\n'


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known of a program before it is lowered; shared by its two functions."""

    program: Program
    grid_limits: tuple[int, int, int]
    shapes: dict[str, Shape]
    conflicts: tuple[frozenset[str], ...]
    frame: Frame


@dataclass(frozen=True, slots=True)
class Lowered:
    """One function's IR, and (of the fast one) what its blocks count."""

    ir: str
    tally: Tally
    groups: int


def analyse_program(program: Program, grid: tuple[int, int, int]) -> Analysis:
    """Analyse a program for a grid. Grids of up to 65,535 blocks a side share one analysis, and so one compiled kernel."""
    x, y, z = (SMALL_GRID if size <= SMALL_GRID else LARGE_GRID for size in grid)
    shapes, conflicts = analyse(program, (x, y, z))
    return Analysis(program, (x, y, z), shapes, conflicts, lay_out(program, shapes))


def lower(analysis: Analysis, *, careful: bool, vector_bits: int = 512, watch: Watcher | None = None, view: View = "") -> Lowered:
    """Return one of the kernel's two functions, for vector registers of so many bits; a careful one may be watched.

    In an `observed` kernel the runtime sees every access, fence and __syncwarp; in a `screened` one what may be wrong with them.
    """
    program, lanes = analysis.program, Lanes()
    kernel = Kernel(program, analysis.shapes, analysis.frame, careful, analysis.grid_limits, analysis.conflicts, vector_bits)
    kernel.view = view
    cold: list[str] = []
    chains = tuple((position,) for position in range(len(program.steps))) if careful else program.chains
    for chain in chains:
        cold += _lower_chain(lanes, kernel, chain, watch)
    cases = " ".join(f"i32 {head}, label %block{head}" for head, *_ in chains)
    text = [*_entry(careful, cases, program.entry), *lanes.lines, *cold, *_stop(lanes.lines)]
    declarations = "\n".join(sorted(lanes.declarations | kernel.scattered.declarations))
    constants = "\n".join(kernel.constants)
    scattered = "\n".join(kernel.scattered.texts.values())
    ir = (
        f"{declarations}\n\n{constants}\n\n{scattered}\n\ndefine i32 @{FUNCTION}(ptr %context, ptr %warp) #0 {{\n"
        + "\n".join(text)
        + f"\n}}\n\n{METADATA}"
    )
    return Lowered(ir, kernel.tally, kernel.groups)


def _lower_chain(lanes: Lanes, kernel: Kernel, chain: tuple[int, ...], watch: Watcher | None) -> list[str]:
    """Emit blocks that run one after another as one; return the lines that belong at the function's end."""
    position, body = chain[0], Body(lanes, kernel, chain)
    memory, flow = Memory(body), Flow(body)
    steps = [step for block in chain for step in kernel.program.steps[block]]
    lanes.lazy = not kernel.careful and is_register_tile(steps)
    start = len(lanes.lines)
    lanes.label(f"block{position}")
    if kernel.careful:
        body.mask = lanes.define(f"load i32, ptr {body.warp_address('mask')}")
        if steps and steps[0].meets:
            flow.meet(steps[0])
    for step in steps:
        if step.form is not None and step.control is None:
            lower_step = run_step if watch is None or not watch.wants(step) else watch.lower
            lower_step(body, memory, step)
    memory.finish()
    _count_run(body)
    flow.end(steps[-1] if steps and (steps[-1].form is None or steps[-1].control is not None) else None)
    bails = f"%bail{position}"
    if any(bails in line for line in (*lanes.lines[start:], *memory.checks.cold)):
        resume = f"%resume.at{position}"
        memory.checks.cold += [
            f"bail{position}:",
            f"  {resume} = getelementptr i8, ptr %warp, i64 {abi.Warp.resume.offset}",
            f"  store i32 {position}, ptr {resume}",
            f"  ret i32 {abi.TO_CAREFUL}",
        ]
    return memory.checks.cold


def _count_run(body: Body) -> None:
    """Add this run of the block to its counts, so far as anything is counted by them."""
    lanes, careful = body.lanes, body.careful
    counts = body.context_field("block_counts")
    base = 24 * body.position
    for offset, amount in ((8, "1"), (16, None)) if careful else ((0, "1"),):
        if amount is None:
            lanes.declare("i32 @llvm.ctpop.i32(i32)")
            ones = lanes.define(f"call i32 @llvm.ctpop.i32(i32 {body.mask})")
            amount = lanes.define(f"zext i32 {ones} to i64")
        place = body.address(counts, base + offset)
        total = lanes.define(f"add i64 {lanes.define(f'load i64, ptr {place}')}, {amount}")
        lanes.emit(f"store i64 {total}, ptr {place}")


def _entry(careful: bool, cases: str, entry: int) -> list[str]:
    """Where the function starts: at the block to resume, or at whatever block lanes are pending at."""
    if not careful:
        return [
            "entry:",
            f"  %resume.at = getelementptr i8, ptr %warp, i64 {abi.Warp.resume.offset}",
            "  %resume = load i32, ptr %resume.at",
            f"  switch i32 %resume, label %block{entry} [ {cases} ]",
        ]
    return [
        "entry:",
        "  br label %dispatch",
        "dispatch:",
        f"  %next.at = getelementptr i8, ptr %context, i64 {abi.Context.next.offset}",
        "  %next = load ptr, ptr %next.at",
        "  %block = call i32 %next(ptr %context, ptr %warp)",
        f"  switch i32 %block, label %back [ {cases} ]",
        "back:",
        "  %status = sub i32 0, %block",
        "  ret i32 %status",
    ]


def _stop(lines: list[str]) -> list[str]:
    return ["stopped:", f"  ret i32 {abi.STOPPED}"] if any("%stopped" in line for line in lines) else []
