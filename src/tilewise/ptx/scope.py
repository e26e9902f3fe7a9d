"""Names in a function: registers, variables and labels of nested scopes, each under a name unique in the function."""

from __future__ import annotations

import re

from tilewise.ptx.ast import Operand, Register

_AXES = ("x", "y", "z", "w")
_WITH_AXES = (
    *("tid", "ntid", "ctaid", "nctaid"),
    *("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"),
)
SPECIAL_REGISTERS = frozenset(
    [
        *(f"%{name}" for name in _WITH_AXES),
        *(f"%{name}.{axis}" for name in _WITH_AXES for axis in _AXES),
        *("%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%is_explicit_cluster"),
        *("%cluster_ctarank", "%cluster_nctarank"),
        *(f"%lanemask_{relation}" for relation in ("eq", "le", "lt", "ge", "gt")),
        *("%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"),
        *(f"%pm{i}" for i in range(8)),
        *(f"%pm{i}_64" for i in range(8)),
        *(f"%envreg{i}" for i in range(32)),
        *("%reserved_smem_offset_begin", "%reserved_smem_offset_end", "%reserved_smem_offset_cap"),
        *("%reserved_smem_offset_0", "%reserved_smem_offset_1"),
        *("%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size", "%current_graph_exec"),
    ]
)
"""PTX ISA 9, "Special Registers"."""

REGISTER_LIMIT = 1 << 18
"""Registers of a module: far beyond any compiler's output, so that `%r<99999999>` is refused before memory is gone."""

DEPTH_LIMIT = 64
"""Scopes within scopes: inline assembly nests two or three deep."""

_RANGE = re.compile(r"\s*+(%?[\w$]++)(?:<\s*+(\d{1,9})\s*+>)?\s*+\Z", re.ASCII)


class Scope:
    """A function's body or one pair of braces within it.

    `number` is 0 for the body; names of other scopes get it as a suffix (`p` of scope 3 is `p@3`), which no PTX name can contain.
    """

    __slots__ = ("cache", "depth", "labels", "number", "parent", "registers", "symbols")

    def __init__(self, number: int, parent: Scope | None) -> None:
        self.number = number
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.registers: dict[str, Register] = {}
        self.symbols: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.cache: dict[str, Operand] = {}
        """Operands already read in this scope, by their text."""

    def unique(self, name: str) -> str:
        """Return the name that `name`, declared here, has in the whole function."""
        return f"{name}@{self.number}" if self.number else name

    def declare_register(self, name: str) -> Register:
        """Declare a register here and return it under its unique name."""
        self.cache.clear()
        register = self.registers[name] = Register(self.unique(name))
        return register

    def declare_symbol(self, name: str) -> str:
        """Declare a variable here and return its unique name."""
        self.cache.clear()
        unique = self.symbols[name] = self.unique(name)
        return unique

    def register(self, name: str) -> Register | None:
        """Return the register that `name` means here, a special one included; None where there is none."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.registers.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return Register(name, special=True) if name in SPECIAL_REGISTERS else None

    def symbol(self, name: str) -> str | None:
        """Return the unique name of the variable that `name` means here; None where there is none."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.symbols.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def label(self, name: str) -> str | None:
        """Return the unique name of the label that `name` means here; None where there is none."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.labels.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None


def register_names(text: str, room: int) -> list[str] | None:
    """Return the names that a `.reg` list such as `%r<3>, p` declares; None where it is no such list or has more than `room`."""
    names: list[str] = []
    for item in text.split(","):
        found = _RANGE.match(item)
        if found is None:
            return None
        name, count = found.groups()
        if int(count or 1) > room - len(names):
            return None
        names.extend([name] if count is None else [f"{name}{i}" for i in range(int(count))])
    return names
