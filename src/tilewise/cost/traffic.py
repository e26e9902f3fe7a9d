"""How many bytes a tiling asks global memory for: the derivation's formula, and counted bytes beside it.

Of the three traffic levels this is the first, requested bytes: no cache is looked at.
"""

from __future__ import annotations

import math

from tilewise.core.counters import Counters
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem

SECTOR_BYTES = 32
"""What L1 and L2 move at the least [CUDA C++ Best Practices Guide, Coalesced Access to Global Memory]."""


def naive_load_bytes(problem: Problem) -> int:
    """Return 2 M N K b: both operands of every multiply loaded anew, b bytes each."""
    return 2 * problem.M * problem.N * problem.K * problem.item_bytes


def formula_load_bytes(problem: Problem, plan: TilePlan | None) -> int:
    """Return b (M K ceil(N/BN) + K N ceil(M/BM)): each block loads its rows of A and columns of B once.

    For S x S tiles that divide M and N this is 2 M N K b / S. With None for a plan, what loads without reuse: `naive_load_bytes`.
    """
    if plan is None:
        return naive_load_bytes(problem)
    block_columns, block_rows = -(-problem.N // plan.BN), -(-problem.M // plan.BM)
    return problem.item_bytes * problem.K * (problem.M * block_columns + problem.N * block_rows)


def load_reduction_vs_naive(problem: Problem, counters: Counters) -> float:
    """Return how many times fewer bytes than `naive_load_bytes` the launch asked for; see `_ratio` for launches without loads."""
    return _ratio(naive_load_bytes(problem), counters.requested_load_bytes)


def arithmetic_intensity_requested(problem: Problem, counters: Counters) -> float:
    """Return 2 M N K over the bytes that active threads asked to load, in FLOP a byte."""
    return _ratio(problem.flops, counters.requested_load_bytes)


def arithmetic_intensity_sectors(problem: Problem, counters: Counters) -> float:
    """Return 2 M N K over the bytes of the sectors that those loads touched in L1, in FLOP a byte."""
    return _ratio(problem.flops, SECTOR_BYTES * counters.global_load_sectors)


def _ratio(work: int, moved: int) -> float:
    """Return work / moved; 0 where there is no work (a size is zero), infinity where work was done without moving anything."""
    if not work:
        return 0.0
    return work / moved if moved else math.inf
