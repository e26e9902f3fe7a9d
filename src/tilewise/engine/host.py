"""NumPy arrays as matmul takes them: what they must be, and what an `out` must not be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewise.core.errors import TilewiseError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def as_operand(name: str, value: object) -> NDArray[np.float32]:
    """Return `value` as an array.

    Raises TilewiseError for any other type than float32.
    """
    import numpy as np

    array = np.asarray(value)
    if array.dtype != np.float32:
        raise TilewiseError(
            f"{name} is of type {array.dtype}, and matmul takes float32 only for now: give {name}.astype(np.float32)."
        )
    return array


def check_out(out: object, shape: tuple[int, ...], a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return `out`, a place for the product of `a` and `b`.

    Raises TilewiseError for another type or shape, a read-only array and one that overlaps an operand.
    """
    import numpy as np

    if not isinstance(out, np.ndarray):
        raise TilewiseError(f"out is {type(out).__name__}, not an array: give a float32 array of shape {shape}.")
    if out.dtype != np.float32:
        raise TilewiseError(f"out is of type {out.dtype}, and the product is float32: give np.empty({shape}, np.float32).")
    if out.shape != shape:
        raise TilewiseError(f"out has shape {out.shape}, and the product has shape {shape}: give np.empty({shape}, np.float32).")
    if not out.flags.writeable:
        raise TilewiseError("out is read-only: give an array that can be written, such as out.copy().")
    for name, operand in (("a", a), ("b", b)):
        if np.shares_memory(out, operand):
            raise TilewiseError(f"out overlaps {name} in memory, which the product still reads: give an array of its own.")
    return out
