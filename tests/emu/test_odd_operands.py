"""Operands of every kind in places of every kind: taken, or refused in words where a thread comes to them, but never a crash."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import assemble, launch

from tilewise.core.errors import TilewiseError
from tilewise.emu.machine import emulate
from tilewise.ptx.parse import parse

PLACES = (
    *("add.u16 %rs1, @, %rs2;", "add.u32 %r9, @, %r8;", "add.f64 %fd9, @, %fd8;", "add.f16x2 %r9, @, %r8;", "mov.b64 %rd9, @;"),
    *(
        "mov.pred %p9, @;",
        "selp.f32 %f9, %f8, %f7, @;",
        "setp.lt.f64 %p9, @, %fd8;",
        "cvt.rn.f16.f32 %rs9, @;",
        "shl.b64 %rd9, %rd8, @;",
    ),
    *("shfl.sync.idx.b32 %r9, @, 0, 31, -1;", "vote.sync.any.pred %p9, @, -1;", "bar.sync @;", "vadd.u32.u32.u32 %r9, @, %r8;"),
    *(
        "st.shared.u8 [buffer], @;",
        "st.shared.v2.f32 [buffer], @;",
        "atom.shared.add.f32 %f9, [buffer], @;",
        "ld.global.u32 %r9, @;",
    ),
    *("ld.shared.v2.u32 @, [buffer];", "setp.lt.s32 @, %r1, %r2;", "cp.async.ca.shared.global [%r1], [%rd1], @;"),
    *("cp.async.ca.shared.global @, [%rd1], 4;", "cp.async.wait_group @;", "prefetch.global.L2 @;", "mov.b32 @, %r1;"),
)
OPERANDS = (
    *("!%p1", "!%r1", "!%f1", "%p1", "%r1", "%rd1", "%f1", "%fd1", "%rs1", "0f3F800000", "0d3FF0000000000000", "1.5", "5", "-5"),
    *(
        "18446744073709551615",
        "buffer",
        "%tid.x",
        "%tid",
        "%clock64",
        "WARP_SZ",
        "{%r1, %r2}",
        "{%rs1, %rs2}",
        "%r1.b0",
        "_",
        "[%rd1]",
    ),
)


def kernel(instructions: list[str]) -> str:
    lines = "\n".join(instructions)
    return assemble(
        f"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra PAST;\n{lines}\nPAST:\nret;", "u64", shared_bytes=64
    )


def is_ptx(instruction: str) -> bool:
    try:
        parse(kernel([instruction]))
    except TilewiseError:
        return False
    return True


@pytest.mark.parametrize("place", PLACES)
def test_an_operand_is_taken_or_refused_in_words(place: str) -> None:
    instructions = [place.replace("@", operand) for operand in OPERANDS]
    together = kernel([instruction for instruction in instructions if is_ptx(instruction)])
    emulate(launch(together, 1, 64, np.zeros(1, np.uint32)))
