"""Correct kernels that look wrong, and what is wrong with the twin of each.

A file of idioms/ has one comment `// broken: CODE`; its twin has CODE in place of the line below, and is else the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "idioms"

Arrays = Mapping[str, Any]
"""A launch's arguments by name: arrays of numbers, and numbers."""

_BROKEN = re.compile(r"^( *)// broken:(.*)\n.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Idiom:
    """A kernel, what it computes, and the finding that its twin must have."""

    name: str
    right: Callable[[Arrays], Arrays]
    """From the arguments before the launch to those arrays that are checked after it."""
    kinds: tuple[str, ...]
    """Of the twin's finding, any of them: where either access may come first, it is named by the order seen."""
    lines: tuple[int, ...]
    """That the finding mentions."""
    in_any_order: tuple[str, ...] = ()
    """Arrays whose elements come in the order of the schedule: they are compared sorted."""

    @property
    def path(self) -> Path:
        """The correct kernel."""
        return FOLDER / f"{self.name}.cu"

    def broken_text(self) -> str:
        """Return the twin's text."""
        text, count = _BROKEN.subn(r"\1// broken:\2\n\1\2", self.path.read_text())
        assert count == 1, f"{self.path.name} has {count} lines to break"
        return text


def _spread_least(x: Any) -> Any:
    return np.broadcast_to(x.min(axis=1, keepdims=True), x.shape)


def _relaxed(x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = (np.roll(x, 1, axis=1) + x + np.roll(x, -1, axis=1)) / 3
    return x


def _two_least(values: Any) -> Any:
    return np.sort(np.concatenate([values, [1000, 1000]]))[:2]


def _most_frequent(x: Any) -> Any:
    return np.array([np.bincount(column, minlength=8).argmax() for column in x.T])


def _bits(x: Any) -> Any:
    """Bit t / 8 of word t % 8 says whether element t is positive."""
    weights = 1 << np.arange(32, dtype=np.uint64)
    return np.einsum("rjw,j->rw", (x > 0).reshape(len(x), 32, 8), weights)


def _kept(x: Any) -> Arrays:
    kept = x[x > 0]
    return {"kept": np.sort(np.concatenate([kept, np.zeros(len(x) - len(kept), int)])), "count": [len(kept)]}


def _early_exit(x: Any) -> Any:
    return np.concatenate([np.roll(x[first : first + 128], -5) for first in range(0, len(x), 128)])


def _shift(x: Any) -> Any:
    return np.stack([np.roll(row, -int((row > 0).sum())) for row in x])


def _odd_rows_reversed(x: Any) -> Any:
    turned = np.where(np.arange(len(x))[:, None] % 2, x[:, ::-1], x)
    return turned.reshape(len(x), -1, 2)[:, :, ::-1].reshape(x.shape)


def _two_sweeps(x: Any) -> Any:
    between = x + np.roll(x, -1)
    return np.roll(between, -64) + np.roll(between, -65)


def _shifted_copy(x: Any) -> Any:
    return np.concatenate([np.zeros(3), x[3:]])


def _reversed_fours(y: Any) -> Any:
    return y.reshape(len(y), -1, 4)[:, ::-1].reshape(y.shape)


def _sums_and_maxima(x: Any) -> Any:
    return np.where(np.arange(len(x)) % 2, x.max(axis=1), x.sum(axis=1))


WW, RAW, WAR, WARP = (f"race.shared.{order}" for order in ("ww", "raw", "war", "warp"))
FENCE = "race.global.fence"
WAIT = "async.cp_async_wait"

IDIOMS = (
    Idiom("ring_named_barriers", lambda a: {"y": a["x"][:, ::-1]}, (WAR, RAW), (13, 19)),
    Idiom("warp_roles", lambda a: {"y": a["x"] ** 2}, ("barrier.count",), (14,)),
    Idiom("one_barrier_relaxation", lambda a: {"y": _relaxed(a["x"], a["steps"])}, (WAR,), (10, 12)),
    Idiom("shuffle_reduction", lambda a: {"y": a["x"].sum(axis=1)}, (RAW,), (8, 12)),
    Idiom("look_back", lambda a: {"y": np.cumsum(a["x"])}, (FENCE,), (25, 23)),
    Idiom("ticket_lock", lambda a: {"account": [a["x"].sum(), len(a["x"])]}, (FENCE,), (9, 9)),
    Idiom("flag_between_blocks", lambda a: {"y": 2 * a["x"][::-1]}, (FENCE,), (6, 20)),
    Idiom("flag_between_warps", lambda a: {"y": a["x"][:, ::-1] + 1}, (RAW,), (10, 24)),
    Idiom("volatile_flags", lambda a: {"y": np.cumsum(a["x"], axis=1)}, (RAW, WAR), (17, 15)),
    Idiom("release_acquire", lambda a: {"y": [a["x"][5] + a["x"][6]]}, (FENCE,), (6, 14)),
    Idiom("early_exit", lambda a: {"y": _early_exit(a["x"])}, ("uninit.shared",), (12,)),
    Idiom("union_in_turn", lambda a: {"y": a["x"], "k": a["x"].argsort().argsort()[:, ::-1]}, (WAR,), (13, 16)),
    Idiom("bytes_of_a_word", lambda a: {"y": a["x"].transpose(0, 2, 1).copy().view(np.uint32)[..., 0]}, (WW,), (8, 8)),
    Idiom("halves_of_a_word", lambda a: {"y": a["x"].view(np.uint32)}, (WARP,), (7, 7)),
    Idiom("carved_shared", lambda a: {"y": np.roll(a["x"], -17, axis=1)[:, ::-1]}, (WW,), (11, 12)),
    Idiom("warp_aggregated", lambda a: _kept(a["x"]), ("race.global",), (11, 11), ("kept",)),
    Idiom("bit_flags", lambda a: {"bits": _bits(a["x"])}, (WW,), (9, 9)),
    Idiom("async_two_stages", lambda a: {"y": a["x"].sum(axis=1)[:, ::-1]}, (WAR,), (15, 19)),
    Idiom("async_three_stages", lambda a: {"y": _reversed_fours(a["x"].sum(axis=1))}, (WAIT,), (22,)),
    Idiom("async_four_stages", lambda a: {"y": a["x"].sum(axis=1)[:, ::-1]}, (WAIT,), (22,)),
    Idiom("syncwarp_tree", lambda a: {"y": a["x"].sum(axis=2)}, (WARP,), (9, 9)),
    Idiom("block_scan", lambda a: {"y": np.cumsum(a["x"], axis=1)}, (WAR,), (9, 12)),
    Idiom("last_block", lambda a: {"y": [a["x"].sum()]}, (FENCE,), (16, 24)),
    Idiom("ticket_set_back", lambda a: {"y": [a["x"].sum()], "drawn": [0]}, ("race.global",), (13, 20)),
    Idiom("grid_barrier", lambda a: {"y": _two_sweeps(a["x"])}, ("race.global", FENCE), (5, 16)),
    Idiom("grid_sync", lambda a: {"z": np.roll(2 * a["x"], -64)}, ("race.global",), (8, 11)),
    Idiom("spin_lock", lambda a: {"least": _two_least(a["x"])}, (FENCE,), (12, 10)),
    Idiom("scoped_atomics", lambda a: {"own": (a["x"] > 0).sum(axis=1), "all": [(a["x"] > 0).sum()]}, ("race.global",), (7, 7)),
    Idiom("barrier_votes", lambda a: {"y": _spread_least(a["x"])}, (RAW, WAR), (11, 12)),
    Idiom("barrier_count", lambda a: {"y": _shift(a["x"])}, (RAW,), (7, 10)),
    Idiom("uniform_branch", lambda a: {"y": _odd_rows_reversed(a["x"])}, ("barrier.divergence",), (11,)),
    Idiom("warps_without_barriers", lambda a: {"y": a["x"].sum(axis=1)}, (WARP,), (12, 12)),
    Idiom("padded_transpose", lambda a: {"b": a["a"].T}, ("perf.bank_conflict",), (11,)),
    Idiom("private_histograms", lambda a: {"bins": np.bincount(a["x"] % 32, minlength=32)}, (WARP,), (6, 9)),
    Idiom("in_place_update", lambda a: {"c": a["a"] @ a["b"] + 0.5 * a["c"]}, ("race.global",), (8, 9)),
    Idiom("writers_exit", lambda a: {"y": 2 * a["x"][:, ::-1]}, (RAW,), (6, 10)),
    Idiom("vector_copy", lambda a: {"y": _shifted_copy(a["x"])}, ("misaligned",), (10,)),
    Idiom("negative_stride", lambda a: {"y": a["x"][::-1]}, ("oob.global.read",), (7,)),
    Idiom("zero_filled_tiles", lambda a: {"c": a["a"] @ a["b"]}, ("uninit.shared",), (12,)),
    Idiom("work_queue", lambda a: {"y": -a["x"]}, (WAR,), (8, 10)),
    Idiom("half_warp_shuffles", lambda a: {"y": _sums_and_maxima(a["x"])}, ("warp.mask",), (10,)),
    Idiom("volatile_results", lambda a: {"y": [a["x"].sum()]}, (FENCE,), (10, 17)),
    Idiom("partial_last_warp", lambda a: {"y": [a["x"][:32].sum(), a["x"][32:].sum()]}, ("warp.mask",), (10,)),
    Idiom("two_reductions", lambda a: {"y": 77 * a["x"].var(axis=1)}, (WAR,), (13, 15)),
    Idiom("matching_lanes", lambda a: {"counts": np.bincount(a["x"], minlength=8)}, ("race.global",), (8, 8)),
    Idiom("compare_and_swap", lambda a: {"most": [a["x"].max()]}, ("race.global",), (10, 10)),
    Idiom("volatile_rows", lambda a: {"y": a["x"][:, ::-1]}, (RAW, WAR), (7, 10)),
    Idiom("split_k_in_order", lambda a: {"c": a["a"] @ a["b"]}, (FENCE,), (14, 14)),
    Idiom("semaphore_votes", lambda a: {"y": a["x"].sum(axis=0)[::-1]}, ("race.global",), (10, 10)),
    Idiom("persistent_blocks", lambda a: {"y": a["x"].sum(axis=1)}, (RAW,), (13, 16)),
    Idiom("warp_leaders", lambda a: {"y": 2 * a["x"].reshape(2, 32)[:, ::-1].ravel()}, ("race.global", FENCE), (7, 17)),
    Idiom("local_array", lambda a: {"y": _most_frequent(a["x"])}, ("uninit.local",), (7,)),
)
