"""Evidence made by hand, for tests of checkers."""

from __future__ import annotations

from typing import Any

from tilewise.checkers.base import ArrayState, Evidence, Setup
from tilewise.core.counters import Counters, SiteCounters
from tilewise.core.dtypes import DTYPES
from tilewise.core.facts import Observed
from tilewise.core.module import KernelResources
from tilewise.core.place import Place
from tilewise.hw.catalog import DEVICES
from tilewise.ptx.ast import Function
from tilewise.ptx.parse import parse

PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2)
{
  .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<4>; .reg .f64 %fd<4>;
  .loc 1 3 1
  ld.param.u64 %rd1, [k_param_0];
  ld.param.u64 %rd2, [k_param_1];
  ld.param.u32 %r1, [k_param_2];
  mul.wide.u32 %rd3, %r1, 4;
  .loc 1 4 7
  add.s64 %rd4, %rd1, %rd3;
  ld.global.f32 %f1, [%rd4];
  .loc 1 5 3
  cvt.f64.f32 %fd1, %f1;
  mul.f64 %fd2, %fd1, %fd1;
  cvt.rn.f32.f64 %f2, %fd2;
  .loc 1 6 3
  add.s64 %rd5, %rd2, %rd3;
  st.global.f32 [%rd5], %f2;
  ret;
}
.file 1 "k.cu"
"""
FUNCTION: Function = parse(PTX).functions[0]
LOAD, STORE = (next(i for i, line in enumerate(PTX.splitlines(), 1) if f"{word}.global" in line) for word in ("ld", "st"))
"""Lines of the PTX, which stand at lines 4 and 6 of k.cu."""
NOTHING = Observed((), (), (), (), (), (), 0)
ARRAY = DTYPES["f32"]


def setup(**changes: Any) -> Setup:
    given: dict[str, Any] = {
        "kernel": "k",
        "grid": (1, 1, 1),
        "block": (256, 1, 1),
        "dynamic_shared_bytes": 0,
        "stated_dynamic_limit_bytes": None,
        "device": DEVICES["h200"],
        "resources": KernelResources("k", 32, 0, 0),
        "place": Place("k.cu", 3),
        **changes,
    }
    return Setup(**given)


def evidence(*, ptx: str = PTX, **changes: Any) -> Evidence:
    given: dict[str, Any] = {
        "setup": setup(),
        "build": "optimised",
        "function": parse(ptx).functions[0] if ptx != PTX else FUNCTION,
        "callees": (),
        "observed": NOTHING,
        "counters": Counters(),
        "arguments": (
            ArrayState("A", ARRAY, (10, 100), 4000),
            ArrayState("B", ARRAY, (1000,), 4000),
            ArrayState("n", DTYPES["u32"]),
        ),
        **changes,
    }
    return Evidence(**given)


def site(space: str, kind: str, ptx_line: int, **figures: Any) -> SiteCounters:
    line = {LOAD: 4, STORE: 6}[ptx_line]
    given = {"requests": 10, "bytes": 1280, "transactions": 40, "worst": 4, **figures}
    return SiteCounters(space, kind, "k.cu", line, "ld", ptx_line=ptx_line, **given)  # type: ignore[arg-type]
