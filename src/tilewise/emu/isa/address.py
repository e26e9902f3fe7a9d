"""Addresses of a state space as generic addresses and back, and which space a generic address is of."""

from __future__ import annotations

from tilewise.emu.isa.spec import op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value
from tilewise.emu.windows import (
    CONSTANT_BASE,
    GLOBAL_BASE,
    LOCAL_WINDOW,
    PARAMETER_WINDOW,
    SHARED_WINDOW,
    WINDOW_BYTES,
)

AS_THEY_STAND = "global const local param param::entry"
SHARED = "shared shared::cta shared::cluster"
RANGES = {
    "global": (GLOBAL_BASE, 1 << 63),
    "const": (CONSTANT_BASE, GLOBAL_BASE),
    "local": (LOCAL_WINDOW, LOCAL_WINDOW + WINDOW_BYTES),
    "shared": (SHARED_WINDOW, SHARED_WINDOW + WINDOW_BYTES),
    "param": (PARAMETER_WINDOW, PARAMETER_WINDOW + WINDOW_BYTES),
}
"""First address of each space, and the first past it."""


@op("cvta{.to}.SPACE.u64 d, a", SPACE=AS_THEY_STAND, no_effect="to space")
def cvta(lanes: Lanes, a: Value) -> Value:
    return a


@op("cvta.SPACE.u64 d, a", SPACE=SHARED, no_effect="space")
def cvta_shared(lanes: Lanes, a: Value) -> Value:
    return lanes.binary("add", a, lanes.constant(a.type, SHARED_WINDOW))


@op("cvta.to.SPACE.u64 d, a", SPACE=SHARED, no_effect="space")
def cvta_to_shared(lanes: Lanes, a: Value) -> Value:
    return lanes.binary("sub", a, lanes.constant(a.type, SHARED_WINDOW))


@op("isspacep.SPACE p:pred, a:u64", SPACE=f"global const local param param::entry {SHARED}")
def isspacep(lanes: Lanes, a: Value, *, space: str) -> Value:
    low, end = RANGES[space.partition("::")[0]]
    distance = lanes.binary("sub", a, lanes.constant(a.type, low))
    return lanes.compare("icmp ult", distance, lanes.constant(a.type, end - low))
