"""A GPU without a GPU: as much of cuda.bindings.driver as Tilewise calls, on host memory; kernels run on the emulator.

Streams do all at once, so nothing here shows a missing wait. Addresses keep their place within an allocation, so misaligned
pointers are misaligned for the kernel too.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.emu.machine import emulate
from tilewise.ptx.parameters import is_pointer, parameter_bytes
from tilewise.ptx.parse import parse

Bytes = npt.NDArray[np.uint8]
CONTEXT = 4242
TYPES = {"f32": np.float32, "f64": np.float64}
H200 = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MULTIPROCESSOR_COUNT": 132,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 233_472,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_SHARED_MEMORY_PER_BLOCK": 49152,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232_448,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": 1024,
    "L2_CACHE_SIZE": 62_914_560,
    "CLOCK_RATE": 1_980_000,
    "MEMORY_CLOCK_RATE": 3_201_000,
    "GLOBAL_MEMORY_BUS_WIDTH": 6144,
}
"""What a driver said of an H200 (580.159, CUDA 13.0)."""


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_NOT_FOUND = 500


class FakeDriver:
    """The module's functions as methods. `modules` are those whose cubins can be loaded."""

    CUresult = CUresult
    CUdevice_attribute = SimpleNamespace(**{f"CU_DEVICE_ATTRIBUTE_{name}": name for name in H200})
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=SimpleNamespace(value=1))
    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=SimpleNamespace(value=2))
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
    SECONDS_A_LAUNCH = 1e-3
    """What the clock that events read goes on by."""
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="shared")
    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL="ordinal")

    def __init__(self) -> None:
        self.attributes = dict(H200)
        self.name = b"NVIDIA H200\0"
        self.version = 13000
        self.free_bytes = 1 << 30
        self.modules: dict[bytes, Module] = {}
        self.memory: dict[int, Bytes] = {}
        self.launches: list[tuple[str, tuple[int, ...], int]] = []
        """Kernel, grid and stream of each."""
        self.waits: list[tuple[int, int]] = []
        """Stream that waits, and stream that it waits for."""
        self.contexts: list[int] = []
        self.seconds = 0.0
        self._events: dict[int, int] = {}
        self._times: dict[int, float] = {}
        self._streams = 100
        self._captured: list[tuple[Any, ...]] | None = None

    def adopt(self, array: npt.NDArray[Any]) -> int:
        """Make a host array's memory the GPU's; return the address of its first byte."""
        data = array.reshape(-1).view(np.uint8)
        self.memory[data.ctypes.data] = data
        return int(data.ctypes.data)

    def cuInit(self, flags: int) -> tuple[int]:
        return (0,)

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return 0, 1

    def cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        return 0, ordinal

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        return 0, CONTEXT + device

    def cuCtxGetCurrent(self) -> tuple[int, int]:
        return 0, self.contexts[-1] if self.contexts else 0

    def cuCtxPushCurrent(self, context: int) -> tuple[int]:
        self.contexts.append(context)
        return (0,)

    def cuCtxPopCurrent(self) -> tuple[int, int]:
        return 0, self.contexts.pop()

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return 0, self.version

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return 0, self.name

    def cuDeviceGetAttribute(self, attribute: str, device: int) -> tuple[int, int]:
        return 0, self.attributes[attribute]

    def cuMemGetInfo(self) -> tuple[int, int, int]:
        return 0, self.free_bytes, 151 * 10**9

    def cuMemAllocAsync(self, size: int, stream: int) -> tuple[int, int]:
        assert self.contexts, "no current context"
        if size > self.free_bytes:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        raw = np.full(size + 512, 0xFF, np.uint8)  # NaN, in float32
        start = -raw.ctypes.data % 512
        data = raw[start : start + size]
        self.memory[data.ctypes.data] = data
        return 0, data.ctypes.data

    def cuMemFreeAsync(self, address: int, stream: int) -> tuple[int]:
        del self.memory[address]
        return (0,)

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> tuple[int]:
        ctypes.memmove(target, source, size)
        return (0,)

    def cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: int) -> tuple[int]:
        ctypes.memmove(target, source, size)
        return (0,)

    def cuMemsetD8Async(self, address: int, value: int, size: int, stream: int) -> tuple[int]:
        ctypes.memset(address, value, size)
        return (0,)

    def cuStreamCreate(self, flags: int) -> tuple[int, int]:
        self._streams += 1
        return 0, self._streams

    def cuStreamSynchronize(self, stream: int) -> tuple[int]:
        return (0,)

    def cuEventCreate(self, flags: int) -> tuple[int, int]:
        self._events[len(self._events) + 1] = 0
        return 0, len(self._events)

    def cuEventRecord(self, event: int, stream: int) -> tuple[int]:
        self._events[event], self._times[event] = stream, self.seconds
        return (0,)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> tuple[int]:
        self.waits.append((stream, self._events[event]))
        return (0,)

    def cuEventQuery(self, event: int) -> tuple[int]:
        return (0,)

    def cuEventSynchronize(self, event: int) -> tuple[int]:
        return (0,)

    def cuEventElapsedTime(self, start: int, end: int) -> tuple[int, float]:
        return 0, 1e3 * (self._times[end] - self._times[start])

    def cuEventDestroy(self, event: int) -> tuple[int]:
        return (0,)

    def cuThreadExchangeStreamCaptureMode(self, mode: int) -> tuple[int, int]:
        return 0, 0

    def cuStreamBeginCapture(self, stream: int, mode: int) -> tuple[int]:
        self._captured = []
        return (0,)

    def cuStreamEndCapture(self, stream: int) -> tuple[int, Any]:
        captured, self._captured = self._captured, None
        return 0, captured

    def cuGraphInstantiate(self, graph: Any, flags: int) -> tuple[int, Any]:
        return 0, graph

    def cuGraphLaunch(self, graph: Any, stream: int) -> tuple[int]:
        for launch in graph:
            self._run(*launch)
        return (0,)

    def cuGraphUpload(self, graph: Any, stream: int) -> tuple[int]:
        return (0,)

    def cuGraphDestroy(self, graph: Any) -> tuple[int]:
        return (0,)

    def cuGraphExecDestroy(self, graph: Any) -> tuple[int]:
        return (0,)

    def cuStreamDestroy(self, stream: int) -> tuple[int]:
        return (0,)

    def cuDeviceGetPCIBusId(self, length: int, device: int) -> tuple[int, bytes]:
        return 0, b"0000:01:00.0\0"

    def cuPointerGetAttribute(self, attribute: str, pointer: int) -> tuple[int, int]:
        found = self._find(pointer)
        return (CUresult.CUDA_ERROR_INVALID_VALUE, 0) if found is None else (0, 0)

    def cuModuleLoadData(self, image: bytes) -> tuple[int, Module | None]:
        assert self.contexts, "no current context"
        if image not in self.modules:
            return CUresult.CUDA_ERROR_INVALID_IMAGE, None
        return 0, self.modules[image]

    def cuModuleGetFunction(self, module: Module, name: bytes) -> tuple[int, tuple[Module, str]]:
        return 0, (module, name.decode())

    def cuFuncSetAttribute(self, function: Any, attribute: str, value: int) -> tuple[int]:
        return (0,)

    def cuLaunchKernel(self, function: tuple[Module, str], *where: int) -> tuple[int]:
        columns, rows, layers, x, y, z, shared, stream, table, extra = where
        assert self.contexts, "no current context"
        assert extra == 0
        module, name = function
        kernel = next(each for each in parse(module.ptx).functions if each.name == name)
        places = (ctypes.c_void_p * len(kernel.parameters)).from_address(table)
        args: list[Any] = []
        for parameter, place in zip(kernel.parameters, places, strict=True):
            data = ctypes.string_at(place, parameter_bytes(parameter))
            number = int.from_bytes(data, "little")
            if is_pointer(parameter) and (memory := self._find(number)) is not None:  # else it is a number of 64 bits
                args.append(_view(memory, number))
            elif parameter.count is not None:
                args.append(np.void(data))
            else:
                args.append(np.frombuffer(data, TYPES[parameter.type])[0] if parameter.type in TYPES else number)
        grid = (columns, rows, layers)
        self.launches.append((name, grid, stream))
        launch = Launch(module, name, grid, (x, y, z), tuple(args), dynamic_shared_bytes=shared)
        if self._captured is None:
            self._run(launch)
        else:
            self._captured.append((launch,))
        return (0,)

    def _run(self, launch: Launch) -> None:
        emulate(launch, threads=1)
        self.seconds += self.SECONDS_A_LAUNCH

    def _find(self, pointer: int) -> Bytes | None:
        for address, data in self.memory.items():
            if address <= pointer < address + max(1, len(data)):
                return data
        return None


def _view(memory: Bytes, pointer: int) -> Bytes:
    """An array that begins at the pointer and spans all of an allocation."""
    before, after = pointer - memory.ctypes.data, memory.ctypes.data + len(memory) - 1 - pointer
    return np.lib.stride_tricks.as_strided(memory[before:], (2, 2), (-before, after))
