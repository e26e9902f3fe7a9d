"""Atomics and reductions: read, combine and write back in one step. Each form only describes itself; the runtime carries it out.

The manual writes semantics, scope and space before the operation; assemblers take other orders too, and compilers emit some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewise.emu.isa.memory import SCOPES, Access, describe
from tilewise.emu.isa.spec import access

ORDERS = ("{.SEM}{.SCOPE}{.SPACE}.OP", ".SPACE.SEM{.SCOPE}.OP", ".SPACE.SCOPE{.SEM}.OP", "{.SPACE}.OP.SEM.SCOPE")
MODIFIERS = {
    "SEM": "relaxed acquire release acq_rel",
    "SCOPE": SCOPES,
    "SPACE": "global shared shared::cta shared::cluster",
}
GIVES_OLD = "cas exch"
"""Operations that exist as atom alone: red returns nothing."""

Describe = Callable[..., Access]


def atomic(rest: str, operands: str, **choices: str) -> Callable[[Describe], Describe]:
    """Register atom and red with an operation, in every order of their modifiers; `rest` is what follows it, up to the type."""

    def register(emitter: Describe) -> Describe:
        for order in ORDERS:
            for name, result in (("atom", "d, "), ("red", "")):
                if result or choices["OP"] not in GIVES_OLD:
                    syntax = f"{name}{order}{rest} {result}[a], {operands}{{, policy:b64}}"
                    access(syntax, no_effect="sem scope L2_cache_hint", **MODIFIERS, **choices)(emitter)
        return emitter

    return register


@atomic("{.L2::cache_hint}.TYPE", "b", OP="add min max", TYPE="u32 s32 u64 s64")
@atomic("{.L2::cache_hint}.TYPE", "b", OP="and or xor", TYPE="b32 b64")
@atomic("{.L2::cache_hint}.TYPE", "b", OP="inc dec", TYPE="u32")
@atomic("{.L2::cache_hint}.TYPE", "b", OP="add", TYPE="f32 f64")
@atomic(".noftz{.L2::cache_hint}.TYPE", "b", OP="add", TYPE="f16 f16x2 bf16 bf16x2")
@atomic("{.L2::cache_hint}.TYPE", "b", OP="exch", TYPE="b32 b64 b128")
@atomic("{.L2::cache_hint}.TYPE", "b, c", OP="cas", TYPE="b16 b32 b64 b128")
def atom(*, space: str, op: str, type: str) -> Access:
    return replace(describe("atomic", space, type), operation=op)


@atomic("{.L2::cache_hint}.VEC.TYPE", "b", OP="add", VEC="v2 v4", TYPE="f32")
@atomic(".noftz{.L2::cache_hint}.VEC.TYPE", "b", OP="add min max", VEC="v2 v4 v8", TYPE="f16 bf16")
@atomic(".noftz{.L2::cache_hint}.VEC.TYPE", "b", OP="add min max", VEC="v2 v4", TYPE="f16x2 bf16x2")
def atom_vector(*, space: str, op: str, vec: str, type: str) -> Access:
    return replace(describe("atomic", space, type, vec), operation=op)
