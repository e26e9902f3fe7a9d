"""A place in a source file, with the calls that were inlined to bring it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a source file; `column` counts from 1, 0 where it is not known."""

    file: str
    """Empty where there is no line information: `line` is the PTX text's then."""
    line: int
    column: int = 0
    function: str = ""
    inlined_from: tuple[Place, ...] = ()
    """The calls that the compiler inlined, the innermost first; the last is in the kernel itself."""

    @property
    def outermost(self) -> Place:
        """The place in the kernel's own text."""
        return self.inlined_from[-1] if self.inlined_from else self

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else f"PTX line {self.line}"

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Place:
        """The reverse of `dataclasses.asdict`, and of that through JSON."""
        return cls(**{**fields, "inlined_from": tuple(cls.from_json(place) for place in fields["inlined_from"])})
