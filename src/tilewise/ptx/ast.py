"""A PTX module as data: what the parser yields and the emulator lowers. Opcodes stay spelled as in the manual."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a source file, and the call it was inlined from, if any (a chain, innermost first)."""

    file: str
    line: int
    column: int
    function: str | None = None
    """The inlined function's (mangled) name; None for the kernel's own body."""
    inlined_at: Position | None = None

    @property
    def outermost(self) -> Position:
        """The place in the kernel's own body."""
        place = self
        while place.inlined_at is not None:
            place = place.inlined_at
        return place


@dataclass(frozen=True, slots=True)
class Register:
    """%r1, or a special register such as %tid.x (`special` is then true)."""

    name: str
    special: bool = False


@dataclass(frozen=True, slots=True)
class Integer:
    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """0fXXXXXXXX (32 bits) or 0dXXXXXXXXXXXXXXXX (64): the bits as written."""

    bits: int
    width: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter, label or function by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """[base+offset]"""

    base: Register | Symbol | Integer
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """{a, b, ...}"""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """p|q: a destination with a second one."""

    first: Register
    second: Register


@dataclass(frozen=True, slots=True)
class Negated:
    """!p: a predicate operand, negated."""

    register: Register


@dataclass(frozen=True, slots=True)
class Sink:
    """_: a destination nobody wants."""


Operand = Register | Integer | Float | Symbol | Address | Vector | Pair | Negated | Sink


@dataclass(frozen=True, slots=True)
class Guard:
    """@p or @!p."""

    register: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    opcode: str
    """With all its modifiers: "ld.global.nc.f32"."""
    operands: tuple[Operand, ...]
    guard: Guard | None
    position: Position | None
    """Where in the CUDA source, from the last .loc; None without line information."""
    ptx_line: int
    """1-based line in the PTX text."""


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    """Unique in its function: labels of nested scopes are renamed."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A module- or function-scope variable, or a parameter."""

    name: str
    space: str
    """"param", "shared", "global", "const", "local"."""
    type: str
    """Element type without the dot: "b8", "u64", "f32"."""
    count: int | None
    """Elements of an array; None for a scalar; 0 for `.extern .shared x[]`."""
    align: int
    """Bytes; the type's own size where the text gives none."""
    external: bool = False
    initial: bytes | None = None
    is_pointer: bool = False
    """A parameter marked `.ptr`."""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    registers: dict[str, str]
    """Every register's type by its full name: {"%r1": "b32"}; those of nested scopes renamed to be unique."""
    variables: tuple[Variable, ...]
    """Declared in the body (demoted shared variables, local depots)."""
    body: tuple[Instruction | Label, ...]
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Performance directives: {"maxntid": (1024, 1, 1)}."""
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class PtxModule:
    version: tuple[int, int]
    target: str
    address_size: int
    files: dict[int, str]
    variables: tuple[Variable, ...]
    functions: tuple[Function, ...]
