"""Launch facts and a kernel's parameters become the arguments of a launch: sizes evaluated, arrays filled, numbers fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.argument import Argument, ArrayValue, Fill, NumberValue
from tilewise.core.dtypes import DTYPES, Dtype
from tilewise.core.encoding import encode
from tilewise.core.errors import TilewiseError
from tilewise.core.expression import Expression
from tilewise.core.launch import Dim3
from tilewise.core.launch_facts import LaunchFacts
from tilewise.engine.filling import Shape, as_float, make_array, plan_shape, whole_number
from tilewise.engine.memory import require_memory
from tilewise.hw.catalog import DEVICES
from tilewise.ptx.declarations import TYPE_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tilewise.core.launch import Argument as Passed
    from tilewise.ptx.ast import Variable

POINTER_BYTES = 8
SIZE_LIMIT = (1 << 31) - 1
"""Blocks along x, at most [CUDA Programming Guide, Compute Capabilities, table 30]; no other size of a launch is larger."""
NUMBERS = ("f32", "f64")
"""Parameter types that a float is passed to as a number, to all others as its bits."""


@dataclass(frozen=True, slots=True)
class BoundArgument:
    """One argument of a launch. `array` is None for a number; `passed` is what the launch gets."""

    name: str
    dtype: Dtype | None
    array: NDArray[Any] | None
    passed: Passed
    is_poison: bool = False
    """Whether nobody has written it."""

    @property
    def is_buffer(self) -> bool:
        """Whether the kernel gets a pointer to the array (and not the array itself, by value)."""
        return self.array is not None and self.passed is self.array


@dataclass(frozen=True, slots=True)
class Configuration:
    """The evaluated sizes of a launch."""

    grid: Dim3
    block: Dim3
    cluster: Dim3
    dynamic_shared_bytes: int


def whole_numbers(facts: LaunchFacts) -> dict[str, int]:
    """Return the whole-number arguments by name, each evaluated with those before it.

    Raises TilewiseError that points at what has no value.
    """
    names: dict[str, int] = {}
    for argument in facts.args:
        value = argument.value
        is_float = isinstance(value, NumberValue) and value.dtype is not None and value.dtype.is_float
        if isinstance(value, NumberValue) and isinstance(value.number, Expression) and not is_float:
            names[argument.name] = value.number.evaluate(names)
    return names


def configure(facts: LaunchFacts, names: Mapping[str, int], *, is_judged: bool = False) -> Configuration:
    """Return the grid, block, cluster and shared bytes of a launch; clusters of one block and no bytes where nothing is stated.

    Raises TilewiseError for a missing grid or block, and for sizes that no device takes; with `is_judged` only for negative ones
    and those beyond 32 bits: somebody else judges the rest.
    """
    missing = " and ".join(f"--{name}" for name in ("grid", "block") if not facts.stated(name))
    if missing:
        raise TilewiseError(f"the launch has no {missing}: give such as --grid 4,4 --block 16,16.")
    assert facts.grid is not None and facts.block is not None
    shared = 0
    if facts.smem is not None:
        shared = facts.smem.evaluate(names)
        most = SIZE_LIMIT if is_judged else max(device.shared_bytes_per_block_optin for device in DEVICES.values())
        if not 0 <= shared <= most:
            raise facts.smem.error(f"{shared} bytes of shared memory: a block has 0 to {most} on any device")
    cluster = (1, 1, 1) if facts.cluster is None else _dimensions(facts.cluster, names)
    least = 0 if is_judged else 1
    return Configuration(_dimensions(facts.grid, names, least), _dimensions(facts.block, names, least), cluster, shared)


def bind_arguments(facts: LaunchFacts, parameters: Sequence[Variable], names: Mapping[str, int]) -> tuple[BoundArgument, ...]:
    """Return the launch's arguments, made and filled, one each parameter.

    Raises TilewiseError for a wrong number of arguments, for one that its parameter cannot take, and for arrays beyond memory
    before any is made.
    """
    if len(facts.args) != len(parameters):
        given = ", ".join(argument.name for argument in facts.args) or "none"
        takes = ", ".join(map(describe_parameter, parameters)) or "none"
        many = "s" * (len(parameters) != 1)
        raise TilewiseError(
            f"the kernel takes {len(parameters)} argument{many} ({takes}), not {len(facts.args)} ({given}): "
            "give one --arg each, in order."
        )
    shapes = [plan_argument(argument, names) for argument in facts.args]
    arrays = [(value.dtype, shape) for value, shape in shapes if shape is not None and value.dtype is not None]
    require_memory(sum(dtype.bytes * shape.extent for dtype, shape in arrays), "the arguments")
    return tuple(
        bind_argument(argument, parameter, shape, names, (facts.seed or 0, index))
        for index, (argument, parameter, (_, shape)) in enumerate(zip(facts.args, parameters, shapes, strict=True))
    )


def describe_parameter(parameter: Variable) -> str:
    """Return a parameter's type as PTX has it: "u64 pointer", "f32", "b8[16]"."""
    if parameter.count is not None:
        return f"{parameter.type}[{parameter.count}]"
    return f"{parameter.type} pointer" if parameter.is_pointer else parameter.type


# -- sizes


def _dimensions(sizes: tuple[Expression, ...], names: Mapping[str, int], least: int = 1) -> Dim3:
    values = [size.evaluate(names) for size in sizes]
    for size, value in zip(sizes, values, strict=True):
        if not least <= value <= SIZE_LIMIT:
            wanted = f"give 1 to {SIZE_LIMIT}"
            raise size.error(f"{size.text} is {value}: {wanted}" if size.text != str(value) else wanted)
    x, y, z = (*values, 1, 1)[:3]
    return x, y, z


def plan_argument(argument: Argument, names: Mapping[str, int]) -> tuple[Any, Shape | None]:
    """Return an argument's value, and its layout if it is an array whose sizes are given."""
    value = argument.value
    if isinstance(value, ArrayValue) and value.shape is not None:
        return value, plan_shape(value, names)
    return value, None


# -- one argument


def bind_argument(
    argument: Argument, parameter: Variable, shape: Shape | None, names: Mapping[str, int], seed: tuple[int, int]
) -> BoundArgument:
    """Return one argument, made and filled; `seed` is the launch's and the argument's place.

    Raises TilewiseError for one that its parameter cannot take.
    """
    value = argument.value
    if isinstance(value, NumberValue):
        return _bind_number(argument, value, parameter, names)
    if not _takes_array(parameter):
        raise argument.source.error(
            f"{argument.name} is an array, and the parameter is a number ({describe_parameter(parameter)}): "
            f"give such as {argument.name}=64",
            0,
        )
    dtype, array = make_array(argument, value, shape, names, seed)
    is_poison = isinstance(value.fill, Fill) and value.fill.name == "poison"
    if parameter.count is None:
        return BoundArgument(argument.name, dtype, array, array, is_poison)
    return BoundArgument(argument.name, dtype, array, _by_value(argument, array.tobytes(), parameter), is_poison)


def _takes_array(parameter: Variable) -> bool:
    """Whether a parameter is a pointer (or may be: not all PTX says so) or memory passed by value."""
    return parameter.count is not None or (parameter.type[0] in "bus" and TYPE_BYTES[parameter.type] == POINTER_BYTES)


def _by_value(argument: Argument, data: bytes, parameter: Variable) -> np.void:
    import numpy as np

    assert parameter.count is not None
    wanted = TYPE_BYTES[parameter.type] * parameter.count
    if len(data) != wanted:
        raise argument.source.error(
            f"{argument.name} has {len(data)} bytes, and the parameter is a structure of {wanted}, passed by value", 0
        )
    return np.void(data)


def _bind_number(argument: Argument, value: NumberValue, parameter: Variable, names: Mapping[str, int]) -> BoundArgument:
    if parameter.is_pointer and not _is_null(value, names):
        raise argument.source.error(
            f"{argument.name} is a number, and the parameter is a pointer: "
            f"give an array, such as {argument.name}=f32[64]:zeros, or 0 for none",
            0,
        )
    if parameter.count is not None:
        return BoundArgument(argument.name, value.dtype, None, _structure(argument, value, parameter, names))
    if value.dtype is not None:
        _check_type(argument, value.dtype, parameter)
    if parameter.type in NUMBERS:
        return BoundArgument(argument.name, value.dtype, None, as_float(value.number, names))
    if value.dtype is not None and value.dtype.is_float:  # bits, in a parameter of bits
        (bits,) = _encode_one(argument, value, value.dtype, names).view(f"u{value.dtype.bytes}")
        return BoundArgument(argument.name, value.dtype, None, int(bits))
    return BoundArgument(argument.name, value.dtype, None, _fit_whole(argument, value, parameter, names))


def _is_null(value: NumberValue, names: Mapping[str, int]) -> bool:
    return isinstance(value.number, Expression) and value.number.evaluate(names) == 0


def _structure(argument: Argument, value: NumberValue, parameter: Variable, names: Mapping[str, int]) -> np.void:
    """A number as the bytes of a parameter such as a __half, which PTX has as a structure."""
    if value.dtype is None:
        raise argument.source.error(
            f"the parameter is a structure ({describe_parameter(parameter)}): give a type too, such as "
            f"{argument.name}=f16:1.5 or {argument.name}=f32[4]:zeros",
            0,
        )
    return _by_value(argument, _encode_one(argument, value, value.dtype, names).tobytes(), parameter)


def _check_type(argument: Argument, dtype: Dtype, parameter: Variable) -> None:
    fits = dtype.bytes == TYPE_BYTES[parameter.type]
    if parameter.type[0] in "us":
        fits = fits and not dtype.is_float
    elif parameter.type[0] != "b":
        fits = fits and dtype.is_float
    if not fits:
        raise argument.source.error(f"{argument.name} is {dtype.name}, and the parameter is {describe_parameter(parameter)}", 0)


def _encode_one(argument: Argument, value: NumberValue, dtype: Dtype, names: Mapping[str, int]) -> NDArray[Any]:
    import numpy as np

    if dtype.is_float:
        return encode(np.array([as_float(value.number, names)]), dtype)
    whole = whole_number(value.number, names, dtype)
    if whole is None:
        raise argument.source.error(f"{argument.name} is no whole number that {dtype.name} holds", 0)
    return np.array([whole], dtype.storage)


def _fit_whole(argument: Argument, value: NumberValue, parameter: Variable, names: Mapping[str, int]) -> int:
    """A whole number of the parameter's width, of either sign where nobody says which."""
    bits = 8 * TYPE_BYTES[parameter.type]
    either = [DTYPES[name] for name in (f"s{bits}", f"u{bits}") if name in DTYPES] if value.dtype is None else [value.dtype]
    fitting = [whole for dtype in either if (whole := whole_number(value.number, names, dtype)) is not None]
    if not fitting:
        raise argument.source.error(
            f"{argument.name} is no whole number of {bits} bits, as the parameter ({describe_parameter(parameter)}) wants", 0
        )
    return fitting[0]
