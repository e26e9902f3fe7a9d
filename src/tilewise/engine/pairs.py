"""A product of stacks of matrices, taken apart into products of two matrices: shapes, and NumPy's rules for them.

Works on shapes and strides alone and reads no element: arrays that only stand for others (a GPU's memory) do as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilewise.core.errors import TilewiseError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]


def product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the product of arrays of these shapes, as numpy.matmul has it.

    Raises TilewiseError for shapes that do not match.
    """
    import numpy as np

    for name, shape in (("a", a), ("b", b)):
        if not shape:
            raise TilewiseError(
                f"{name} is a single number, and matmul takes arrays of at least one dimension: multiply with * instead."
            )
    k_of_b = b[-2] if len(b) > 1 else b[0]
    if a[-1] != k_of_b:
        raise TilewiseError(f"a of shape {a} has {a[-1]} columns and b of shape {b} has {k_of_b} rows: these two must be equal.")
    try:
        stack = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise TilewiseError(
            f"the stacks {a[:-2]} of a, of shape {a}, and {b[:-2]} of b, of shape {b}, do not broadcast: "
            "each pair of sizes, counted from the right, must be equal or have a 1."
        ) from None
    return (*stack, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def matrix_pairs(a: Array, b: Array, result: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield each A, B and C, all two-dimensional views, of a product of stacks no side of which is 0."""
    import numpy as np

    c = result[..., np.newaxis] if b.ndim == 1 else result
    c = c[..., np.newaxis, :] if a.ndim == 1 else c
    a = a[np.newaxis, :] if a.ndim == 1 else a
    b = b[:, np.newaxis] if b.ndim == 1 else b
    if b.ndim == 2 and a.ndim > 2 and a.flags.c_contiguous and c.flags.c_contiguous:  # one B: its matrices are rows of one tall A
        a, c = a.reshape(-1, a.shape[-1]), c.reshape(-1, c.shape[-1])
    stack = c.shape[:-2]
    a, b = np.broadcast_to(a, stack + a.shape[-2:]), np.broadcast_to(b, stack + b.shape[-2:])
    for index in np.ndindex(stack):
        yield a[index], b[index], c[index]
