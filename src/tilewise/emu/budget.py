"""How many instructions a run may take: its blocks' counts are looked at while it runs, and once more when it has ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tilewise.core.errors import InstructionLimitReached, TilewiseError
from tilewise.core.launch import Launch
from tilewise.emu.blueprint import Blueprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Budget:
    """At most `limit` warp instructions of PTX, None for any number. What takes more is stopped soon, or refused at its end."""

    def __init__(self, blueprint: Blueprint, limit: int | None) -> None:
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise TilewiseError(
                f"max_instructions = {limit!r} is not a number of instructions: give a whole number of at least 1."
            )
        self._blueprint = blueprint
        self._limit = limit
        self._weights: NDArray[np.float64] | None = None

    def require_room(self, launch: Launch, blocks: int) -> None:
        """Raise InstructionLimitReached if so many blocks cannot but take more: each warp takes the first basic block."""
        least = blocks * self._blueprint.warps * self._blueprint.instructions[self._blueprint.entry]
        if self._limit is not None and least > self._limit:
            raise InstructionLimitReached(
                f"{blocks:,} blocks of {launch.threads_per_block} threads take {least:,} warp instructions at least, "
                f"where at most {self._limit:,} are allowed."
            )

    def is_spent(self, counts: Iterable[Any]) -> bool:
        """Whether the run has taken more than it may; `counts` are each host thread's counts of basic blocks."""
        return self._limit is not None and self._spent(counts).sum() > self._limit

    def check(self, counts: Iterable[Any]) -> None:
        """Raise InstructionLimitReached, with the place that took most, if the run has taken more than it may."""
        if self._limit is None:
            return
        spent = self._spent(counts)
        total = int(spent.sum())
        if total > self._limit:
            worst = int(spent.argmax())
            raise InstructionLimitReached(
                f"stopped after {total:,} warp instructions, where at most {self._limit:,} are allowed: "
                f"{spent[worst] / total:.0%} of them in the loop or block that begins here.",
                where=self._blueprint.places[worst],
            )

    def _spent(self, counts: Iterable[Any]) -> NDArray[np.float64]:
        """Instructions that each basic block has taken, those of the blocks it runs together with included."""
        import numpy as np

        if self._weights is None:
            careful = np.array(self._blueprint.instructions, np.float64)
            fast = np.zeros_like(careful)
            for chain in self._blueprint.chains:
                fast[chain[0]] = careful[list(chain)].sum()
            self._weights = np.stack([fast, careful], axis=1)
        runs = sum(np.frombuffer(each, np.uint64).reshape(-1, 3)[:, :2].astype(np.float64) for each in counts)
        return np.asarray((runs * self._weights).sum(axis=1))
