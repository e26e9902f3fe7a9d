"""The element types of arrays and numbers, by name: width, what NumPy stores them as, and how small floats are laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewise.core.errors import TilewiseError, nearest

Kind = Literal["float", "signed", "unsigned"]


@dataclass(frozen=True, slots=True)
class Format:
    """The layout of a float that NumPy does not have: sign, exponent, fraction, from the highest bit down.

    `precision` counts the significand's bits, the hidden one included; `least_exponent` is the smallest normal number's.
    """

    precision: int
    least_exponent: int
    greatest: int
    """Bits of the largest finite number."""
    has_infinity: bool = True
    saturates: bool = False
    """Whether what is too large becomes the largest finite number, as cvt.satfinite does (PTX has no other mode for fp8)."""
    unused_bits: int = 0
    """Low bits of an element that carry nothing."""


@dataclass(frozen=True, slots=True)
class Dtype:
    """One element type."""

    name: str
    kind: Kind
    bytes: int
    storage: str
    """The NumPy type of the arrays that hold it: unsigned integers (its bits) where NumPy has no such float."""
    format: Format | None = None

    @property
    def is_float(self) -> bool:
        """Whether elements are floating-point numbers."""
        return self.kind == "float"


DTYPES: dict[str, Dtype] = {
    dtype.name: dtype
    for dtype in (
        Dtype("f64", "float", 8, "float64"),
        Dtype("f32", "float", 4, "float32"),
        Dtype("tf32", "float", 4, "uint32", Format(11, -126, (255 << 10) - 1, unused_bits=13)),
        Dtype("f16", "float", 2, "float16"),
        Dtype("bf16", "float", 2, "uint16", Format(8, -126, (255 << 7) - 1)),
        Dtype("e4m3", "float", 1, "uint8", Format(4, -6, 0x7E, has_infinity=False, saturates=True)),
        Dtype("e5m2", "float", 1, "uint8", Format(3, -14, 0x7B, saturates=True)),
        *(Dtype(f"s{8 * size}", "signed", size, f"int{8 * size}") for size in (8, 4, 2, 1)),
        *(Dtype(f"u{8 * size}", "unsigned", size, f"uint{8 * size}") for size in (8, 4, 2, 1)),
    )
}
"""By name. Layouts: PTX ISA, "Alternate Floating-Point Data Formats"; OCP 8-bit Floating Point Specification 1.0, table 1."""

ALIASES: dict[str, str] = {
    **{f"{word}{bits}": f"f{bits}" for word in ("fp", "float") for bits in (64, 32, 16)},
    "bfloat16": "bf16",
    "fp8": "e4m3",
    "float8_e4m3": "e4m3",
    "float8_e5m2": "e5m2",
    **{f"{word}{bits}": f"s{bits}" for word in ("i", "int") for bits in (64, 32, 16, 8)},
    **{f"uint{bits}": f"u{bits}" for bits in (64, 32, 16, 8)},
}
"""Other names of the same types."""


def dtype_named(name: str) -> Dtype:
    """Return the element type of that name or alias.

    Raises TilewiseError with the nearest names.
    """
    found = find_dtype(name)
    if found is None:
        raise TilewiseError(f"{name!r} is no element type.{nearest(name, DTYPES)}")
    return found


def find_dtype(name: str) -> Dtype | None:
    """Return the element type of that name or alias, None where there is none."""
    return DTYPES.get(ALIASES.get(name, name))
