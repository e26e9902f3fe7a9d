"""Between numbers and the bits of element types: rounds to nearest, ties to even, and reads back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewise.core.dtypes import Dtype, Format

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def encode(values: Array, dtype: Dtype) -> Array:
    """Return numbers as elements of `dtype`, in its storage type.

    Floats round to the nearest, ties to even; what is too large becomes infinity, or the largest number in fp8. Integers wrap.
    """
    import numpy as np

    if dtype.format is not None:
        return _encode_format(values.astype(np.float64), dtype, dtype.format)
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(dtype.storage)


def decode(elements: Array, dtype: Dtype) -> Array:
    """Return elements of `dtype` as numbers, exactly: of their storage type, or float32 where NumPy has no such float."""
    import numpy as np

    if dtype.format is None:
        return elements
    if dtype.name == "tf32":
        return elements.view(np.float32)
    return _decode_format(elements, dtype, dtype.format)


def _encode_format(values: Array, dtype: Dtype, form: Format) -> Array:
    import numpy as np

    magnitude = np.abs(values)
    finite = np.isfinite(magnitude)
    magnitude = np.where(finite, magnitude, 0.0)
    _, exponent = np.frexp(magnitude)
    least_step = form.least_exponent - form.precision + 1
    step = np.where(magnitude == 0, least_step, np.maximum(exponent - form.precision, least_step))
    units = np.rint(np.ldexp(magnitude, -step)).astype(np.int64)
    # In a binade the code counts units on; the hidden bit of `units` stands for the lowest exponent field but one.
    code = ((step - least_step).astype(np.int64) << (form.precision - 1)) + units
    too_large = form.greatest if form.saturates else form.greatest + 1
    code = np.where(finite & (code <= form.greatest), code, too_large)
    bits = 8 * dtype.bytes
    every_bit = (1 << (bits - 1 - form.unused_bits)) - 1
    code = np.where(np.isnan(values), every_bit, code)
    sign = np.signbit(values).astype(np.int64) << (bits - 1)
    return ((code << form.unused_bits) | sign).astype(np.uint64).astype(dtype.storage)


def _decode_format(elements: Array, dtype: Dtype, form: Format) -> Array:
    import numpy as np

    bits = 8 * dtype.bytes
    code = elements.astype(np.int64) & ((1 << (bits - 1)) - 1)
    field, hidden = code >> (form.precision - 1), 1 << (form.precision - 1)
    units = (code & (hidden - 1)) + np.where(field > 0, hidden, 0)
    step = np.maximum(field, 1) + form.least_exponent - form.precision
    values = np.ldexp(units.astype(np.float64), step)
    is_infinity = (code == form.greatest + 1) & form.has_infinity
    values = np.where(code > form.greatest, np.where(is_infinity, np.inf, np.nan), values)
    return np.where(elements >> (bits - 1), -values, values).astype(np.float32)
