"""What calls pass: parameter memory of functions cut into pieces, each a register, the same on both sides of every call.

A parameter, or what a call site writes for it, is stored and loaded in elements of any size. Those that belong together, through
calls, are cut at the same places, so that an element is one piece or several of equal size.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from tilewise.emu.lower.memory_map import size_of
from tilewise.emu.lower.step import Step, match
from tilewise.ptx.ast import Address, Function, Instruction, Operand, Register, Symbol, Variable, Vector

WHOLE_SIZES = (1, 2, 4, 8)

Range = tuple[int, int]
"""First byte and size."""


@dataclass(slots=True)
class Group:
    """Parameters that calls make one, and how they are cut."""

    ranges: set[Range] = field(default_factory=set)
    """Elements that are stored or loaded somewhere."""
    is_predicate: bool = False
    pieces: tuple[Range, ...] = ()

    def cut(self) -> None:
        """Find the pieces, from all ranges."""
        edges = sorted({edge for first, size in self.ranges for edge in (first, first + size)})
        cuts = [(low, high - low) for low, high in itertools.pairwise(edges) if self._covers(low)]
        self.pieces = tuple(cuts)
        if not all(self._is_even(element) for element in self.ranges):
            covered = sorted({byte for first, size in self.ranges for byte in range(first, first + size)})
            self.pieces = tuple((byte, 1) for byte in covered)

    def within(self, element: Range) -> list[Range]:
        """The pieces of an element."""
        first, size = element
        return [piece for piece in self.pieces if first <= piece[0] < first + size]

    def _covers(self, byte: int) -> bool:
        return any(first <= byte < first + size for first, size in self.ranges)

    def _is_even(self, element: Range) -> bool:
        sizes = {size for _, size in self.within(element)}
        return len(sizes) == 1 and sizes <= set(WHOLE_SIZES)


class Passing:
    """The parameters of all functions and call sites of a program, joined into groups."""

    def __init__(self) -> None:
        self._leader: dict[Hashable, Hashable] = {}
        self._groups: dict[Hashable, Group] = {}

    def add(self, name: Hashable, ranges: Iterable[Range], *, is_predicate: bool = False) -> None:
        """Make a parameter known, with elements that are accessed in it."""
        group = self.group(name)
        group.ranges |= set(ranges)
        group.is_predicate |= is_predicate

    def join(self, one: Hashable, other: Hashable) -> None:
        """A call passes one as the other."""
        first, second = self._find(one), self._find(other)
        if first != second:
            gone = self._groups.pop(second, Group())
            self.add(first, gone.ranges, is_predicate=gone.is_predicate)
            self._leader[second] = first

    def group(self, name: Hashable) -> Group:
        """The group of a parameter."""
        return self._groups.setdefault(self._find(name), Group())

    def cut(self) -> None:
        """Cut all groups, when all is known."""
        for group in self._groups.values():
            group.cut()

    def _find(self, name: Hashable) -> Hashable:
        while (leader := self._leader.get(name, name)) != name:
            name = leader
        return name


@dataclass(frozen=True, slots=True)
class ParameterAccess:
    """A load or store of parameter memory: which parameter, and its elements with the operands that hold them."""

    step: Step
    name: str
    elements: tuple[tuple[Range, Operand], ...]
    is_store: bool


def parameter_access(instruction: Instruction, names: Iterable[str]) -> ParameterAccess | None:
    """Return an instruction as an access to one of these parameters; None if it is none."""
    if not instruction.opcode.startswith(("ld.param", "st.param")):
        return None
    step = match(instruction)
    if step.access is None:
        return None
    address = step.sources[0][0]
    if not isinstance(address, Address) or not isinstance(address.base, Symbol) or address.base.name not in names:
        return None
    is_store = step.access.kind == "store"
    operand = step.sources[1][0] if is_store else step.results[0][0]
    start, size = address.base.offset + address.offset, step.access.element_bytes
    if step.access.whole:
        elements: tuple[tuple[Range, Operand], ...] = (((start, step.access.bytes), operand),)
    else:
        parts = operand.elements if isinstance(operand, Vector) else (operand,)
        elements = tuple(((start + index * size, size), part) for index, part in enumerate(parts))
    return ParameterAccess(step, address.base.name, elements, is_store)


def parameter_variables(function: Function) -> Iterator[Variable]:
    """What a function passes or is passed through parameter memory; not the parameters of a kernel."""
    if not function.is_entry:
        yield from (variable for variable in (*function.parameters, *function.returns) if variable.space == "param")
    yield from (variable for variable in function.variables if variable.space == "param")


def whole(variable: Variable) -> Range:
    """All of a parameter that is a register or a single value."""
    return 0, size_of(variable)


def piece_register(scope: str, piece: Range) -> str:
    """The name of the register that holds a piece; PTX has no name with a blank in it."""
    return f"{scope} {piece[0]}+{piece[1]}"


def piece_type(group: Group, piece: Range) -> str:
    """The PTX type of a piece's register."""
    return "pred" if group.is_predicate else f"b{8 * piece[1]}"


def as_operand(registers: list[str]) -> Operand:
    """One register, or several as a vector, lowest first."""
    found = tuple(Register(name) for name in registers)
    return found[0] if len(found) == 1 else Vector(found)
