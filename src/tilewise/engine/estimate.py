"""Arrays in float64 with the scale of their rounding errors, and the operators and functions of `--expect` on them.

A value computed in another order or precision lies within about depth * unit roundoff * scale of it, to first order: sums add
scales, products multiply them, functions pass them on by their derivative.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ELEMENTS_LIMIT = 1 << 24
"""Of any array on the way."""
WORK_LIMIT = 1 << 36
"""Multiply-adds of a product of matrices."""

Array = NDArray[np.float64]


class Unfit(Exception):
    """What keeps an expression from having a value."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, the scale of its error (not below its magnitude), and how many roundings deep it is."""

    value: Array
    scale: Array
    depth: float


@dataclass(frozen=True, slots=True)
class Function:
    """A function that expressions may call: how many arguments it takes, how many of them are arrays, and whether it has axes."""

    compute: Callable[..., Estimate]
    arguments: tuple[int, int]
    arrays: int
    reduces: bool = False

    def __call__(self, *arguments: Any, **keywords: Any) -> Estimate:
        """Compute the value; raises Unfit for shapes that do not fit."""
        return _fit(self.compute, *arguments, **keywords)


def constant(value: bool | int | float | None) -> Estimate:
    """Return a number."""
    if value is None:
        raise Unfit("None is no number")
    try:
        return exact(np.asarray(float(value)))
    except OverflowError:
        raise Unfit("a number is too large") from None


def exact(value: NDArray[Any]) -> Estimate:
    """Return an array without error."""
    value = np.asarray(value, np.float64)
    return Estimate(value, np.abs(value), 0)


def power(base: Estimate, exponent: int) -> Estimate:
    """Return base ** exponent."""
    with np.errstate(all="ignore"):
        return Estimate(base.value**exponent, base.scale**exponent, exponent * (base.depth + 1))


def compare_with(sign: str, left: Estimate, right: Estimate) -> Estimate:
    """Return 1 where the comparison holds, else 0."""

    def compare(left: Estimate, right: Estimate) -> Estimate:
        _check_broadcast(left, right)
        return exact(_COMPARE[sign](left.value, right.value))

    return _fit(compare, left, right)


_COMPARE: dict[str, Callable[[Array, Array], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _fit(compute: Callable[..., Estimate], *arguments: Any, **keywords: Any) -> Estimate:
    for result in (argument for argument in arguments if isinstance(argument, Estimate)):
        if result.value.size > ELEMENTS_LIMIT:
            raise Unfit(f"an array has {result.value.size:,} elements: at most {ELEMENTS_LIMIT:,}")
    try:
        with np.errstate(all="ignore"):
            return compute(*arguments, **keywords)
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise Unfit(str(error)) from None


# -- operators


def _add(left: Estimate, right: Estimate, sign: Callable[[Array, Array], Any] = operator.add) -> Estimate:
    _check_broadcast(left, right)
    return Estimate(sign(left.value, right.value), left.scale + right.scale, max(left.depth, right.depth) + 1)


def _multiply(left: Estimate, right: Estimate) -> Estimate:
    _check_broadcast(left, right)
    return Estimate(left.value * right.value, left.scale * right.scale, left.depth + right.depth + 1)


def _divide(left: Estimate, right: Estimate) -> Estimate:
    _check_broadcast(left, right)
    size = np.abs(right.value)
    return Estimate(left.value / right.value, left.scale / size * (right.scale / size), left.depth + right.depth + 1)


def _matrix_product(left: Estimate, right: Estimate) -> Estimate:
    if left.value.ndim not in (1, 2) or right.value.ndim not in (1, 2):
        raise ValueError(f"@ takes vectors and matrices, not shapes {left.value.shape} and {right.value.shape}")
    depth = left.value.shape[-1]
    rows, columns = (one.value.size // max(depth, 1) for one in (left, right))
    if rows * columns > ELEMENTS_LIMIT or rows * columns * depth > WORK_LIMIT:
        raise ValueError(f"a product of {left.value.shape} and {right.value.shape} is too much work")
    return Estimate(left.value @ right.value, left.scale @ right.scale, left.depth + right.depth + depth)


def _whole(compute: Callable[[Any, Any], Any]) -> Callable[[Estimate, Estimate], Estimate]:
    def apply(left: Estimate, right: Estimate) -> Estimate:
        _check_broadcast(left, right)
        return exact(compute(_as_whole(left), _as_whole(right)))

    return apply


def _shift(compute: Callable[[Any, Any], Any]) -> Callable[[Estimate, Estimate], Estimate]:
    return _whole(lambda left, right: compute(left, np.clip(right, 0, 63)))


def _as_whole(estimate: Estimate) -> NDArray[np.int64]:
    if not (np.abs(estimate.value) < 2.0**63).all() or (estimate.value % 1).any():
        raise ValueError("whole numbers of 64 bits are wanted here")
    return estimate.value.astype(np.int64)


def _rounded(compute: Callable[[Array, Array], Any]) -> Callable[[Estimate, Estimate], Estimate]:
    def apply(left: Estimate, right: Estimate) -> Estimate:
        _check_broadcast(left, right)
        return exact(compute(left.value, right.value))

    return apply


def _check_broadcast(*estimates: Estimate) -> None:
    shape = np.broadcast_shapes(*(estimate.value.shape for estimate in estimates))
    if math.prod(shape) > ELEMENTS_LIMIT:
        raise ValueError(f"an array of {shape} has more than {ELEMENTS_LIMIT:,} elements")


def _operator(compute: Callable[[Estimate, Estimate], Estimate]) -> Callable[[Estimate, Estimate], Estimate]:
    return lambda left, right: _fit(compute, left, right)


OPERATORS: dict[str, Callable[[Estimate, Estimate], Estimate]] = {
    name: _operator(compute)
    for name, compute in {
        "Add": _add,
        "Sub": lambda left, right: _add(left, right, operator.sub),
        "Mult": _multiply,
        "Div": _divide,
        "MatMult": _matrix_product,
        "FloorDiv": _rounded(operator.floordiv),
        "Mod": _rounded(operator.mod),
        "BitAnd": _whole(operator.and_),
        "BitOr": _whole(operator.or_),
        "BitXor": _whole(operator.xor),
        "LShift": _shift(operator.lshift),
        "RShift": _shift(operator.rshift),
    }.items()
}
"""By the name that Python's grammar has for each."""

# -- functions


def _smooth(compute: Callable[[Array], Any], derivative: Callable[[Array, Array], Any]) -> Function:
    """A function of each element; `derivative` of x and f(x)."""

    def apply(x: Estimate) -> Estimate:
        value = np.asarray(compute(x.value), np.float64)
        passed = np.abs(derivative(x.value, value)) * x.scale
        return Estimate(value, np.abs(value) + np.where(np.isfinite(passed), passed, 0.0), x.depth + 4)

    return Function(apply, (1, 1), 1)


def _stepped(compute: Callable[[Array], Any]) -> Function:
    return Function(lambda x: Estimate(np.asarray(compute(x.value), np.float64), x.scale, x.depth), (1, 1), 1)


def _sum(x: Estimate, axis: Any = None, keepdims: Any = False, share: bool = False) -> Estimate:
    options = {"axis": axis, "keepdims": bool(keepdims)}
    value, scale = np.sum(x.value, **options), np.sum(x.scale, **options)
    count = x.value.size // max(np.size(value), 1)
    by = count if share else 1
    return Estimate(np.asarray(value / by), np.asarray(scale / by), x.depth + count)


def _extreme(compute: Callable[..., Any]) -> Function:
    def apply(x: Estimate, axis: Any = None, keepdims: Any = False) -> Estimate:
        options = {"axis": axis, "keepdims": bool(keepdims)}
        return Estimate(np.asarray(compute(x.value, **options)), np.asarray(np.max(x.scale, **options)), x.depth)

    return Function(apply, (1, 2), 1, reduces=True)


def _either(compute: Callable[[Array, Array], Any]) -> Function:
    def apply(left: Estimate, right: Estimate) -> Estimate:
        _check_broadcast(left, right)
        return Estimate(compute(left.value, right.value), np.maximum(left.scale, right.scale), max(left.depth, right.depth))

    return Function(apply, (2, 2), 2)


def _where(condition: Estimate, left: Estimate, right: Estimate) -> Estimate:
    chosen = condition.value != 0
    _check_broadcast(condition, left, right)
    depth = max(left.depth, right.depth)
    return Estimate(np.where(chosen, left.value, right.value), np.where(chosen, left.scale, right.scale), depth)


def _cumsum(x: Estimate, axis: Any = None) -> Estimate:
    length = x.value.size if axis is None else x.value.shape[axis]
    return Estimate(np.cumsum(x.value, axis), np.cumsum(x.scale, axis), x.depth + length)


def _sort(x: Estimate, axis: Any = -1) -> Estimate:
    order = np.argsort(x.value, axis=axis, kind="stable")
    return Estimate(np.take_along_axis(x.value, order, axis), np.take_along_axis(x.scale, order, axis), x.depth)


def _filled(value: float) -> Callable[[Any], Estimate]:
    def fill(shape: Any) -> Estimate:
        if min(np.atleast_1d(shape), default=0) < 0 or math.prod(map(int, np.atleast_1d(shape))) > ELEMENTS_LIMIT:
            raise ValueError(f"{shape} is no shape of up to {ELEMENTS_LIMIT:,} elements")
        return exact(np.full(shape, value))

    return fill


def _arange(*bounds: Any) -> Estimate:
    if len(range(*bounds)) > ELEMENTS_LIMIT:
        raise ValueError(f"arange of more than {ELEMENTS_LIMIT:,} elements")
    return exact(np.arange(*bounds))


def _shaped(compute: Callable[..., Any]) -> Callable[..., Estimate]:
    def apply(x: Estimate, *rest: Any, **axes: Any) -> Estimate:
        return Estimate(compute(x.value, *rest, **axes), compute(x.scale, *rest, **axes), x.depth)

    return apply


def _bincount(x: Estimate, length: int) -> Estimate:
    whole = _as_whole(x).ravel()
    if not 0 <= length <= ELEMENTS_LIMIT or (whole.size and not (whole.min() >= 0 and whole.max() < length)):
        raise ValueError(f"bincount takes whole numbers from 0 to {length - 1}")
    return exact(np.bincount(whole, minlength=length))


FUNCTIONS: dict[str, Function] = {
    "abs": _stepped(np.abs),
    "arange": Function(_arange, (1, 3), 0),
    "bincount": Function(_bincount, (2, 2), 1),
    "ceil": _stepped(np.ceil),
    "cos": _smooth(np.cos, lambda x, _: np.sin(x)),
    "cumsum": Function(_cumsum, (1, 2), 1, reduces=True),
    "erf": _smooth(np.vectorize(math.erf, otypes=[np.float64]), lambda x, _: np.exp(-x * x) * (2 / math.sqrt(math.pi))),
    "exp": _smooth(np.exp, lambda _, value: value),
    "flip": Function(_shaped(np.flip), (1, 2), 1, reduces=True),
    "floor": _stepped(np.floor),
    "log": _smooth(np.log, lambda x, _: 1 / x),
    "max": _extreme(np.max),
    "maximum": _either(np.maximum),
    "mean": Function(lambda x, axis=None, keepdims=False: _sum(x, axis, keepdims, share=True), (1, 2), 1, reduces=True),
    "min": _extreme(np.min),
    "minimum": _either(np.minimum),
    "ones": Function(_filled(1.0), (1, 1), 0),
    "relu": _stepped(lambda x: np.maximum(x, 0.0)),
    "reshape": Function(_shaped(np.reshape), (2, 2), 1),
    "roll": Function(_shaped(np.roll), (2, 3), 1, reduces=True),
    "round": _stepped(np.rint),
    "sin": _smooth(np.sin, lambda x, _: np.cos(x)),
    "sort": Function(_sort, (1, 2), 1, reduces=True),
    "sqrt": _smooth(np.sqrt, lambda _, value: 0.5 / value),
    "sum": Function(_sum, (1, 2), 1, reduces=True),
    "tanh": _smooth(np.tanh, lambda _, value: 1 - value * value),
    "transpose": Function(_shaped(np.transpose), (1, 2), 1),
    "where": Function(_where, (3, 3), 3),
    "zeros": Function(_filled(0.0), (1, 1), 0),
}
"""What expressions may call; each as NumPy's function of that name."""
