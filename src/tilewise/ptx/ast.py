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
    """A literal or constant expression; -2^63 to 2^64 - 1."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """0fXXXXXXXX (32 bits) or 0dXXXXXXXXXXXXXXXX (64): the bits as written. A decimal such as 1.5 is 64 bits wide."""

    bits: int
    width: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter, label, function, prototype or target list by name; `offset` bytes past it, for a variable."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """[base+offset]."""

    base: Register | Symbol | Integer
    offset: int = 0


@dataclass(frozen=True, slots=True)
class TensorAddress:
    """[map, {x, y}]: a tensor map, or a texture (with its sampler where the text names one), and coordinates."""

    base: Address
    sampler: Operand | None
    coordinates: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Vector:
    """{a, b, ...}."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Arguments:
    """(a, b, ...): what a call passes, or, standing before the function's name, gets back."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """%r1.b0 or %v.x: a byte or half of a register, or one element of a vector register."""

    register: Register
    selector: str


@dataclass(frozen=True, slots=True)
class Pair:
    """p|q: a destination with a second one; either may be _."""

    first: Register | Sink
    second: Register | Sink


@dataclass(frozen=True, slots=True)
class Negated:
    """!p: a predicate operand, negated."""

    register: Register


@dataclass(frozen=True, slots=True)
class Sink:
    """_: a destination nobody wants."""


Operand = Register | Integer | Float | Symbol | Address | TensorAddress | Vector | Arguments | Part | Pair | Negated | Sink


@dataclass(frozen=True, slots=True)
class Guard:
    """@p or @!p."""

    register: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, with where it came from."""

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
    """A place in a function's body."""

    name: str
    """Unique in its function: labels of nested scopes are renamed."""


@dataclass(frozen=True, slots=True)
class Relocation:
    """An address within a variable's initial value: eight bytes (or as many as an element has) at `offset`."""

    offset: int
    symbol: str
    addend: int
    generic: bool
    """generic(x): x's generic address; else its address within its state space."""
    byte: int | None = None
    """Only this byte of the address (0 the lowest), as in 0xFF00(x); None for all of it."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A module- or function-scope variable, or a parameter."""

    name: str
    space: str
    """"param", "shared", "global", "const", "local"; "reg" for a function's parameter in a register."""
    type: str
    """Element type without the dot: "b8", "u64", "f32"."""
    count: int | None
    """Elements of an array (of all its dimensions and vector lanes); None for a scalar; 0 for `.extern .shared x[]`."""
    align: int
    """Bytes; the type's own size where the text gives none."""
    external: bool = False
    initial: bytes | None = None
    """The initial value as far as it is written; the bytes after it are zero. None where there is no initialiser."""
    is_pointer: bool = False
    """A parameter marked `.ptr`."""
    relocations: tuple[Relocation, ...] = ()


@dataclass(frozen=True, slots=True)
class Prototype:
    """What a function takes and returns: one declared without a body, or a `.callprototype`."""

    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel (`is_entry`) or a device function, with its body."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    registers: dict[str, str]
    """Every register's type by its full name: {"%r1": "b32"}; those of nested scopes renamed to be unique."""
    variables: tuple[Variable, ...]
    """Declared in the body (demoted shared variables, local depots, a call's parameters); unique names, as for registers."""
    body: tuple[Instruction | Label, ...]
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Performance directives: {"maxntid": (1024, 1, 1)}; () for one without numbers."""
    position: Position | None = None
    """Of the first .loc."""
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The labels of each `.branchtargets` list, by the list's name."""
    prototypes: dict[str, Prototype] = field(default_factory=dict)
    """Each `.callprototype`, by name."""


@dataclass(frozen=True, slots=True)
class PtxModule:
    """A whole PTX text."""

    version: tuple[int, int]
    target: str
    address_size: int
    files: dict[int, str]
    variables: tuple[Variable, ...]
    functions: tuple[Function, ...]
    """Those with a body."""
    declarations: dict[str, Prototype] = field(default_factory=dict)
    """Functions without a body here, such as vprintf, by name."""
