"""PTX types as the rows see them: bits in memory <-> Python values, and the values worth trying.

Integers are Python ints, predicates bools, floating-point numbers Python floats (all formats up to f64 fit), packed types
tuples with the lowest element first.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
from exact import BF16, F16, F32, F64, Format

Bits = npt.NDArray[np.uint64]
"""Raw bits, one 64-bit word a case, zero above the type's width."""

FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64, "tf32": F32}
_PACKED = re.compile(r"(f16|bf16|f32|u16|s16)x2\Z")


def width(type_: str) -> int:
    """Bits of a type; a predicate is carried as one bit."""
    if type_ == "pred":
        return 1
    packed = _PACKED.match(type_)
    return 2 * width(packed.group(1)) if packed else int(type_.lstrip("bfust"))


def is_float(type_: str) -> bool:
    return type_ in FORMATS


def decode(type_: str, bits: Bits) -> list[Any]:
    """Each case's value."""
    packed = _PACKED.match(type_)
    if packed:
        part, size = packed.group(1), width(packed.group(1))
        mask = np.uint64((1 << size) - 1)
        return list(zip(decode(part, bits & mask), decode(part, bits >> np.uint64(size)), strict=True))
    values = _values(type_, bits & np.uint64((1 << width(type_)) - 1))
    return list(values.tolist())


def _values(type_: str, bits: Bits) -> npt.NDArray[Any]:
    """Bits as numbers of a type that NumPy has."""
    match type_:
        case "pred":
            return bits.astype(bool)
        case "f64":
            return bits.view(np.float64)
        case "f32" | "tf32":
            return _widen(bits.astype(np.uint32).view(np.float32))
        case "bf16":
            return _widen((bits << np.uint64(16)).astype(np.uint32).view(np.float32))
        case "f16":
            return _widen(bits.astype(np.uint16).view(np.float16))
    if type_[0] == "s":
        sign = np.uint64(1 << width(type_) - 1)
        return ((bits ^ sign) - sign).view(np.int64)
    return bits


def _widen(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return values.astype(np.float64)


def encode(type_: str, value: Any) -> int:
    """The bits of a value; integers wrap, a float must be one of its format."""
    packed = _PACKED.match(type_)
    if packed:
        low, high = (encode(packed.group(1), part) for part in value)
        return low | high << width(packed.group(1))
    if type_ in FORMATS:
        return _encode_float(FORMATS[type_], value)
    return int(value) & ((1 << width(type_)) - 1)


def _encode_float(format_: Format, value: float) -> int:
    if format_ is BF16:
        bits = _encode_float(F32, value)
        assert value != value or not bits & 0xFFFF, f"{value!r} is not rounded to bf16"
        return bits >> 16
    code = {F16: "e", F32: "f", F64: "d"}[format_]
    packed = struct.pack("<" + code, value)
    assert value != value or struct.unpack("<" + code, packed)[0] == value, f"{value!r} is not rounded to {format_}"
    return int.from_bytes(packed, "little")


def is_nan(type_: str, bits: Bits) -> npt.NDArray[np.bool_]:
    """Where a float type's bits are a NaN."""
    format_ = FORMATS[type_]
    infinity = np.uint64(format_.infinity_bits)
    return (bits & np.uint64((1 << format_.bits - 1) - 1)) > infinity


def edges(type_: str) -> list[int]:
    """Bits of the values at which things go wrong."""
    packed = _PACKED.match(type_)
    if packed:
        parts, size = edges(packed.group(1)), width(packed.group(1))
        return [low | high << size for low, high in zip(parts, reversed(parts), strict=True)] + [
            part << size | part for part in parts
        ]
    if type_ in FORMATS:
        return _float_edges(FORMATS[type_])
    bits = width(type_)
    if bits == 1:
        return [0, 1]
    top = 1 << bits - 1
    return sorted(
        {0, 1, 2, 3, 31, 32, bits - 1, bits, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1, 0x55AA55AA55AA55AA % (2 * top)}
    )


def _float_edges(format_: Format) -> list[int]:
    one, infinity, half_ulp = format_.encode_power(0), format_.infinity_bits, format_.encode_power(-format_.precision)
    least_normal = 1 << format_.precision - 1
    positive = [
        0,
        1,  # the least subnormal
        least_normal - 1,
        least_normal,
        least_normal + 1,
        half_ulp,
        one - 2,
        one - 1,
        one,
        one + 1,
        one + (one >> 9 & 1 | 3),
        format_.encode_power(1),
        format_.encode_power(format_.precision),
        infinity - 1,  # the greatest finite
        infinity,
        infinity + 1,  # a signalling NaN
        infinity | 1 << format_.precision - 2,  # a quiet one
    ]
    return positive + [bits | 1 << format_.bits - 1 for bits in positive]


def random_bits(type_: str, count: int, rng: np.random.Generator) -> Bits:
    """Random cases: any bits, small integers and moderate floats among them."""
    size = width(type_)
    words = rng.integers(0, 1 << 64, count, np.uint64, endpoint=False) & np.uint64((1 << size) - 1)
    packed = _PACKED.match(type_)
    part = packed.group(1) if packed else type_
    if part in FORMATS:
        moderate = rng.random(count) < 0.6
        words = np.where(moderate, _near_one(part, words), words)
        return np.where(moderate, _near_one(part, words, width(part)), words) if packed else words
    shift = rng.integers(0, size, count).astype(np.uint64)
    return np.where(rng.random(count) < 0.5, words >> shift, words)


def _near_one(type_: str, words: Bits, at: int = 0) -> Bits:
    """The float whose lowest bit stands at bit `at`, with an exponent within a few of that of 1."""
    format_ = FORMATS[type_]
    place = format_.precision - 1
    exponent_mask = format_.infinity_bits << at
    few = (words >> np.uint64(at + place)) & np.uint64(7)
    exponent = (few + np.uint64(format_.bias - 4)) << np.uint64(at + place)
    return (words & ~np.uint64(exponent_mask)) | exponent


def describe(type_: str, bits: int) -> str:
    """A case for a message."""
    value = decode(type_, np.array([bits], np.uint64))[0]
    return f"{value!r} (0x{bits:0{math.ceil(width(type_) / 4)}x})"
