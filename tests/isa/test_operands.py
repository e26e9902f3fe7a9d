"""How instructions take and give values, whatever they do: vectors, pairs, sinks, literals, guards and the carry flag."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from assembling import assemble, launch

from tilewise.core.errors import TilewiseError
from tilewise.emu.isa import FORMS
from tilewise.emu.machine import emulate

Words = npt.NDArray[np.uint32]
LANE = np.arange(32, dtype=np.uint32)
START = """
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [a0];
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
ld.global.b32 %r2, [%rd1];
"""
"""%rd1: the thread's word of the array; %r2: what is there, a value that nothing is known of."""


def run(body: str, words: npt.NDArray[Any] | None = None) -> Words:
    """Each thread's word after it stored %r9, of one warp whose words were `words`."""
    out = np.array(LANE * 0x9E3779B1 if words is None else words, np.uint32)
    emulate(launch(assemble(f"{START}{body}\nst.global.b32 [%rd1], %r9;\nret;", "u64"), 1, 32, out), threads=1)
    return out


def test_a_vector_takes_a_register_apart_lowest_first() -> None:
    words = LANE * 0x01010101 + 0x04030201
    np.testing.assert_array_equal(run("mov.b32 {%rs1, %rs2}, %r2;\nmov.b32 %r9, {%rs2, %rs1};", words), words >> 16 | words << 16)


def test_a_vector_of_four_halves() -> None:
    body = """
    mov.b32 %r3, 0x44443333;
    mov.b64 %rd3, {%r2, %r3};
    mov.b64 {%rs1, %rs2, %rs3, %rs4}, %rd3;
    mov.b32 %r9, {%rs2, %rs4};"""
    np.testing.assert_array_equal(run(body, LANE << 16 | 7), LANE | 0x4444 << 16)


def test_a_vector_of_patterned_lanes_and_a_sink() -> None:
    body = """
    mov.b64 %rd3, {%r1, %r2};
    add.s64 %rd3, %rd3, -1;
    mov.b64 {_, %r9}, %rd3;"""
    np.testing.assert_array_equal(run(body, LANE + 5), LANE + 5 - (LANE == 0))


def test_floats_in_a_vector() -> None:
    body = """
    mov.b32 %f1, %r2;
    mov.b64 %rd3, {%f1, %f1};
    mov.b64 {%f2, %f3}, %rd3;
    add.f32 %f4, %f2, %f3;
    mov.b32 %r9, %f4;"""
    values = (LANE * 1.5).astype(np.float32)
    np.testing.assert_array_equal(run(body, values.view(np.uint32)).view(np.float32), 2 * values)


@pytest.mark.parametrize(("pair", "first", "second"), [("%p1|%p2", 1, 1), ("%p1|_", 1, 0), ("_|%p2", 0, 1), ("%p1", 1, 0)])
def test_either_part_of_a_pair_may_be_unwanted(pair: str, first: int, second: int) -> None:
    body = f"""
    setp.ne.u32 %p1, 0, 0;
    setp.ne.u32 %p2, 0, 0;
    setp.lt.u32 {pair}, %r2, 9;
    selp.u32 %r3, 1, 0, %p1;
    selp.u32 %r4, 2, 0, %p2;
    add.u32 %r9, %r3, %r4;"""
    np.testing.assert_array_equal(run(body, LANE), np.where(LANE < 9, first, 2 * second))


def test_a_negated_predicate() -> None:
    body = """
    setp.lt.u32 %p1, %r2, 9;
    setp.gt.and.u32 %p2, %r2, 3, !%p1;
    selp.u32 %r9, 1, 0, %p2;"""
    np.testing.assert_array_equal(run(body, LANE), LANE >= 9)


@pytest.mark.parametrize("literal", ["1.5", "0f3FC00000", "0d3FF8000000000000", "15.0e-1"])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_literals_of_either_width(literal: str, type_: str) -> None:
    body = f"mov.f32 %f1, {literal};" if type_ == "f32" else f"mov.f64 %fd1, {literal};\ncvt.rn.f32.f64 %f1, %fd1;"
    assert (run(body + "\nmov.b32 %r9, %f1;") == 0x3FC00000).all()


def test_a_decimal_past_single_precision_is_infinite() -> None:
    assert (run("mov.f32 %f1, 1.0e60;\nmov.b32 %r9, %f1;") == 0x7F800000).all()


def test_integer_literals_wrap_to_the_operand() -> None:
    np.testing.assert_array_equal(run("add.s32 %r9, %r2, -1;", LANE), LANE - np.uint32(1))
    np.testing.assert_array_equal(run("add.u32 %r9, %r2, 0xFFFFFFFF;", LANE), LANE - np.uint32(1))


def test_a_guard_keeps_results_of_the_other_lanes() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 9;
    setp.eq.u32 %p2|%p3, %r1, %r1;
    @%p1 setp.ne.u32 %p2|%p3, %r1, %r1;
    selp.u32 %r3, 1, 0, %p2;
    selp.u32 %r4, 2, 0, %p3;
    add.u32 %r9, %r3, %r4;"""
    np.testing.assert_array_equal(run(body), np.where(LANE < 9, 2, 1))


def test_a_guard_keeps_the_carry_of_the_other_lanes() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 9;
    add.cc.u32 %r3, 0xFFFFFFFF, 1;
    @%p1 add.cc.u32 %r3, 1, 1;
    addc.u32 %r9, 40, 2;"""
    np.testing.assert_array_equal(run(body), np.where(LANE < 9, 42, 43))


def test_the_carry_outlives_a_branch_on_which_lanes_part() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 9;
    add.cc.u32 %r3, %r2, 1;
    @%p1 bra small;
    addc.u32 %r9, 100, 0;
    bra done;
    small: addc.u32 %r9, 200, 0;
    done:"""
    words = np.where(LANE % 2, np.uint32(0xFFFFFFFF), np.uint32(5)).astype(np.uint32)
    np.testing.assert_array_equal(run(body, words), np.where(LANE < 9, 200, 100) + LANE % 2)


def test_a_table_for_lop3_must_be_a_number() -> None:
    with pytest.raises(TilewiseError, match="lop3"):
        run("lop3.b32 %r9, %r2, %r2, %r2, %r1;")


def test_a_comparison_combined_with_nothing_is_refused() -> None:
    with pytest.raises(TilewiseError, match="fourth operand"):
        run("setp.lt.and.u32 %p1, %r2, 9;\nmov.u32 %r9, 0;")


HINTS = [
    form for forms in FORMS.values() for form in forms if form.kind == "hint" and form.operands and form.operands[0].is_address
]


@pytest.mark.parametrize("opcode", [opcode for form in HINTS for opcode in form.spellings()])
def test_a_hint_changes_nothing(opcode: str) -> None:
    """prefetch, prefetchu, applypriority and discard, with a size where they take one."""
    size = ", 128" if opcode.startswith(("applypriority", "discard")) else ""
    np.testing.assert_array_equal(run(f"{opcode} [%rd1]{size};\nmov.b32 %r9, %r2;", LANE), LANE)


NOTHING_TO_DO = ["griddepcontrol.launch_dependents", "griddepcontrol.wait", "pmevent 3", "pmevent.mask 0xff", "fence.proxy.alias"]


@pytest.mark.parametrize("instruction", NOTHING_TO_DO)
def test_what_has_nothing_to_do_does_nothing(instruction: str) -> None:
    np.testing.assert_array_equal(run(f"{instruction};\nmov.b32 %r9, %r2;", LANE), LANE)
