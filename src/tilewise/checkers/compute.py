"""What a kernel computes or keeps at a price: doubles by accident, arrays in local memory, a half-empty multiprocessor."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.cost.occupancy import launch_objections, occupancy
from tilewise.ptx.ast import Function, Instruction, Symbol
from tilewise.ptx.origins import place_of

FP64 = Kind("perf.fp64", "warning", "A line computes in double precision although all its data is of single precision.")
LOCAL_MEMORY = Kind("perf.local_memory", "note", "An array or spilled registers of a thread live in memory, not in registers.")
OCCUPANCY = Kind("perf.occupancy", "note", "A multiprocessor holds few of the warps that it could.")

ARITHMETIC = ("add", "sub", "mul", "fma", "div", "sqrt", "rcp", "rsqrt")
LEAST_OCCUPANCY = 0.25
"""Below a quarter, too few warps are left to hide the latency of arithmetic and memory in most kernels [CUDA C++ Best Practices
Guide, Occupancy]."""
LEAST_OCCUPANCY_BY_REGISTERS = 0.125
"""Threads that fill that many registers have independent work of their own, which hides latency as other warps do [Volkov, Better
performance at lower occupancy]: two warps a scheduler will do."""
LEAST_SPILLED_BYTES = 32
"""The assembler spills a few registers outside of loops to reach a round number of them, which costs nothing that could be
measured."""


@checker(FP64)
def find_doubles(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each line that computes in double precision, where no data asks for it."""
    if evidence.counters is None or any(state.dtype and state.dtype.name == "f64" for state in evidence.arguments):
        return
    if any(parameter.type == "f64" for parameter in evidence.function.parameters):
        return
    counts: dict[Place, int] = {}
    for function in (evidence.function, *_called(evidence)):
        instructions = [item for item in function.body if isinstance(item, Instruction)]
        if not any(item.opcode == "cvt.f64.f32" for item in instructions):
            continue
        for item in instructions:
            if _is_double(item):
                place = place_of(item).outermost
                counts[place] = counts.get(place, 0) + 1
    for place, count in _by_line(counts):
        yield Finding(
            FP64.name,
            FP64.severity,
            evidence.build,
            f"computes in double precision ({count} instruction{'s' * (count != 1)}), and no argument is a double",
            "write literals with f, as in 0.5f, and functions of float: sqrtf, expf, fabsf",
            (place,),
            count=count,
        )


def _by_line(counts: dict[Place, int]) -> Iterator[tuple[Place, int]]:
    """Yield each line once, with its first column."""
    lines: dict[tuple[str, int], tuple[Place, int]] = {}
    for place, count in counts.items():
        key = place.file, place.line
        known = lines.get(key)
        lines[key] = (place, count) if known is None else (known[0], known[1] + count)
    yield from lines.values()


def _is_double(instruction: Instruction) -> bool:
    name, *modifiers = instruction.opcode.split(".")
    return name in ARITHMETIC and "f64" in modifiers


def _called(evidence: Evidence) -> tuple[Function, ...]:
    """The functions that the kernel may call; none where it calls none."""
    calls = any(isinstance(item, Instruction) and item.opcode.startswith("call") for item in evidence.function.body)
    return evidence.callees if calls else ()


@checker(LOCAL_MEMORY)
def find_local_memory(evidence: Evidence) -> Iterator[Finding]:
    """Yield a note for each line that accesses local memory, where the cubin confirms that the kernel has some."""
    resources, counters = evidence.setup.resources, evidence.counters
    if resources is None or counters is None or not resources.local_bytes:
        return
    lines: dict[tuple[str, int], int] = {}
    printing = _printing_lines(evidence)
    for site in counters.sites:
        if site.space == "local" and site.requests and (site.file, site.line) not in printing:
            lines[site.file, site.line] = lines.get((site.file, site.line), 0) + site.requests
    if not lines and not printing and resources.local_bytes >= LEAST_SPILLED_BYTES:
        message = f"{resources.local_bytes:,} bytes of local memory a thread, all of them the assembler's: spilled registers"
        places = () if evidence.setup.place is None else (evidence.setup.place,)
        yield Finding(LOCAL_MEMORY.name, LOCAL_MEMORY.severity, evidence.build, message, "hold fewer values at a time", places)
    for (file, line), requests in lines.items():
        yield Finding(
            LOCAL_MEMORY.name,
            LOCAL_MEMORY.severity,
            evidence.build,
            f"accesses local memory, {requests:,} requests: an array whose index is known only at run time, or "
            f"whose address is taken, cannot be in registers ({resources.local_bytes:,} bytes a thread)",
            "make every index a constant (unroll the loop) and inline what takes the address, or keep it in shared memory",
            (Place(file, line),),
            count=requests,
        )


def _printing_lines(evidence: Evidence) -> frozenset[tuple[str, int]]:
    """The lines that call printf: its arguments go through local memory, whatever they are."""
    functions = (evidence.function, *evidence.callees)
    items = (item for function in functions for item in function.body if isinstance(item, Instruction))
    calls = (item for item in items if item.opcode.startswith("call") and Symbol("vprintf") in item.operands)
    return frozenset((place.file, place.line) for item in calls for place in (place_of(item), place_of(item).outermost))


@checker(OCCUPANCY)
def find_low_occupancy(evidence: Evidence) -> Iterator[Finding]:
    """Yield a note where an SM holds few warps of the kernel."""
    setup, resources = evidence.setup, evidence.setup.resources
    if evidence.counters is None or resources is None:
        return
    shared = resources.static_shared_bytes + setup.dynamic_shared_bytes
    if launch_objections(setup.device, setup.threads, resources.registers, shared):
        return
    found = occupancy(setup.device, setup.threads, resources.registers, shared)
    if found.fraction >= (LEAST_OCCUPANCY_BY_REGISTERS if found.limiter == "registers" else LEAST_OCCUPANCY):
        return
    what = {
        "registers": f"{resources.registers} registers a thread",
        "shared": f"{shared:,} bytes of shared memory a block",
        "warps": f"{setup.threads} threads a block",
        "blocks": f"blocks of {setup.threads} threads",
    }[found.limiter]
    yield Finding(
        OCCUPANCY.name,
        OCCUPANCY.severity,
        evidence.build,
        f"an SM of {setup.device.name} holds {found.warps_per_sm} of {setup.device.warps_per_sm} warps: {what}",
        "use larger blocks" if found.limiter in ("blocks", "warps") else "use smaller tiles, or more threads for the same tile",
        () if setup.place is None else (setup.place,),
    )
