"""Copies from global to shared memory that go on while the thread does: cp.async, its groups and waits."""

from __future__ import annotations

from tilewise.emu.isa.memory import Access
from tilewise.emu.isa.spec import access

SHARED = "shared shared::cta"
L2_HINTS = "L2::64B L2::128B L2::256B"
"""How much the L2 may fetch along: no effect on values or on the counts of L1."""


@access("cp.async.COP.SHARED.global{.L2} [a], [b], size:u32", COP="ca cg", SHARED=SHARED, L2=L2_HINTS, no_effect="cop shared l2")
def copy_async() -> Access:
    return Access("copy", "global", "b8", 1)


@access(
    "cp.async.COP.SHARED.global{.L2} [a], [b], size:u32, c:u32",
    COP="ca cg",
    SHARED=SHARED,
    L2=L2_HINTS,
    no_effect="cop shared l2",
)
def copy_async_part() -> Access:
    """The last operand counts the bytes to read, the rest is zeros; as a predicate it says to read none."""
    return Access("copy", "global", "b8", 1)


@access("cp.async.commit_group")
def commit_group() -> Access:
    return Access("commit", "async", "b8", 0)


@access("cp.async.wait_group groups:u32")
def wait_group() -> Access:
    return Access("wait", "async", "b8", 0)


@access("cp.async.wait_all")
def wait_all() -> Access:
    return Access("wait", "async", "b8", 0)
