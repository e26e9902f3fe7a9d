"""Branches, barriers and ends: instructions after which a basic block ends. How each is carried out stands in lower/flow.py."""

from __future__ import annotations

from tilewise.emu.isa.spec import control


@control("bra{.uni} target", no_effect="uni")
def bra() -> str:
    return "branch"


@control("ret{.uni}", no_effect="uni")
def ret() -> str:
    return "exit"


@control("exit")
def exit_() -> str:
    return "exit"


@control("bar.sync a:u32")
def bar_sync() -> str:
    return "barrier"


@control("barrier.sync{.aligned} a:u32", no_effect="aligned")
def barrier_sync() -> str:
    return "barrier"
