"""Instructions that change neither values nor counts: what caches are to do, and what orders memory between threads."""

from __future__ import annotations

from tilewise.emu.across import Warp
from tilewise.emu.isa.memory import SCOPES
from tilewise.emu.isa.spec import hint, op, warp_op
from tilewise.emu.lanes import Lanes
from tilewise.emu.value import Value

LEVELS = "L1 L2"
POLICIES = "L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged"


@hint("prefetch{.SPACE}.LEVEL [a]", SPACE="global local", LEVEL=LEVELS, no_effect="space level")
@hint("prefetch.global.KEEP [a]", KEEP="L2::evict_last L2::evict_normal", no_effect="keep")
@hint("prefetchu.LEVEL [a]", LEVEL="L1", no_effect="level")
@hint("applypriority{.global}.L2::evict_normal [a], b", no_effect="global")
@hint("discard{.global}.LEVEL [a], b", LEVEL="L2", no_effect="global level")
def about_caches() -> None:
    """Nothing is cached here."""


@hint("pmevent{.mask} a", no_effect="mask")
def performance_event() -> None:
    """Nobody counts them."""


@hint("griddepcontrol.ACTION", ACTION="launch_dependents wait", no_effect="action")
def depends_on_grids() -> None:
    """A launch is alone: no grid runs before it whose end it could wait for, and none after."""


@hint("pragma a")
def pragma() -> None:
    """For the assembler."""


@op(
    "createpolicy.fractional.FIRST{.REST}.b64 d{, fraction:f32}",
    FIRST=POLICIES,
    REST="L2::evict_first L2::evict_unchanged",
    no_effect="first rest",
)
def create_policy(lanes: Lanes, fraction: Value | None = None) -> Value:
    """A cache policy, which nobody looks at."""
    return lanes.constant("i64", 0)


@warp_op("membar.LEVEL", LEVEL="cta gl sys", no_effect="level")
@warp_op("fence.proxy.alias")
@warp_op("fence{.SEM}.SCOPE", SEM="sc acq_rel acquire release", SCOPE=SCOPES, no_effect="sem scope")
def fence(warp: Warp) -> None:
    """Host threads share the buffers; blocks on one host thread see each other's writes in any case."""
    warp.lanes.emit("fence seq_cst")
