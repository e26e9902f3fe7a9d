"""A PTX interpreter to compare the emulator with: one thread at a time between barriers, on Python's integers.

It shares the parser and the control-flow graph with the emulator and nothing else: no lanes, no masks, no analysis, no opcode
table. Each instruction becomes one function of a thread. Whatever it does not know is an error. Programs must be free of races,
since threads run one after another. A bad access does nothing, reads 0 and is counted.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tilewise.core.launch import Launch, Slot
from tilewise.ptx.ast import Address, Float, Function, Instruction, Integer, Negated, Operand, Register, Symbol, Vector
from tilewise.ptx.cfg import Cfg, build_cfg
from tilewise.ptx.parse import parse

LOCAL, SHARED = 1 << 56, 1 << 57
"""Where generic addresses of local and of shared memory start; a local address is a generic one as it stands."""
BASE, SPACING = 1 << 40, 1 << 52
"""Where the first array argument stands, and how far apart they are; both multiples of 512 bytes, as cudaMalloc gives."""
STEPS = 10_000_000
"""Instructions of one launch, after which it is taken for endless."""

BITS = {"pred": 1, **{f"{kind}{bits}": bits for kind in "busf" for bits in (8, 16, 32, 64)}}


@dataclass
class Access:
    """What one thread did at one memory instruction."""

    instruction: Instruction
    address: int
    bytes: int
    space: str
    is_store: bool


@dataclass
class Visit:
    """One run of a basic block by one thread."""

    block: int
    accesses: dict[int, Access] = field(default_factory=dict)
    """By the instruction's place in the block; left out where the guard was off."""
    fmas: int = 0


@dataclass
class Thread:
    """A thread's state. `path` is all that it did, block by block."""

    tid: tuple[int, int, int]
    ctaid: tuple[int, int, int]
    shared: bytearray
    local: bytearray
    registers: dict[str, int] = field(default_factory=dict)
    block: int = 0
    is_done: bool = False
    path: list[Visit] = field(default_factory=list)


@dataclass
class Run:
    """A finished launch: the threads of each block in order, and the barriers that completed."""

    cfg: Cfg
    blocks: list[list[Thread]]
    barriers: int
    faults: Counter[tuple[str, int]]
    """How often each kind of fault happened at each line."""


Step = Callable[[Thread], None]
Reader = Callable[[Thread], int]


def interpret(launch: Launch) -> Run:
    """Run a launch; arrays among its arguments are read and written in place, each an address range of its own."""
    (function,) = parse(launch.module.ptx).functions
    return _Interpreter(function, launch).run()


def signed(value: int, bits: int) -> int:
    """The low bits of `value` as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class StoredNaN(Exception):
    """A NaN was stored: which of its bits are set, no two processors agree on."""


class _Interpreter:
    def __init__(self, function: Function, launch: Launch) -> None:
        self.function = function
        self.launch = launch
        self.parameters: dict[str, int] = {}
        self.arrays: list[tuple[int, memoryview]] = []
        for index, (parameter, argument) in enumerate(zip(function.parameters, launch.args, strict=True)):
            if isinstance(argument, np.ndarray):
                self.arrays.append((BASE + index * SPACING, memoryview(argument.data).cast("B")))
                self.parameters[parameter.name] = BASE + index * SPACING
            else:
                assert not isinstance(argument, Slot)  # a GPU's
                self.parameters[parameter.name] = int(argument)
        self.shared_bytes = launch.dynamic_shared_bytes + sum(v.count or 0 for v in function.variables if v.space == "shared")
        self.cfg = build_cfg(
            function, lambda instruction: instruction.opcode.startswith(("bar.", "barrier.", "ret", "exit", "bra"))
        )
        self.faults: Counter[tuple[str, int]] = Counter()
        self.steps_left = STEPS
        self.code = [[self._compile(item, place) for place, item in enumerate(block.instructions)] for block in self.cfg.blocks]

    def run(self) -> Run:
        run = Run(self.cfg, [], 0, self.faults)
        x, y, z = self.launch.grid
        for block in range(x * y * z):
            threads = self._threads((block % x, block // x % y, block // (x * y)))
            run.blocks.append(threads)
            while self._run_to_barrier(threads):
                run.barriers += 1
        return run

    def _threads(self, ctaid: tuple[int, int, int]) -> list[Thread]:
        shared, local = bytearray(self.shared_bytes), sum(v.count or 0 for v in self.function.variables if v.space == "local")
        x, y, z = self.launch.block
        return [Thread((i % x, i // x % y, i // (x * y)), ctaid, shared, bytearray(local)) for i in range(x * y * z)]

    def _run_to_barrier(self, threads: list[Thread]) -> bool:
        """Run each thread up to its next barrier or its end; return whether any waits."""
        waiting = [thread for thread in threads if not thread.is_done and self._run_thread(thread)]
        if len({thread.path[-1].block for thread in waiting}) > 1:
            raise AssertionError("threads wait at different barriers")
        return bool(waiting)

    def _run_thread(self, thread: Thread) -> bool:
        """Run until a barrier (True) or the end (False)."""
        while True:
            block = thread.block
            thread.path.append(Visit(block))
            after = self.cfg.successors[block]
            thread.block = after[-1] if after else -1  # where it falls to; a branch says otherwise
            self.steps_left -= len(self.code[block])
            if self.steps_left < 0:
                raise AssertionError("endless")
            for step in self.code[block]:
                step(thread)
            thread.is_done = thread.is_done or thread.block < 0
            if thread.is_done:
                return False
            last = self.cfg.blocks[block].instructions[-1:]
            if last and last[0].opcode.startswith("bar"):
                return True

    # -- one instruction

    def _compile(self, instruction: Instruction, place: int) -> Step:
        guard = instruction.guard
        step = self._control(instruction) or self._memory(instruction, place) or self._arithmetic(instruction)
        if guard is None:
            return step
        name, wanted = guard.register, int(not guard.negated)

        def guarded(thread: Thread) -> None:
            if thread.registers[name] == wanted:
                step(thread)

        return guarded

    def _control(self, instruction: Instruction) -> Step | None:
        mnemonic = instruction.opcode.split(".")[0]
        if mnemonic in ("bar", "barrier"):
            return lambda thread: None
        if mnemonic in ("ret", "exit"):

            def leave(thread: Thread) -> None:
                thread.is_done = True

            return leave
        if mnemonic != "bra":
            return None
        target = instruction.operands[0]
        assert isinstance(target, Symbol)
        (to,) = (block.index for block in self.cfg.blocks if block.label == target.name)

        def go(thread: Thread) -> None:
            thread.block = to

        return go

    # -- memory

    def _memory(self, instruction: Instruction, place: int) -> Step | None:
        mnemonic, *parts = instruction.opcode.split(".")
        if mnemonic not in ("ld", "st"):
            return None
        type_, is_store = parts[-1], mnemonic == "st"
        space = next((part for part in parts if part in ("global", "shared", "local", "param")), "generic")
        count = next((int(part[1]) for part in parts if part in ("v2", "v4")), 1)
        size = BITS[type_] // 8
        address, operand = instruction.operands if is_store else instruction.operands[::-1]
        assert isinstance(address, Address)
        elements = operand.elements if isinstance(operand, Vector) else (operand,)
        if space == "param":
            assert isinstance(address.base, Symbol)
            value = self.parameters[address.base.name]
            return self._writer(operand, type_, lambda thread: value)
        base, offset = self._reader(address.base, "b32" if space == "shared" else "b64"), address.offset
        wrap = (1 << (32 if space == "shared" else 64)) - 1
        readers = [self._reader(element, type_) for element in elements] if is_store else []
        loaded: list[int] = []
        writers = (
            [] if is_store else [self._writer(e, type_, functools.partial(_element, loaded, i)) for i, e in enumerate(elements)]
        )

        def access(thread: Thread) -> None:
            found, at = _resolve(space, (base(thread) + offset) & wrap)
            thread.path[-1].accesses[place] = Access(instruction, at, count * size, found, is_store)
            memory, start = self._locate(thread, instruction, found, at, count * size)
            for i, reader in enumerate(readers):
                if type_ == "f32" and (reader(thread) & 0x7FFF_FFFF) > 0x7F80_0000:
                    raise StoredNaN
                memory[start + i * size : start + (i + 1) * size] = reader(thread).to_bytes(size, "little")
            if not is_store:
                loaded[:] = [int.from_bytes(memory[start + i * size : start + (i + 1) * size], "little") for i in range(count)]
                for writer in writers:
                    writer(thread)

        return access

    def _locate(self, thread: Thread, instruction: Instruction, space: str, address: int, size: int) -> tuple[Any, int]:
        """The bytes of an access, and its first one's place in them; a few zeros where it is a fault."""
        kind = "misaligned" if address % size else "out of bounds"
        if not address % size and space in ("shared", "local"):
            memory = thread.shared if space == "shared" else thread.local
            if address + size <= len(memory):
                return memory, address
        elif not address % size:
            for base, array in self.arrays:
                if base <= address and address + size <= base + len(array):
                    return array, address - base
        self.faults[kind, instruction.position.line if instruction.position else 0] += 1
        return bytearray(size), 0

    # -- operands

    def _reader(self, operand: Operand, type_: str) -> Reader:
        """A function that gives the operand's low bits."""
        mask = (1 << BITS[type_]) - 1
        match operand:
            case Register(name, True):
                return self._special(name)
            case Register(name):
                return lambda thread: thread.registers[name] & mask
            case Negated(register):
                return lambda thread: thread.registers[register.name] ^ 1
            case Integer(number):
                return lambda thread: number & mask
            case Float(bits, width) if width == BITS[type_]:
                return lambda thread: bits
            case Symbol(name, offset) if any(v.name == name for v in self.function.variables):
                (start,) = ({"shared": 0, "local": LOCAL}[v.space] for v in self.function.variables if v.name == name)
                return lambda thread: start + offset
        raise AssertionError(f"no operand such as {operand}")

    def _special(self, name: str) -> Reader:
        if name == "%laneid":
            x, y, _ = self.launch.block
            return lambda thread: (thread.tid[0] + x * (thread.tid[1] + y * thread.tid[2])) % 32
        stem, _, letter = name.partition(".")
        axis = "xyz".index(letter)
        match stem:
            case "%tid":
                return lambda thread: thread.tid[axis]
            case "%ctaid":
                return lambda thread: thread.ctaid[axis]
            case "%ntid":
                return lambda thread: self.launch.block[axis]
            case "%nctaid":
                return lambda thread: self.launch.grid[axis]
        raise AssertionError(f"no special register {name}")

    def _writer(self, operand: Operand, type_: str, value: Reader) -> Step:
        """A function that computes a value and sets a register to it, extended by its sign where its type has one."""
        assert isinstance(operand, Register)
        name, bits = operand.name, BITS[type_]
        mask = (1 << BITS[self.function.registers[name]]) - 1
        if type_[0] == "s":

            def write_signed(thread: Thread) -> None:
                thread.registers[name] = signed(value(thread), bits) & mask

            return write_signed
        low = (1 << bits) - 1

        def write(thread: Thread) -> None:
            thread.registers[name] = value(thread) & low & mask

        return write

    # -- values

    def _arithmetic(self, instruction: Instruction) -> Step:
        opcode, operands = instruction.opcode, instruction.operands
        mnemonic, *parts = opcode.split(".")
        type_ = parts[-1]
        sources = [self._reader(item, self._source_type(opcode, index, type_)) for index, item in enumerate(operands[1:])]
        compute = (lambda a: a + SHARED) if opcode == "cvta.shared.u64" else value_function(opcode)
        if mnemonic == "fma":
            write = self._writer(operands[0], type_, lambda thread: compute(*[source(thread) for source in sources]))

            def count_and_write(thread: Thread) -> None:
                thread.path[-1].fmas += 1
                write(thread)

            return count_and_write
        result = {"setp": "pred", "cvt": parts[-2] if len(parts) > 1 else type_}.get(mnemonic, type_)
        if "wide" in parts:
            result = f"{type_[0]}{2 * BITS[type_]}"
        return self._writer(operands[0], result, lambda thread: compute(*[source(thread) for source in sources]))

    def _source_type(self, opcode: str, index: int, type_: str) -> str:
        if opcode.startswith(("shl", "shr")) and index == 1:
            return "u32"
        if opcode.startswith("selp") and index == 2:
            return "pred"
        return f"{type_[0]}{2 * BITS[type_]}" if opcode.startswith("mad.wide") and index == 2 else type_


def _resolve(space: str, address: int) -> tuple[str, int]:
    """The state space of an access, and the address in it."""
    if space in ("generic", "shared") and address >= SHARED:
        return "shared", address - SHARED
    if space in ("generic", "local") and address >= LOCAL:
        return "local", address - LOCAL
    return ("global" if space == "generic" else space), address


def _element(loaded: list[int], index: int, thread: Thread) -> int:
    return loaded[index]


def value_function(opcode: str) -> Callable[..., int]:
    """What an instruction computes: from the bits of its operands to at least the low bits of its result."""
    mnemonic, *parts = opcode.split(".")
    type_ = parts[-1]
    bits = BITS[type_]
    if type_[0] == "f":
        return _float_function(mnemonic, parts, type_)
    sign = (lambda a: signed(a, bits)) if type_[0] == "s" else (lambda a: a)
    match mnemonic, parts:
        case "mul", ["hi", _]:
            return lambda a, b: sign(a) * sign(b) >> bits
        case "mad", _:
            return lambda a, b, c: sign(a) * sign(b) + c
        case "setp", [relation, _]:
            compare = _COMPARISONS[relation]
            return lambda a, b: int(compare(sign(a), sign(b)))
    table: dict[str, Callable[..., int]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: sign(a) * sign(b),
        "neg": lambda a: -a,
        "abs": lambda a: abs(sign(a)),
        "min": lambda a, b: min(sign(a), sign(b)),
        "max": lambda a, b: max(sign(a), sign(b)),
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "not": lambda a: ~a,
        "shl": lambda a, b: a << b if b < bits else 0,
        "shr": lambda a, b: sign(a) >> min(b, bits),
        "selp": lambda a, b, c: a if c else b,
        "mov": lambda a: a,
        "cvt": sign,
        "cvta": lambda a: a,
    }
    return table[mnemonic]


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}

NAN = 0x7FFF_FFFF


def _float_function(mnemonic: str, parts: list[str], type_: str) -> Callable[..., int]:
    """Single precision; every NaN is the same one."""
    if type_ != "f32":
        raise AssertionError(f"no {type_} here")
    if mnemonic in ("mov", "selp"):
        return lambda a, b=0, c=1: a if c else b
    if mnemonic == "setp":
        compare, relation = _COMPARISONS[parts[0].removesuffix("u")], parts[0]
        unordered = relation.endswith("u")

        def setp(a: int, b: int) -> int:
            x, y = single(a), single(b)
            return int(unordered) if x != x or y != y else int(compare(x, y))

        return setp
    operations: dict[str, Callable[..., Any]] = {
        "add": lambda x, y: (x, Fraction(1), y),
        "sub": lambda x, y: (x, Fraction(1), -y),
        "mul": lambda x, y: (x, y, None),
        "fma": lambda x, y, z: (x, y, z),
    }
    return lambda *operands: multiply_add(*operations[mnemonic](*(single(bits) for bits in operands)))


def single(bits: int) -> float:
    """The number that 32 bits stand for."""
    return float(np.uint32(bits).view(np.float32))


def multiply_add(x: float, y: float, z: float | None) -> int:
    """The bits of x y + z (or of x y), rounded once."""
    parts = (x, float(y), 0.0 if z is None else z)
    product = parts[0] * parts[1]  # exact in double precision but for specials, which it keeps
    special = product if z is None else product + z
    if not np.isfinite(special) or special == 0:
        with np.errstate(all="ignore"):
            return NAN if special != special else int(np.float32(special).view(np.uint32))
    exact = Fraction(parts[0]) * Fraction(parts[1]) + Fraction(parts[2])
    rounded = float(exact)
    if Fraction(rounded) != exact and int(np.float64(rounded).view(np.uint64)) % 2 == 0:  # to the odd neighbour on the other side
        rounded = float(np.nextafter(rounded, np.inf if exact > Fraction(rounded) else -np.inf))
    with np.errstate(all="ignore"):
        return int(np.float32(rounded).view(np.uint32))
