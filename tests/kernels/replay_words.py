"""The replay of the rungs that move one word a lane, r01 to r04, from their tiling alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from accounting import Ints, Mask, Product, Tally, blocks_of, sectors, threads_of, wavefronts

from tilewise.core.plan import TilePlan


def one_output(along_rows: bool) -> Callable[[TilePlan, Product], Tally]:
    """r01 (threadIdx.x is the row in the block) and r02 (it is the column): no reuse at all."""

    def count(plan: TilePlan, product: Product) -> Tally:
        tally = Tally()
        thread, exists = threads_of(plan.BM * plan.BN)
        across = plan.BM if along_rows else plan.BN
        x, y = thread % across, thread // across
        block_row, block_col = blocks_of(plan, product)
        row, col = block_row + (x if along_rows else y), block_col + (y if along_rows else x)
        active = exists & product.inside_c(row, col)
        for k in np.arange(product.K).reshape(-1, 1):
            tally.a_load.add(active, sectors(product.a_word(row, k), active))
            tally.b_load.add(active, sectors(product.b_word(k, col), active))
        tally.c_store.add(active, sectors(product.c_word(row, col), active))
        tally.fma = int(active.sum()) * product.K
        return tally

    return count


def smem_tile(plan: TilePlan, product: Product) -> Tally:
    """r03: threads (x, y) of an S x S block; a column-major operand is copied with x and y exchanged, into padded rows."""
    tally = Tally()
    S = plan.BM
    thread, exists = threads_of(S * S)
    x, y = thread % S, thread // S
    pad = 32 // S
    a_row_words, b_row_words = (S if order == "r" else S + pad for order in product.layout)
    a_row, a_k = (y, x) if product.layout[0] == "r" else (x, y)
    b_k, b_col = (y, x) if product.layout[1] == "r" else (x, y)
    block_row, block_col = blocks_of(plan, product)
    blocks = block_row.size * block_col.size
    for k0 in range(0, product.K, S):
        active = exists & product.inside_a(block_row + a_row, k0 + a_k) & (block_col >= 0)
        tally.a_load.add(active, sectors(product.a_word(block_row + a_row, k0 + a_k), active))
        active = exists & product.inside_b(k0 + b_k, block_col + b_col) & (block_row >= 0)
        tally.b_load.add(active, sectors(product.b_word(k0 + b_k, block_col + b_col), active))
        tally.shared_store.add(exists, wavefronts(a_row * a_row_words + a_k, exists), blocks)
        tally.shared_store.add(exists, wavefronts(b_k * b_row_words + b_col, exists), blocks)
        for kk in range(S):
            tally.shared_load.add(exists, wavefronts(y * a_row_words + kk, exists), blocks)
            tally.shared_load.add(exists, wavefronts(kk * b_row_words + x, exists), blocks)
        tally.barriers += 2 * blocks
        tally.fma += S * S * S * blocks
    row, col = block_row + y, block_col + x
    active = exists & product.inside_c(row, col)
    tally.c_store.add(active, sectors(product.c_word(row, col), active))
    return tally


def thread_tile(plan: TilePlan, product: Product) -> Tally:
    """r04: a line of threads, thread tiles in rows; both tiles k first; transposed copies go into padded rows."""
    tally = Tally()
    count = (plan.BM // plan.TM) * (plan.BN // plan.TN)
    thread, exists = threads_of(count)
    across = plan.BN // plan.TN
    thread_row, thread_col = thread // across * plan.TM, thread % across * plan.TN
    pad = max(1, 32 // plan.BK)
    a_row_words = plan.BM + (pad if product.layout[0] == "r" else 0)
    b_row_words = plan.BN + (pad if product.layout[1] == "c" else 0)
    block_row, block_col = blocks_of(plan, product)
    blocks = block_row.size * block_col.size
    for k0 in range(0, product.K, plan.BK):
        for i, live in _rounds(plan.BM * plan.BK, count):
            row, k = (i // plan.BK, i % plan.BK) if product.layout[0] == "r" else (i % plan.BM, i // plan.BM)
            active = live & product.inside_a(block_row + row, k0 + k) & (block_col >= 0)
            tally.a_load.add(active, sectors(product.a_word(block_row + row, k0 + k), active))
            tally.shared_store.add(live, wavefronts(k * a_row_words + row, live), blocks)
        for i, live in _rounds(plan.BK * plan.BN, count):
            k, col = (i // plan.BN, i % plan.BN) if product.layout[1] == "r" else (i % plan.BK, i // plan.BK)
            active = live & product.inside_b(k0 + k, block_col + col) & (block_row >= 0)
            tally.b_load.add(active, sectors(product.b_word(k0 + k, block_col + col), active))
            tally.shared_store.add(live, wavefronts(k * b_row_words + col, live), blocks)
        for kk in range(plan.BK):
            for m in range(plan.TM):
                tally.shared_load.add(exists, wavefronts(kk * a_row_words + thread_row + m, exists), blocks)
            for n in range(plan.TN):
                tally.shared_load.add(exists, wavefronts(kk * b_row_words + thread_col + n, exists), blocks)
        tally.barriers += 2 * blocks
        tally.fma += plan.BM * plan.BN * plan.BK * blocks
    for m in range(plan.TM):
        for n in range(plan.TN):
            row, col = block_row + thread_row + m, block_col + thread_col + n
            active = exists & product.inside_c(row, col)
            tally.c_store.add(active, sectors(product.c_word(row, col), active))
    return tally


def _rounds(words: int, threads: int) -> Iterator[tuple[Ints, Mask]]:
    """Yield the word each thread copies in each round, by warp and lane, and which lanes still have one."""
    thread, exists = threads_of(threads)
    for first in range(0, words, threads):
        yield first + thread, exists & (first + thread < words)
