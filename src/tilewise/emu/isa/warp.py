"""Instructions in which the lanes of a warp see each other. The lanes that `member` names come together for one first."""

from __future__ import annotations

from tilewise.emu.across import Warp
from tilewise.emu.isa.spec import warp_op
from tilewise.emu.value import Value


@warp_op("shfl.sync.MODE.b32 d|p:b32|pred, a, b:u32, c:u32, member:b32", MODE="up down bfly idx")
def shfl(warp: Warp, a: Value, b: Value, c: Value, member: Value, *, mode: str) -> tuple[Value, Value]:
    return warp.shuffle(mode, a, b, c)


@warp_op("vote.sync.MODE.pred p, a, member:b32", MODE="all any uni")
def vote(warp: Warp, a: Value, member: Value, *, mode: str) -> Value:
    return warp.vote(mode, a, member)


@warp_op("vote.sync.ballot.b32 d, a:pred, member:b32")
def ballot(warp: Warp, a: Value, member: Value) -> Value:
    return warp.lanes.binary("and", warp.ballot(a), member)


@warp_op("vote.ballot.sync.b32 d, a:pred, member:b32")
def ballot_as_triton_spells_it(warp: Warp, a: Value, member: Value) -> Value:
    return warp.lanes.binary("and", warp.ballot(a), member)


@warp_op("match.any.sync.TYPE d:b32, a, member:b32", TYPE="b32 b64")
def match_any(warp: Warp, a: Value, member: Value) -> Value:
    return warp.match("any", a, member)[0]


@warp_op("match.all.sync.TYPE d|p:b32|pred, a, member:b32", TYPE="b32 b64")
def match_all(warp: Warp, a: Value, member: Value) -> tuple[Value, Value]:
    return warp.match("all", a, member)


@warp_op("redux.sync.OP.TYPE d, a, member:b32", OP="add min max", TYPE="u32 s32")
def redux(warp: Warp, a: Value, member: Value, *, op: str, type: str) -> Value:
    return warp.reduce(op, type, a, member)


@warp_op("redux.sync.OP.b32 d, a, member", OP="and or xor")
def redux_bits(warp: Warp, a: Value, member: Value, *, op: str) -> Value:
    return warp.reduce(op, "b32", a, member)


@warp_op("redux.sync.OP{.abs}{.NaN}.f32 d, a, member:b32", OP="min max")
def redux_float(warp: Warp, a: Value, member: Value, *, op: str, abs: str, NaN: str) -> Value:
    return warp.reduce(op + abs + NaN, "f32", a, member)


@warp_op("activemask.b32 d")
def activemask(warp: Warp) -> Value:
    return warp.active


@warp_op("elect.sync d|p:b32|pred, member:b32")
def elect(warp: Warp, member: Value) -> tuple[Value, Value]:
    return warp.elect(member)


@warp_op("bar.warp.sync member:b32")
def bar_warp_sync(warp: Warp, member: Value) -> None:
    """The lanes have come together; what they wrote before is written already."""
