"""One tile choice for one rung. What a rung demands of it stands with the rung (kernels/ladder.py)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TilePlan:
    """Block tile BM x BN x BK and thread tile TM x TN, in elements.

    A block computes BM x BN outputs in k-steps of depth BK; a thread computes TM x TN of them. A naive rung reuses nothing: its
    BM x BN is only the shape of a block, and BK is 1.
    """

    BM: int
    BN: int
    BK: int
    TM: int = 1
    TN: int = 1

    @property
    def threads(self) -> int:
        """Threads a block."""
        return (self.BM // self.TM) * (self.BN // self.TN)
