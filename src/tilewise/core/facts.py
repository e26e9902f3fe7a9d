"""What went wrong in a launch, as the emulator saw it. Checkers word facts as findings; a plain run raises them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewise.core.launch import Dim3

FaultKind = Literal[
    "out of bounds",
    "misaligned",
    "store to a read-only buffer",
    "divergent barrier",
    "deadlock",
    "missing lanes",
    "jump to nowhere",
    "stack overflow",
    "trap",
    "failed assertion",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault at one instruction: the first thread that was seen, and how often it happened."""

    kind: FaultKind
    file: str
    line: int
    opcode: str
    block: Dim3
    thread: Dim3
    detail: str
    """Such as "4 bytes past the 256 of argument 2"."""
    count: int

    def __str__(self) -> str:
        times = "" if self.count == 1 else f" ({self.count} times)"
        who = f"block {self.block}, thread {self.thread}"
        return f"{self.file}:{self.line}: {self.kind}: {self.opcode} in {who}: {self.detail}{times}"
