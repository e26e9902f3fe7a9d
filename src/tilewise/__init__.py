"""Tilewise: plan, run and prove tiled matrix products and other CUDA kernels, with a GPU or without one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewise.build.nvrtc import compile as compile
    from tilewise.core.errors import TilewiseError as TilewiseError
    from tilewise.core.launch import Launch as Launch
    from tilewise.core.plan import TilePlan as TilePlan
    from tilewise.core.problem import Problem as Problem
    from tilewise.core.report import Report as Report
    from tilewise.emu.machine import emulate as emulate
    from tilewise.engine.check_call import check as check
    from tilewise.engine.ladder import ladder as ladder
    from tilewise.engine.matmul import matmul as matmul
    from tilewise.engine.plan import Plan as Plan
    from tilewise.engine.plan import plan as plan
    from tilewise.hw.device import Device as Device

__version__ = "0.1.0"

_HOME = {
    "Device": "tilewise.hw.device",
    "Launch": "tilewise.core.launch",
    "Plan": "tilewise.engine.plan",
    "Problem": "tilewise.core.problem",
    "TilePlan": "tilewise.core.plan",
    "Report": "tilewise.core.report",
    "TilewiseError": "tilewise.core.errors",
    "check": "tilewise.engine.check_call",
    "compile": "tilewise.build.nvrtc",
    "emulate": "tilewise.emu.machine",
    "ladder": "tilewise.engine.ladder",
    "matmul": "tilewise.engine.matmul",
    "plan": "tilewise.engine.plan",
}
"""Where each public name lives. They load on first use: the command line answers --help without NumPy or a compiler."""

__all__ = [
    "Device",
    "Launch",
    "Plan",
    "Problem",
    "Report",
    "TilePlan",
    "TilewiseError",
    "check",
    "compile",
    "emulate",
    "ladder",
    "matmul",
    "plan",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'tilewise' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
