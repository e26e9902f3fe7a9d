"""`tilewise.plan`: which kernel and tiles a product gets on a device, what else could run, what cannot, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

from tilewise.core.errors import TilewiseError
from tilewise.core.plan import TilePlan
from tilewise.core.problem import Problem, as_layout, as_size
from tilewise.cost.traffic import formula_load_bytes
from tilewise.engine.bound import Bound, bind
from tilewise.engine.rules import Candidate, rank
from tilewise.hw.device import Device
from tilewise.hw.device_file import find_device

WITHOUT_GPU = "h200"
"""What is planned for where there is no GPU and no device is named."""
STAGES_NOTHING = ("r01", "r02")
"""Kernels whose blocks load both operands of every multiply."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer to `tilewise.plan`."""

    problem: Problem
    device: Device
    chosen: Candidate
    alternatives: tuple[Candidate, ...]
    """What could run too, the next best first."""
    rejected: tuple[Candidate, ...]
    """What cannot run this problem on the device, with the reasons."""

    @property
    def best(self) -> TilePlan:
        """The tiles that were chosen; `chosen` names the kernel too."""
        return self.chosen.tile

    def explain(self) -> str:
        """Return the choice and its consequences in lines of text."""
        problem, candidate = self.problem, self.chosen
        staged = candidate.kernel not in STAGES_NOTHING
        loads = formula_load_bytes(problem, candidate.tile if staged else None)
        lines = [
            f"C = A B, {problem.dtype}, M x N x K = {problem.M} x {problem.N} x {problem.K}, layout {problem.layout}, "
            f"on {self.device.name}",
            f"{candidate.label}: {candidate.reason}",
            f"  {candidate.blocks:,} blocks of {candidate.threads} threads on {self.device.sms} SMs, "
            f"{candidate.shared_bytes:,} B of shared memory a block",
            *_describe_cut(candidate),
            f"  loads {loads:,} B, {problem.flops / max(1, loads):.3g} FLOP a byte; estimated {1e6 * candidate.seconds:.3g} us",
            *_listing("could run too", self.alternatives),
            *_listing("cannot run", self.rejected),
        ]
        return "\n".join(lines)

    def bind(self, a: Any, b: Any, out: Any = None) -> Bound:
        """Return a prepared call on arrays of a GPU: it enqueues the product on the caller's current stream.

        The arrays must stay where they are and are kept alive; without `out`, one is made, and every call writes it anew. The
        kernel is the one chosen here. Raises TilewiseError for arrays that are not this plan's problem.
        """
        return bind(self.problem, self.chosen, a, b, out)


def plan(
    M: SupportsIndex,
    N: SupportsIndex,
    K: SupportsIndex,
    *,
    dtype: str = "f32",
    layout: str = "rr",
    device: str | Device | None = None,
) -> Plan:
    """Return the plan for C = A B, A being M x K and B K x N.

    `device` is a Device, a name of the catalogue or a device file's path; by default the first GPU there is, or an H200.
    Raises TilewiseError for sizes, types or layouts that cannot be, and for a product that no kernel can run.
    """
    m, n, k = (as_size(name, size) for name, size in (("M", M), ("N", N), ("K", K)))
    problem = Problem(m, n, k, dtype=dtype, layout=as_layout(layout))
    for name, size in (("M", m), ("N", n)):
        if size == 0:
            raise TilewiseError(f"{name} = 0 leaves nothing to compute: give a whole number of at least 1.")
    target = _find_device(device)
    ranking = rank(problem, target)
    return Plan(problem, target, ranking.chosen, ranking.alternatives, ranking.rejected)


def _find_device(device: str | Device | None) -> Device:
    if isinstance(device, Device):
        return device
    if device is not None:
        return find_device(device)
    from tilewise.gpu.device import device_of
    from tilewise.gpu.driver import gpu_count

    return device_of(0) if gpu_count() else find_device(WITHOUT_GPU)


def _describe_cut(candidate: Candidate) -> list[str]:
    cut, few = candidate.cut, candidate.few
    if cut is not None and cut.shares:
        first = f"{cut.whole:,} tiles go to a block each, the others" if cut.whole else "the tiles"
        return [f"  {first} are cut along k into {cut.shares} shares of {cut.share} k-steps; a second kernel adds their parts"]
    if few is not None and few.splits > 1:
        return [f"  k is split into {few.splits} of {few.chunk}, which a second kernel adds in order"]
    return []


def _listing(title: str, candidates: Sequence[Candidate]) -> list[str]:
    return [f"{title}:", *(f"  {candidate.label}: {candidate.reason}" for candidate in candidates)] if candidates else []
