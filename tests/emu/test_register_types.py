"""What registers hold, where newer PTX moves bits without a type."""

from __future__ import annotations

from assembling import assemble

from tilewise.emu.lower.program import prepare
from tilewise.emu.register_types import infer_types
from tilewise.ptx.parse import parse

BODY = """
	ld.param.u64 %rd1, [a0];
	ld.global.b32 %r1, [%rd1];
	mov.b32 %r2, %r1;
	setp.eq.b32 %p1, %r2, 0;
	selp.b32 %r3, %r2, %r4, %p1;
	mul.f32 %r5, %r3, %r3;
	mov.b32 %r6, 3;
	add.u32 %r7, %r6, 1;
	add.s32 %r8, %r7, 1;
	and.b32 %r9, %r8, 1;
	st.global.b32 [%rd1], %r9;
	ret;
"""


def test_types_come_from_arithmetic_and_pass_through_moves() -> None:
    program = prepare(parse(assemble(BODY, "u64")), "k", (32, 1, 1))
    types = infer_types(step for steps in program.steps for step in steps)
    floats = dict.fromkeys(("%r1", "%r2", "%r3", "%r4", "%r5"), "f32")
    assert types == {**floats, "%r6": "u32", "%r7": "s32", "%r8": "s32", "%rd1": "u64"}
