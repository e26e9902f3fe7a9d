"""`tilewise trace`: what one thread sees at some source lines, pass by pass, in the words of its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.dtypes import DTYPES
from tilewise.core.encoding import decode
from tilewise.core.launch import Dim3, Launch
from tilewise.core.launch_facts import LaunchFacts
from tilewise.emu.compiled import parse_module
from tilewise.emu.lower.watch import Slot
from tilewise.emu.register_types import MOVES
from tilewise.emu.tracing import Event, MemoryPlace, Watched, watch_thread
from tilewise.engine.arguments import BoundArgument
from tilewise.engine.kernel_file import KernelEntry
from tilewise.engine.listing import DTYPE_OF
from tilewise.engine.run import bind_launch
from tilewise.engine.source_lines import SourceLines, own_file, place_of, refuse_empty
from tilewise.ptx.ast import Instruction, Position
from tilewise.ptx.debug_info import SourceFunction, SourceVariable, read_functions
from tilewise.ptx.mangled import local_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = int | float


@dataclass(frozen=True, slots=True)
class TracedValue:
    """A register's value. `name` is the C++ variable's that it holds, or the register's own."""

    name: str
    register: str
    value: Number
    place: str = ""
    """Where a pointer points, in words."""

    @property
    def is_variable(self) -> bool:
        """Whether the name is the source's."""
        return self.name != self.register


@dataclass(frozen=True, slots=True)
class TracedAccess:
    """An access to memory: `place` says where, such as "A[3, 5]", in words."""

    kind: str
    space: str
    address: int
    place: str
    values: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One instruction as the thread carried it out."""

    file: str
    line: int
    opcode: str
    reads: tuple[TracedValue, ...]
    writes: tuple[TracedValue, ...]
    access: TracedAccess | None


@dataclass(frozen=True, slots=True)
class TraceReport:
    """What a thread did at some lines: passes over them, each from the first instruction that comes again."""

    kernel: str
    file: str
    block: Dim3
    thread: Dim3
    lines: tuple[int, ...]
    """Of the kernel's own file, those that were asked for and have an instruction."""
    has_names: bool
    """Whether the build says which variables registers hold."""
    passes: tuple[tuple[TracedStep, ...], ...]
    ended: str
    """Why the thread was not followed to its end; empty if it was."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as mappings, lists and plain values."""
        return asdict(self)


def trace(
    entry: KernelEntry,
    facts: LaunchFacts,
    block: Dim3,
    thread: Dim3,
    lines: Sequence[SourceLines],
    *,
    limit: int,
    max_instructions: int | None = None,
) -> TraceReport:
    """Launch a kernel on the emulator and follow one thread through some lines, for at most `limit` instructions there.

    Raises TilewiseError for facts that do not fit the kernel, a thread that the launch does not have, and lines without an
    instruction.
    """
    launch, arguments = bind_launch(entry, facts)
    functions = [one for one in parse_module(entry.module.ptx).functions if not one.is_entry or one.name == entry.name]
    kernel_file = own_file(entry.function)
    places: dict[int, Position] = {}
    for function in functions:
        for item in function.body:
            if isinstance(item, Instruction) and (place := place_of(item, lines, kernel_file)) is not None:
                places[item.ptx_line] = place
    if not places:
        raise refuse_empty(functions, lines, kernel_file)
    watched = watch_thread(launch, block, thread, frozenset(places), limit=limit, max_instructions=max_instructions)
    reader = _Reader(launch, arguments, watched)
    passes = tuple(
        tuple(reader.read(event, places[event.instruction.instruction.ptx_line]) for event in events)
        for events in _split_passes(watched.events)
    )
    own = sorted({place.line for place in places.values() if place.file == (kernel_file or "")})
    return TraceReport(entry.shown, kernel_file or "", block, thread, tuple(own), reader.has_names, passes, watched.ended)


def _split_passes(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Yield runs of events, a new one wherever an instruction comes again."""
    seen: set[int] = set()
    part: list[Event] = []
    for event in events:
        line = event.instruction.instruction.ptx_line
        if line in seen:
            yield part
            part, seen = [], set()
        seen.add(line)
        part.append(event)
    if part:
        yield part


class _Reader:
    """Puts events into words: names of variables from the module's debug information, places in memory from the launch."""

    def __init__(self, launch: Launch, arguments: Sequence[BoundArgument], watched: Watched) -> None:
        self._described = read_functions(launch.module.ptx)
        self._functions = _functions_by_line(launch, self._described)
        self._arguments = {f"argument {index}": argument for index, argument in enumerate(arguments)}
        self._places = watched.places
        self._types = dict(watched.register_types)
        self.has_names = bool(self._described)

    def read(self, event: Event, place: Position) -> TracedStep:
        """Return an event in words; it stands at a place of the source."""
        watched = event.instruction
        line = watched.instruction.ptx_line
        self._learn_types(event)
        pairs = list(zip(watched.slots, event.numbers, strict=True))
        reads = tuple(self._value(slot, bits, line) for slot, bits in pairs if slot.role == "read")
        writes = tuple(self._value(slot, bits, line + 1) for slot, bits in pairs if slot.role == "written")
        opcode = watched.instruction.opcode
        return TracedStep(place.file, place.line, opcode, reads, writes, self._access(event, reads, writes))

    def _learn_types(self, event: Event) -> None:
        """What is loaded from an argument has its type, and what is moved keeps its own, where instructions say nothing."""
        address, slots = event.address, event.instruction.slots
        place = None if address is None else self._place_of(address)
        argument = self._arguments.get(place.name) if place else None
        if argument is not None and argument.dtype is not None and argument.dtype.bytes == event.instruction.element_bytes:
            for slot in slots:
                if slot.role == "written":
                    self._types.setdefault(slot.register, argument.dtype.name)
        moved = event.instruction.instruction.opcode.partition(".")[0] in MOVES
        known = [self._types[slot.register] for slot in slots if slot.role == "read" and slot.register in self._types]
        for slot in slots if moved and known else ():
            self._types.setdefault(slot.register, known[0])

    def _value(self, slot: Slot, bits: int, line: int) -> TracedValue:
        """A register's value as the variable that it holds at a line of the PTX, or as the instruction takes it."""
        function = self._functions.get(line) or self._functions.get(line - 1)
        held = function.in_register(slot.register, line) if function else ()
        variable = held[-1] if held else None
        if variable is None:
            return TracedValue(slot.register, slot.register, _number(bits, self._type_of(slot)))
        place = f"&{self._locate(bits, 1)[1]}" if variable.type.endswith("*") else ""
        return TracedValue(variable.name, slot.register, _number(bits, _type_of(variable) or self._type_of(slot)), place)

    def _type_of(self, slot: Slot) -> str:
        """The type that an instruction takes a register for; where it says no more than the width, what others take it for."""
        known = self._types.get(slot.register, slot.type)
        return known if slot.type in ("b16", "b32", "b64") else slot.type

    def _access(self, event: Event, reads: Sequence[TracedValue], writes: Sequence[TracedValue]) -> TracedAccess | None:
        watched, address = event.instruction, event.address
        if address is None or not watched.element_bytes:
            return None
        moved = writes if watched.kind == "load" else reads[-watched.elements :] if watched.kind == "store" else ()
        place, words = self._locate(address, watched.element_bytes)
        space = place.space if place else watched.space
        return TracedAccess(watched.kind, space, address, words, tuple(one.value for one in moved))

    def _locate(self, address: int, element_bytes: int) -> tuple[MemoryPlace | None, str]:
        """The place that an address is in, and where it stands there in words; elements without a type have so many bytes."""
        place = self._place_of(address)
        return place, self._describe(place, address - place.low, element_bytes) if place else f"address {address:#x}"

    def _place_of(self, address: int) -> MemoryPlace | None:
        return next((one for one in self._places if one.low <= address < one.high), None)

    def _describe(self, place: MemoryPlace, offset: int, element_bytes: int) -> str:
        if place.space == "param":
            return f"the parameters' byte {offset}"
        argument = self._arguments.get(place.name)
        if argument is not None and argument.array is not None:
            return f"{argument.name}[{_index_of(argument.array, offset)}]"
        name = local_name(place.name.removeprefix("variable "))
        variable = self._variable_at(place, offset) if place.space == "local" else None
        if variable is not None:
            name, offset = variable.name, offset - variable.places[0].offset
            if not variable.type.endswith("]") and offset == 0:
                return name
        return f"{name}[{offset // element_bytes}]" if offset % element_bytes == 0 else f"{name} + {offset} B"

    def _variable_at(self, place: MemoryPlace, offset: int) -> SourceVariable | None:
        """The variable that stands at an offset of a function's local memory: that which begins last before it."""
        standing = [
            variable
            for function in self._described.values()
            for variable in function.variables
            if variable.places and variable.places[0].symbol == place.name and variable.places[0].offset <= offset
        ]
        return max(standing, key=lambda variable: variable.places[0].offset, default=None)


def _functions_by_line(launch: Launch, described: Mapping[str, SourceFunction]) -> dict[int, SourceFunction]:
    """Return the function that each line of the PTX belongs to, where debug information describes it."""
    found = {}
    for function in parse_module(launch.module.ptx).functions:
        if function.name in described:
            for item in function.body:
                if isinstance(item, Instruction):
                    found[item.ptx_line] = described[function.name]
    return found


def _type_of(variable: SourceVariable) -> str | None:
    """The element type of a variable, where it has a plain one."""
    plain = " ".join(word for word in variable.type.split() if word not in ("const", "volatile"))
    return DTYPE_OF.get(plain)


def _number(bits: int, type_: str) -> Number:
    """Bits as a number of an element type; as a whole number without a sign where PTX says no more than their width."""
    import numpy as np

    dtype = DTYPES.get(type_)
    if dtype is None:
        return bits
    held: NDArray[Any] = np.array([bits & ((1 << 8 * dtype.bytes) - 1)], f"u{dtype.bytes}").view(dtype.storage)
    number: Number = decode(held, dtype)[0].item()
    return number


def _index_of(array: NDArray[Any], offset: int) -> str:
    """The index of the element at a byte offset from an array's first, by its strides."""
    index = [0] * array.ndim
    for axis in sorted(range(array.ndim), key=lambda axis: -array.strides[axis]):
        index[axis], offset = divmod(offset, array.strides[axis])
    past = f"] + {offset} B" if offset else ""
    return ", ".join(map(str, index)) + past
