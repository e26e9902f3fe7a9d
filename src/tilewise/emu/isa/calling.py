"""Calls, and what they become once a kernel and the functions that it calls are one program (lower/calls.py).

Names that begin with a capital are the emulator's own: no PTX text can spell them.
"""

from __future__ import annotations

from tilewise.emu.isa.memory import ELEMENTS, Access, describe
from tilewise.emu.isa.spec import access, control, op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

_SPELLINGS = {"Return": "ret", "Pass": "mov"}


def spelled(opcode: str) -> str:
    """The PTX opcode behind one of the emulator's own; any other is itself."""
    return _SPELLINGS.get(opcode.partition(".")[0], "call") if opcode[0].isupper() else opcode


@control("call{.uni} a{, b}{, c}{, d}", no_effect="uni")
def call() -> str:
    """What is left of them is to functions that nobody knows."""
    return "call"


@control("Call callee, interface, number")
def call_function() -> str:
    return "jump"


@control("Call.b64 a, interface, number")
@control("Return.u32 a, interface")
def by_number() -> str:
    return "switch"


@access("Print.b32 d, a:b64, b:b64")
def print_() -> Access:
    """vprintf: a format, and where its arguments stand."""
    return Access("print", "print", "b32", 1)


@control("Assert message:b64, file:b64, line:b32, function:b64")
def assert_() -> str:
    """__assertfail: nobody returns from it."""
    return "assert"


@op("Pass.TYPE d, a", TYPE=("pred", *ELEMENTS))
def pass_(lanes: Lanes, a: Value) -> Value:
    """A piece of a parameter, from one side of a call to the other."""
    return a


@access("Push.TYPE [a], b", TYPE="b8 b16 b32 b64 b128")
def push(*, type: str) -> Access:
    """A register that a function needs when a call of itself is over, into the thread's stack."""
    return describe("store", "stack", type)


@access("Pop.TYPE d, [a]", TYPE="b8 b16 b32 b64 b128")
def pop(*, type: str) -> Access:
    return describe("load", "stack", type)
