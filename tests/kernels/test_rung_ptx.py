"""What the replay takes for granted of the compiled code: one instruction an access, none merged, duplicated or dropped."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from launching import compiled

from tilewise.build.nvrtc import compile_source
from tilewise.core.errors import CompileError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import LAYOUTS
from tilewise.core.source import KernelSource
from tilewise.kernels.ladder import LADDER, objections, rung, shared_bytes
from tilewise.kernels.source import kernel_source, render_plan

both_compilers = pytest.mark.parametrize("arch", ["compute_90a", "compute_100"])
every_layout = pytest.mark.parametrize("layout", LAYOUTS)

TILED = [
    ("r03", TilePlan(8, 8, 8)),
    ("r03", TilePlan(16, 16, 16)),
    ("r03", TilePlan(32, 32, 32)),
    ("r04", TilePlan(128, 128, 8, 8, 8)),
    ("r04", TilePlan(64, 64, 8, 8, 1)),
    ("r04", TilePlan(24, 20, 6, 4, 2)),
]
DECLARING = [*TILED, *((name, TilePlan(64, 128, 8, 8, 8)) for name in ("r05", "r06", "r07"))]
tiled = pytest.mark.parametrize(("name", "plan"), TILED, ids=[f"{name}-{plan.BM}x{plan.BN}" for name, plan in TILED])


def accesses(ptx: str) -> Counter[str]:
    """Count the instructions that touch memory, wait at a barrier or multiply and add, by name without type."""
    names = re.findall(r"^\s*(?:@!?%p\d+\s+)?((?:ld|st|bar|fma|red|atom|cp)\.[\w.]+)", ptx, re.MULTILINE)
    return Counter(re.sub(r"\.(f32|b32)$", "", name) for name in names if not name.startswith("ld.param"))


@both_compilers
@every_layout
@tiled
def test_tiled_rungs_keep_one_instruction_an_access(name: str, plan: TilePlan, layout: str, arch: str) -> None:
    copies = -(-plan.BM * plan.BK // plan.threads) + -(-plan.BK * plan.BN // plan.threads)
    assert accesses(compiled(rung(name), plan, layout, arch).ptx) == {
        "ld.global.nc": copies,
        "st.shared": copies,
        "ld.shared": plan.BK * (plan.TM + plan.TN),
        "fma.rn": plan.BK * plan.TM * plan.TN,
        "bar.sync": 2,
        "st.global": plan.TM * plan.TN,
    }


@both_compilers
@every_layout
@pytest.mark.parametrize("name", ["r05", "r06", "r07"])
def test_vector_rungs_read_and_store_sixteen_bytes(name: str, layout: str, arch: str) -> None:
    """And have a second way, of single words, for edges and rows that are not aligned."""
    plan, transposed = rung(name).default_plan, (layout[0] == "r") + (layout[1] == "c")
    found = accesses(compiled(rung(name), plan, layout, arch).ptx.replace(".v2.b64", ".v4.b32").replace(".nc", ""))
    expected = {
        "ld.shared.v4": plan.BK * (plan.TM + plan.TN) // 4,
        "fma.rn": plan.BK * plan.TM * plan.TN,
        "st.global.v4": plan.TM * plan.TN // 4,
        "st.global": plan.TM * plan.TN,
    }
    if name == "r05":
        expected |= {"bar.sync": 2, "ld.global": 8, "ld.global.v4": 2, "st.shared": 8 + 4 * transposed}
        expected |= {"st.shared.v4": 2 - transposed} if transposed < 2 else {}
    else:  # the first tiles are copied ahead of the loop: every copy stands twice
        copies = {"cp.async.ca.shared.global": 16, "cp.async.cg.shared.global": 2 * (2 - transposed), "cp.async.commit_group": 2}
        expected |= {"bar.sync": 1, "cp.async.wait_group": 1} | {opcode: count for opcode, count in copies.items() if count}
    assert found == expected


@both_compilers
@every_layout
@pytest.mark.parametrize("name", ["r01", "r02"])
def test_naive_rungs_load_twice_for_each_multiply(name: str, layout: str, arch: str) -> None:
    """However the compiler unrolls the loop over K."""
    found = accesses(compiled(rung(name), TilePlan(32, 32, 1), layout, arch).ptx)
    assert set(found) == {"ld.global.nc", "fma.rn", "st.global"}
    assert found["ld.global.nc"] == 2 * found["fma.rn"]
    assert found["st.global"] == 1


@every_layout
@pytest.mark.parametrize(("name", "plan"), DECLARING)
def test_shared_bytes_are_the_declared_ones(name: str, plan: TilePlan, layout: str) -> None:
    ptx = compiled(rung(name), plan, layout, "compute_90a").ptx
    declared = re.findall(r"^\s*\.shared \.align \d+ \.b8 \w+\[(\d+)\];", ptx, re.MULTILINE)
    assert sum(map(int, declared)) == shared_bytes(rung(name), plan, layout)  # type: ignore[arg-type]  # parametrised


@pytest.mark.parametrize(
    ("name", "plan", "sentence"),
    [
        ("r01", TilePlan(32, 32, 1, 2, 1), "r01 gives each thread one output: TM = TN = 1"),
        ("r02", TilePlan(32, 32, 1, 1, 2), "r02 gives each thread one output: TM = TN = 1"),
        ("r03", TilePlan(32, 16, 32), "r03 copies square tiles with one thread an element: BM = BN = BK"),
        ("r03", TilePlan(16, 16, 16, 2, 1), "r03 gives each thread one output: TM = TN = 1"),
        ("r04", TilePlan(60, 64, 8, 8, 4), "r04's thread tiles cover the block tile: TM divides BM, TN divides BN"),
        ("r04", TilePlan(128, 128, 8, 16, 16), "r04 keeps accumulators and fragments in a thread's 255 registers"),
        ("r05", TilePlan(60, 64, 8, 8, 4), "r05's thread tiles cover the block tile: TM divides BM, TN divides BN"),
        ("r05", TilePlan(64, 64, 6, 4, 4), "r05 moves four words at a time: 4 divides TM, TN and BK"),
        ("r05", TilePlan(128, 128, 8, 16, 16), "r05 keeps accumulators and fragments in a thread's 255 registers"),
        ("r06", TilePlan(60, 64, 8, 8, 4), "r06's thread tiles cover the block tile: TM divides BM, TN divides BN"),
        ("r06", TilePlan(64, 64, 8, 4, 2), "r06 reads four words at a time: 4 divides TM and TN"),
        ("r06", TilePlan(128, 128, 8, 16, 16), "r06 keeps accumulators and fragments in a thread's 255 registers"),
        ("r07", TilePlan(48, 64, 8, 8, 8), "r07's warp tiles cover the block tile: 4 TM divides BM, 8 TN divides BN"),
        ("r07", TilePlan(64, 64, 8, 2, 4), "r07 reads four words at a time: 4 divides TM and TN"),
        ("r07", TilePlan(128, 128, 8, 16, 16), "r07 keeps accumulators and fragments in a thread's 255 registers"),
    ],
)
def test_static_asserts_have_their_objection(name: str, plan: TilePlan, sentence: str) -> None:
    row = rung(name)
    good = kernel_source(row, row.default_plan, "rr")
    bad = KernelSource(good.text, good.name, {"plan.cuh": render_plan(plan, "rr")}, good.include_paths)
    with pytest.raises(CompileError) as refused:
        compile_source(bad, "compute_90a")
    assert sentence in refused.value.log
    assert objections(row, plan)


def test_every_static_assert_is_tried_above() -> None:
    tried = test_static_asserts_have_their_objection.pytestmark[0].args[1]  # type: ignore[attr-defined]  # set by the mark
    for row in LADDER:
        text = kernel_source(row, row.default_plan, "rr").text
        assert set(re.findall(r'static_assert\(.*?, "(.*?)"\);', text)) == {case[2] for case in tried if case[0] == row.name}
