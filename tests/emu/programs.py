"""Structured kernels as data, and their PTX: statements on a few variables, free of races by how memory is laid out.

Every thread has variables, a slot of shared memory and a chunk of the output, by permutations of its number. Between two
barriers it writes its own slot in one half of shared memory and reads any slot of the other half; barriers swap the halves. It
writes and reads its own chunk of the output, reads the input anywhere, and stores all its variables in the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assembling import assemble

INTS = [f"%r{number}" for number in range(10, 16)]
WIDES = ["%rd10", "%rd11", "%rd12"]
FLOATS = ["%f10", "%f11", "%f12"]
TILE = [f"%f{number}" for number in range(20, 28)]
"""Accumulators: enough to make a block of multiply-adds a register tile."""
PREDICATES = ["%p10", "%p11", "%p12"]
UNIFORM = ["%r5", "%r6"]
"""A parameter and a mix of the block's indices: the same for all threads of a block."""

INPUT_WORDS, INPUT_MIDDLE = 1 << 16, 1 << 15
"""The input array, and where its pointer stands, in words."""
LOCAL_BYTES = 64
PLANES = 3
"""Chunks a thread has in the output."""
TEST = "%p1"
"""The predicate that a branch goes by."""


@dataclass(frozen=True)
class Line:
    """One or more instructions."""

    text: str


@dataclass(frozen=True)
class If:
    test: str
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    is_far: bool
    """Whether the branch is taken to the `then` part, which stands second."""


@dataclass(frozen=True)
class Loop:
    """Runs 0 to 3 (or, testing last, 1 to 3) times."""

    limit: str
    """Computes the number of rounds into %r2."""
    body: tuple[Statement, ...]
    tests_first: bool


@dataclass(frozen=True)
class Jump:
    """break, continue, ret, or a branch to the function's end, where a test holds."""

    test: str
    kind: str


@dataclass(frozen=True)
class Barrier:
    pass


Statement = Line | If | Loop | Jump | Barrier


@dataclass(frozen=True)
class Kernel:
    """A program with its launch."""

    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    setup: tuple[str, ...]
    body: tuple[Statement, ...]
    slot_bytes: int
    chunk_bytes: int
    slot_permutation: tuple[int, int, int]
    chunk_permutation: tuple[int, int, int]
    dynamic: bool
    parameter: int
    has_tile: bool = False
    has_local: bool = False

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def total(self) -> int:
        return self.threads * self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def slots(self) -> int:
        """Slots a half of shared memory: a power of two."""
        return 1 << (self.threads - 1).bit_length()

    @property
    def half_bytes(self) -> int:
        return self.slots * self.slot_bytes

    @property
    def chunks(self) -> int:
        """Chunks a plane of the output: a power of two."""
        return 1 << (self.total - 1).bit_length()


# -- emission


class Writer:
    """Turns a kernel into PTX, a `.loc` line before each instruction."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.labels = 0

    def ptx(self) -> str:
        """The module. Parameters: input, output, output again, final integers, final wides, a number."""
        k = self.kernel
        self.emit(_PROLOGUE.replace("MIDDLE", str(4 * INPUT_MIDDLE)))
        slot = _permute("%r30", "%r1", k.slot_permutation, k.slots)
        chunk = _permute("%r31", "%r7", k.chunk_permutation, k.chunks)
        self.emit(f"{slot}mul.lo.u32 %r30, %r30, {k.slot_bytes};{chunk}mul.wide.u32 %rd25, %r31, {k.chunk_bytes};")
        self.emit("add.s64 %rd22, %rd22, %rd25; add.s64 %rd23, %rd23, %rd25;")
        for text in k.setup:
            self.emit(text)
        if k.has_local:
            self.lines.append(f".local .align 16 .b8 depot[{LOCAL_BYTES}];")
        if k.has_tile:
            self.emit("mul.wide.u32 %rd30, %r1, 4; add.s64 %rd30, %rd20, %rd30;")
            self.emit("".join(f"ld.global.f32 {name}, [%rd30+{4 + 12 * i}];" for i, name in enumerate(TILE)))
        self.write(k.body, 0, "", "")
        self.emit(_EPILOGUE.replace("TOTAL4", str(4 * k.total)).replace("TOTAL8", str(8 * k.total)))
        if k.has_tile:
            self.emit("".join(f"st.global.f32 [%rd26], {name}; add.s64 %rd26, %rd26, {4 * k.total};" for name in TILE))
        self.lines.append("END: ret;")
        size = 2 * k.half_bytes
        body = "\n".join(self.lines).replace("%HALF", str(k.half_bytes)).replace("%SLOTMASK", str(k.slots - 1))
        body = body.replace("%SLOTBYTES", str(k.slot_bytes))
        body = re.sub(r"(\d+)\+PLANE(\d)", lambda at: str(int(at[1]) + int(at[2]) * k.chunks * k.chunk_bytes), body)
        return assemble(body, "u64 u64 u64 u64 u64 u32", shared_bytes=0 if k.dynamic else size)

    def emit(self, text: str) -> None:
        """Add instructions, each with a line number of its own."""
        for instruction in text.replace("\n", " ").split(";"):
            if instruction.strip():
                self.lines.append(f".loc 1 {len(self.lines) + 1} 1\n{instruction.strip()};")

    def write(self, statements: tuple[Statement, ...], depth: int, leave: str, again: str) -> None:
        """Add statements; `leave` and `again` are the labels that break and continue go to."""
        for statement in statements:
            match statement:
                case Line(text):
                    self.emit(text)
                case Barrier():
                    self.emit("bar.sync 0; xor.b32 %r32, %r32, %HALF;")
                case Jump(test, kind):
                    self.emit(test)
                    way = {"break": f"bra {leave}", "continue": f"bra {again}", "ret": "ret", "end": "bra END"}[kind]
                    self.emit(f"@{TEST} {way};")
                case If():
                    self.write_if(statement, depth, leave, again)
                case Loop():
                    self.write_loop(statement, depth)

    def write_if(self, statement: If, depth: int, leave: str, again: str) -> None:
        self.labels += 1
        second, end = f"ELSE{self.labels}", f"FI{self.labels}"
        parts = (statement.otherwise, statement.then) if statement.is_far else (statement.then, statement.otherwise)
        self.emit(statement.test)
        self.emit(f"@{'' if statement.is_far else '!'}{TEST} bra {second};")
        self.write(parts[0], depth, leave, again)
        if parts[1]:
            self.emit(f"bra {end};")
        self.lines.append(f"{second}:")
        self.write(parts[1], depth, leave, again)
        self.lines.append(f"{end}:")

    def write_loop(self, statement: Loop, depth: int) -> None:
        self.labels += 1
        head, again, leave = (f"{stem}{self.labels}" for stem in ("HEAD", "AGAIN", "LEAVE"))
        counter, limit = f"%r{40 + depth}", f"%r{50 + depth}"
        self.emit(f"{statement.limit} mov.u32 {limit}, %r2; mov.u32 {counter}, 0;")
        self.lines.append(f"{head}:")
        if statement.tests_first:
            self.emit(f"setp.ge.u32 {TEST}, {counter}, {limit}; @{TEST} bra {leave};")
        self.write(statement.body, depth + 1, leave, again)
        self.lines.append(f"{again}:")
        self.emit(f"add.u32 {counter}, {counter}, 1;")
        self.emit(f"bra {head};" if statement.tests_first else f"setp.lt.u32 {TEST}, {counter}, {limit}; @{TEST} bra {head};")
        self.lines.append(f"{leave}:")


_PROLOGUE = """
    mov.u32 %r2, %tid.z; mov.u32 %r3, %ntid.y; mov.u32 %r4, %tid.y; mad.lo.u32 %r2, %r2, %r3, %r4;
    mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r1, %r2, %r3, %r4;
    mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %ctaid.x; mad.lo.u32 %r6, %r2, %r3, %r4;
    mov.u32 %r2, %ntid.x; mov.u32 %r3, %ntid.y; mul.lo.u32 %r2, %r2, %r3; mov.u32 %r3, %ntid.z; mul.lo.u32 %r2, %r2, %r3;
    mad.lo.u32 %r7, %r6, %r2, %r1;
    ld.param.u64 %rd20, [a0]; add.s64 %rd20, %rd20, MIDDLE;
    ld.param.u64 %rd22, [a1]; ld.param.u64 %rd23, [a2]; ld.param.u64 %rd26, [a3]; ld.param.u64 %rd27, [a4];
    ld.param.u32 %r5, [a5]; mov.u32 %r32, 0; mov.f32 %f13, 0f3F800000;
    mov.u16 %rs10, 1; mov.u16 %rs11, 2; mov.u16 %rs12, 3; mov.u16 %rs13, 4;
"""
"""%r1: the thread in its block, %r7: in the grid; %r6: the block in the grid."""

_EPILOGUE = (
    "mul.wide.u32 %rd25, %r7, 4; add.s64 %rd26, %rd26, %rd25; mul.wide.u32 %rd25, %r7, 8; add.s64 %rd27, %rd27, %rd25;"
    + "".join(f"st.global.u32 [%rd26], {name}; add.s64 %rd26, %rd26, TOTAL4;" for name in INTS)
    + "".join(f"st.global.f32 [%rd26], {name}; add.s64 %rd26, %rd26, TOTAL4;" for name in FLOATS)
    + "".join(f"selp.u32 %r2, 1, 0, {name}; st.global.u32 [%rd26], %r2; add.s64 %rd26, %rd26, TOTAL4;" for name in PREDICATES)
    + "".join(f"st.global.u64 [%rd27], {name}; add.s64 %rd27, %rd27, TOTAL8;" for name in WIDES)
)


def _permute(into: str, thread: str, numbers: tuple[int, int, int], size: int) -> str:
    """((thread * odd + shift) ^ mask) & (size - 1): each thread another number below `size`; what changes nothing is left out."""
    odd, shift, mask = numbers[0] | 1, numbers[1] % size, numbers[2] % size
    text = f"mov.u32 {into}, {thread};"
    text += f"mul.lo.u32 {into}, {into}, {odd};" if odd != 1 else ""
    text += f"add.u32 {into}, {into}, {shift};" if shift else ""
    text += f"xor.b32 {into}, {into}, {mask};" if mask else ""
    return text + (f"and.b32 {into}, {into}, {size - 1};" if odd != 1 or shift else "")
