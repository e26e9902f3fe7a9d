"""What a run left in its arrays: held against what they held before, what they should hold, and what another run left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewise.checkers.base import ArrayState, Difference
from tilewise.core.compare import RESULT_TOLERANCES, compare_values
from tilewise.core.dtypes import Dtype
from tilewise.core.encoding import decode
from tilewise.core.errors import TilewiseError
from tilewise.engine.arguments import BoundArgument
from tilewise.engine.filling import POISON_BYTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tilewise.engine.estimate import Estimate
    from tilewise.engine.expect import Expectation

    Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Tolerances:
    """What the user states in place of a type's own; None leaves it."""

    atol: float | None = None
    rtol: float | None = None


def are_finite(arguments: Sequence[BoundArgument]) -> bool:
    """Return whether all numbers that a kernel is given are finite; what nobody wrote is not given."""
    return all(map(_is_finite, arguments))


def look_after(arguments: Sequence[BoundArgument]) -> tuple[ArrayState, ...]:
    """Return what a run left in each argument."""
    return tuple(map(_state, arguments))


def _is_finite(argument: BoundArgument) -> bool:
    import numpy as np

    if argument.is_poison:
        return True
    if argument.array is not None:
        assert argument.dtype is not None
        return not argument.dtype.is_float or bool(np.isfinite(decode(argument.array, argument.dtype)).all())
    return not isinstance(argument.passed, float) or math.isfinite(argument.passed)


def _state(argument: BoundArgument) -> ArrayState:
    array, dtype = argument.array, argument.dtype
    if array is None or dtype is None or not argument.is_buffer:
        return ArrayState(argument.name, dtype)
    nonfinite = _nonfinite(argument) if dtype.is_float else (0, None, None)
    return ArrayState(argument.name, dtype, array.shape, array.size * dtype.bytes, *nonfinite)


def _nonfinite(argument: BoundArgument) -> tuple[int, tuple[int, ...] | None, float | None]:
    """How many elements are NaN or infinite, poison left out, the index of the first, and the one infinity that they all are."""
    import numpy as np

    array, dtype = argument.array, argument.dtype
    assert array is not None and dtype is not None
    values = decode(array, dtype)
    found = ~np.isfinite(values)
    if argument.is_poison:
        found &= array.view(f"u{dtype.bytes}") != int.from_bytes(bytes([POISON_BYTE]) * dtype.bytes)
    if not found.any():
        return 0, None, None
    first = tuple(int(part) for part in np.unravel_index(int(found.argmax()), array.shape))
    alike = bool((values[found] == values[first]).all())  # which no NaN is
    return int(found.sum()), first, float(values[first]) if alike else None


# -- what is expected


def input_values(arguments: Sequence[BoundArgument], names: frozenset[str]) -> dict[str, Estimate]:
    """Return the arguments of those names, as an expectation takes them; to be called before a run changes them.

    Raises TilewiseError for arrays that are too large for it.
    """
    import numpy as np

    from tilewise.engine.estimate import ELEMENTS_LIMIT, exact

    found = {}
    for argument in arguments:
        if argument.name not in names:
            continue
        if argument.array is not None and argument.dtype is not None:
            if argument.array.size > ELEMENTS_LIMIT:
                raise TilewiseError(
                    f"--expect: {argument.name} has {argument.array.size:,} elements, at most {ELEMENTS_LIMIT:,}."
                )
            found[argument.name] = exact(np.array(decode(argument.array, argument.dtype), np.float64))
        else:
            found[argument.name] = exact(np.asarray(_number(argument)))
    return found


def _number(argument: BoundArgument) -> float:
    """The value of a number, which may be passed as the bits of its type, or as a structure of them."""
    import numpy as np

    passed, dtype = argument.passed, argument.dtype
    if isinstance(passed, int) and (dtype is None or not dtype.is_float):
        return float(passed)
    if isinstance(passed, float):
        return passed
    assert dtype is not None and isinstance(passed, (int, np.void))
    data = passed.to_bytes(dtype.bytes, "little") if isinstance(passed, int) else passed.tobytes()
    return float(decode(np.frombuffer(data, dtype.storage), dtype)[0])


def compare_expected(
    expectation: Expectation, out: str, values: Mapping[str, Estimate], arguments: Sequence[BoundArgument], tolerances: Tolerances
) -> Iterator[Difference]:
    """Yield the difference of the output called `out` from what is expected of it, if there is one.

    Raises TilewiseError for an expectation of another shape than the output's.
    """
    import numpy as np

    (argument,) = (argument for argument in arguments if argument.name == out)
    assert argument.array is not None and argument.dtype is not None
    wanted = expectation.evaluate(values)
    shape = argument.array.shape
    if not _is_same_shape(wanted.value.shape, shape):
        raise TilewiseError(
            f"--expect {expectation.text!r} has shape {wanted.value.shape}, and {out} has {shape}: use reshape, or other sizes."
        )
    known = RESULT_TOLERANCES.get(argument.dtype.name)
    atol = known.atol if known else 0.0
    rtol = known.least_rtol + wanted.depth * known.unit_roundoff if known else 0.0
    computed = decode(argument.array, argument.dtype)
    deviation = compare_values(
        computed,
        wanted.value.reshape(shape),
        wanted.scale.reshape(shape),
        atol=atol if tolerances.atol is None else tolerances.atol,
        rtol=rtol if tolerances.rtol is None else tolerances.rtol,
    )
    if deviation.first is not None:
        expected = float(np.asarray(wanted.value.reshape(shape)[deviation.first]))
        yield Difference(
            out,
            expectation.text,
            deviation.wrong,
            computed.size,
            deviation.first,
            float(computed[deviation.first]),
            expected,
            deviation.max_relative_error,
        )


def _is_same_shape(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two shapes mean the same elements: axes of 1 play no part, and a flat array is of any shape."""
    left, right = (tuple(size for size in shape if size != 1) for shape in (one, other))
    return left == right or (math.prod(one) == math.prod(other) and min(len(left), len(right)) <= 1)


# -- another run


def compare_runs(first: Sequence[BoundArgument], second: Sequence[BoundArgument], against: str) -> Iterator[Difference]:
    """Yield the difference of each array from what another run left in it, bit by bit."""
    import numpy as np

    for one, other in zip(first, second, strict=True):
        if not one.is_buffer or one.array is None or other.array is None or one.dtype is None:
            continue
        different = one.array.view(f"u{one.dtype.bytes}") != other.array.view(f"u{one.dtype.bytes}")
        if not different.any():
            continue
        index = tuple(int(part) for part in np.unravel_index(int(different.argmax()), different.shape))
        computed, expected = (float(decode(each, one.dtype)[index]) for each in (one.array, other.array))
        wrong = int(different.sum())
        yield Difference(
            one.name,
            against,
            wrong,
            different.size,
            index,
            computed,
            expected,
            0.0,
            is_between_schedules=True,
            is_rounding=_is_rounding(one.dtype, *(decode(each, one.dtype)[different] for each in (one.array, other.array))),
        )


def _is_rounding(dtype: Dtype, computed: Array, expected: Array) -> bool:
    """Whether numbers differ by no more than sums of the same terms in another order do."""
    import numpy as np

    known = RESULT_TOLERANCES.get(dtype.name)
    if known is None or not dtype.is_float:
        return False
    one, other = (np.asarray(each, np.float64) for each in (computed, expected))
    return bool((np.abs(one - other) <= known.least_rtol * np.abs(other).max()).all())
