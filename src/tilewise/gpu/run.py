"""A launch on NumPy arrays, run on a GPU as the emulator runs it on the CPU: arrays are copied there and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch, Slot
from tilewise.gpu.driver import open_gpu
from tilewise.gpu.memory import Memory

if TYPE_CHECKING:
    from numpy.typing import NDArray


def run(launch: Launch, *, ordinal: int = 0) -> None:
    """Run a launch on GPU `ordinal`; arrays among its arguments hold what the kernel left there when this returns.

    The GPU gets all bytes from an array's first to its last, gaps included, and all of them come back unless the array is
    read-only; an array that is given twice is one array there too. Raises TilewiseError where the launch cannot run, and
    KernelFault where the kernel did what no kernel may.
    """
    gpu = open_gpu(ordinal)
    arrays: dict[int, tuple[int, NDArray[Any], NDArray[np.uint8]]] = {}
    args: list[Any] = []
    for argument in launch.args:
        if isinstance(argument, np.ndarray):
            number, _, image = arrays.setdefault(id(argument), (len(arrays), argument, _bytes_of(argument)))
            args.append(Slot(number, argument.ctypes.data - image.ctypes.data))
        elif isinstance(argument, Slot):
            raise TilewiseError(f"{argument} stands for a pointer that nobody gives here: give an array.")
        else:
            args.append(argument)
    prepared = gpu.prepare(replace(launch, args=tuple(args)))
    stream = gpu.own_stream
    memories = []
    for _, _, image in arrays.values():
        memories.append(Memory(gpu, image.nbytes, stream))
        memories[-1].copy_from(image)
    gpu.enqueue([prepared], stream, [memory.address for memory in memories])
    gpu.synchronize(stream)
    for memory, (_, array, image) in zip(memories, arrays.values(), strict=True):
        if array.flags.writeable:
            memory.copy_to(image)


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return all bytes from an array's first to its last, in place."""
    from numpy.lib.array_utils import byte_bounds

    first, end = byte_bounds(array) if array.size else (array.ctypes.data, array.ctypes.data)
    interface = {"version": 3, "typestr": "|u1", "shape": (end - first,), "data": (first, not array.flags.writeable)}
    return np.asarray(type("Bytes", (), {"__array_interface__": interface})())
