"""Makes the arrays that arguments describe: refuses what memory does not hold, lays them out, fills them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.argument import Argument, ArrayValue, FileFill, Fill, Number
from tilewise.core.dtypes import DTYPES, Dtype
from tilewise.core.encoding import encode
from tilewise.core.expression import Expression
from tilewise.engine.numpy_file import load_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Draw = Callable[[int], Array]

DRAWN_AT_ONCE = 2**20
"""Elements drawn between two chances for Ctrl-C."""
POISON_BYTE = 0xFF
"""What unwritten memory holds: NaN in every floating-point type, -1 or the largest number in integers."""
ELEMENTS_LIMIT = 1 << 48
"""Of one array with its gaps: no memory is larger, and products of sizes stay small."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An array's layout. Sizes and strides in elements."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def extent(self) -> int:
        """Elements from the first to the last, gaps included; 0 for an array without any."""
        if 0 in self.sizes:
            return 0
        return 1 + sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True))

    @property
    def is_dense(self) -> bool:
        """Whether there are no gaps."""
        return self.extent == math.prod(self.sizes)


def plan_shape(value: ArrayValue, names: Mapping[str, int]) -> Shape:
    """Return the layout of an array whose sizes are given.

    Raises TilewiseError that points at a size or stride that cannot be.
    """
    assert value.shape is not None
    sizes = tuple(_evaluate(size, names, 0, "a size") for size in value.shape)
    if value.strides is None:
        strides = tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))
        shape = Shape(sizes, strides)
    else:
        shape = Shape(sizes, tuple(_evaluate(stride, names, 1, "a stride") for stride in value.strides))
        _refuse_overlap(shape, value.strides[0])
    whole = Shape(tuple(max(size, 1) for size in sizes), shape.strides)  # NumPy multiplies the sizes of empty arrays too
    if max(whole.extent, math.prod(whole.sizes)) > ELEMENTS_LIMIT:
        raise value.shape[0].error(f"an array of {' x '.join(map(str, sizes))} elements is more than any memory holds")
    return shape


def make_array(
    argument: Argument, value: ArrayValue, shape: Shape | None, names: Mapping[str, int], seed: tuple[int, int]
) -> tuple[Dtype, Array]:
    """Return an array's type and the array, in its type's storage; `shape` is None where its file says it.

    `seed` is that of the launch and the argument's number: an array's values hang on nothing else. Raises TilewiseError for
    fills that the type cannot have, and files that do not fit.
    """
    if isinstance(value.fill, FileFill):
        loaded = load_array(value.fill, argument.source)
        if shape is None:
            return _as_stored(argument, loaded)
        _check_loaded(argument, value.fill, loaded, value, shape)
    assert value.dtype is not None and shape is not None
    array = _allocate(value, shape)
    if isinstance(value.fill, FileFill):
        array[...] = encode(loaded, value.dtype) if value.dtype.format else loaded
    elif value.fill.name not in ("poison", "zeros"):
        _fill(array, _drawing(argument, value.fill, value.dtype, names, seed))
    return value.dtype, array


def whole_number(number: Number, names: Mapping[str, int], dtype: Dtype) -> int | None:
    """Return a number's value where it is whole and fits an integer type, else None."""
    if isinstance(number, float):
        return None
    low, high = integer_range(dtype)
    value = number.evaluate(names)
    return value if low <= value <= high else None


def integer_range(dtype: Dtype) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    bits = 8 * dtype.bytes
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.kind == "signed" else (0, (1 << bits) - 1)


def as_float(number: Number, names: Mapping[str, int]) -> float:
    """Return a number's value as a float."""
    return number if isinstance(number, float) else float(number.evaluate(names))


# -- layout


def _evaluate(expression: Expression, names: Mapping[str, int], least: int, what: str) -> int:
    value = expression.evaluate(names)
    if not least <= value <= ELEMENTS_LIMIT:
        raise expression.error(f"{what} is {value}: give {least} or more" if value < least else f"{what} of {value} is too large")
    return value


def _refuse_overlap(shape: Shape, first: Expression) -> None:
    """Raise TilewiseError unless each stride steps over all that shorter strides reach: then no two elements share memory."""
    reach = 1
    for stride, size in sorted(zip(shape.strides, shape.sizes, strict=True)):
        if size <= 1:
            continue
        if stride < reach:
            raise first.error(f"elements {stride} apart overlap, since shorter strides reach {reach} far: give {reach} or more")
        reach += (size - 1) * stride


def _allocate(value: ArrayValue, shape: Shape) -> Array:
    """An array without values: zeros where it will be all zeros, poison else."""
    import numpy as np

    assert value.dtype is not None
    is_zero = isinstance(value.fill, Fill) and value.fill.name == "zeros"
    memory = np.zeros(shape.extent, value.dtype.storage) if is_zero and shape.is_dense else _poisoned(shape.extent, value.dtype)
    strides = [stride * value.dtype.bytes for stride in shape.strides]
    array = np.lib.stride_tricks.as_strided(memory, shape.sizes, strides)
    if is_zero and not shape.is_dense:
        array[...] = 0
    return array


def _poisoned(extent: int, dtype: Dtype) -> Array:
    import numpy as np

    memory = np.empty(extent, dtype.storage)
    memory.view(np.uint8)[...] = POISON_BYTE
    return memory


# -- values


def _fill(array: Array, draw: Draw) -> None:
    """Fill an array in row-major order of its indices, whatever its strides."""
    import numpy as np

    flags = ["external_loop", "buffered", "zerosize_ok"]
    with np.nditer(array, flags, [["writeonly"]], order="C", buffersize=DRAWN_AT_ONCE) as parts:  # type: ignore[call-overload]
        for part in parts:
            part[...] = draw(part.size)


def _drawing(argument: Argument, fill: Fill, dtype: Dtype, names: Mapping[str, int], seed: tuple[int, int]) -> Draw:
    """Return what gives the next elements of an array."""
    import numpy as np

    random = np.random.default_rng(seed)
    match fill.name:
        case "normal":
            if not dtype.is_float:
                raise argument.source.error(f"normal numbers are not whole, as {dtype.name} is: give uniform(low,high)", 0)
            return lambda count: encode(random.standard_normal(count), dtype)
        case "uniform":
            return _drawing_uniform(argument, fill, dtype, names, random)
        case "arange":
            return _counting(dtype)
        case _:
            return lambda count: np.broadcast_to(_constant(argument, fill, dtype, names), (count,))


def _drawing_uniform(argument: Argument, fill: Fill, dtype: Dtype, names: Mapping[str, int], random: np.random.Generator) -> Draw:
    """Numbers of low up to, but not including, high; as integers every one equally often."""
    if dtype.is_float:
        low, high = (as_float(number, names) for number in fill.numbers)
        if not (math.isfinite(high - low) and low <= high):
            raise argument.source.error(f"uniform({low},{high}): give two finite numbers, the lower first", 0)
        return lambda count: encode(random.uniform(low, high, count), dtype)
    least, greatest = integer_range(dtype)
    bounds = [None if isinstance(number, float) else number.evaluate(names) for number in fill.numbers]
    first, end = bounds
    if first is None or end is None or not least <= first < end <= greatest + 1:
        raise argument.source.error(
            f"uniform(low,high) of {dtype.name}: give whole numbers with {least} <= low < high <= {greatest + 1}", 0
        )
    return lambda count: random.integers(first, end, count, dtype=dtype.storage)


def _counting(dtype: Dtype) -> Draw:
    import numpy as np

    position = 0

    def draw(count: int) -> Array:
        nonlocal position
        numbers = np.arange(position, position + count)
        position += count
        return encode(numbers, dtype)

    return draw


def _constant(argument: Argument, fill: Fill, dtype: Dtype, names: Mapping[str, int]) -> Array:
    import numpy as np

    (number,) = fill.numbers
    if dtype.is_float:
        return encode(np.array([as_float(number, names)]), dtype)
    value = whole_number(number, names, dtype)
    if value is None:
        least, greatest = integer_range(dtype)
        raise argument.source.error(f"full(x) of {dtype.name}: give a whole number from {least} to {greatest}", 0)
    return np.array([value], dtype.storage)


# -- files


def _as_stored(argument: Argument, loaded: Array) -> tuple[Dtype, Array]:
    """The type and values of an array whose file alone describes it; booleans are bytes."""
    import numpy as np

    if loaded.ndim == 0:
        raise argument.source.error("the file holds a single number: give it as a number", 0)
    array = loaded.view(np.uint8) if loaded.dtype == bool else loaded
    known = {dtype.storage: dtype for dtype in DTYPES.values() if dtype.format is None}
    return known[array.dtype.name], array


def _check_loaded(argument: Argument, fill: FileFill, loaded: Array, value: ArrayValue, shape: Shape) -> None:
    assert value.dtype is not None
    wanted = "float32" if value.dtype.format else value.dtype.storage
    if loaded.dtype != wanted:
        rounded = f", rounded to {value.dtype.name}" if value.dtype.format else ""
        raise argument.source.error(
            f"the file holds {loaded.dtype}: {value.dtype.name} is read from {wanted}{rounded}; save it with astype('{wanted}')",
            fill.at,
        )
    if loaded.shape != shape.sizes:
        raise argument.source.error(f"the file has the shape {loaded.shape}, the argument {shape.sizes}", fill.at)
