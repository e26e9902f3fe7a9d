"""No access leaves the launch's arrays: a fault names its line, block, thread and argument, and the other lanes' work is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from assembling import SOURCE, assemble, launch

from tilewise.core.errors import KernelFault
from tilewise.core.facts import Fault
from tilewise.emu.machine import emulate
from tilewise.emu.windows import LOCAL_WINDOW, SHARED_WINDOW

GUARD_BYTES = 4096
GUARD = 0xA5
LINE = 41
"""The source line of the access under test."""

# Two ways to the same access: by all lanes together, and by those of an if (the odd ones).
CONVERGENT, DIVERGENT = "", "and.b32 %r20, %r1, 1;\nsetp.eq.u32 %p9, %r20, 0;\n@%p9 bra DONE;\n"
WAYS = pytest.mark.parametrize("way", [pytest.param(CONVERGENT, id="together"), pytest.param(DIVERGENT, id="parted")])


@dataclass
class Guarded:
    """An array with guard bytes before and after it."""

    whole: npt.NDArray[np.uint8]
    array: npt.NDArray[Any]

    @property
    def is_intact(self) -> bool:
        """Whether no guard byte changed."""
        end = GUARD_BYTES + self.array.nbytes
        return bool((self.whole[:GUARD_BYTES] == GUARD).all() and (self.whole[end:] == GUARD).all())


def guarded(count: int, value: int = 0, dtype: npt.DTypeLike = np.uint32) -> Guarded:
    size = count * np.dtype(dtype).itemsize
    whole = np.full(2 * GUARD_BYTES + size, GUARD, np.uint8)
    array: npt.NDArray[Any] = whole[GUARD_BYTES : GUARD_BYTES + size].view(dtype)
    array[:] = value
    return Guarded(whole, array)


def done_by(way: str, lanes: int = 32) -> npt.NDArray[np.bool_]:
    """Which lanes come to the access."""
    return np.full(lanes, True) if way == CONVERGENT else np.arange(lanes) % 2 == 1


def registers(type_: str) -> str:
    """Destination or source registers for a type such as "u8" or "v4.u32"."""
    prefix = {"64": "%rd4", "16": "%rs"}.get(type_[-2:], "%r4")
    return f"{{{', '.join(f'{prefix}{i}' for i in range(int(type_[1])))}}}" if type_[0] == "v" else f"{prefix}0"


def faults_of(ptx: str, grid: object, block: object, *args: object, **more: int) -> tuple[Fault, ...]:
    with pytest.raises(KernelFault) as caught:
        emulate(launch(ptx, grid, block, *args, **more))
    assert str(caught.value)
    return caught.value.faults  # type: ignore[return-value]


def kernel(access: str, parameters: str, way: str = CONVERGENT, shared_bytes: int = 0) -> str:
    """`access` by each thread, at a source line of its own.

    %r1 is the thread, %r2 its place in the grid, %rd2 that in bytes, %rd1 the address of its word in a0.
    """
    return assemble(
        f"""
        .loc 1 7 1
        mov.u32 %r1, %tid.x;
        mov.u32 %r3, %ctaid.x;
        mov.u32 %r4, %ntid.x;
        mad.lo.u32 %r2, %r3, %r4, %r1;
        ld.param.u64 %rd1, [a0];
        mul.wide.u32 %rd2, %r2, 4;
        add.s64 %rd1, %rd1, %rd2;
        {way}
        .loc 1 {LINE} 1
        {access}
        .loc 1 99 1
        DONE: ret;
        """,
        parameters,
        shared_bytes=shared_bytes,
    )


@WAYS
def test_store_past_the_end_names_line_thread_and_argument_and_the_rest_is_done(way: str) -> None:
    out = guarded(50)
    (fault,) = faults_of(kernel("st.global.u32 [%rd1], %r2;", "u64", way), 1, 64, out.array)
    assert (fault.kind, fault.file, fault.line, fault.opcode) == ("out of bounds", SOURCE, LINE, "st.global.u32")
    first = 50 if way == CONVERGENT else 51
    assert (fault.block, fault.thread, fault.count) == ((0, 0, 0), (first, 0, 0), 14 if way == CONVERGENT else 7)
    assert "argument 0" in fault.detail
    assert str(4 * first) in fault.detail
    assert out.is_intact
    places = np.arange(50)
    np.testing.assert_array_equal(out.array, places if way == CONVERGENT else np.where(places % 2, places, 0))


@WAYS
@pytest.mark.parametrize("start", [-(1 << 20), 1 << 20, 1 << 40, (1 << 63) - 4, -(1 << 63)])
def test_stores_and_loads_far_away_touch_nothing(way: str, start: int) -> None:
    body = "ld.param.u64 %rd5, [a1];\nadd.s64 %rd6, %rd1, %rd5;\nst.global.u32 [%rd6], %r2;\nld.global.u32 %r9, [%rd6];"
    out = guarded(32, value=9)
    faults = faults_of(kernel(body, "u64 u64", way), 1, 32, out.array, start & (1 << 64) - 1)
    assert [(fault.opcode, fault.count) for fault in faults] == [
        (op, done_by(way).sum()) for op in ("st.global.u32", "ld.global.u32")
    ]
    assert out.is_intact
    np.testing.assert_array_equal(out.array, 9)


@WAYS
@pytest.mark.parametrize("offset", [-4, 4])
def test_one_word_beside_the_array_is_one_fault(way: str, offset: int) -> None:
    """Lane l stores to the word beside its own: one lane of the block falls out, at either end, and the others do not."""
    out = guarded(64, value=9)
    way = way.replace("setp.eq", "setp.ne") if offset < 0 else way  # the lane that falls out has to come there
    (fault,) = faults_of(kernel(f"st.global.u32 [%rd1+{offset}], %r2;", "u64", way), 1, 64, out.array)
    assert fault.thread == ((0, 0, 0) if offset < 0 else (63, 0, 0))
    assert fault.count == 1
    assert out.is_intact
    active = np.full(64, True) if way == CONVERGENT else np.arange(64) % 2 == (offset > 0)
    expected = np.full(64, 9)
    for thread in np.arange(64)[active]:
        if 0 <= thread + offset // 4 < 64:
            expected[thread + offset // 4] = thread
    np.testing.assert_array_equal(out.array, expected)


@WAYS
@pytest.mark.parametrize("words", [125, 126, 127])
def test_a_vector_across_the_end_is_not_done_in_part(way: str, words: int) -> None:
    """16 bytes a lane; of the last one only 4, 8 or 12 are inside. 0 is what a faulting load gives."""
    body = """
    mul.wide.u32 %rd5, %r2, 16;
    ld.param.u64 %rd6, [a1];
    add.s64 %rd7, %rd6, %rd5;
    ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd7];
    st.global.u32 [%rd1], %r13;
    st.global.v4.u32 [%rd7], {%r2, %r2, %r2, %r2};"""
    out, wider = guarded(32, value=9), guarded(words, value=5)
    faults = faults_of(kernel(body, "u64 u64", way), 1, 32, out.array, wider.array)
    assert [(fault.opcode, fault.thread, fault.count) for fault in faults] == [
        ("ld.global.v4.u32", (31, 0, 0), 1),
        ("st.global.v4.u32", (31, 0, 0), 1),
    ]
    assert out.is_intact
    assert wider.is_intact
    active = done_by(way)
    np.testing.assert_array_equal(out.array, np.where(active, np.where(np.arange(32) < 31, 5, 0), 9))
    stored = np.where(np.repeat(active, 4), np.repeat(np.arange(32), 4), 5)[:words]
    stored[124:] = 5
    np.testing.assert_array_equal(wider.array, stored)


@WAYS
@pytest.mark.parametrize("type_", ["u8", "u16", "u32", "u64", "v2.u32", "v4.u32", "v2.u64"])
@pytest.mark.parametrize("address", [0, -1, -16])
def test_null_pointers_are_faults(way: str, type_: str, address: int) -> None:
    """The last byte of the address space too, which a range check by subtraction could take for inside."""
    body = f"mov.u64 %rd7, 0;\nld.global.{type_} {registers(type_)}, [%rd7+{address}];\nst.global.u32 [%rd1], 5;"
    out = guarded(32)
    faults = faults_of(kernel(body, "u64", way), 1, 32, out.array)
    assert {fault.opcode for fault in faults} == {f"ld.global.{type_}"}
    assert all(f"{address & (1 << 64) - 1:#x}" in fault.detail and "null pointer" in fault.detail for fault in faults)
    np.testing.assert_array_equal(out.array, 5 * done_by(way))


@WAYS
@pytest.mark.parametrize(
    ("type_", "size"), [("u16", 2), ("u32", 4), ("u64", 8), ("v2.u32", 8), ("v4.u32", 16), ("v2.u64", 16), ("v4.u16", 8)]
)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_misaligned_accesses_are_faults(way: str, type_: str, size: int, space: str) -> None:
    base = "[%rd6+{}]" if space == "global" else "[%r30+{}]"
    body = f"""
    ld.param.u64 %rd6, [a1];
    mov.u32 %r30, 0;
    ld.{space}.{type_} {registers(type_)}, {base.format(size // 2)};
    st.{space}.{type_} {base.format(size + 1)}, {registers(type_)};
    st.global.u32 [%rd1], 5;"""
    out, other = guarded(32), guarded(32, value=7)
    faults = faults_of(kernel(body, "u64 u64", way, 128), 1, 32, out.array, other.array)
    assert [fault.kind for fault in faults] == ["misaligned"] * 2
    assert all(str(size) in fault.detail for fault in faults)
    np.testing.assert_array_equal(out.array, 5 * done_by(way))
    np.testing.assert_array_equal(other.array, 7)


@WAYS
def test_stores_to_a_read_only_array_are_faults_and_loads_are_not(way: str) -> None:
    array = np.arange(32, dtype=np.uint32)
    array.setflags(write=False)
    out = guarded(32)
    body = """
    ld.param.u64 %rd6, [a1];
    add.s64 %rd6, %rd6, %rd2;
    ld.global.u32 %r9, [%rd6];
    st.global.u32 [%rd6], 3;
    st.global.u32 [%rd1], %r9;"""
    (fault,) = faults_of(kernel(body, "u64 u64", way), 1, 32, out.array, array)
    assert (fault.kind, fault.opcode) == ("store to a read-only buffer", "st.global.u32")
    assert "argument 1" in fault.detail
    np.testing.assert_array_equal(array, np.arange(32))
    np.testing.assert_array_equal(out.array, np.arange(32) * done_by(way))


@pytest.mark.parametrize("places", [slice(None, None, 2), slice(None, None, -1), slice(3, 40, 5), slice(40, 3, -3)])
def test_a_strided_view_is_bounded_by_its_first_and_last_byte(places: slice) -> None:
    """The kernel's pointer is the view's first element; its buffer is what lies between its ends."""
    whole = guarded(64, value=1)
    view = whole.array[places]
    first = view.ctypes.data - whole.array.ctypes.data
    index = np.arange(64)[places]
    low, high = int(index.min()), int(index.max())
    body = """
    st.global.u32 [%rd1], 7;
    ld.param.u64 %rd8, [a0];
    sub.s64 %rd9, %rd8, %rd2;
    st.global.u32 [%rd9], 7;"""
    faults = faults_of(kernel(body, "u64"), 1, 64, view)
    assert {fault.kind for fault in faults} == {"out of bounds"}
    assert whole.is_intact
    assert first == 4 * index[0]
    np.testing.assert_array_equal(whole.array == 7, (np.arange(64) >= low) & (np.arange(64) <= high))


@WAYS
def test_an_empty_array_has_no_byte(way: str) -> None:
    out = guarded(32)
    body = """
    ld.param.u64 %rd6, [a1];
    ld.global.u8 %r9, [%rd6];
    st.global.u8 [%rd6], %r9;
    st.global.u32 [%rd1], 5;"""
    faults = faults_of(kernel(body, "u64 u64", way), 1, 32, out.array, np.zeros(0, np.uint8))
    assert [fault.opcode for fault in faults] == ["ld.global.u8", "st.global.u8"]
    np.testing.assert_array_equal(out.array, 5 * done_by(way))


def test_an_array_that_is_given_twice_is_one_memory() -> None:
    """A store through one argument is seen by a load through the other, in the same block of the program too."""
    array = np.arange(64, dtype=np.uint32)
    body = """
    ld.param.u64 %rd6, [a1];
    add.s64 %rd6, %rd6, %rd2;
    ld.global.u32 %r9, [%rd6];
    add.u32 %r9, %r9, 100;
    st.global.u32 [%rd1], %r9;
    ld.global.u32 %r10, [%rd6];
    add.u32 %r10, %r10, 1000;
    st.global.u32 [%rd6], %r10;
    ld.global.u32 %r11, [%rd1];
    add.u32 %r11, %r11, 10000;
    st.global.u32 [%rd1], %r11;"""
    emulate(launch(kernel(body, "u64 u64"), 2, 32, array, array))
    np.testing.assert_array_equal(array, np.arange(64) + 11100)


@WAYS
@pytest.mark.parametrize("start", [48, 60, 64, 1 << 20, -8, -(1 << 31)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_shared_memory_ends_where_the_block_s_own_does(way: str, start: int, dynamic: bool) -> None:
    """Lane l stores and loads a word at start + 4 l of 128 bytes; what is outside is a fault and reads as 0."""
    body = """
    ld.param.u32 %r30, [a1];
    shl.b32 %r31, %r1, 2;
    add.s32 %r32, %r30, %r31;
    mov.u32 %r33, 5;
    st.shared.u32 [%r32], %r33;
    ld.shared.u32 %r34, [%r32];
    st.global.u32 [%rd1], %r34;"""
    out = guarded(32, value=9)
    ptx = kernel(body, "u64 u32", way, 0 if dynamic else 128)
    faults = faults_of(ptx, 1, 32, out.array, start & 0xFFFF_FFFF, dynamic_shared_bytes=128 if dynamic else 0)
    places = start + 4 * np.arange(32)
    active = done_by(way)
    inside = (places >= 0) & (places <= 124)
    assert [(fault.opcode, fault.count) for fault in faults] == [
        (f"{op}.shared.u32", (active & ~inside).sum()) for op in ("st", "ld")
    ]
    assert all("shared" in fault.detail for fault in faults)
    np.testing.assert_array_equal(out.array, np.where(active, np.where(inside, 5, 0), 9))


@WAYS
def test_scalar_and_offsets_of_a_shared_address_may_wrap_apart(way: str) -> None:
    """2^31 + 4 lane, plus 2^31 + 16 from the host: inside, though neither part is."""
    body = """
    ld.param.u32 %r30, [a1];
    shl.b32 %r31, %r1, 2;
    xor.b32 %r32, %r31, 0x80000000;
    add.s32 %r33, %r32, %r30;
    st.shared.u32 [%r33], %r1;
    ld.shared.u32 %r34, [%r33+-16];
    st.global.u32 [%rd1], %r34;
    ld.shared.u32 %r35, [%r33];
    add.u32 %r35, %r35, %r34;
    st.global.u32 [%rd1], %r35;"""
    out = guarded(32)
    emulate(launch(kernel(body, "u64 u32", way, 256), 1, 32, out.array, 0x8000_0010))
    lanes = np.arange(32)
    np.testing.assert_array_equal(out.array, (lanes + np.maximum(lanes - 4, 0)) * done_by(way))


def test_lanes_all_over_the_address_space_are_bounded_one_by_one() -> None:
    """Lane l reads base - l, written so that the lane pattern spans 2^64 bytes: 24 of the lanes stand before the array."""
    body = """
    cvt.u64.u32 %rd3, %r1;
    xor.b64 %rd4, %rd3, 0x8000000000000000;
    neg.s64 %rd5, %rd4;
    ld.param.u64 %rd6, [a1];
    ld.param.u64 %rd7, [a2];
    add.s64 %rd8, %rd6, %rd7;
    add.s64 %rd9, %rd8, %rd5;
    ld.global.u8 %r10, [%rd9];
    st.global.u32 [%rd1], %r10;"""
    out, source = guarded(32), guarded(100, dtype=np.uint8)
    source.array[:] = np.arange(100) + 1
    (fault,) = faults_of(kernel(body, "u64 u64 u64"), 1, 32, out.array, source.array, (1 << 63) + 7)
    assert (fault.thread, fault.count) == ((8, 0, 0), 24)
    np.testing.assert_array_equal(out.array, [*range(8, 0, -1), *[0] * 24])


def test_a_register_that_was_never_written_cannot_lead_outside() -> None:
    """It holds some value; that others are known to lie within bounds says nothing of it."""
    body = """
    ld.param.u32 %r30, [a1];
    setp.ne.u32 %p1, %r30, 0;
    @%p1 bra SKIP;
    and.b32 %r31, %r30, 15;
    add.s32 %r32, %r31, 0x40000000;
    SKIP:
    sub.s32 %r33, %r32, 0x40000000;
    st.shared.u8 [%r33], %r30;"""
    faults_of(kernel(body, "u64 u32", shared_bytes=64), 1, 32, np.zeros(32, np.uint32), 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_faults_of_many_blocks_name_the_first_and_count_all(threads: int) -> None:
    out = guarded(1000)
    with pytest.raises(KernelFault) as caught:
        emulate(launch(kernel("st.global.u32 [%rd1], %r2;", "u64"), 100, 64, out.array), threads=threads)
    (fault,) = caught.value.faults
    assert (fault.block, fault.thread, fault.count) == ((15, 0, 0), (40, 0, 0), 6400 - 1000)  # type: ignore[attr-defined]
    assert out.is_intact
    np.testing.assert_array_equal(out.array, np.arange(1000))


def test_a_launch_after_a_fault_works() -> None:
    ptx, out = kernel("st.global.u32 [%rd1], %r2;", "u64"), guarded(64)
    for _ in range(2):
        faults_of(ptx, 1, 64, out.array[:50])
        emulate(launch(ptx, 1, 64, out.array))
    np.testing.assert_array_equal(out.array, np.arange(64))


@WAYS
@pytest.mark.parametrize("window", [LOCAL_WINDOW, SHARED_WINDOW])
def test_a_global_access_does_not_reach_shared_or_local_memory(way: str, window: int) -> None:
    """By a generic address it would: 77 stands in both."""
    body = """
    .local .align 4 .b8 depot[16];
    st.shared.u32 [0], 77;
    st.local.u32 [depot], 77;
    ld.param.u64 %rd6, [a1];
    ld.global.u32 %r9, [%rd6];
    ld.u32 %r10, [%rd6];
    sub.u32 %r10, %r10, %r9;
    st.global.u32 [%rd1], %r10;"""
    out = guarded(32)
    (fault,) = faults_of(kernel(body, "u64 u64", way, 64), 1, 32, out.array, window)
    assert (fault.kind, fault.opcode) == ("out of bounds", "ld.global.u32")
    np.testing.assert_array_equal(out.array, 77 * done_by(way))


def test_copies_of_an_access_are_worded_once_with_their_total() -> None:
    """As an unrolled loop has them: lanes 0 to 31 store past 16 words, at 4-byte steps, and once more from line 4."""
    store = "\t.loc 1 3 1\n\tst.global.u32 [%rd1+{at}], 1;\n"
    copies = "".join(store.format(at=at) for at in (64, 68, 72)) + "\t.loc 1 4 1\n\tst.global.u32 [%rd1+64], 1;\n"
    with pytest.raises(KernelFault) as caught:
        emulate(launch(assemble(f"\tld.param.u64 %rd1, [a0];\n{copies}\tret;", "u64"), 1, 32, np.zeros(16, np.uint32)))
    lines = str(caught.value).splitlines()
    assert [(line.partition(": ")[0], line.rpartition(" (")[2]) for line in lines] == [
        ("kernel.cu:3", "96 times)"),
        ("kernel.cu:4", "32 times)"),
    ]


@pytest.mark.parametrize(
    ("opcode", "index"),
    [("ld.shared.u32", 5_000_000), *((opcode, index) for opcode in ("ld.shared.u32", "ld.u32") for index in (-1000, -2, 64))],
)
def test_index_next_to_shared_memory_is_of_shared_memory(opcode: str, index: int) -> None:
    """Also by a generic address, which below it lies in local memory's window; the kernel has 16 bytes of that."""
    generic = "" if ".shared" in opcode else "cvta.shared.u64 %rd2, %rd2;"
    body = f"""
    ld.param.u64 %rd1, [a0];
    mov.u64 %rd2, buffer;
    {generic}
    {opcode} %r1, [%rd2+{4 * index}];
    mov.u64 %rd3, depot;
    st.local.u32 [%rd3], %r1;
    st.global.u32 [%rd1], %r1;
    ret;"""
    (fault,) = faults_of(assemble(body, "u64", shared_bytes=256, local_bytes=16), 1, 1, np.zeros(1, np.uint32))
    assert (fault.space, fault.offset) == ("shared", 4 * index)
    assert f"4 bytes at shared address {4 * index}" in fault.detail


def test_index_past_local_memory_is_of_local_memory() -> None:
    body = """
    ld.param.u64 %rd1, [a0];
    mov.u64 %rd3, depot;
    cvta.local.u64 %rd3, %rd3;
    ld.u32 %r1, [%rd3+400];
    st.global.u32 [%rd1], %r1;
    ret;"""
    (fault,) = faults_of(assemble(body, "u64", shared_bytes=256, local_bytes=16), 1, 1, np.zeros(1, np.uint32))
    assert (fault.space, fault.offset) == ("local", 400)
