"""Special registers: what each holds. Those of the machine (clock, SM) hold something plausible, the same in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewise.core.errors import TilewiseError
from tilewise.emu.lower.memory_map import GRID_WORKSPACE, GRID_WORKSPACE_SHIFTS
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value, vector_type

if TYPE_CHECKING:
    from tilewise.emu.lower.body import Body

CHANGING = frozenset({"%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"})
"""Those that are another with every look."""
BARRIER_LANES, BARRIER_ONES = "%barrier lanes", "%barrier ones"
"""Hidden ones: lanes that came to the block's last barrier, and those of them with a true predicate."""
TICKS = 64
"""Cycles, and nanoseconds, from one look at a clock to the next: the emulator has no model of time."""
WARPS_PER_SM = 64
"""%nwarpid: the most warps of an SM of any compute capability from 8.0 on but 8.6 to 8.9 and 12.0 [CUDA Programming Guide]."""

_ZERO = ("%envreg", "%pm", "%reserved_smem_offset_", "%aggr_smem_size", "%current_graph_exec")
_LANE_MASKS = {
    "%lanemask_eq": lambda lane: 1 << lane,
    "%lanemask_le": lambda lane: (2 << lane) - 1,
    "%lanemask_lt": lambda lane: (1 << lane) - 1,
    "%lanemask_ge": lambda lane: -(1 << lane),
    "%lanemask_gt": lambda lane: -(2 << lane),
}
_WARP_FIELDS = {BARRIER_LANES: "barrier_lanes", BARRIER_ONES: "barrier_ones"}
_CONTEXT_FIELDS = {"%smid": "sm", "%nsmid": "sms"}
_CONTEXT_BYTES = {"%dynamic_smem_size": "dynamic_shared_bytes", "%total_smem_size": "shared_bytes"}


def special_register(body: Body, name: str) -> Value:
    """Return what a special register holds in each lane.

    Raises TilewiseError for one that the emulator does not have.
    """
    lanes = body.lanes
    stem, _, letter = name.partition(".")
    if letter or stem.startswith("%cluster") or stem == "%is_explicit_cluster":
        found = _of_position(body, stem, "xyzw".find(letter))
        if found is not None:
            return found
    elif name in CHANGING:
        return _clock(body, name)
    elif name in _LANE_MASKS:
        return lanes.patterned(lanes.constant("i32", 0), tuple(map(_LANE_MASKS[name], range(LANES))))
    elif name in _CONTEXT_FIELDS:
        return Value("i32", body.context_field(_CONTEXT_FIELDS[name], "i32"))
    elif name in _CONTEXT_BYTES:
        return lanes.truncate("i32", Value("i64", body.context_field(_CONTEXT_BYTES[name], "i64")))
    elif name in _WARP_FIELDS:
        return Value("i32", lanes.define(f"load i32, ptr {body.warp_address(_WARP_FIELDS[name])}"))
    elif name in GRID_WORKSPACE_SHIFTS:
        address = body.program.symbols[GRID_WORKSPACE]
        return lanes.constant("i32", address >> GRID_WORKSPACE_SHIFTS[name] & 0xFFFFFFFF)
    elif name.startswith(_ZERO):
        return lanes.constant("i64" if name.endswith(("_64", "exec")) else "i32", 0)
    match name:
        case "%laneid":
            return lanes.patterned(lanes.constant("i32", 0), tuple(range(LANES)))
        case "%warpid":
            return _warp_index(body)
        case "%nwarpid":
            return lanes.constant("i32", WARPS_PER_SM)
        case "%gridid":
            return lanes.constant("i64", 1)
    raise TilewiseError(f"the emulator does not have the special register {name}.")


def _of_position(body: Body, stem: str, axis: int) -> Value | None:
    """Of threads in their block, and of blocks in their grid; every block is a cluster of its own."""
    lanes, limits = body.lanes, body.kernel.grid_limits
    if axis == 3:
        return lanes.constant("i32", 0)
    match stem:
        case "%tid":
            return _thread_index(body, axis)
        case "%ntid":
            return lanes.constant("i32", body.program.block_shape[axis])
        case "%ctaid" | "%clusterid":
            return Value("i32", body.context_field("ctaid", "i32", axis), low=0, high=limits[axis] - 1)
        case "%nctaid" | "%nclusterid":
            return Value("i32", body.context_field("nctaid", "i32", axis), low=1, high=limits[axis])
        case "%cluster_ctaid" | "%cluster_ctarank":
            return lanes.constant("i32", 0)
        case "%cluster_nctaid" | "%cluster_nctarank":
            return lanes.constant("i32", 1)
        case "%is_explicit_cluster":
            return lanes.constant("i1", 0)
    return None


def _clock(body: Body, name: str) -> Value:
    """The clock goes on by every look at it."""
    lanes, place = body.lanes, body.context_address("clock")
    now = lanes.define(f"add i64 {lanes.define(f'load i64, ptr {place}')}, {TICKS}")
    lanes.emit(f"store i64 {now}, ptr {place}")
    value = Value("i64", now)
    if name.endswith("_hi"):
        value = lanes.binary("lshr", value, lanes.constant("i64", 32))
    return value if name in ("%clock64", "%globaltimer") else lanes.truncate("i32", value)


def _warp_index(body: Body) -> Value:
    return Value("i32", body.context_field("warp_index", "i32"), low=0, high=body.program.warps - 1)


def _thread_index(body: Body, axis: int) -> Value:
    """%tid: a pattern where the block's shape makes it one for every warp, else read from the table of all threads."""
    lanes, warp = body.lanes, _warp_index(body)
    x, y, z = body.program.block_shape
    zero, first = lanes.constant("i32", 0), lanes.binary("mul", warp, lanes.constant("i32", LANES))
    if (x, y, z)[axis] == 1:
        return zero
    if y == z == 1:
        return lanes.patterned(first, tuple(range(LANES)))
    if x == LANES:
        rows = (zero, warp, zero) if z == 1 else None
        if axis == 0:
            return lanes.patterned(zero, tuple(range(LANES)))
        if rows is not None:
            return rows[axis]
    if LANES % x == 0 and axis == 0:
        return lanes.patterned(zero, tuple(lane % x for lane in range(LANES)))
    if LANES % x == 0 and axis == 1 and z == 1:
        rows_a_warp = lanes.binary("mul", warp, lanes.constant("i32", LANES // x))
        return lanes.patterned(rows_a_warp, tuple(lane // x for lane in range(LANES)))
    table = lanes.define(f"getelementptr i32, ptr {body.context_field('thread_ids')}, i32 {first.scalar}")
    plane = body.address(table, 4 * axis * LANES * body.program.warps)
    return lanes.full("i32", lanes.define(f"load {vector_type('i32')}, ptr {plane}, align 4"))
