"""A row: an instruction's meaning stated a second time, apart from the emulator. Which rows there are, and what each claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tilewise.emu.isa.spec import Form, OperandSpec, parse_form

Meaning = Callable[..., Any]
AnyMeaning = TypeVar("AnyMeaning", bound=Meaning)
Within = Callable[..., bool]
"""Whether a result (first) is close enough to what the meaning gives (second) of the operands (the rest); neither is a NaN."""


@dataclass(frozen=True, slots=True)
class Row:
    """The meaning of one form. `form` is parsed from the row's own syntax line and choices; its emitter is the meaning."""

    form: Form
    values: Mapping[str, tuple[int, ...]] = field(repr=False)
    """Bits that operands take beside random ones and their type's edges."""
    only: frozenset[str]
    """Operands that take nothing but their `values`."""
    literal: frozenset[str]
    """Operands that must stand in the text as numbers."""
    within: Within | None
    """None: equal bit for bit, but that any NaN equals any other."""
    sm: int
    """The least compute capability that has the form."""
    portable: bool
    """Whether a GPU gives the same; addresses are not the same there."""
    legal: Callable[..., bool]
    """Whether the assembler takes a combination of modifiers; the emulator's table may be more generous."""
    results: tuple[OperandSpec, ...]
    sources: tuple[OperandSpec, ...]

    @property
    def name(self) -> str:
        return self.form.syntax.split(" ")[0]

    @property
    def spellings(self) -> list[str]:
        """The opcodes of the form that the assembler takes."""
        return [opcode for opcode in self.form.spellings() if self.legal(**(self.form.match(opcode) or {}))]

    @property
    def gives_several(self) -> bool:
        """Whether the meaning returns a tuple of results."""
        return "|" in self.results[0].name or "out" in self.form.carry


ROWS: list[Row] = []


def row(
    syntax: str,
    *,
    values: Mapping[str, tuple[int, ...]] | None = None,
    only: str = "",
    literal: str = "",
    within: Within | None = None,
    sm: int = 75,
    portable: bool = True,
    legal: Callable[..., bool] = lambda **modifiers: True,
    carry: str = "",
    **choices: str | tuple[str, ...],
) -> Callable[[AnyMeaning], AnyMeaning]:
    """Register a row: `meaning` takes the sources as Python values (see typed) and, by keyword, the modifiers that it needs.

    It returns the result, or a tuple of them for a pair and where the carry flag goes in ("in": the last source) or comes out.
    """

    def register(meaning: AnyMeaning) -> AnyMeaning:
        form = parse_form(syntax, "op", choices, meaning, carry=carry)
        literals = frozenset(literal.split())
        results = tuple(operand for operand in form.operands if operand.is_result)
        sources = tuple(operand for operand in form.operands if not operand.is_result)
        only_listed = frozenset(only.split()) | literals
        ROWS.append(Row(form, values or {}, only_listed, literals, within, sm, portable, legal, results, sources))
        return meaning

    return register
