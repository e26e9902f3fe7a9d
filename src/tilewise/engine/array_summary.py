"""What an array holds, in a few figures: taken in parts, so that no copy of it is made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.dtypes import Dtype
from tilewise.core.encoding import decode
from tilewise.engine.filling import POISON_BYTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

PART = 2**18
"""Elements looked at together."""
FIRST = 8
"""Values that a summary quotes."""


@dataclass(frozen=True, slots=True)
class ArraySummary:
    """An array argument after a launch. Figures are over its finite elements; None where there is none."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    written: bool
    """Whether the launch changed it."""
    least: float | None
    greatest: float | None
    mean: float | None
    nans: int
    infinities: int
    still_poison: int
    """Elements that hold what unwritten memory holds; 0 where the type has no such value, or it was given values."""
    first: tuple[float, ...]

    def to_json(self) -> dict[str, object]:
        """Return the figures by name."""
        return asdict(self)


def summarise(name: str, dtype: Dtype, array: Array, *, written: bool, is_poison: bool) -> ArraySummary:
    """Return an array's figures."""
    import numpy as np

    least, greatest, total, finite, nans, infinities, poison = np.inf, -np.inf, 0.0, 0, 0, 0, 0
    first: list[float] = []
    for part in _parts(array):
        values = decode(part, dtype)
        if len(first) < FIRST:
            first += values[: FIRST - len(first)].tolist()
        if is_poison and dtype.is_float:
            poison += int((part.view(f"u{dtype.bytes}") == int.from_bytes(bytes([POISON_BYTE]) * dtype.bytes)).sum())
        if dtype.is_float:
            nans += int(np.isnan(values).sum())
            infinities += int(np.isinf(values).sum())
            values = values[np.isfinite(values)]
        if values.size:
            least, greatest = min(least, values.min()), max(greatest, values.max())
            total += float(values.sum(dtype=np.float64))
            finite += values.size
    return ArraySummary(
        name,
        dtype.name,
        array.shape,
        written,
        least=_number(least) if finite else None,
        greatest=_number(greatest) if finite else None,
        mean=total / finite if finite else None,
        nans=nans,
        infinities=infinities,
        still_poison=poison,
        first=tuple(first),
    )


def digest(array: Array) -> bytes:
    """Return what tells an array's contents from others."""
    found = hashlib.blake2b(digest_size=16)
    for part in _parts(array):
        found.update(part.tobytes())
    return found.digest()


def _parts(array: Array) -> Iterator[Array]:
    """Yield the elements in row-major order of their indices, in runs."""
    import numpy as np

    flags = ["external_loop", "buffered", "zerosize_ok"]
    with np.nditer(array, flags, [["readonly"]], order="C", buffersize=PART) as parts:  # type: ignore[call-overload]
        for part in parts:
            for start in range(0, part.size, PART):
                yield part[start : start + PART]


def _number(value: Any) -> float:
    """A NumPy number as Python's, whole ones exactly."""
    return value.item() if hasattr(value, "item") else value  # type: ignore[no-any-return]
