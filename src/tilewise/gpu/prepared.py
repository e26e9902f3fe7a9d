"""A launch made ready for one GPU: all its parameters are in place but the pointers, which each call fills in.

A call costs little more than the driver's own launch: the parameters stand in memory that the driver reads directly. Threads may
call one launch at once; each takes a block of parameters of its own.
"""

from __future__ import annotations

import collections
import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch, Slot
from tilewise.ptx.parameters import check_count, describe, is_pointer, pack_number, parameter_bytes, parameter_offsets

if TYPE_CHECKING:
    from tilewise.ptx.ast import Variable

WORD_BYTES = 8


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


class Prepared:
    """A launch to enqueue again and again with other pointers."""

    __slots__ = ("_block", "_config", "_function", "_launch_kernel", "_launch_wide", "_pointers", "_spare", "_threads", "label")

    def __init__(self, cuda: Any, function: Any, launch: Launch, block: ParameterBlock) -> None:
        self.label = f"{launch.kernel} of {launch.module.name} with grid {launch.grid} and block {launch.block}"
        self._launch_kernel = cuda.cuLaunchKernel
        self._function = function
        self._threads = (*launch.grid, *launch.block, launch.dynamic_shared_bytes)
        self._block = block
        self._pointers = block.pointers
        self._spare: collections.deque[tuple[Any, int, Any, Any]] = collections.deque()
        self._launch_wide = None if launch.cluster == (1, 1, 1) else cuda.cuLaunchKernelEx
        self._config = (cuda, launch)

    def __call__(self, stream: int, buffers: Sequence[int]) -> int:
        """Enqueue the launch in the current context; return the driver's status, 0 for success."""
        try:
            spare = self._spare.pop()
        except IndexError:
            spare = self._allocate()
        words, table, config, _ = spare
        for word, buffer, offset in self._pointers:
            words[word] = buffers[buffer] + offset
        if config is None:
            (code,) = self._launch_kernel(self._function, *self._threads, stream, table, 0)
        else:
            config.hStream = stream
            (code,) = self._launch_wide(config, self._function, table, 0)  # type: ignore[misc]  # set where config is
        self._spare.append(spare)
        return int(code)

    def _allocate(self) -> tuple[Any, int, Any, Any]:
        """Return a block of its own for a call: words, the address of the table of their places, a configuration, the table."""
        block = self._block
        data = ctypes.create_string_buffer(block.data, max(WORD_BYTES, len(block.data)))
        start = ctypes.addressof(data)
        table = (ctypes.c_void_p * max(1, len(block.offsets)))(*(start + offset for offset in block.offsets))
        words = (ctypes.c_uint64 * (len(data) // WORD_BYTES)).from_buffer(data)
        return words, ctypes.addressof(table), None if self._launch_wide is None else self._configure(), table

    def _configure(self) -> Any:
        cuda, launch = self._config
        config = cuda.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
        config.sharedMemBytes = launch.dynamic_shared_bytes
        attribute = cuda.CUlaunchAttribute()
        attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = launch.cluster
        config.attrs, config.numAttrs = [attribute], 1
        return config
