"""Whether the emulator can lower an instruction whose form it has: the operands and spaces that it takes. Knows no LLVM."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tilewise.emu.isa.spec import LLVM_TYPES, PARTS
from tilewise.ptx.ast import Address, Float, Integer, Negated, Operand, Part, Register, Sink, Symbol, Vector

if TYPE_CHECKING:
    from tilewise.emu.lower.step import Step

WHOLE_VECTORS = frozenset(
    f"%{name}" for name in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
)
"""Special registers that the emulator has by their parts only, as %tid.x."""
MAX_SHARED_BYTES = 16
"""A lane's widest access to shared memory."""


def find_missing(step: Step, symbols: Collection[str]) -> str:
    """Return what of an instruction the emulator does not take, such as "%tid" or "32 bytes a lane"; "" if it takes all.

    `symbols` are the names that stand for addresses.
    """
    access = step.access
    if access is not None and access.space == "shared" and access.bytes > MAX_SHARED_BYTES:
        return f"{access.bytes} bytes a lane"
    for operand, type_ in step.sources:
        base, type_ = (operand.base, "b64") if isinstance(operand, Address) else (operand, type_)
        is_part = isinstance(base, Part) and base.selector in PARTS and step.form is not None and step.form.takes_parts
        if not is_part and not _is_source(base, type_, symbols):
            return _spell(operand)
    return next((_spell(operand) for operand, _ in step.results if not _is_destination(operand)), "")


def _is_source(operand: Operand, type_: str, symbols: Collection[str]) -> bool:
    match operand:
        case Register(name, special):
            return not special or name not in WHOLE_VECTORS
        case Negated() | Float():
            return True
        case Integer():
            return LLVM_TYPES.get(type_, "i64")[0] == "i"
        case Symbol(name):
            return name in symbols
        case Vector(elements):
            return all(_is_source(element, type_, symbols) for element in elements)
    return False


def _is_destination(operand: Operand) -> bool:
    match operand:
        case Register(_, special):
            return not special
        case Vector(elements):
            return all(_is_destination(element) for element in elements)
    return isinstance(operand, Sink)


def _spell(operand: Operand) -> str:
    """An operand for a message: by its name where it has one."""
    match operand:
        case Register(name) | Symbol(name):
            return name
        case Address(base):
            return f"[{_spell(base)}]"
    return f"such an operand as {operand}"
