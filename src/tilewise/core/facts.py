"""What went wrong in a launch, as the emulator saw it. Checkers word facts as findings; a plain run raises them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewise.core.launch import Dim3
from tilewise.core.place import Place

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

AccessKind = Literal["read", "write", "atomic", "copy"]
"""`copy` is what cp.async writes to shared memory."""


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
    place: Place
    """Where the instruction stands, in the innermost function that was inlined."""
    space: str = ""
    """global, shared, local, const or param: where the address points; empty where no memory was accessed."""
    access: AccessKind | None = None
    """What the instruction does to memory; None where it does nothing. A copy reads from global and writes to shared memory."""
    array: str = ""
    """Of a global address: the nearest array, such as "argument 2"; empty if none is near."""
    offset: int = 0
    """Bytes from that array's first byte, or from the start of shared or local memory."""
    barrier: int | None = None
    """The barrier at which threads wait; None where they wait for something else, or not at all."""
    wrapped: bool = False
    """Whether the address was computed in 32 bits that do not hold its true value."""
    ptx_line: int = 0
    """Where the instruction stands in the PTX."""

    def __str__(self) -> str:
        times = "" if self.count == 1 else f" ({self.count} times)"
        who = f"block {self.block}, thread {self.thread}"
        return f"{self.file}:{self.line}: {self.kind}: {self.opcode} in {who}: {self.detail}{times}"


@dataclass(frozen=True, slots=True)
class Access:
    """One side of a conflict: an instruction and an example of a thread that carried it out."""

    place: Place
    opcode: str
    kind: AccessKind
    block: Dim3
    thread: Dim3
    iteration: int
    """How often that thread's warp had carried out the instruction, this time included."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Accesses of two instructions to one byte by two threads, at least one a write, which nothing orders.

    `first` came first in the run that was seen; another run may have them the other way round.
    """

    space: Literal["shared", "global"]
    array: str
    """The argument's or variable's name; empty for shared memory that has none."""
    offset: int
    """Bytes from the array's start, of the first example."""
    first: Access
    second: Access
    in_warp: bool
    """Whether every pair of threads that was seen lies in one warp."""
    across_blocks: bool
    """Whether a pair of threads lies in two blocks."""
    is_pending: bool
    """Whether `first` is a copy (cp.async) that its thread had not waited for."""
    same_value: bool
    """Whether both write, and always what stood there already."""
    needs_fence: bool
    """Whether flags or atomics connect the two, and a fence alone is missing."""
    count: int


@dataclass(frozen=True, slots=True)
class Uninitialised:
    """A load of bytes that nobody had written."""

    space: Literal["shared", "global", "local"]
    array: str
    offset: int
    access: Access
    count: int
    """Lanes that loaded such bytes."""


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Bytes of an array argument, without contents at first, that no thread had written when the launch ended."""

    array: str
    first: int
    """The first such byte, from the array's start."""
    bytes: int
    """How many there are."""
    stores: tuple[Place, ...]
    """The instructions that wrote other bytes of the array."""
    is_read: bool = False
    """Whether the kernel also reads from the array, as from a workspace of its own."""


@dataclass(frozen=True, slots=True)
class IdleBarrier:
    """A barrier that was passed and ordered no two conflicting accesses which nothing else did."""

    place: Place
    count: int


@dataclass(frozen=True, slots=True)
class ShortBarrier:
    """A barrier that threads passed after others of their warp had left the kernel, so that nobody waited for those."""

    place: Place
    block: Dim3
    thread: Dim3
    """An example of those that passed."""
    count: int
    """Warps that did, each time."""


@dataclass(frozen=True, slots=True)
class Observed:
    """All that the emulator observed in a launch beyond its counts."""

    faults: tuple[Fault, ...]
    conflicts: tuple[Conflict, ...]
    uninitialised: tuple[Uninitialised, ...]
    unwritten: tuple[Unwritten, ...]
    idle_barriers: tuple[IdleBarrier, ...]
    short_barriers: tuple[ShortBarrier, ...]
    lost: int
    """Facts past what is kept."""
