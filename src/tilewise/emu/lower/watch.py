"""Watching one thread: round the instructions of chosen PTX lines, code that hands over what the thread reads and writes there.

Only careful functions are watched. What is handed over are 64-bit numbers in a buffer, and the number of the instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewise.core.launch import Dim3
from tilewise.emu.lanes import Value, bits_of, is_float
from tilewise.emu.lower.access import Memory
from tilewise.emu.lower.analysis import run_step
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.step import Step
from tilewise.emu.patterns import LANES
from tilewise.ptx.ast import Address, Instruction, Negated, Operand, Register, Symbol, Vector

SLOTS = 64
"""Numbers of one instruction, at most: it has few operands, each of at most eight elements."""

Role = Literal["read", "address", "written"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One number that an instruction hands over: a register's bits, before or after it, or where it accesses memory."""

    role: Role
    register: str
    """Empty for an address."""
    type: str
    """The PTX type that the instruction takes it for."""


@dataclass(frozen=True, slots=True)
class WatchedInstruction:
    """An instruction with its slots; `space` and `bytes` are those of its access, if it has one."""

    instruction: Instruction
    slots: tuple[Slot, ...]
    space: str = ""
    kind: str = ""
    element_bytes: int = 0
    elements: int = 0


class Watch:
    """Watches one thread of one block.

    `buffer` is the address of SLOTS 64-bit numbers; `tell` that of a function i32(i32 number), called when the numbers of an
    instruction stand there. It returns whether to go on.
    """

    def __init__(self, ptx_lines: frozenset[int], block: Dim3, thread: int, buffer: int, tell: int) -> None:
        self.instructions: list[WatchedInstruction] = []
        self._lines = ptx_lines
        self._block = block
        self._warp, self._lane = divmod(thread, LANES)
        self._buffer = buffer
        self._tell = tell

    def wants(self, step: Step) -> bool:
        """Whether an instruction is to be watched."""
        return step.instruction.ptx_line in self._lines

    def lower(self, body: Body, memory: Memory, step: Step) -> None:
        """Emit one instruction, and what hands over its numbers."""
        is_watched = self._is_watched(body, step)
        slots: list[Slot] = []
        for operand, type_ in step.sources:
            self._read(body, operand, type_, slots)
        run_step(body, memory, step)
        for operand, type_ in step.results:
            for register in _registers(operand):
                self._keep(body, Slot("written", register, type_), body.read(register), slots)
        access = step.access
        facts = (access.space, access.kind, access.element_bytes, access.count) if access is not None else ()
        self._hand_over(body, is_watched)
        self.instructions.append(WatchedInstruction(step.instruction, tuple(slots), *facts))

    def _is_watched(self, body: Body, step: Step) -> str:
        """Whether the thread is about to carry out an instruction."""
        lanes = body.lanes
        active = str(body.mask)
        if step.instruction.guard is not None and (guard := body.predicate(step)) is not None:
            active = lanes.define(f"and i32 {active}, {lanes.mask_bits(guard)}")
        bit = 1 << self._lane if self._lane < LANES - 1 else -(1 << self._lane)
        found = lanes.define(f"icmp ne i32 {lanes.define(f'and i32 {active}, {bit}')}, 0")
        places = [("warp_index", 0, self._warp), *(("ctaid", axis, place) for axis, place in enumerate(self._block))]
        for field, index, wanted in places:
            here = lanes.define(f"icmp eq i32 {body.context_field(field, 'i32', index)}, {wanted}")
            found = lanes.define(f"and i1 {found}, {here}")
        return found

    def _read(self, body: Body, operand: Operand, type_: str, slots: list[Slot]) -> None:
        match operand:
            case Address(Register(name), offset):
                value = body.read(name)
                if value is not None and not is_float(value.type):
                    moved = body.lanes.binary("add", value, body.lanes.constant(value.type, offset)) if offset else value
                    self._keep(body, Slot("address", "", f"u{bits_of(value.type)}"), moved, slots)
                    self._keep(body, Slot("read", name, f"b{bits_of(value.type)}"), value, slots)
            case Address(Symbol(name, past), offset) if name in body.program.symbols:
                place = body.program.symbols[name] + past + offset
                self._keep(body, Slot("address", "", "u64"), body.lanes.constant("i64", place), slots)
            case _:
                for register in _registers(operand):
                    self._keep(body, Slot("read", register, type_), body.read(register), slots)

    def _keep(self, body: Body, slot: Slot, value: Value | None, slots: list[Slot]) -> None:
        """Store the thread's part of a value into the next slot."""
        if value is None or len(slots) == SLOTS or bits_of(value.type) > 64:
            return
        lanes, type_ = body.lanes, value.type
        part = value.scalar
        if not value.is_uniform:
            part = lanes.define(f"extractelement <{LANES} x {type_}> {lanes.vector(value)}, i32 {self._lane}")
        bits = f"i{bits_of(type_)}"
        if type_ != bits:
            part = lanes.define(f"bitcast {type_} {part} to {bits}")
        if bits != "i64":
            part = lanes.define(f"zext {bits} {part} to i64")
        lanes.emit(f"store i64 {part}, ptr inttoptr (i64 {self._buffer + 8 * len(slots)} to ptr)")
        slots.append(slot)

    def _hand_over(self, body: Body, is_watched: str) -> None:
        lanes = body.lanes
        tell, on = lanes.fresh("tell"), lanes.fresh("on")
        lanes.emit(f"br i1 {is_watched}, label %{tell}, label %{on}")
        lanes.label(tell)
        more = lanes.define(f"call i32 inttoptr (i64 {self._tell} to ptr)(i32 {len(self.instructions)})")
        lanes.emit(f"br i1 {lanes.define(f'icmp ne i32 {more}, 0')}, label %{on}, label %stopped")
        lanes.label(on)


def _registers(operand: Operand) -> list[str]:
    """The ordinary registers that an operand is or holds."""
    match operand:
        case Register(name, special):
            return [] if special else [name]
        case Negated(register):
            return [register.name]
        case Vector(elements):
            return [name for element in elements for name in _registers(element)]
    return []
