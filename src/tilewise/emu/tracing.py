"""Runs a launch and watches one thread: what each instruction of chosen PTX lines reads, writes and accesses when it runs."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewise.core.errors import InstructionLimitReached, KernelFault, TilewiseError, UnsupportedInstruction
from tilewise.core.launch import Dim3, Launch
from tilewise.emu import abi
from tilewise.emu.arguments import bind
from tilewise.emu.blueprint import draw
from tilewise.emu.compiled import parse_module
from tilewise.emu.jit import Code, Target, compile_ir, host_target
from tilewise.emu.lower.kernel import FUNCTION, analyse_program, lower
from tilewise.emu.lower.memory_map import size_of
from tilewise.emu.lower.program import prepare
from tilewise.emu.lower.watch import SLOTS, Watch, WatchedInstruction, Watcher
from tilewise.emu.machine import Turns, run_kernel
from tilewise.emu.register_types import infer_types
from tilewise.emu.windows import SHARED_WINDOW
from tilewise.ptx.ast import Instruction, PtxModule

SHARING = ("atom", "red", "multimem")
"""Opcodes by which blocks talk to each other, whatever follows."""
SHARING_WORDS = frozenset({"volatile", "relaxed", "acquire", "release", "mmio"})
"""Modifiers by which loads and stores do."""

WINDOWS = ("shared", "local")
"""Spaces whose variables no buffer stands for."""

_TELL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint32)

# Never runs a block itself: sends every warp to the careful function.
_FAST = f"define i32 @{FUNCTION}(ptr %context, ptr %warp) #0 {{\n  ret i32 {abi.TO_CAREFUL}\n}}\n"


@dataclass(frozen=True, slots=True)
class Event:
    """One run of a watched instruction by the thread: 64-bit numbers, one for each of the instruction's slots."""

    instruction: WatchedInstruction
    numbers: tuple[int, ...]

    @property
    def address(self) -> int | None:
        """The generic address of its access."""
        for slot, number in zip(self.instruction.slots, self.numbers, strict=True):
            if slot.role == "address":
                return number + (SHARED_WINDOW if self.instruction.space == "shared" else 0)
        return None


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """A buffer or a variable, at generic addresses low..high (high exclusive)."""

    name: str
    """A variable's in the PTX, or such as "argument 0"."""
    space: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Watched:
    """What the thread did, in order. `ended` says why it was not followed to its end; empty if it was."""

    events: tuple[Event, ...]
    ended: str
    places: tuple[MemoryPlace, ...]
    """What there is in memory."""
    register_types: Mapping[str, str]
    """The PTX types of registers, as far as instructions say."""


def watch_thread(
    launch: Launch,
    block: Dim3,
    thread: Dim3,
    ptx_lines: frozenset[int],
    *,
    limit: int,
    max_instructions: int | None = None,
    target: Target | None = None,
) -> Watched:
    """Run a launch and return what one thread does at lines of the PTX, at most `limit` runs of an instruction.

    Only the thread's block runs, unless the kernel may make blocks wait for each other. Arrays are written in place. What ends
    the run early, a fault say, leaves what was seen: `Watched.ended` names it.
    Raises TilewiseError for a block or thread that the launch does not have.
    """
    number = _number_of("block", block, launch.grid)
    linear = _number_of("thread", thread, launch.block)
    buffer = (ctypes.c_uint64 * SLOTS)()
    events: list[Event] = []

    def tell(index: int) -> int:
        instruction = watch.instructions[index]
        events.append(Event(instruction, tuple(buffer[: len(instruction.slots)])))
        return int(len(events) < limit)

    callback = _TELL(tell)
    watch = Watch(ptx_lines, block, linear, ctypes.addressof(buffer), ctypes.cast(callback, ctypes.c_void_p).value or 0)
    kernel = WatchedKernel(launch, watch, target or host_target())
    blocks = None if blocks_communicate(parse_module(launch.module.ptx)) else [number]
    ended = ""
    try:
        run_kernel(kernel, launch, Turns(threads=1), blocks=blocks, max_instructions=max_instructions)
    except (KernelFault, InstructionLimitReached, UnsupportedInstruction) as error:
        ended = str(error)
    if len(events) == limit:
        ended = f"only the first {limit:,} runs of an instruction are shown"
    types = infer_types(step for steps in kernel.program.steps for step in steps)
    return Watched(tuple(events), ended, tuple(_memory_places(launch, kernel)), types)


def _memory_places(launch: Launch, kernel: WatchedKernel) -> Iterator[MemoryPlace]:
    for buffer in bind(launch, kernel.blueprint).buffers:
        yield MemoryPlace(buffer.name, buffer.space, buffer.low, buffer.high)
    for variable in (*parse_module(launch.module.ptx).variables, *kernel.program.function.variables):
        if variable.space in WINDOWS:
            low = kernel.program.symbols[variable.name] + (SHARED_WINDOW if variable.space == "shared" else 0)
            size = launch.dynamic_shared_bytes if variable.external else size_of(variable)
            yield MemoryPlace(variable.name, variable.space, low, low + size)


def blocks_communicate(module: PtxModule) -> bool:
    """Whether a module has instructions by which one block may wait for another."""
    instructions = (item for function in module.functions for item in function.body if isinstance(item, Instruction))
    return any(_shares(item.opcode.split(".")) for item in instructions)


def _shares(words: Sequence[str]) -> bool:
    return words[0] in SHARING or not SHARING_WORDS.isdisjoint(words)


def _number_of(what: str, place: Dim3, extent: Dim3) -> int:
    if any(not 0 <= index < size for index, size in zip(place, extent, strict=True)):
        raise TilewiseError(f"{what} {place} is not one of {extent[0]} x {extent[1]} x {extent[2]}: numbers begin at 0.")
    return place[0] + extent[0] * (place[1] + extent[1] * place[2])


class WatchedKernel:
    """A kernel all of whose warps run carefully, and tell `watch` what it asks for. Made for one run, and kept nowhere."""

    def __init__(self, launch: Launch, watch: Watcher, target: Target) -> None:
        analysis = analyse_program(prepare(parse_module(launch.module.ptx), launch.kernel, launch.block), launch.grid)
        careful = lower(analysis, careful=True, vector_bits=target.vector_bits, watch=watch)
        self.program = analysis.program
        self.blueprint = draw(analysis, careful)
        self.careful_seconds = 0.0
        self._fast = Code(compile_ir(_FAST, target), target)
        self._careful = Code(compile_ir(careful.ir, target), target)
        self.fast_address = self._fast.address(FUNCTION)

    def careful_address(self) -> int:
        """The careful function."""
        return self._careful.address(FUNCTION)
