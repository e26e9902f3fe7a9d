"""Functions of CUDA, called in every way, optimised and not; and PTX that no compiler writes."""

# KernelFault.faults holds plain objects, and a grid may be a number:
# mypy: disable-error-code="attr-defined,arg-type"

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from assembling import assemble, launch

from tilewise.build.nvrtc import compile as compile_cuda
from tilewise.core.errors import KernelFault
from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.emu.machine import Emulation, emulate

SOURCE = (Path(__file__).parent / "cuda/calls.cu").read_text()
BUILDS = [(arch, options) for arch in ("sm_90a", "sm_100") for options in ((), ("-G",))]
every_build = pytest.mark.parametrize("build", BUILDS, ids=[f"{arch}{''.join(options)}" for arch, options in BUILDS])
Build = tuple[str, tuple[str, ...]]
POINT = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("tag", "i4")])


@cache
def module(build: Build) -> Module:
    return compile_cuda(SOURCE, "calls.cu", arch=build[0], options=build[1])


def run(build: Build, kernel: str, block: int, *args: Any, grid: int = 1) -> Emulation:
    return emulate(Launch(module(build), kernel, grid, block, args))


@every_build
def test_functions_call_themselves(build: Build) -> None:
    out = np.full(64, -1, np.int32)
    run(build, "recursive", 64, out, 50)
    numbers = [0, 1, 1, 2, 3, 5, 8, 13]
    np.testing.assert_array_equal(out, [numbers[i & 7] if i < 50 else -1 for i in range(64)])


@every_build
def test_functions_call_each_other(build: Build) -> None:
    out = np.full(64, -1, np.int32)
    run(build, "in_turns", 64, out, 40)
    np.testing.assert_array_equal(out, [1 - i % 2 if i < 40 else 2 for i in range(64)])


@every_build
def test_recursion_over_memory(build: Build) -> None:
    rows = np.random.default_rng(3).integers(-50, 50, (40, 37), dtype=np.int32)
    wanted = np.sort(rows, axis=1)
    run(build, "sort_rows", 40, rows, 37)
    np.testing.assert_array_equal(rows, wanted)


@every_build
def test_recursion_has_a_limit(build: Build) -> None:
    out = np.zeros(32, np.int32)
    run(build, "too_deep", 32, out, 20)
    np.testing.assert_array_equal(out, [20 if i == 5 else 1 for i in range(32)])
    with pytest.raises(KernelFault) as caught:
        run(build, "too_deep", 32, out, 100_000)
    assert caught.value.faults[0].kind == "stack overflow"
    assert caught.value.faults[0].thread == (5, 0, 0)


@every_build
def test_functions_by_their_address(build: Build) -> None:
    x, which = np.arange(64, dtype=np.float32), (np.arange(64) // 3 % 2).astype(np.int32)
    run(build, "by_address", 32, x, which, grid=2)
    i = np.arange(64)
    np.testing.assert_array_equal(x, np.where(which, -i, i * i))


@every_build
@pytest.mark.parametrize("address", [0, 12345])
def test_an_address_of_no_function(build: Build, address: int) -> None:
    with pytest.raises(KernelFault) as caught:
        run(build, "by_any_address", 32, np.ones(32, np.float32), address)
    (fault,) = caught.value.faults
    assert (fault.kind, fault.thread, fault.count) == ("jump to nowhere", (7, 0, 0), 1)
    assert hex(address) in fault.detail


@every_build
def test_virtual_functions(build: Build) -> None:
    x = np.arange(1, 33, dtype=np.float32)
    run(build, "virtual_functions", 32, x)
    i = np.arange(1, 33)
    np.testing.assert_array_equal(x, np.choose(np.arange(32) % 3, [i, 3 * i * i, i * i]))


@every_build
def test_structures_are_passed_and_returned(build: Build) -> None:
    points = np.zeros(32, POINT)
    points["x"], points["y"], points["z"], points["tag"] = np.arange(32), 2, np.arange(32) / 2, np.arange(32)
    before, table = points.copy(), np.arange(100, 112, dtype=np.int32)
    other = np.array([(3, 4, 5, 6)], POINT)
    run(build, "structures", 32, points, np.void(other.tobytes()), np.void(table.tobytes()), 2.0)
    x = before["x"] * 2
    np.testing.assert_array_equal(points["x"], x)
    np.testing.assert_array_equal(points["y"], 4 + 4 * x)
    np.testing.assert_array_equal(points["z"], 2 * before["z"])
    np.testing.assert_array_equal(points["tag"], before["tag"] + 1 + table[np.arange(32) % 12])


@every_build
def test_a_switch(build: Build) -> None:
    x = (np.arange(64) % 11).astype(np.int32)
    wanted = [[17, 1 + i, 6, 3 ^ 0x55, i * i, -1, 99, 2 * i, 1000, 1000, 1000][i % 11] for i in range(64)]
    run(build, "cases", 64, x)
    np.testing.assert_array_equal(x, wanted)


@every_build
def test_a_function_leaves_the_kernel(build: Build) -> None:
    y = np.zeros(64, np.int32)
    run(build, "left", 64, y)
    np.testing.assert_array_equal(y, [1] * 4 + [0] * 60)


@every_build
def test_barriers_in_functions(build: Build) -> None:
    x = np.random.default_rng(4).integers(0, 9, 128).astype(np.float32)
    total = x.sum()
    emulation = run(build, "barriers_inside", 128, x)
    np.testing.assert_array_equal(x, 3 * total)
    assert emulation.counters.barriers == 4


@every_build
def test_printf(build: Build) -> None:
    lines = [f"{i} text {i / 2:f} {i << 40} {chr(ord('a') + i)}%\n" for i in range(3)]
    assert run(build, "printing", 64, 3).printed == "".join(lines)
    assert run(build, "printing", 64, 0).printed == ""


@every_build
def test_assertions_and_traps(build: Build) -> None:
    x = np.ones(64, np.int32)
    run(build, "asserting", 64, x)
    run(build, "trapping", 64, x)
    x[[40, 50]] = -1
    with pytest.raises(KernelFault, match=r"x\[threadIdx.x\] >= 0") as caught:
        run(build, "asserting", 64, x)
    assert [(fault.kind, fault.thread, fault.count) for fault in caught.value.faults] == [("failed assertion", (40, 0, 0), 2)]
    with pytest.raises(KernelFault) as caught:
        run(build, "trapping", 64, x)
    assert [(fault.kind, fault.thread, fault.count) for fault in caught.value.faults] == [("trap", (40, 0, 0), 2)]


# -- by hand

INDEX = "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [a0]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;"


def words(body: str, outside: str = "", *args: Any, parameters: str = "", lanes: int = 64) -> npt.NDArray[np.uint32]:
    """What each thread leaves in its word; %r1 is its number, %rd1 where the word stands."""
    out = np.zeros(lanes, np.uint32)
    ptx = assemble(f"{INDEX}{body}", f"u64 {parameters}", outside=outside)
    emulate(launch(ptx, 1, lanes, out, *args))
    return out


def test_parameters_in_registers() -> None:
    add = """.func (.reg .u32 sum, .reg .pred odd) add (.reg .u32 a, .reg .u32 b) {
        add.u32 sum, a, b; and.b32 a, sum, 1; setp.ne.u32 odd, a, 0; ret; }"""
    body = "call (%r2, %p1), add, (%r1, 5); @%p1 add.u32 %r2, %r2, 100; st.global.u32 [%rd1], %r2; ret;"
    np.testing.assert_array_equal(words(body, add), [i + 5 + 100 * ((i + 5) % 2) for i in range(64)])


def test_parameters_in_pieces_of_other_sizes() -> None:
    """Bytes on one side, words and halves on the other."""
    mix = """.func (.param .align 8 .b8 out[8]) mix (.param .align 8 .b8 in[8]) {
        .reg .b32 %x<4>; .reg .b16 %h<3>;
        ld.param.u16 %h1, [in+2];
        ld.param.u32 %x1, [in+4];
        cvt.u32.u16 %x2, %h1;
        add.u32 %x1, %x1, %x2;
        st.param.b32 [out], %x1;
        st.param.b8 [out+4], %x2;
        st.param.b8 [out+5], %x1;
        st.param.b16 [out+6], %h1;
        ret; }"""
    body = """
        shl.b32 %r2, %r1, 16; or.b32 %r2, %r2, 77;
        mul.lo.u32 %r3, %r1, 1000;
        { .param .align 8 .b8 given[8]; .param .align 8 .b8 back[8];
          st.param.v2.b32 [given], {%r2, %r3};
          call.uni (back), mix, (given);
          ld.param.v2.b32 {%r4, %r5}, [back]; }
        add.u32 %r4, %r4, %r5; st.global.u32 [%rd1], %r4; ret;"""
    i = np.arange(64, dtype=np.uint32)
    total = 1000 * i + i
    np.testing.assert_array_equal(words(body, mix), total + (i & 255 | (total & 255) << 8 | i << 16))


TABLE = """
    targets: .branchtargets ONE, TWO, ONE, THREE;
    brx.idx %r2, targets;
    ONE: mov.u32 %r3, 1; bra DONE;
    TWO: mov.u32 %r3, 2; bra DONE;
    THREE: mov.u32 %r3, 3;
    DONE: add.u32 %r3, %r3, %r1; st.global.u32 [%rd1], %r3; ret;"""


@pytest.mark.parametrize("number", range(4))
def test_all_threads_branch_to_one_place(number: int) -> None:
    out = words(f"ld.param.u32 %r2, [a1];{TABLE}", "", number, parameters="u32")
    np.testing.assert_array_equal(out, np.arange(64) + [1, 2, 1, 3][number])
    same = words(f"ld.param.u32 %r2, [a1]; mul.lo.u32 %r4, %r1, 0; xor.b32 %r2, %r2, %r4;{TABLE}", "", number, parameters="u32")
    np.testing.assert_array_equal(same, out)


def test_threads_branch_to_places_of_their_own() -> None:
    out = words(f"shr.u32 %r2, %r1, 1; and.b32 %r2, %r2, 3;{TABLE}")
    np.testing.assert_array_equal(out, [i + [1, 2, 1, 3][i // 2 % 4] for i in range(64)])


@pytest.mark.parametrize("first", [0, 17, 60])
def test_a_branch_past_the_table(first: int) -> None:
    body = f"setp.ge.u32 %p1, %r1, {first}; selp.u32 %r2, 4, 3, %p1;{TABLE}"
    with pytest.raises(KernelFault) as caught:
        words(body)
    (fault,) = caught.value.faults
    assert (fault.kind, fault.thread, fault.count, fault.opcode) == ("jump to nowhere", (first, 0, 0), 64 - first, "brx.idx")


def test_guarded_calls_and_returns() -> None:
    half = """.func (.reg .u32 out) half (.reg .u32 a) {
        .reg .pred %q; setp.gt.u32 %q, a, 40; mov.u32 out, 7; @%q ret; shr.u32 out, a, 1; ret; }"""
    body = """setp.lt.u32 %p1, %r1, 50; mov.u32 %r2, 1000; @%p1 call (%r2), half, (%r1);
        st.global.u32 [%rd1], %r2; ret;"""
    np.testing.assert_array_equal(words(body, half), [1000 if i >= 50 else 7 if i > 40 else i // 2 for i in range(64)])


def test_a_label_of_one_function_is_not_anothers() -> None:
    first = (
        ".func (.reg .u32 out) first (.reg .u32 a) { .reg .b32 %r<9>; mov.u32 %r1, 3; bra SAME; SAME: add.u32 out, a, %r1; ret; }"
    )
    body = "call (%r2), first, (%r1); bra SAME; SAME: add.u32 %r2, %r2, %r1; st.global.u32 [%rd1], %r2; ret;"
    np.testing.assert_array_equal(words(body, first), 2 * np.arange(64) + 3)


def test_a_breakpoint_is_a_trap() -> None:
    with pytest.raises(KernelFault) as caught:
        words("setp.eq.u32 %p1, %r1, 9; @%p1 brkpt; ret;")
    assert [(fault.kind, fault.thread) for fault in caught.value.faults] == [("trap", (9, 0, 0))]


# -- what is printed


def printed(text: str, *slots: tuple[str, str]) -> str:
    """What one thread prints by a format, with arguments of (type, value) in PTX, each at a slot of eight bytes."""
    data = ", ".join(str(byte) for byte in (*text.encode(), 0))
    outside = f"""
        .extern .func (.param .b32 result) vprintf (.param .b64 text, .param .b64 arguments);
        .global .align 1 .b8 text[{len(text.encode()) + 1}] = {{{data}}};
        .global .align 1 .b8 word[6] = {{104, 101, 108, 108, 111, 0}};"""
    stores = "".join(f"st.local.{type_} [depot+{8 * slot}], {value};" for slot, (type_, value) in enumerate(slots))
    body = f"""
        mov.u64 %rd1, text; cvta.global.u64 %rd1, %rd1; mov.u64 %rd2, depot; cvta.local.u64 %rd2, %rd2;
        mov.u64 %rd3, word; cvta.global.u64 %rd3, %rd3;
        {stores}
        {{ .param .b64 p0; .param .b64 p1; .param .b32 back; st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd2;
          call.uni (back), vprintf, (p0, p1); ld.param.b32 %r1, [back]; }}
        ret;"""
    return emulate(launch(assemble(body, local_bytes=64, outside=outside), 1, 1)).printed


@pytest.mark.parametrize(
    ("text", "slots", "wanted"),
    [
        ("plain %% text", [], "plain % text"),
        ("%5d|%-5d|%05d|%+d", [("b64", "42")] * 4, None),
        ("%llx %llu", [("b64", "0xfedcba9876543210"), ("b64", "-1")], "fedcba9876543210 18446744073709551615"),
        ("%hhd %hd", [("b64", "511"), ("b64", "98304")], "-1 -32768"),
        ("%8.3f|%e|%g", [("f64", "0d400921FB54442D18")] * 3, "   3.142|3.141593e+00|3.14159"),
        ("%s|%8s|%-8s|%.2s", [("b64", "%rd3")] * 4, "hello|   hello|hello   |he"),
        ("a%nb", [("b64", "%rd3")], "ab"),
        ("%n%n%s", [("b64", "%rd3")], "hello"),
        ("%p", [("b64", "0x1234")], "0x1234"),
        ("%*d", [("b32", "6"), ("b64", "1")], None),
        ("100%", [], "100"),
    ],
)
def test_formats(text: str, slots: list[tuple[str, str]], wanted: str | None) -> None:
    if text.startswith("%5d"):  # 32-bit arguments, two a slot
        slots, wanted = [("v2.b32", "{42, 42}")] * 2, "   42|42   |00042|+42"
    if text == "%*d":
        slots, wanted = [("v2.b32", "{6, -7}")], "    -7"
    if text.startswith("%hh"):
        slots = [("v2.b32", "{511, 98304}")]
    assert printed(text, *slots) == wanted


@pytest.mark.parametrize("pointer", ["0", "0x7fffffffffff", "-1"])
def test_a_bad_string_is_a_fault(pointer: str) -> None:
    with pytest.raises(KernelFault) as caught:
        printed("%s", ("b64", pointer))
    assert caught.value.faults[0].kind == "out of bounds"


def test_what_is_printed_has_an_end() -> None:
    text = printed("%s" + "x" * 3000, ("b64", "%rd3"))
    assert text == "hello" + "x" * 3000
    wide = printed("%999999999d|%.999999999f", ("v2.b32", "{1, 2}"), ("f64", "0d3FF0000000000000"))
    assert len(wide) < 5000
