"""Branches, barriers and ends: instructions after which a basic block ends. How each is carried out stands in lower/flow.py."""

from __future__ import annotations

from tilewise.emu.isa.spec import control


@control("bra{.uni} target", no_effect="uni")
def bra() -> str:
    return "branch"


@control("brx.idx{.uni} a:u32, targets", no_effect="uni")
def brx() -> str:
    return "switch"


@control("ret{.uni}", no_effect="uni")
def ret() -> str:
    return "exit"


@control("trap")
@control("brkpt")
def trap() -> str:
    return "trap"


@control("exit")
def exit_() -> str:
    return "exit"


@control("nanosleep.u32 a")
def nanosleep() -> str:
    return "sleep"


@control("bar{.cta}.sync a:u32{, b:u32}", no_effect="cta")
@control("barrier{.cta}.sync{.aligned} a:u32{, b:u32}", no_effect="cta aligned")
def sync() -> str:
    return "barrier"


@control("bar{.cta}.arrive a:u32, b:u32", no_effect="cta")
@control("barrier{.cta}.arrive{.aligned} a:u32, b:u32", no_effect="cta aligned")
def arrive() -> str:
    return "arrival"


# What a reduction gives is read from hidden registers behind the barrier (lower/rewriting.py).


@control("bar{.cta}.red.popc.u32 d, a, c:pred", no_effect="cta")
@control("bar{.cta}.red.popc.u32 d, a, b, c:pred", no_effect="cta")
@control("barrier{.cta}.red.popc{.aligned}.u32 d, a, c:pred", no_effect="cta aligned")
@control("barrier{.cta}.red.popc{.aligned}.u32 d, a, b, c:pred", no_effect="cta aligned")
def count() -> str:
    return "barrier"


@control("bar{.cta}.red.OP.pred p, a:u32, c", OP="and or", no_effect="cta op")
@control("bar{.cta}.red.OP.pred p, a:u32, b:u32, c", OP="and or", no_effect="cta op")
@control("barrier{.cta}.red.OP{.aligned}.pred p, a:u32, c", OP="and or", no_effect="cta op aligned")
@control("barrier{.cta}.red.OP{.aligned}.pred p, a:u32, b:u32, c", OP="and or", no_effect="cta op aligned")
def combine() -> str:
    return "barrier"
