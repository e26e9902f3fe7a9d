"""A rung and a plan become a source: the rung's own file, with the plan as a header in memory."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Layout
from tilewise.core.source import KernelSource
from tilewise.kernels.ladder import Rung, objections

CUDA_FOLDER = Path(__file__).resolve().parent / "cuda"
"""Where the .cuh files stand; the rungs are in its folder `rungs`."""

SYMBOL = "gemm"
"""Every rung's kernel."""

_PLAN_HEADER = """\
#pragma once

namespace plan {{

constexpr int BM = {plan.BM};
constexpr int BN = {plan.BN};
constexpr int BK = {plan.BK};
constexpr int TM = {plan.TM};
constexpr int TN = {plan.TN};

constexpr bool A_ROW_MAJOR = {a_row_major};
constexpr bool B_ROW_MAJOR = {b_row_major};

}}  // namespace plan
"""


def kernel_source(rung: Rung, plan: TilePlan, layout: Layout) -> KernelSource:
    """Return the rung's source for a plan and a layout.

    Its `plan.cuh` is rendered here and shadows the default of that name on disk.
    Raises TilewiseError, with every objection, for a plan that the rung cannot have.
    """
    reasons = objections(rung, plan)
    if reasons:
        raise TilewiseError(f"{rung.name} cannot be built with {plan}: " + " Also, ".join(reasons))
    path = CUDA_FOLDER / "rungs" / rung.file
    return KernelSource(
        text=path.read_text(encoding="utf-8"),
        name=str(path),
        headers=MappingProxyType({"plan.cuh": render_plan(plan, layout)}),
        include_paths=(CUDA_FOLDER,),
    )


def render_plan(plan: TilePlan, layout: Layout) -> str:
    """Return the text of `plan.cuh`."""
    a_row_major, b_row_major = (str(order == "r").lower() for order in layout)
    return _PLAN_HEADER.format(plan=plan, a_row_major=a_row_major, b_row_major=b_row_major)
