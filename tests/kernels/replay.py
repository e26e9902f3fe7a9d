"""A brute-force replay of what each rung does to memory, from its tiling alone.

Written apart from the emulator: it enumerates, as the CUDA source says, the lanes, addresses and active masks of every request,
and counts them one by one. Of the compiled code it knows only what test_rung_ptx.py checks: NVRTC keeps every access of these
rungs as one instruction of the width that the source gives it.
"""

from __future__ import annotations

from collections.abc import Callable

from accounting import Product, Tally
from replay_vectors import double_buffer, vectorised, warp_tile
from replay_words import one_output, smem_tile, thread_tile

from tilewise.core.plan import TilePlan

REPLAYS: dict[str, Callable[[TilePlan, Product], Tally]] = {
    "r01": one_output(along_rows=True),
    "r02": one_output(along_rows=False),
    "r03": smem_tile,
    "r04": thread_tile,
    "r05": vectorised,
    "r06": double_buffer,
    "r07": warp_tile,
}


def replay(rung: str, plan: TilePlan, product: Product) -> Tally:
    """Return what a launch of the rung counts, grid and block as the ladder launches it."""
    return REPLAYS[rung](plan, product)
