"""Memory of a GPU that is ours, with what other libraries need to look at it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from tilewise.core.errors import TilewiseError
from tilewise.gpu.dlpack import CUDA, dense_strides, make_capsule
from tilewise.gpu.driver import LEGACY_STREAM, Gpu

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ITEM_BYTES = 4
NO_WAIT = -1
"""What DLPack calls a consumer that waits by itself."""


class Memory:
    """Bytes allocated on a GPU in the order of a stream, and freed in that order when nobody holds them any more.

    Raises TilewiseError where the GPU has too little.
    """

    def __init__(self, gpu: Gpu, size: int, stream: int) -> None:
        self.gpu, self.size, self.stream = gpu, size, stream
        with gpu.current():
            doing = f"allocating {size:,} bytes on GPU {gpu.ordinal}"
            self.address = int(gpu.call("cuMemAllocAsync", max(1, size), stream, doing=doing))
        weakref.finalize(self, _free, gpu, self.address, stream).atexit = False  # the driver frees all at exit

    def copy_from(self, host: NDArray[Any]) -> None:
        """Copy a contiguous host array into the memory, in the stream's order; waits until it is there."""
        if host.nbytes > self.size:
            raise ValueError(f"{host.nbytes} bytes do not fit in {self.size}")
        with self.gpu.current():
            self.gpu.call(
                "cuMemcpyHtoDAsync", self.address, host.ctypes.data, host.nbytes, self.stream, doing="copying to the GPU"
            )
            self.gpu.call("cuStreamSynchronize", self.stream, doing="copying to the GPU")

    def copy_to(self, host: NDArray[Any]) -> None:
        """Copy the memory's first bytes into a contiguous host array; waits for all that the stream has to do."""
        if host.nbytes > self.size:
            raise ValueError(f"{host.nbytes} bytes are more than {self.size}")
        with self.gpu.current():
            self.gpu.call(
                "cuMemcpyDtoHAsync", host.ctypes.data, self.address, host.nbytes, self.stream, doing="copying from the GPU"
            )
            self.gpu.call("cuStreamSynchronize", self.stream, doing="copying from the GPU")


class DeviceArray:
    """A float32 array on a GPU: what a caller gets whose own kind of array Tilewise cannot make.

    Other libraries take it without a copy through `__dlpack__` or `__cuda_array_interface__`; `numpy()` copies it to the host.
    """

    def __init__(self, memory: Memory, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, offset: int = 0) -> None:
        self.memory = memory
        self.shape = shape
        self.strides = dense_strides(shape, ITEM_BYTES) if strides is None else strides
        """Bytes."""
        self.pointer = memory.address + offset

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, float32, GPU {self.memory.gpu.ordinal})"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": "<f4",
            "data": (self.pointer, False),
            "strides": None if self.strides == dense_strides(self.shape, ITEM_BYTES) else self.strides,
            "stream": self.memory.stream,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.memory.gpu.ordinal

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule; work on `stream` then comes after what writes the array."""
        if copy:
            raise BufferError("DeviceArray gives no copies: copy what you get.")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the array is on GPU {self.memory.gpu.ordinal} and stays there.")
        if stream != NO_WAIT:
            order_after(self.memory.gpu, self.memory.stream, LEGACY_STREAM if stream is None else stream)
        strides = tuple(stride // ITEM_BYTES for stride in self.strides)
        return make_capsule(self, self.pointer, self.shape, strides, self.memory.gpu.ordinal)

    def numpy(self) -> NDArray[np.float32]:
        """Return a copy on the host, once all work on the array's stream is done."""
        import numpy as np

        if self.strides != dense_strides(self.shape, ITEM_BYTES) or self.pointer != self.memory.address:
            raise TilewiseError("only a whole array without gaps is copied to the host: take it apart there.")
        host = np.empty(self.shape, np.float32)
        self.memory.copy_to(host)
        return host


def allocate(gpu: Gpu, shape: tuple[int, ...], stream: int) -> DeviceArray:
    """Return a new array without values."""
    count = 1
    for size in shape:
        count *= size
    return DeviceArray(Memory(gpu, ITEM_BYTES * count, stream), shape)


def order_after(gpu: Gpu, first: int, then: int) -> None:
    """Make what is enqueued on stream `then` from now on wait for what is on `first` by now; the host waits for nothing."""
    if first == then:
        return
    with gpu.current():
        event = gpu.call("cuEventCreate", gpu.cuda.CUevent_flags.CU_EVENT_DISABLE_TIMING.value)
        gpu.call("cuEventRecord", event, first)
        gpu.call("cuStreamWaitEvent", then, event, 0)
        gpu.call("cuEventDestroy", event)


def _free(gpu: Gpu, address: int, stream: int) -> None:
    with gpu.current():
        gpu.cuda.cuMemFreeAsync(address, stream)  # at this point nobody can be told of a failure
