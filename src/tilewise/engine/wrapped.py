"""Bad addresses whose index was computed in 32 bits that do not hold it: found by following one faulting thread again.

From the faulting access back go the instructions that its address is made of: 64-bit arithmetic, then where an index was
widened from 32 bits, then the 32-bit arithmetic behind it. The thread runs once more with these watched, and whole numbers
without a limit are computed beside its registers; an index wrapped where they differ as it is widened. What is no sum or product,
such as a hash's shifts and remainders, takes a register as it is: what wrapped on purpose before it counts for nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tilewise.core.facts import Fault, Observed
from tilewise.core.launch import Launch
from tilewise.emu.lower.watch import Role
from tilewise.emu.tracing import Event, Watched, watch_thread
from tilewise.ptx.ast import Address, Function, Instruction, Integer, Operand, Register

EVENTS_LIMIT = 200_000
"""Watched instructions of one thread."""
INSTRUCTIONS_LIMIT = 20_000_000
FAULTS_LIMIT = 8
"""Faults that are followed."""
FAR_BYTES = 1 << 31
"""No sum that wrapped misses by less, but for one that is negative after it. A product may."""

_NARROW: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "mad": lambda a, b, c: a * b + c,
    "shl": lambda a, b: a << min(b, 64),
    "mov": lambda a: a,
    "neg": operator.neg,
    "cvt": lambda a: a,
}
_OF_HELD = ("div.u32", "rem.u32", "shr.u32", "bfe.u32", "mul.hi.u32")
"""Operations on all 32 bits, so that what those hold is what is meant."""
LARGEST_ELEMENT = 1 << 16
"""Bytes, and more than an element of any array."""
_CHOOSING = ("min", "max", "selp")
"""Operations whose result is one of their operands."""
_WIDE = ("add", "sub", "mul", "mad", "shl", "mov", "cvta", "or")
_WIDTHS = {"s32": 32, "u32": 32, "b32": 32, "s64": 64, "u64": 64, "b64": 64}

Bind = Callable[[], Launch]
_Pair = tuple[int, int]
"""A number as it is if all that it is made from is signed, and if that is unsigned."""


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
    return bool(fault.kind == "out of bounds" and fault.space == "global" and fault.array)


def _function_of(functions: Sequence[Function], ptx_line: int) -> Function | None:
    for function in functions:
        if any(isinstance(item, Instruction) and item.ptx_line == ptx_line for item in function.body):
            return function
    return None


def _wraps(fault: Fault, function: Function, bind: Bind) -> bool:
    behind = {item.ptx_line: item for item in _behind(function, fault.ptx_line)}
    is_far = not 0 <= fault.offset < FAR_BYTES
    if not any(map(_widens, behind.values())) or not (is_far or any(map(_multiplies, behind.values()))):
        return False
    lines = frozenset((*behind, fault.ptx_line))
    watched = watch_thread(bind(), fault.block, fault.thread, lines, limit=EVENTS_LIMIT, max_instructions=INSTRUCTIONS_LIMIT)
    return _Replay(fault.ptx_line, watched, frozenset(_taken_as_held(function))).finds_wrapped()


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
    if name == "cvt" and modifiers[-2:-1] in (["s64"], ["u64"]) and modifiers[-1] in ("s32", "u32"):
        return modifiers[-1]
    if name in ("mul", "mad") and modifiers in (["wide", "s32"], ["wide", "u32"]):
        return modifiers[-1]
    return ""


def _is_wide(item: Instruction) -> bool:
    name, *modifiers = item.opcode.split(".")
    return name in _WIDE and _WIDTHS.get(modifiers[-1] if modifiers else "") == 64


def _narrow(item: Instruction) -> str:
    """The operation of an instruction of 32-bit arithmetic that may wrap, or hands on what has; empty for any other."""
    name, *modifiers = item.opcode.split(".")
    if name == "cvt":  # of 64 bits only: narrower ones have no more than 32 bits hold
        return name if modifiers[-2:-1] in (["s32"], ["u32"]) and modifiers[-1] in ("s64", "u64") else ""
    is_low = "hi" not in modifiers and "wide" not in modifiers and "sat" not in modifiers
    return name if name in (*_NARROW, *_CHOOSING) and is_low and _WIDTHS.get(modifiers[-1] if modifiers else "") == 32 else ""


def _multiplies(item: Instruction) -> bool:
    return _narrow(item) in ("mul", "mad", "shl", "cvt")


def _taken_as_held(function: Function) -> Iterator[str]:
    """Yield the registers that are meant as unsigned 32 bits: whose quotients and remainders are taken, as a hash's."""
    for item in function.body:
        if isinstance(item, Instruction) and (item.opcode in _OF_HELD or _multiplies_by_inverse(item)):
            yield from (operand.name for operand in item.operands[1:] if isinstance(operand, Register))


def _multiplies_by_inverse(item: Instruction) -> bool:
    """Whether an instruction begins a division by a constant: no array's elements have so many bytes."""
    factors = (operand.value for operand in item.operands[1:] if isinstance(operand, Integer))
    return item.opcode == "mul.wide.u32" and any(abs(factor) > LARGEST_ELEMENT for factor in factors)


# -- the thread once more


class _Replay:
    """Goes through a thread's events with whole numbers beside its registers.

    PTX does not say whether a 32-bit register is signed. So there are two numbers beside each: one as if what the index is made
    from were signed, and one as if it were unsigned. It wrapped where, as it is widened, it holds neither of them.
    """

    def __init__(self, access_line: int, watched: Watched, as_held: frozenset[str]) -> None:
        self._access_line = access_line
        self._watched = watched
        self._as_held = as_held
        self._true: dict[str, _Pair] = {}
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
        if (type_ := _widens(item)) or _is_wide(item):
            names = {operand.name for operand in item.operands[1:] if isinstance(operand, Register)}
            differs = type_ and any(self._differs(operand, event, type_) for operand in item.operands[1:])
            (self._wrapped.add if differs or not names.isdisjoint(self._wrapped) else self._wrapped.discard)(written)
        elif written not in self._as_held:
            self._true[written] = self._result(item, written, event)
        return False

    def _is_bad(self, event: Event) -> bool:
        address = event.address
        return address is not None and not any(place.low <= address < place.high for place in self._watched.places)

    def _differs(self, operand: Operand, event: Event, type_: str) -> bool:
        """Whether a 32-bit register that is widened from a type does not hold what it would without a limit."""
        if not isinstance(operand, Register) or operand.name not in self._true:
            return False
        signed, unsigned = _held(operand.name, event, "read")
        return (signed if type_ == "s32" else unsigned) not in self._true[operand.name]

    def _result(self, item: Instruction, written: str, event: Event) -> _Pair:
        """What an instruction would leave in a register without a limit; what it does leave where nothing says."""
        values = [self._value(operand, event) for operand in item.operands[1:]]
        result = _held(written, event, "written")
        name = _narrow(item)
        if name in _CHOOSING:
            chosen = (value for value, held in values if held == result)
            return next((value for value in chosen if value is not None), result)
        signed, unsigned = zip(*(value or (None, None) for value, _ in values), strict=True)
        if None in signed:
            return result
        return _NARROW[name](*signed), _NARROW[name](*unsigned)

    def _value(self, operand: Operand, event: Event) -> tuple[_Pair | None, _Pair | None]:
        """What an operand would be without a limit, and what it is; None for what no number says, such as %tid.x."""
        match operand:
            case Integer(value=value):
                return (value, value), _as_pair(value, 32)
            case Register(name=name, special=False):
                held = _held(name, event, "read")
                return self._true.get(name, held), held
            case _:
                return None, None


def _held(register: str, event: Event, role: Role) -> _Pair:
    """What a register held before or after an instruction, as signed and as unsigned."""
    for slot, number in zip(event.instruction.slots, event.numbers, strict=True):
        if slot.role == role and slot.register == register:
            return _as_pair(number, _WIDTHS.get(slot.type, 32))
    return 0, 0


def _as_pair(number: int, bits: int) -> _Pair:
    unsigned = number & (1 << bits) - 1
    return unsigned - (unsigned >> bits - 1 << bits), unsigned


def _address_registers(item: Instruction) -> set[str]:
    return {operand.base.name for operand in item.operands if isinstance(operand, Address) and isinstance(operand.base, Register)}
