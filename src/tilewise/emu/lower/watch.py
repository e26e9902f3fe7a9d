"""Watching a block: round the instructions of chosen PTX lines, code that hands over what happens there.

Watch hands over what one thread reads and writes, RequestWatch where all lanes of a warp access memory. Only careful functions
are watched. What is handed over are 64-bit numbers in a buffer, and the number of the instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from tilewise.core.launch import Dim3
from tilewise.emu.lower.access import Memory
from tilewise.emu.lower.analysis import run_step
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.checks import moved
from tilewise.emu.lower.step import Step
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value, bits_of, is_float, vector_type
from tilewise.ptx.ast import Address, Instruction, Integer, Negated, Operand, Register, Symbol, Vector

SLOTS = 64
"""Numbers of one instruction, at most: it has few operands, each of at most eight elements."""

REQUESTS = ("load", "store", "atomic", "copy")
"""Kinds of accesses that lanes make at addresses."""

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


class Watcher(Protocol):
    """What lowers the instructions that it wants in its own way."""

    def wants(self, step: Step) -> bool:
        """Whether an instruction is to be watched."""
        ...

    def lower(self, body: Body, memory: Memory, step: Step) -> None:
        """Emit one instruction, and what hands over its numbers."""
        ...


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
        _hand_over(body, is_watched, self._tell, len(self.instructions))
        self.instructions.append(WatchedInstruction(step.instruction, tuple(slots), *facts))

    def _is_watched(self, body: Body, step: Step) -> str:
        """Whether the thread is about to carry out an instruction."""
        lanes = body.lanes
        bit = 1 << self._lane if self._lane < LANES - 1 else -(1 << self._lane)
        active = lanes.define(f"and i32 {_active_lanes(body, step)}, {bit}")
        warp = lanes.define(f"icmp eq i32 {body.context_field('warp_index', 'i32')}, {self._warp}")
        return lanes.define(f"and i1 {warp}, {_is_at_work(body, active, self._block)}")

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


class RequestWatch:
    """Watches the accesses to memory of one block: for each warp that makes one, where each of its lanes does.

    `buffer` is the address of LANES + 1 64-bit numbers: addresses, whatever stands in those of lanes at rest, and the mask of the
    lanes that access memory. `tell` is as Watch's.
    """

    def __init__(self, block: Dim3, buffer: int, tell: int) -> None:
        self.steps: list[Step] = []
        self._block = block
        self._buffer = buffer
        self._tell = tell

    def wants(self, step: Step) -> bool:
        """Whether an instruction is to be watched."""
        return step.access is not None and step.access.kind in REQUESTS and not step.reads_parameter

    def lower(self, body: Body, memory: Memory, step: Step) -> None:
        """Emit one access, and before it what hands over its addresses."""
        access = step.access
        assert access is not None
        operand = step.sources[1 if access.kind == "copy" else 0][0]  # of a copy, where it reads global memory
        assert isinstance(operand, Address)
        base = operand.base if isinstance(operand.base, Integer) else body.value(operand.base, _address_type(access.space))
        if base is not None and not isinstance(base, Integer):
            self._hand_over(body, step, moved(body.lanes, base, operand.offset))
        run_step(body, memory, step)

    def _hand_over(self, body: Body, step: Step, address: Value) -> None:
        lanes = body.lanes
        active = _active_lanes(body, step)
        wide = address if address.type == "i64" else lanes.extend("zext", "i64", address)
        for offset, value in ((0, f"{vector_type('i64')} {lanes.vector(wide)}"), (8 * LANES, f"i32 {active}")):
            lanes.emit(f"store {value}, ptr inttoptr (i64 {self._buffer + offset} to ptr), align 4")
        _hand_over(body, _is_at_work(body, active, self._block), self._tell, len(self.steps))
        self.steps.append(step)


def _address_type(space: str) -> str:
    return "b32" if space == "shared" else "b64"


def _active_lanes(body: Body, step: Step) -> str:
    """The mask of lanes that are about to carry out an instruction."""
    lanes, active = body.lanes, str(body.mask)
    if step.instruction.guard is not None and (guard := body.predicate(step)) is not None:
        active = lanes.define(f"and i32 {active}, {lanes.mask_bits(guard)}")
    return active


def _is_at_work(body: Body, active: str, block: Dim3) -> str:
    """Whether there are active lanes, and they are of a block."""
    lanes = body.lanes
    found = lanes.define(f"icmp ne i32 {active}, 0")
    for axis, place in enumerate(block):
        here = lanes.define(f"icmp eq i32 {body.context_field('ctaid', 'i32', axis)}, {place}")
        found = lanes.define(f"and i1 {found}, {here}")
    return found


def _hand_over(body: Body, is_watched: str, tell: int, number: int) -> None:
    """Call `tell` with an instruction's number, and stop the run if it says so."""
    lanes = body.lanes
    told, on = lanes.fresh("tell"), lanes.fresh("on")
    lanes.emit(f"br i1 {is_watched}, label %{told}, label %{on}")
    lanes.label(told)
    more = lanes.define(f"call i32 inttoptr (i64 {tell} to ptr)(i32 {number})")
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
