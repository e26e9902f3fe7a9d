"""A launch made ready for one GPU: all its parameters are in place but the pointers, which each call fills in.

A call costs little more than the driver's own launch: the parameters stand in memory that the driver reads directly. Threads may
call one launch at once; each takes a block of parameters of its own.
"""

from __future__ import annotations

import array
import collections
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch, Slot
from tilewise.ptx.parameters import check_count, describe, is_pointer, pack_number, parameter_bytes, parameter_offsets

if TYPE_CHECKING:
    from tilewise.ptx.ast import Variable

WORD_BYTES = 8

Enqueue = Callable[[int, Sequence[int]], int]
_Spare = tuple["array.array[int]", int, "array.array[int]"]
"""A call's parameters: their words, the address of the table of their places, and that table."""


@dataclass(frozen=True, slots=True)
class ParameterBlock:
    """A kernel's parameters, one behind the other; where pointers belong that a call gives, zeros."""

    data: bytes
    offsets: tuple[int, ...]
    pointers: tuple[tuple[int, int, int], ...]
    """For each Slot: the 8-byte word it fills, its buffer and the offset in bytes."""


def parameter_block(launch: Launch, parameters: Sequence[Variable]) -> ParameterBlock:
    """Return the launch's arguments as its kernel's parameters.

    Raises TilewiseError for a wrong number of arguments, a host array, a Slot where a number belongs, and a number that does not
    fit.
    """
    import numpy as np

    check_count(launch.kernel, parameters, len(launch.args))
    offsets = parameter_offsets(parameters)
    end = offsets[-1] + parameter_bytes(parameters[-1]) if parameters else 0
    block = bytearray(-(-end // WORD_BYTES) * WORD_BYTES)
    pointers: list[tuple[int, int, int]] = []
    for index, (parameter, offset, argument) in enumerate(zip(parameters, offsets, launch.args, strict=True)):
        if isinstance(argument, np.ndarray):
            raise TilewiseError(
                f"argument {index} is a NumPy array, which a GPU cannot reach: give the address of device memory, or run the "
                "launch with tilewise.gpu.run, which copies arrays there and back."
            )
        if isinstance(argument, Slot):
            if not is_pointer(parameter):
                raise TilewiseError(f"argument {index} is a pointer, but parameter {index} is a {describe(parameter)}.")
            pointers.append((offset // WORD_BYTES, argument.buffer, argument.offset))
        else:
            data = pack_number(index, parameter, argument)
            block[offset : offset + len(data)] = data
    return ParameterBlock(bytes(block), offsets, tuple(pointers))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch to enqueue again and again with other pointers."""

    label: str
    call: Enqueue
    """Enqueues it on a stream, with the buffers' addresses, in the current context; returns the driver's status."""


def prepare_call(cuda: Any, function: Any, launch: Launch, block: ParameterBlock) -> Prepared:
    """Return a launch of a loaded function, ready to be enqueued."""
    label = f"{launch.kernel} of {launch.module.name} with grid {launch.grid} and block {launch.block}"
    if launch.cluster == (1, 1, 1):
        return Prepared(label, _plain_call(cuda.cuLaunchKernel, function, launch, block))
    return Prepared(label, _cluster_call(cuda, function, launch, block))


def _plain_call(launch_kernel: Any, function: Any, launch: Launch, block: ParameterBlock) -> Enqueue:
    # All that a call needs is in local variables, since it has a few microseconds.
    columns, rows, layers = launch.grid
    x, y, z = launch.block
    shared = launch.dynamic_shared_bytes
    spares: collections.deque[_Spare] = collections.deque()
    take, give_back = spares.pop, spares.append
    fill = _filler(block)

    def call(stream: int, buffers: Sequence[int]) -> int:
        try:
            spare = take()
        except IndexError:
            spare = _allocate(block)
        words, table, _ = spare
        fill(words, buffers)
        status: int = launch_kernel(function, columns, rows, layers, x, y, z, shared, stream, table, 0)[0]
        give_back(spare)
        return status

    return call


def _cluster_call(cuda: Any, function: Any, launch: Launch, block: ParameterBlock) -> Enqueue:
    spares: collections.deque[tuple[_Spare, Any]] = collections.deque()
    fill = _filler(block)

    def call(stream: int, buffers: Sequence[int]) -> int:
        try:
            spare, config = spares.pop()
        except IndexError:
            spare, config = _allocate(block), _configure(cuda, launch)
        words, table, _ = spare
        fill(words, buffers)
        config.hStream = stream
        status: int = cuda.cuLaunchKernelEx(config, function, table, 0)[0]
        spares.append((spare, config))
        return status

    return call


def _filler(block: ParameterBlock) -> Callable[[Any, Sequence[int]], None]:
    """Return what writes the pointers of a call into words."""
    pointers = block.pointers
    if pointers == ((0, 0, 0), (1, 1, 0), (2, 2, 0)):  # A, B and C come first, whole: half a microsecond less

        def fill_three(words: Any, buffers: Sequence[int]) -> None:
            words[0], words[1], words[2] = buffers[0], buffers[1], buffers[2]

        return fill_three

    def fill(words: Any, buffers: Sequence[int]) -> None:
        for word, buffer, offset in pointers:
            words[word] = buffers[buffer] + offset

    return fill


def _allocate(block: ParameterBlock) -> _Spare:
    """Return a block of parameters of its own for a call."""
    words = array.array("Q", block.data)
    start, _ = words.buffer_info()
    table = array.array("Q", [start + offset for offset in block.offsets])
    return words, table.buffer_info()[0], table


def _configure(cuda: Any, launch: Launch) -> Any:
    config = cuda.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
    config.sharedMemBytes = launch.dynamic_shared_bytes
    attribute = cuda.CUlaunchAttribute()
    attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = launch.cluster
    config.attrs, config.numAttrs = [attribute], 1
    return config
