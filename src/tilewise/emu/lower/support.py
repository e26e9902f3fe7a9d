"""Whether the emulator can lower an instruction whose form it has: the operands and spaces that it takes. Knows no LLVM."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tilewise.emu.isa.spec import LLVM_TYPES, PARTS
from tilewise.emu.value import bits_of, is_float
from tilewise.ptx.ast import Address, Float, Integer, Negated, Operand, Part, Register, Sink, Symbol, Vector

if TYPE_CHECKING:
    from tilewise.emu.lower.step import Step

WHOLE_VECTORS = frozenset(
    f"%{name}" for name in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
)
"""Special registers that the emulator has by their parts only, as %tid.x."""
IMMEDIATES = ("size", "groups")
"""Operands, by their names in forms, that the instruction holds as numbers."""
MAX_SHARED_BYTES = 16
"""A lane's widest access to shared memory."""


def find_missing(step: Step, symbols: Collection[str]) -> str:
    """Return what of an instruction the emulator does not take, such as "%tid" or "32 bytes a lane"; "" if it takes all.

    `symbols` are the names that stand for addresses.
    """
    access = step.access
    if access is not None and access.space == "shared" and access.bytes > MAX_SHARED_BYTES:
        return f"{access.bytes} bytes a lane"
    assert step.form is not None
    for operand, spec in zip(step.instruction.operands, step.form.operands, strict=False):  # the last may be absent
        if step.form.kind != "hint" and (
            isinstance(operand, Address) != spec.is_address or (spec.name in IMMEDIATES and not isinstance(operand, Integer))
        ):
            return _spell(operand)
    if access is not None and access.count > 1 and not access.whole:
        for operand, _ in (*step.sources[1:], *step.results):
            if not isinstance(operand, Vector) or len(operand.elements) != access.count:
                return _spell(operand)
    for operand, type_ in step.sources:
        base, type_ = (operand.base, "b64") if isinstance(operand, Address) else (operand, type_)
        is_part = isinstance(base, Part) and base.selector in PARTS and step.form.takes_parts
        if isinstance(base, Vector) and access is None:
            type_ = f"b{bits_of(LLVM_TYPES[type_]) // len(base.elements)}"
        if not is_part and not _is_source(base, type_, symbols):
            return _spell(operand)
    return next((_spell(operand) for operand, type_ in step.results if not _is_destination(operand, type_)), "")


def _is_source(operand: Operand, type_: str, symbols: Collection[str]) -> bool:
    llvm = LLVM_TYPES.get(type_)
    if llvm is None:
        return False
    match operand:
        case Register(name, special):
            return not special or name not in WHOLE_VECTORS
        case Negated():
            return type_ == "pred"
        case Float(_, width):  # of bits: as many as it has
            return is_float(llvm) or bits_of(llvm) == width
        case Integer():
            return not is_float(llvm)
        case Symbol(name):
            return name in symbols and not is_float(llvm)
        case Vector(elements):
            return all(_is_source(element, type_, symbols) for element in elements)
    return False


def _is_destination(operand: Operand, type_: str) -> bool:
    match operand:
        case Register(_, special):
            return not special
        case Vector(elements):
            return type_ != "pred" and all(_is_destination(element, type_) for element in elements)
    return isinstance(operand, Sink)


def _spell(operand: Operand) -> str:
    """An operand for a message: by its name where it has one."""
    match operand:
        case Register(name) | Symbol(name):
            return name
        case Address(base):
            return f"[{_spell(base)}]"
        case Integer(number):
            return str(number)
        case Float(bits, width):
            return f"0{'f' if width == 32 else 'd'}{bits:0{width // 4}X}"
    return f"such an operand as {operand}"
