"""State spaces: local, constant and module variables, parameters by address, and generic addresses of each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from assembling import assemble, launch

from tilewise.core.counters import SiteCounters
from tilewise.core.errors import KernelFault, TilewiseError
from tilewise.emu.machine import Emulation, emulate

START = """
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [a0];
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
"""
"""%r1: the thread; %rd1: its word in a0."""


def run(
    body: str,
    *args: Any,
    block: int = 32,
    module: str = "",
    local_bytes: int = 64,
    parameters: str = "u64",
    shared_bytes: int = 256,
) -> tuple[npt.NDArray[np.uint32], Emulation]:
    out = np.full(block, 99, np.uint32)
    ptx = assemble(START + body, parameters, outside=module, local_bytes=local_bytes, shared_bytes=shared_bytes)
    return out, emulate(launch(ptx, 1, block, out, *args))


def sites(emulation: Emulation, opcode: str) -> list[SiteCounters]:
    return [site for site in emulation.counters.sites if site.opcode == opcode]


BLOCKS = pytest.mark.parametrize("block", [32, 64, 20])


# -- local memory


@BLOCKS
@pytest.mark.parametrize("address", ["depot", "%rd5", "%rd6"])
def test_each_thread_has_local_memory_of_its_own(block: int, address: str) -> None:
    """By name, by a constant address, and by one that only the run tells."""
    body = f"""
    mov.u64 %rd5, depot;
    cvt.u64.u32 %rd6, %r1;
    and.b64 %rd6, %rd6, 0;
    ld.param.u64 %rd7, [a1];
    add.u64 %rd6, %rd5, %rd7;
    add.u32 %r2, %r1, 100;
    st.local.u32 [{address}], %r1;
    st.local.u32 [{address}+4], %r2;
    ld.local.u32 %r3, [{address}];
    ld.local.u32 %r4, [{address}+4];
    mad.lo.u32 %r5, %r3, 1000, %r4;
    st.global.u32 [%rd1], %r5;
    ret;"""
    out, emulation = run(body, 0, block=block, parameters="u64 u64")
    np.testing.assert_array_equal(out, np.arange(block) * 1001 + 100)
    (load,) = sites(emulation, "ld.local.u32")[:1]
    warps = -(-block // 32)
    assert (load.space, load.kind, load.requests, load.bytes) == ("local", "load", warps, 4 * block)
    assert load.transactions == -(-block // 8)  # a word of eight lanes fills a sector


@BLOCKS
@pytest.mark.parametrize("generic", [True, False])
@pytest.mark.parametrize("index", ["lane", "warp"])
def test_a_local_array_by_index(block: int, generic: bool, index: str) -> None:
    """Written forwards and read at an index that differs from lane to lane, or is the same for a warp."""
    space = "" if generic else ".local"
    body = f"""
    mov.u64 %rd5, depot;
    cvta.local.u64 %rd5, %rd5;
    mov.u32 %r2, 0;
    mov.u64 %rd6, %rd5;
    FILL:
    mad.lo.u32 %r3, %r1, 16, %r2;
    st{space}.u32 [%rd6], %r3;
    add.u64 %rd6, %rd6, 4;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 16;
    @%p1 bra FILL;
    {"mov.u32 %r4, %r1" if index == "lane" else "shr.u32 %r4, %r1, 5"};
    and.b32 %r4, %r4, 15;
    mul.wide.u32 %rd7, %r4, 4;
    add.u64 %rd7, %rd5, %rd7;
    ld{space}.u32 %r5, [%rd7];
    st.global.u32 [%rd1], %r5;
    ret;"""
    out, emulation = run(body, block=block)
    threads = np.arange(block)
    at = (threads if index == "lane" else threads // 32) % 16
    np.testing.assert_array_equal(out, threads * 16 + at)
    assert {site.space for site in sites(emulation, f"ld{space}.u32")} == {"local"}
    assert sum(site.requests for site in sites(emulation, f"ld{space}.u32")) == -(-block // 32)


@BLOCKS
def test_bytes_halves_and_long_words_of_local_memory(block: int) -> None:
    body = """
    mov.u64 %rd5, depot;
    ld.param.u64 %rd9, [a1];
    add.u64 %rd6, %rd5, %rd9;
    mov.u64 %rd7, 0x0807060504030201;
    cvt.u64.u32 %rd8, %r1;
    add.u64 %rd7, %rd7, %rd8;
    st.local.u64 [%rd5+8], %rd7;
    st.local.v2.u64 [%rd6+16], {%rd7, %rd8};
    st.local.u8 [%rd6+9], 0xff;
    st.local.u16 [%rd5+18], 0xeeee;
    ld.local.s8 %r2, [%rd5+9];
    ld.local.u16 %r3, [%rd6+18];
    ld.local.v2.u32 {%r4, %r5}, [%rd5+8];
    ld.local.v4.u32 {%r6, %r7, %r8, %r9}, [%rd6+16];
    ld.local.v4.u8 {%r10, %r11, %r12, %r13}, [%rd6+12];
    xor.b32 %r2, %r2, %r3;
    add.u32 %r2, %r2, %r4;
    xor.b32 %r2, %r2, %r5;
    add.u32 %r2, %r2, %r6;
    xor.b32 %r2, %r2, %r7;
    add.u32 %r2, %r2, %r8;
    mad.lo.u32 %r2, %r10, 3, %r2;
    mad.lo.u32 %r2, %r13, 5, %r2;
    st.global.u32 [%rd1], %r2;
    ret;"""
    out, _ = run(body, 0, block=block, parameters="u64 u64")
    wanted = []
    for thread in range(block):
        memory = bytearray(64)
        value = (0x0807060504030201 + thread).to_bytes(8, "little")
        memory[8:16] = value
        memory[16:24] = value
        memory[24:32] = thread.to_bytes(8, "little")
        memory[9] = 0xFF
        memory[18:20] = b"\xee\xee"
        words = np.frombuffer(bytes(memory), np.uint32).tolist()
        result = 0xFFFFFFFF ^ 0xEEEE
        result = (result + words[2]) ^ words[3]
        result = ((result + words[4]) & 0xFFFFFFFF) ^ words[5]
        wanted.append((result + words[6] + memory[12] * 3 + memory[15] * 5) & 0xFFFFFFFF)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("address", ["[depot+60]", "[%rd5+60]", "[%rd6]"])
@pytest.mark.parametrize("opcode", ["st.local.u64", "st.u64"])
def test_local_memory_ends(address: str, opcode: str) -> None:
    """A long word that begins 4 bytes before the end is misaligned, one past it out of bounds."""
    body = f"""
    mov.u64 %rd5, depot;
    cvta.local.u64 %rd5, %rd5;
    mul.wide.u32 %rd6, %r1, 8;
    add.u64 %rd6, %rd6, %rd5;
    {opcode} {address}, %rd6;
    st.global.u32 [%rd1], %r1;
    ret;"""
    with pytest.raises(KernelFault) as caught:
        run(body)
    (fault,) = caught.value.faults
    assert fault.kind == ("out of bounds" if address == "[%rd6]" else "misaligned")  # type: ignore[attr-defined]
    assert fault.count == (24 if address == "[%rd6]" else 32)  # type: ignore[attr-defined]
    assert "local address 6" in fault.detail  # type: ignore[attr-defined]


# -- module variables

VARIABLES = """
.const .align 4 .u32 coefficients[4] = {1, 2, 3, 4};
.const .align 8 .u64 where = generic(table);
.global .align 4 .u32 table[3] = {7, 8};
.global .align 8 .u64 second[1] = {table+4};
.global .align 4 .u32 counter = 5;
.global .align 1 .b8 unused[1000000];
"""


@BLOCKS
def test_variables_start_from_their_values(block: int) -> None:
    body = """
    mov.u64 %rd5, coefficients;
    and.b32 %r2, %r1, 3;
    mul.wide.u32 %rd6, %r2, 4;
    add.u64 %rd6, %rd5, %rd6;
    ld.const.u32 %r3, [%rd6];
    ld.const.u32 %r8, [coefficients+8];
    cvta.const.u64 %rd7, %rd6;
    ld.b32 %r9, [%rd7];
    add.u32 %r3, %r3, %r8;
    add.u32 %r3, %r3, %r9;
    ld.global.u64 %rd8, [second];
    ld.global.u32 %r4, [%rd8];
    ld.const.u64 %rd9, [where];
    ld.u32 %r5, [%rd9+8];
    ld.u32 %r6, [%rd9];
    mad.lo.u32 %r3, %r4, 100, %r3;
    add.u32 %r5, %r5, %r6;
    mad.lo.u32 %r3, %r5, 1000, %r3;
    st.global.u32 [%rd1], %r3;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    ld.global.u32 %r7, [counter];
    add.u32 %r7, %r7, 1;
    st.global.u32 [counter], %r7;
    ret;"""
    for _ in range(2):  # each launch starts anew
        out, emulation = run(body, block=block, module=VARIABLES)
        coefficient = np.arange(block) % 4 + 1
        np.testing.assert_array_equal(out, 2 * coefficient + 3 + 800 + 7000)
        assert emulation.variables["counter"].view(np.uint32).tolist() == [6]
        assert sorted(emulation.variables) == ["coefficients", "counter", "second", "table", "where"]
        assert not sites(emulation, "ld.const.u32")  # constant memory has a path of its own
        assert {site.space for site in sites(emulation, "ld.u32")} == {"global"}
        assert not sites(emulation, "ld.b32")


def test_constant_memory_is_read_only() -> None:
    body = "mov.u64 %rd5, coefficients;\nst.u32 [%rd5+4], %r1;\nst.global.u32 [%rd5], %r1;\nret;"
    with pytest.raises(KernelFault) as caught:
        run(body, module=VARIABLES)
    assert [fault.kind for fault in caught.value.faults] == ["store to a read-only buffer"] * 2  # type: ignore[attr-defined]
    assert "byte 4 of variable coefficients, which has 16" in caught.value.faults[0].detail  # type: ignore[attr-defined]


def test_a_variable_ends() -> None:
    with pytest.raises(KernelFault) as caught:
        run("ld.global.u32 %r2, [table+12];\nst.global.u32 [%rd1], %r2;\nret;", module=VARIABLES)
    assert "byte 12 of variable table, which has 12" in caught.value.faults[0].detail  # type: ignore[attr-defined]


def test_a_variable_of_another_module() -> None:
    with pytest.raises(TilewiseError, match="declares elsewhere and does not define it"):
        run("ld.global.u32 %r2, [elsewhere];\nret;", module=".extern .global .u32 elsewhere;")


# -- parameters


@BLOCKS
def test_parameters_by_address(block: int) -> None:
    body = """
    mov.b64 %rd5, a1;
    rem.u32 %r2, %r1, 3;
    mul.wide.u32 %rd6, %r2, 8;
    add.u64 %rd6, %rd5, %rd6;
    ld.param.u32 %r3, [%rd6];
    cvta.param.u64 %rd7, %rd6;
    ld.u32 %r4, [%rd7+4];
    mad.lo.u32 %r3, %r4, 10, %r3;
    st.global.u32 [%rd1], %r3;
    ret;"""
    out = np.full(block, 99, np.uint32)
    ptx = assemble(START + body, "u64 u64").replace(".param .u64 a1", ".param .align 8 .b8 a1[24]")
    words = np.arange(6, dtype=np.uint32) + 1
    emulate(launch(ptx, 1, block, out, np.void(words.tobytes())))
    pair = np.arange(block) % 3
    np.testing.assert_array_equal(out, words[2 * pair] + 10 * words[2 * pair + 1])


# -- generic addresses


GENERIC = """
mov.u64 %rd5, buffer;
cvta.shared.u64 %rd5, %rd5;
mul.wide.u32 %rd6, %r1, 4;
add.u64 %rd6, %rd5, %rd6;
st.u32 [%rd6], %r1;
bar.sync 0;
"""


@BLOCKS
def test_generic_addresses_of_shared_memory(block: int) -> None:
    """At a bounded offset, at one from memory, scattered, and the same for all."""
    body = f"""
    {GENERIC}
    ld.param.u64 %rd9, [a1];
    add.u64 %rd7, %rd6, %rd9;
    ld.u32 %r3, [%rd7];
    mul.lo.u32 %r4, %r1, 7;
    rem.u32 %r4, %r4, {block};
    mul.wide.u32 %rd8, %r4, 4;
    add.u64 %rd8, %rd5, %rd8;
    ld.u32 %r5, [%rd8];
    add.u64 %rd9, %rd5, %rd9;
    ld.u32 %r6, [%rd9+16];
    mad.lo.u32 %r3, %r5, 100, %r3;
    mad.lo.u32 %r3, %r6, 10000, %r3;
    st.global.u32 [%rd1], %r3;
    ret;"""
    out, emulation = run(body, 0, block=block, parameters="u64 u64")
    threads = np.arange(block)
    np.testing.assert_array_equal(out, threads + threads * 7 % block * 100 + 4 * 10000)
    counters = emulation.counters
    warps = -(-block // 32)
    assert counters.shared_store_requests == warps
    assert counters.shared_load_requests == 3 * warps
    assert (counters.shared_store_bytes, counters.shared_load_bytes) == (4 * block, 12 * block)
    assert counters.global_load_requests == 0
    assert counters.global_store_requests == warps


@BLOCKS
def test_lanes_in_different_spaces(block: int) -> None:
    """Thirds of the threads read shared, global and local memory by one instruction."""
    body = f"""
    mov.u64 %rd10, depot;
    cvta.local.u64 %rd10, %rd10;
    st.u32 [%rd10+4], 5;
    {GENERIC}
    st.global.u32 [%rd1], 3;
    rem.u32 %r2, %r1, 3;
    setp.eq.u32 %p1, %r2, 1;
    selp.b64 %rd7, %rd1, %rd6, %p1;
    setp.eq.u32 %p2, %r2, 2;
    add.u64 %rd10, %rd10, 4;
    selp.b64 %rd7, %rd10, %rd7, %p2;
    ld.u32 %r3, [%rd7];
    st.global.u32 [%rd1], %r3;
    ret;"""
    out, emulation = run(body, block=block)
    threads = np.arange(block)
    np.testing.assert_array_equal(out, np.select([threads % 3 == 0, threads % 3 == 1], [threads, 3], 5))
    counted = {str(site.space): site for site in sites(emulation, "ld.u32")}
    warps = -(-block // 32)
    assert sorted(counted) == ["global", "local", "shared"]
    for space, third in (("shared", 0), ("global", 1), ("local", 2)):
        assert counted[space].requests == warps
        assert counted[space].bytes == 4 * np.count_nonzero(threads % 3 == third)


def test_a_generic_pointer_in_local_memory() -> None:
    """Pointers to shared and to local memory go through local memory, as in code that is not optimised."""
    body = f"""
    mov.u64 %rd10, depot;
    cvta.local.u64 %rd10, %rd10;
    {GENERIC}
    st.u64 [%rd10+8], %rd6;
    st.u32 [%rd10+24], 1000;
    add.u64 %rd11, %rd10, 24;
    st.u64 [%rd10+16], %rd11;
    ld.u64 %rd12, [%rd10+8];
    ld.u64 %rd13, [%rd10+16];
    ld.u32 %r3, [%rd12];
    ld.u32 %r4, [%rd13];
    add.u32 %r3, %r3, %r4;
    st.u32 [%rd13], %r3;
    ld.u32 %r5, [%rd10+24];
    st.global.u32 [%rd1], %r5;
    ret;"""
    out, _ = run(body)
    np.testing.assert_array_equal(out, np.arange(32) + 1000)


@pytest.mark.parametrize("address", ["0", "0x1FFFFFF", "0x2000100", "0x5000000", "0x7fff00000000"])
def test_generic_addresses_of_nothing(address: str) -> None:
    with pytest.raises(KernelFault) as caught:
        run(f"mov.u64 %rd5, {address};\nld.u8 %r2, [%rd5];\nst.global.u32 [%rd1], %r2;\nret;")
    (fault,) = caught.value.faults
    assert (fault.kind, fault.count) == ("out of bounds", 32)  # type: ignore[attr-defined]


# -- forms

ORDERED = [
    *(
        "ld.volatile.global.u32",
        "ld.volatile.u32",
        "ld.relaxed.gpu.global.u32",
        "ld.acquire.sys.u32",
        "ld.global.acquire.gpu.b32",
    ),
    *("ld.global.L1::no_allocate.u32", "ld.global.nc.L1::evict_last.L2::128B.u32", "ld.global.lu.u32", "ld.weak.global.u32"),
    *("ld.mmio.relaxed.sys.global.u32", "ld.global.nc.u32", "ldu.global.u32"),
]


@pytest.mark.parametrize("opcode", ORDERED)
@pytest.mark.parametrize("block", [32, 20])
def test_loads_as_they_may_be_spelled(opcode: str, block: int) -> None:
    store = (
        opcode.replace("ldu.", "st.")
        .replace("ld.", "st.")
        .replace("acquire", "release")
        .replace(".nc", "")
        .replace(".lu", "")
        .replace(".L2::128B", "")
    )
    body = f"""
    {opcode} %r2, [%rd1];
    add.u32 %r2, %r2, %r1;
    {store} [%rd1], %r2;
    fence.acq_rel.gpu;
    membar.gl;
    prefetch.global.L2 [%rd1];
    discard.global.L2 [%rd1], 128;
    ret;"""
    out, emulation = run(body, block=block)
    np.testing.assert_array_equal(out, 99 + np.arange(block))
    assert emulation.counters.global_load_requests == emulation.counters.global_store_requests == 1


@pytest.mark.parametrize("block", [32, 20])
@pytest.mark.parametrize("space", [".global", ""], ids=["global", "generic"])
def test_accesses_of_32_bytes_and_of_one_long_register(block: int, space: str) -> None:
    a, b = np.arange(8 * block, dtype=np.uint32), np.zeros(8 * block, np.uint32)
    body = """
    .reg .b128 %q;
    ld.param.u64 %rd3, [a1];
    ld.param.u64 %rd4, [a2];
    mul.wide.u32 %rd5, %r1, 32;
    add.u64 %rd3, %rd3, %rd5;
    add.u64 %rd4, %rd4, %rd5;
    ld.global.v8.b32 {%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9}, [%rd3];
    ld.global.b128 %q, [%rd3+16];
    st.global.v8.b32 [%rd4], {%r9, %r8, %r7, %r6, %r5, %r4, %r3, %r2};
    st.global.b128 [%rd4], %q;
    ret;""".replace(".global", space)
    _, emulation = run(body, a, b, block=block, parameters="u64 u64 u64")
    assert (emulation.counters.global_load_sectors, emulation.counters.requested_load_bytes) == (2 * block, 48 * block)
    rows = a.reshape(block, 8)
    np.testing.assert_array_equal(b.reshape(block, 8), np.hstack([rows[:, 4:], rows[:, 3::-1]]))


@BLOCKS
def test_a_value_stored_twice_at_places_that_the_run_decides_keeps_its_bits(block: int) -> None:
    body = """
    ld.param.u32 %r2, [a1];
    mul.wide.u32 %rd5, %r2, 4;
    mov.u64 %rd6, depot;
    add.u64 %rd6, %rd6, %rd5;
    cvt.rn.f32.u32 %f1, %r1;
    st.local.f32 [%rd6], %f1;
    st.local.f32 [%rd6+4], %f1;
    ld.local.f32 %f2, [%rd6+4];
    add.f32 %f2, %f2, %f1;
    st.global.f32 [%rd1], %f2;
    """
    out, _ = run(body, 5, block=block, parameters="u64 u32")
    np.testing.assert_array_equal(out.view(np.float32), 2.0 * np.arange(block, dtype=np.float32))
