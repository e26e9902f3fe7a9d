"""Bad addresses whose index was computed in 32 bits that do not hold it: found by following one faulting thread again.

From the faulting access back go the instructions that its address is made of: 64-bit arithmetic, then where an index was
widened from 32 bits, then the 32-bit arithmetic behind it. The thread runs once more with these watched, and whole numbers
without a limit are computed beside its registers; an index wrapped where the two differ as it is widened.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tilewise.core.facts import Fault, Observed
from tilewise.core.launch import Launch
from tilewise.emu.tracing import Event, Watched, watch_thread
from tilewise.ptx.ast import Address, Function, Instruction, Integer, Operand, Register

EVENTS_LIMIT = 200_000
"""Watched instructions of one thread."""
INSTRUCTIONS_LIMIT = 200_000_000
FAULTS_LIMIT = 8
"""Faults that are followed."""
FAR_BYTES = 1 << 31
"""No index that wrapped misses by less, but for one that is negative after it."""

_NARROW: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "mad": lambda a, b, c: a * b + c,
    "shl": lambda a, b: a << min(b, 64),
    "mov": lambda a: a,
    "neg": operator.neg,
}
_WIDE = ("add", "sub", "mul", "mad", "shl", "mov", "cvta", "or")
_WIDTHS = {"s32": 32, "u32": 32, "b32": 32, "s64": 64, "u64": 64, "b64": 64}

Bind = Callable[[], Launch]


def mark_wrapped(observed: Observed, functions: Sequence[Function], bind: Bind) -> Observed:
    """Return what was observed, with each fault marked whose index wrapped; `bind` makes the launch anew."""
    faults, followed = [], 0
    for fault in observed.faults:
        if _may_have_wrapped(fault) and followed < FAULTS_LIMIT:
            followed += 1
            function = _function_of(functions, fault.ptx_line)
            if function is not None and _wraps(fault, function, bind):
                fault = replace(fault, wrapped=True)
        faults.append(fault)
    return replace(observed, faults=tuple(faults))


def _may_have_wrapped(fault: Fault) -> bool:
    is_global = fault.kind == "out of bounds" and fault.space == "global" and fault.array
    return bool(is_global) and (fault.offset < 0 or fault.offset >= FAR_BYTES)


def _function_of(functions: Sequence[Function], ptx_line: int) -> Function | None:
    for function in functions:
        if any(isinstance(item, Instruction) and item.ptx_line == ptx_line for item in function.body):
            return function
    return None


def _wraps(fault: Fault, function: Function, bind: Bind) -> bool:
    behind = {item.ptx_line: item for item in _behind(function, fault.ptx_line)}
    if not any(_widens(item) for item in behind.values()):
        return False
    lines = frozenset((*behind, fault.ptx_line))
    watched = watch_thread(bind(), fault.block, fault.thread, lines, limit=EVENTS_LIMIT, max_instructions=INSTRUCTIONS_LIMIT)
    is_signed = not any(_widens(item) == "u32" for item in behind.values())
    return _Replay(fault.ptx_line, watched, is_signed).finds_wrapped()


# -- the instructions behind an address


def _behind(function: Function, ptx_line: int) -> Iterator[Instruction]:
    """Yield the instructions that the address of an access is made of."""
    writers: dict[str, list[Instruction]] = {}
    access = None
    for item in function.body:
        if isinstance(item, Instruction):
            access = item if item.ptx_line == ptx_line else access
            for operand in item.operands[:1]:
                if isinstance(operand, Register) and not item.opcode.startswith(("st.", "red.")):
                    writers.setdefault(operand.name, []).append(item)
    if access is None:
        return
    wanted = list(_address_registers(access))
    seen: set[int] = set()
    while wanted:
        for item in writers.get(wanted.pop(), ()):
            if item.ptx_line not in seen and (_widens(item) or _is_wide(item) or _narrow(item)):
                seen.add(item.ptx_line)
                yield item
                wanted += [operand.name for operand in item.operands[1:] if isinstance(operand, Register)]


def _widens(item: Instruction) -> str:
    """The type of 32 bits that an instruction widens from; empty if it does not."""
    name, *modifiers = item.opcode.split(".")
    if name == "cvt" and modifiers[-2:] in (["s64", "s32"], ["u64", "u32"]):
        return modifiers[-1]
    if name in ("mul", "mad") and modifiers in (["wide", "s32"], ["wide", "u32"]):
        return modifiers[-1]
    return ""


def _is_wide(item: Instruction) -> bool:
    name, *modifiers = item.opcode.split(".")
    return name in _WIDE and _WIDTHS.get(modifiers[-1] if modifiers else "") == 64


def _narrow(item: Instruction) -> str:
    """The operation of an instruction of 32-bit arithmetic that may wrap; empty for any other."""
    name, *modifiers = item.opcode.split(".")
    is_low = "hi" not in modifiers and "wide" not in modifiers and "sat" not in modifiers
    return name if name in _NARROW and is_low and _WIDTHS.get(modifiers[-1] if modifiers else "") == 32 else ""


# -- the thread once more


class _Replay:
    """Goes through a thread's events with whole numbers beside its registers."""

    def __init__(self, access_line: int, watched: Watched, is_signed: bool) -> None:
        self._access_line = access_line
        self._watched = watched
        self._is_signed = is_signed
        self._true: dict[str, int] = {}
        """32-bit registers, as if they had no limit."""
        self._wrapped: set[str] = set()
        """64-bit registers made from an index that wrapped."""

    def finds_wrapped(self) -> bool:
        """Whether the access goes to a bad address by an index that wrapped."""
        return any(self._steps(event) for event in self._watched.events)

    def _steps(self, event: Event) -> bool:
        item = event.instruction.instruction
        if item.ptx_line == self._access_line:
            return self._is_bad(event) and not self._wrapped.isdisjoint(_address_registers(item))
        written = next((operand.name for operand in item.operands[:1] if isinstance(operand, Register)), "")
        if _widens(item):
            is_wrapped = any(self._differs(operand, event) for operand in item.operands[1:])
        elif _is_wide(item):
            names = {operand.name for operand in item.operands[1:] if isinstance(operand, Register)}
            is_wrapped = not names.isdisjoint(self._wrapped)
        else:
            self._true[written] = _NARROW[_narrow(item)](*(self._value(operand, event) for operand in item.operands[1:]))
            return False
        (self._wrapped.add if is_wrapped else self._wrapped.discard)(written)
        return False

    def _is_bad(self, event: Event) -> bool:
        address = event.address
        return address is not None and not any(place.low <= address < place.high for place in self._watched.places)

    def _differs(self, operand: Operand, event: Event) -> bool:
        """Whether a 32-bit register does not hold what it would without a limit."""
        if not isinstance(operand, Register) or operand.name not in self._true:
            return False
        return self._true[operand.name] != self._held(operand, event)

    def _value(self, operand: Operand, event: Event) -> int:
        match operand:
            case Integer(value=value):
                return value
            case Register(name=name) if name in self._true:
                return self._true[name]
            case Register():
                return self._held(operand, event)
            case _:
                return 0

    def _held(self, register: Register, event: Event) -> int:
        """What a register held as the instruction began."""
        for slot, number in zip(event.instruction.slots, event.numbers, strict=True):
            if slot.role == "read" and slot.register == register.name:
                bits = number & 0xFFFF_FFFF
                return bits - (1 << 32) if self._is_signed and bits >> 31 else bits
        return 0


def _address_registers(item: Instruction) -> set[str]:
    return {operand.base.name for operand in item.operands if isinstance(operand, Address) and isinstance(operand.base, Register)}
