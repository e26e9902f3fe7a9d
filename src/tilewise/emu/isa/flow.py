"""Branches, barriers and ends: instructions after which a basic block ends. How each is carried out stands in lower/flow.py."""

from __future__ import annotations

from tilewise.emu.isa.spec import control


@control("bra{.uni} target")
def bra(**_: str) -> str:
    return "branch"


@control("ret{.uni}")
def ret(**_: str) -> str:
    return "exit"


@control("exit")
def exit_(**_: str) -> str:
    return "exit"


@control("bar.sync a:u32")
def bar_sync(**_: str) -> str:
    return "barrier"


@control("barrier.sync{.aligned} a:u32")
def barrier_sync(**_: str) -> str:
    return "barrier"
