"""A finding: one thing that is wrong with a kernel or its launch, at its source lines."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tilewise.core.launch import Dim3
from tilewise.core.place import Place

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""The least first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where, who was seen doing it, and what would put it right."""

    kind: str
    """Such as race.shared.raw; checkers' registry lists them."""
    severity: Severity
    build: str
    """optimised, unoptimised, or both."""
    message: str
    fix: str
    lines: tuple[Place, ...] = ()
    array: str = ""
    threads: tuple[Dim3, ...] = ()
    """At most two examples, one for each of `blocks`."""
    blocks: tuple[Dim3, ...] = ()
    iteration: int | None = None
    count: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return the finding as mappings, lists and plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Finding:
        """The reverse of `to_json`, and of that through JSON."""
        lines = tuple(Place.from_json(line) for line in fields["lines"])
        threads, blocks = (tuple(_dim3(part) for part in fields[name]) for name in ("threads", "blocks"))
        return cls(**{**fields, "lines": lines, "threads": threads, "blocks": blocks})


def _dim3(parts: list[int]) -> Dim3:
    x, y, z = parts
    return x, y, z
