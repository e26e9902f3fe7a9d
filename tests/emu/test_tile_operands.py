"""Blocks with many accumulators, whose multiply-adds are kept back to the block's end: each sees the operands of its time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from assembling import assemble, launch

from tilewise.emu.jit import AVX2
from tilewise.emu.machine import emulate

SUMS = 8
"""Accumulators: as many as make a block a register tile."""

FIRST = np.random.default_rng(3).integers(-8, 8, (SUMS, 32)).astype(np.float32)

START = """
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [a0];
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
ld.param.u64 %rd3, [a1];
add.s64 %rd4, %rd3, %rd2;
shl.b32 %r2, %r1, 2;
mov.f32 %f1, 0f40400000;
st.shared.f32 [%r2], %f1;
bar.sync 0;
"""
"""Every word of shared memory holds 3. %rd1: the thread's word in a0, %rd4: in a1; %r2: in shared memory."""


def run(body: str, target: object) -> npt.NDArray[np.float32]:
    """Launch 32 threads; the sums, %f20 to %f27, begin with the rows of FIRST, which is a1, and come back as 8 rows."""
    out = np.zeros((SUMS, 32), np.float32)
    begin = "".join(f"ld.global.f32 %f{20 + i}, [%rd4+{128 * i}];\n" for i in range(SUMS)) + "bar.sync 0;\n"
    end = "bar.sync 0;\n" + "".join(f"st.global.f32 [%rd1+{128 * i}], %f{20 + i};\n" for i in range(SUMS)) + "ret;"
    ptx = assemble(START + begin + body + end, "u64 u64", shared_bytes=256)
    emulate(launch(ptx, 1, 32, out, FIRST.copy()), target=target)  # type: ignore[arg-type]
    return out


def add(a: str, b: str, times: int = 2) -> str:
    """`times` multiply-adds of a b into each sum."""
    return "".join(f"fma.rn.f32 %f{20 + i}, {a}, {b}, %f{20 + i};\n" for _ in range(times) for i in range(SUMS))


PLACES = {"one word": "0", "a word each": "%r2", "a word of each half": "%r3", "half a warp's words twice": "%r4"}
"""Where lanes read: shared addresses in all the ways that a half of a warp can stand in memory."""
ADDRESSES = "shr.u32 %r3, %r1, 4;\nshl.b32 %r3, %r3, 2;\nand.b32 %r4, %r1, 15;\nshl.b32 %r4, %r4, 2;\n"

every_place = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
every_target = pytest.mark.parametrize("target", [None, AVX2], ids=["host", "AVX2"])


@every_target
@every_place
def test_a_load_before_a_store_keeps_its_value(place: str, target: object) -> None:
    """3 is loaded, 5 is stored over it, then the loaded value is used."""
    body = f"{ADDRESSES}ld.shared.f32 %f2, [{place}];\nmov.f32 %f3, 0f40A00000;\nst.shared.f32 [%r2], %f3;\n{add('%f2', '%f2')}"
    np.testing.assert_array_equal(run(body, target), FIRST + 18)


@every_target
@every_place
def test_a_load_behind_a_store_sees_it(place: str, target: object) -> None:
    body = f"{ADDRESSES}mov.f32 %f3, 0f40A00000;\nst.shared.f32 [%r2], %f3;\nld.shared.f32 %f2, [{place}];\n{add('%f2', '%f2')}"
    np.testing.assert_array_equal(run(body, target), FIRST + 50)


@every_target
def test_a_register_that_is_loaded_anew_serves_each_multiply_add_as_it_was(target: object) -> None:
    body = "".join(
        f"ld.global.f32 %f2, [%rd3+{4 * step}];\nld.global.f32 %f3, [%rd4];\n{add('%f2', '%f3', 1)}st.global.f32 [%rd4], %f2;\n"
        for step in range(4)
    )
    expected, memory = FIRST.astype(np.float64), FIRST[0].astype(np.float64)
    for step in range(4):
        factor = memory[step]
        expected = expected + factor * memory
        memory = np.full(32, factor)
    np.testing.assert_array_equal(run(body, target), expected)


@every_target
def test_sums_may_be_operands_of_each_other(target: object) -> None:
    """Each step adds the product of the sum before and the one after, as they are by then."""
    steps = [(i, (i + 1) % SUMS, (i + 3) % SUMS) for _ in range(3) for i in range(SUMS)]
    body = "".join(f"fma.rn.f32 %f{20 + i}, %f{20 + j}, %f{20 + k}, %f{20 + i};\n" for i, j, k in steps)
    sums = FIRST.astype(np.float64)
    for i, j, k in steps:
        sums[i] = (sums[i] + sums[j] * sums[k]).astype(np.float32)
    np.testing.assert_allclose(run(body, target), sums, rtol=1e-5)


@every_target
@pytest.mark.parametrize("rounds", [1, 3])
def test_sums_go_on_from_round_to_round(rounds: int, target: object) -> None:
    """In a loop, where the sums stand in memory between the rounds; one is overwritten in the middle, one is read."""
    body = f"""
    mov.u32 %r9, 0;
    AGAIN:
    ld.shared.f32 %f2, [%r2];
    {add("%f2", "%f2", 1)}
    mov.f32 %f20, %f21;
    add.f32 %f22, %f22, %f23;
    {add("%f2", "%f2", 1)}
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p1, %r9, {rounds};
    @%p1 bra AGAIN;
    """
    sums = FIRST.copy()
    for _ in range(rounds):
        sums += 9
        sums[0] = sums[1]
        sums[2] += sums[3]
        sums += 9
    np.testing.assert_array_equal(run(body, target), sums)
