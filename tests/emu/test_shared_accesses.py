"""Random accesses to shared memory between barriers: what is seen of a launch is what comparing all pairs of accesses says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

from assembling import assemble, launch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewise.core.facts import Observed
from tilewise.emu.observe import observe

BYTES = 1024
TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
INDICES: dict[str, Callable[[int, int], int]] = {
    "tid + c": lambda t, c: t + c,
    "tid ^ c": lambda t, c: t ^ c,
    "tid * c": lambda t, c: t * c,
    "tid / c": lambda t, c: t >> (c & 7),
    "c": lambda t, c: c,
}
CODE = {
    "tid + c": "add.u32 %r2, %r1, {c};",
    "tid ^ c": "xor.b32 %r2, %r1, {c};",
    "tid * c": "mul.lo.u32 %r2, %r1, {c};",
    "tid / c": "shr.u32 %r2, %r1, {shift};",
    "c": "mov.u32 %r2, {c};",
}
GUARDS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda t, k: t == k,
    "lt": lambda t, k: t < k,
    "ge": lambda t, k: t >= k,
}


@dataclass(frozen=True)
class Access:
    """ld, st or atom of an element at an index that hangs on the thread, by the threads that a comparison names."""

    kind: str
    size: int
    index: str
    constant: int
    guard: str
    bound: int
    branches: bool
    """Whether other threads go round it; else it has a predicate."""
    is_masked: bool
    """Whether its index is cut to fit in any case."""

    def element(self, thread: int) -> int:
        return INDICES[self.index](thread, self.constant) & (BYTES // self.size - 1)

    def bytes_of(self, thread: int) -> range:
        first = self.element(thread) * self.size
        return range(first, first + self.size)

    def takes_part(self, thread: int) -> bool:
        return not self.guard or GUARDS[self.guard](thread, self.bound)

    def ptx(self, line: int, threads: int) -> str:
        """The access, at a line of its own; what leads to it stands at line 1."""
        place = CODE[self.index].format(c=self.constant, shift=self.constant & 7)
        fits = max(INDICES[self.index](thread, self.constant) for thread in range(threads)) < BYTES // self.size
        mask = "" if fits and not self.is_masked else f"and.b32 %r2, %r2, {BYTES // self.size - 1};"
        test = f"setp.{self.guard}.u32 %p1, %r1, {self.bound};" if self.guard else ""
        around = f"@!%p1 bra AFTER{line};" if self.guard and self.branches else ""
        predicate = "@%p1 " if self.guard and not self.branches else ""
        type_, wide = TYPES[self.size], "rd" if self.size == 8 else "r"
        act = {
            "ld": f"ld.shared.{type_} %{wide}5, [%r3];",
            "st": f"st.shared.{type_} [%r3], %{wide}6;",
            "atom": "atom.shared.add.u32 %r5, [%r3], 1;",
        }[self.kind]
        before = f"{place}{mask}mul.lo.u32 %r3, %r2, {self.size};{test}{around}"
        return f".loc 1 1 1\n{before}\n.loc 1 {line} 1\n{predicate}{act}\nAFTER{line}:\n"


Program = tuple[int, int, tuple[Access | None, ...]]
"""Threads, words of shared memory that are written at first, and accesses; None is a barrier."""


def accesses(threads: int, kinds: str) -> st.SearchStrategy[Access]:
    kind = st.sampled_from(kinds.split())
    sizes = kind.flatmap(
        lambda kind: st.tuples(st.just(kind), st.just(4) if kind == "atom" else st.sampled_from([4, 4, 1, 2, 8]))
    )
    constants = st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, 16, 31, 32, 33, 64, 100])
    guards = st.tuples(st.sampled_from(["", "", "", *GUARDS]), st.sampled_from([0, 1, 31, 32, 33, threads - 1]))
    parts = st.tuples(sizes, st.sampled_from(list(INDICES)), constants, guards, st.booleans(), st.booleans())
    return parts.map(lambda p: Access(p[0][0], p[0][1], p[1], p[2], p[3][0], p[3][1], p[4], p[5]))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    threads = draw(st.sampled_from([32, 33, 64, 96]))
    written = draw(st.sampled_from([BYTES // 4, BYTES // 4, 40]))
    kinds = "ld st atom" if written == BYTES // 4 else "ld st"
    barriers: st.SearchStrategy[Access | None] = st.none()
    return threads, written, tuple(draw(st.lists(st.one_of(accesses(threads, kinds), barriers), min_size=1, max_size=8)))


def assemble_program(program: Program) -> str:
    threads, written, statements = program
    body = "mov.u32 %r1, %tid.x; mov.u32 %r5, 0; mov.u64 %rd5, 0; mov.u32 %r6, %tid.x; mov.u64 %rd6, 7;\n"
    for first in range(0, written, threads):
        body += f".loc 1 1 1\nadd.u32 %r2, %r1, {first}; setp.lt.u32 %p1, %r2, {written}; mul.lo.u32 %r3, %r2, 4;"
        body += "@%p1 st.shared.u32 [%r3], %r6;\n"
    body += "bar.sync 0;\n"
    for number, statement in enumerate(statements):
        body += statement.ptx(number + 2, threads) if statement else ".loc 1 1 1\nbar.sync 0;\n"
    body += "ld.param.u64 %rd1, [a0]; mov.u32 %r4, %ctaid.x; mul.lo.u32 %r4, %r4, "
    body += (
        f"{threads}; add.u32 %r4, %r4, %r1; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r5; ret;"
    )
    return assemble(body, "u64", shared_bytes=BYTES)


def epochs(program: Program) -> Iterator[list[tuple[int, Access]]]:
    """The accesses between two barriers, with their lines."""
    found: list[tuple[int, Access]] = []
    for number, statement in enumerate(program[2]):
        if statement is None:
            yield found
            found = []
        else:
            found.append((number + 2, statement))
    yield found


def racing_lines(program: Program) -> set[frozenset[int]]:
    """Pairs of lines that access one byte in two threads of an epoch, one of them writing, not both by atomics."""
    threads, found = range(program[0]), set()
    for epoch in epochs(program):
        touched = [
            {byte: {t for t in threads if access.takes_part(t) and byte in access.bytes_of(t)} for byte in range(BYTES)}
            for _, access in epoch
        ]
        for one, other in combinations_with_replacement(range(len(epoch)), 2):
            kinds = {epoch[one][1].kind, epoch[other][1].kind}
            if kinds in ({"ld"}, {"atom"}):
                continue
            if any(
                touched[one][byte] and touched[other][byte] and len(touched[one][byte] | touched[other][byte]) > 1
                for byte in range(BYTES)
            ):
                found.add(frozenset((epoch[one][0], epoch[other][0])))
    return found


def unwritten_loads(program: Program) -> set[int]:
    """Lines that load bytes which no thread wrote before; for programs without races."""
    threads, written, _ = program
    known = set(range(4 * written))
    found = set()
    for epoch in epochs(program):
        for line, access in epoch:
            for thread in filter(access.takes_part, range(threads)):
                missing = not known.issuperset(access.bytes_of(thread))
                found |= {line} if access.kind == "ld" and missing else set()
            if access.kind != "ld":
                known.update(byte for t in filter(access.takes_part, range(threads)) for byte in access.bytes_of(t))
    return found


def seen(program: Program) -> Observed:
    import numpy as np

    out = np.zeros(2 * program[0], np.uint32)
    return observe(launch(assemble_program(program), 2, program[0], out)).observed


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_races_and_unwritten_loads_are_those_of_all_pairs(program: Program) -> None:
    observed = seen(program)
    assert not observed.faults
    found = {frozenset((conflict.first.place.line, conflict.second.place.line)) for conflict in observed.conflicts}
    expected = racing_lines(program)
    assert found == expected
    if not expected:
        assert {load.access.place.line for load in observed.uninitialised} == unwritten_loads(program)
