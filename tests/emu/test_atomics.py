"""Atomics against their definitions: what each lane gets and what is left, in order of lanes, in shared and global memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from assembling import assemble, launch

from tilewise.core.errors import KernelFault
from tilewise.emu.machine import Emulation, emulate

Words = npt.NDArray[np.generic]
Meaning = Callable[[Any, Any, Any], Any]

INTEGER: dict[str, Meaning] = {
    "add": lambda old, b, c: old + b,
    "min": lambda old, b, c: min(old, b),
    "max": lambda old, b, c: max(old, b),
    "and": lambda old, b, c: old & b,
    "or": lambda old, b, c: old | b,
    "xor": lambda old, b, c: old ^ b,
    "inc": lambda old, b, c: 0 if old >= b else old + 1,
    "dec": lambda old, b, c: b if old == 0 or old > b else old - 1,
    "exch": lambda old, b, c: b,
    "cas": lambda old, b, c: c if old == b else old,
}
FORMS = [
    *itertools.product(("add", "min", "max"), ("u32", "s32", "u64", "s64")),
    *itertools.product(("and", "or", "xor", "exch", "cas"), ("b32", "b64")),
    ("inc", "u32"),
    ("dec", "u32"),
    ("cas", "b16"),
]
DTYPES = {"u": "uint", "s": "int", "b": "uint"}


def kernel(space: str, opcode: str, type_: str, operands: int, *, result: bool) -> str:
    """A thread's operands stand in a1 and a2, its cell's number in a3; a0 holds the cells, a4 takes old values.

    In shared memory each block copies the cells there and back.
    """
    size, kind = int(type_[1:]) // 8, "rd" if type_[1:] == "64" else "rs" if type_[1:] == "16" else "r"
    old, b, c = (f"%{kind}{number}" for number in (20, 21, 22))
    move = f"""
    mov.u32 %r30, 0;
    COPY{{}}:
    mul.wide.u32 %rd30, %r30, {size};
    add.u64 %rd31, %rd10, %rd30;
    cvt.u64.u32 %rd33, %r31;
    add.u64 %rd32, %rd33, %rd30;
    {{}}
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p1, %r30, 8;
    @%p1 bra COPY{{}};
    bar.sync 0;
    """
    there = move.format(1, f"ld.global.b{8 * size} {old}, [%rd31];\nst.shared.b{8 * size} [%rd32], {old};", 1)
    back = move.format(2, f"ld.shared.b{8 * size} {old}, [%rd32];\nst.global.b{8 * size} [%rd31], {old};", 2)
    is_shared = space == "shared"
    return f"""
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r1, %r2, %r3, %r1;
    ld.param.u64 %rd10, [a0];
    ld.param.u64 %rd11, [a1];
    ld.param.u64 %rd12, [a2];
    ld.param.u64 %rd13, [a3];
    ld.param.u64 %rd14, [a4];
    mul.wide.u32 %rd15, %r1, {size};
    add.u64 %rd11, %rd11, %rd15;
    add.u64 %rd12, %rd12, %rd15;
    add.u64 %rd14, %rd14, %rd15;
    mul.wide.u32 %rd16, %r1, 4;
    add.u64 %rd13, %rd13, %rd16;
    ld.global.b{8 * size} {b}, [%rd11];
    ld.global.b{8 * size} {c}, [%rd12];
    ld.global.u32 %r4, [%rd13];
    mul.wide.u32 %rd17, %r4, {size};
    mov.u32 %r31, buffer;
    {there if is_shared else ""}
    {"cvt.u64.u32 %rd18, %r31;" if is_shared else "mov.u64 %rd18, %rd10;"}
    {"cvta.shared.u64 %rd18, %rd18;" if is_shared and "shared" not in opcode else ""}
    add.u64 %rd18, %rd18, %rd17;
    {"" if result else "mov.b" + str(8 * size) + " " + old + ", 0;"}
    {opcode}.{type_} {old + "," if result else ""} [%rd18], {b if operands == 1 else f"{b}, {c}"};
    st.global.b{8 * size} [%rd14], {old};
    bar.sync 0;
    {back if is_shared else ""}
    ret;"""


def run(
    space: str, opcode: str, type_: str, operation: str, *, block: int, grid: int, result: bool, threads: int | None = None
) -> tuple[Words, Words, Words, Words, Emulation]:
    """Return old values, cells at the end, what they should be each, and the emulation."""
    bits, count = int(type_[1:]), block * grid
    dtype = np.dtype(f"{DTYPES[type_[0]]}{bits}")
    rng = np.random.default_rng(len(opcode) * 31 + bits)
    few = rng.integers(0, 8, 8 * count, dtype=np.int64)
    wide = rng.integers(0, 2**63, 8 * count, dtype=np.int64)
    pool = np.where(rng.random(8 * count) < 0.5, few, wide).astype(np.uint64).astype(dtype)
    cells, b, c = pool[:8].copy(), pool[8 : 8 + count].copy(), pool[-count:].copy()
    if operation in ("inc", "dec"):
        cells %= 4
        b %= 6
    where = rng.integers(0, 8, count).astype(np.uint32)
    old = np.zeros(count, dtype)
    expected_cells, expected_old = [int(cell) for cell in cells], []
    mask = (1 << bits) - 1
    for thread in range(count):
        cell = int(where[thread])
        expected_old.append(expected_cells[cell] if result else 0)
        new = INTEGER[operation](expected_cells[cell], int(b[thread]), int(c[thread])) & mask
        expected_cells[cell] = new - (1 << bits) if type_[0] == "s" and new >> (bits - 1) else new
    operands = 2 if operation == "cas" else 1
    ptx = assemble(kernel(space, opcode, type_, operands, result=result), "u64 u64 u64 u64 u64", shared_bytes=64)
    emulation = emulate(launch(ptx, grid, block, cells, b, c, where, old), threads=threads)
    return old, cells, np.array(expected_old, dtype), np.array(expected_cells, dtype), emulation


@pytest.mark.parametrize(("operation", "type_"), FORMS)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("block", [64, 40])
def test_integer_atomics(operation: str, type_: str, space: str, block: int) -> None:
    for prefix in (f"atom.{space}.{operation}", f"atom.{operation}", f"atom.acq_rel.gpu.{space}.{operation}"):
        grid = 3 if space == "global" else 1
        old, cells, expected_old, expected_cells, emulation = run(
            space, prefix, type_, operation, block=block, grid=grid, result=True
        )
        np.testing.assert_array_equal(old, expected_old)
        np.testing.assert_array_equal(cells, expected_cells)
        counters = emulation.counters
        requests = getattr(counters, f"{space}_atomic_requests")
        assert requests == grid * -(-block // 32)
        assert emulation.threads == 1  # what the lanes get hangs on the order of blocks


@pytest.mark.parametrize(("operation", "type_"), [form for form in FORMS if form[0] not in ("exch", "cas")])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_integer_reductions(operation: str, type_: str, space: str) -> None:
    for prefix in (f"red.{space}.{operation}", f"red.{operation}.release.cta", f"red.relaxed.sys.{space}.{operation}"):
        _, cells, _, expected, _ = run(space, prefix, type_, operation, block=40, grid=1, result=False)
        np.testing.assert_array_equal(cells, expected)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_host_threads_lose_no_update(threads: int) -> None:
    """Many blocks add to few cells at the same time: the sums hang on no order."""
    for type_ in ("u32", "u64"):
        _, cells, _, expected, emulation = run(
            "global", "red.global.add", type_, "add", block=128, grid=300, result=False, threads=threads
        )
        np.testing.assert_array_equal(cells, expected)
        assert emulation.threads == threads


# -- floats

BODY = """
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [a0];
ld.param.u64 %rd2, [a1];
"""


def bits(values: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    return np.asarray(values, np.float32).view(np.uint32)


@pytest.mark.parametrize("space", ["global", "shared"])
def test_single_precision_sums_in_order_of_lanes(space: str) -> None:
    values = np.random.default_rng(1).standard_normal(32).astype(np.float32)
    cell = np.zeros(1, np.float32)
    there = "mov.u64 %rd3, %rd1;" if space == "global" else "mov.u64 %rd3, buffer;"
    body = f"""
    {BODY}
    mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd2, %rd2, %rd4;
    ld.global.f32 %f1, [%rd2];
    {there}
    atom.{space}.add.f32 %f2, [%rd3], %f1;
    st.global.f32 [%rd2], %f2;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    ld.{space}.f32 %f3, [%rd3];
    st.global.f32 [%rd1], %f3;
    ret;"""
    olds = values.copy()
    emulate(launch(assemble(body, "u64 u64", shared_bytes=16), 1, 32, cell, olds))
    sums = np.cumsum(values, dtype=np.float32)
    np.testing.assert_array_equal(olds, np.concatenate([[np.float32(0)], sums[:-1]]))
    assert cell[0] == sums[-1]


@pytest.mark.parametrize("space", ["global", "shared"])
def test_subnormal_sums_are_flushed_in_global_memory_alone(space: str) -> None:
    cell = np.array([2.0**-127], np.float32)
    body = f"""
    {BODY}
    ld.global.f32 %f1, [%rd1];
    mov.u64 %rd3, buffer;
    st.shared.f32 [%rd3], %f1;
    red.{space}.add.f32 [{"%rd1" if space == "global" else "%rd3"}], 0f00200000;
    {"ld.shared.f32 %f2, [%rd3];" if space == "shared" else "ld.global.f32 %f2, [%rd1];"}
    st.global.f32 [%rd1], %f2;
    ret;"""
    emulate(launch(assemble(body, "u64 u64", shared_bytes=16), 1, 1, cell, cell))
    assert cell[0] == (0 if space == "global" else 2.0**-127 + 2.0**-128)


def test_double_precision() -> None:
    values = np.random.default_rng(2).standard_normal(32)
    cell = np.array([1e-3])
    body = f"""
    {BODY}
    mul.wide.u32 %rd4, %r1, 8;
    add.u64 %rd2, %rd2, %rd4;
    ld.global.f64 %fd1, [%rd2];
    red.global.add.f64 [%rd1], %fd1;
    ret;"""
    emulate(launch(assemble(body, "u64 u64"), 1, 32, cell, values))
    assert cell[0] == np.cumsum(np.concatenate([[1e-3], values]))[-1]


def bfloat(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Rounded to nearest even."""
    wide = values.view(np.uint32)
    return ((wide + 0x7FFF + (wide >> 16 & 1)) >> 16).astype(np.uint16)


def from_bfloat(words: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    return (words.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("type_", ["f16x2", "bf16x2", "f16", "bf16"])
@pytest.mark.parametrize("vector", [1, 2])
def test_halves(type_: str, vector: int) -> None:
    """Sums of pairs of halves, a lane's element after the other; among them subnormals, overflow and ties."""
    width = vector * (2 if "x2" in type_ else 1)
    rng = np.random.default_rng(3)
    raw = (rng.standard_normal((40, width)) * 2.0 ** rng.integers(-24, 15, (40, width))).astype(np.float32)
    raw[5:8] = 60000.0
    is_bfloat = type_.startswith("b")
    words = bfloat(raw) if is_bfloat else raw.astype(np.float16).view(np.uint16)
    cell = words[0].copy()
    values = words[8:40].copy()
    size = 2 * width
    kind, bits_ = ("r", 32) if "x2" in type_ else ("rs", 16)
    registers = [f"%{kind}{10 + index}" for index in range(vector)]
    operand = registers[0] if vector == 1 else "{" + ", ".join(registers) + "}"
    vec = "" if vector == 1 else f".v{vector}"
    body = f"""
    {BODY}
    mul.wide.u32 %rd4, %r1, {size};
    add.u64 %rd2, %rd2, %rd4;
    ld.global{vec}.b{bits_} {operand}, [%rd2];
    red.global.add.noftz{vec}.{type_} [%rd1], {operand};
    ret;"""
    emulate(launch(assemble(body, "u64 u64"), 1, 32, cell, values))
    total = words[0]
    for row in values:
        if is_bfloat:
            total = bfloat(from_bfloat(total) + from_bfloat(row))
        else:
            total = (
                (total.view(np.float16).astype(np.float32) + row.view(np.float16).astype(np.float32))
                .astype(np.float16)
                .view(np.uint16)
            )
    np.testing.assert_array_equal(cell, total)


def test_four_floats_at_once() -> None:
    values = np.random.default_rng(4).standard_normal((32, 4)).astype(np.float32)
    cell = np.zeros(4, np.float32)
    body = f"""
    {BODY}
    mul.wide.u32 %rd4, %r1, 16;
    add.u64 %rd2, %rd2, %rd4;
    ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd2];
    atom.global.add.v4.f32 {{%f5, %f6, %f7, %f8}}, [%rd1], {{%f1, %f2, %f3, %f4}};
    st.global.v4.f32 [%rd2], {{%f5, %f6, %f7, %f8}};
    ret;"""
    olds = values.copy()
    emulate(launch(assemble(body, "u64 u64"), 1, 32, cell, olds))
    sums = np.cumsum(values, axis=0, dtype=np.float32)
    np.testing.assert_array_equal(cell, sums[-1])
    np.testing.assert_array_equal(olds[1:], sums[:-1])


@pytest.mark.parametrize("operation", ["exch", "cas"])
def test_sixteen_bytes_at_once(operation: str) -> None:
    """Each lane swaps in a value of its own: by exchange always, by compare-and-swap if the lane before did."""
    cell, olds = np.array([7, 1000], np.uint64), np.zeros((32, 2), np.uint64)
    operands = "%q2" if operation == "exch" else "%q1, %q2"
    body = f"""
    .reg .b128 %q1, %q2, %q3;
    {BODY}
    cvt.u64.u32 %rd5, %r1;
    add.u64 %rd6, %rd5, 1000;
    mov.b128 %q1, {{7, %rd6}};
    add.u64 %rd6, %rd6, 1;
    mov.b128 %q2, {{7, %rd6}};
    atom.global.{operation}.b128 %q3, [%rd1], {operands};
    mul.wide.u32 %rd4, %r1, 16;
    add.u64 %rd2, %rd2, %rd4;
    st.global.b128 [%rd2], %q3;
    ret;"""
    emulate(launch(assemble(body, "u64 u64"), 1, 32, cell, olds))
    assert cell.tolist() == [7, 1032]
    np.testing.assert_array_equal(olds, np.stack([np.full(32, 7), 1000 + np.arange(32)], axis=1))


# -- counting and faults


def test_how_atomics_count() -> None:
    """32 lanes at 8 words 128 bytes apart in shared memory (8 ways), and at 32 neighbours in global memory (4 sectors)."""
    cells = np.zeros(32, np.uint32)
    body = f"""
    {BODY}
    and.b32 %r2, %r1, 7;
    shl.b32 %r2, %r2, 7;
    red.shared.add.u32 [%r2], 1;
    mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd4, %rd1, %rd4;
    red.global.add.u32 [%rd4], 1;
    ret;"""
    counters = emulate(launch(assemble(body, "u64 u64", shared_bytes=1024), 1, 32, cells, cells)).counters
    assert (counters.shared_atomic_requests, counters.shared_atomic_wavefronts) == (1, 8)
    assert (counters.global_atomic_requests, counters.global_atomic_sectors) == (1, 4)
    assert counters.global_store_requests == counters.shared_store_requests == counters.global_load_requests == 0
    assert counters.worst_bank_conflict_ways == 8
    assert [(site.kind, site.bytes) for site in counters.sites] == [("atomic", 128)] * 2


@pytest.mark.parametrize(
    ("address", "kind"),
    [("%rd1+128", "out of bounds"), ("%rd1+2", "misaligned"), ("%rd2", "store to a read-only buffer"), ("%rd9", "out of bounds")],
)
def test_faults_of_atomics(address: str, kind: str) -> None:
    cells, fixed = np.zeros(32, np.uint32), np.zeros(4, np.uint32)
    fixed.flags.writeable = False
    body = f"""
    {BODY}
    mov.u64 %rd9, depot;
    cvta.local.u64 %rd9, %rd9;
    setp.gt.u32 %p1, %r1, 3;
    @%p1 atom.add.u32 %r5, [{address}], 1;
    st.global.u32 [%rd1], %r1;
    ret;"""
    with pytest.raises(KernelFault) as caught:
        emulate(launch(assemble(body, "u64 u64", local_bytes=8), 1, 32, cells, fixed))
    (fault,) = caught.value.faults
    assert (fault.kind, fault.count, fault.thread) == (kind, 28, (4, 0, 0))  # type: ignore[attr-defined]
