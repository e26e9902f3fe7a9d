"""As much of the CUDA driver as running a tiny kernel takes, through ctypes: it comes with every driver and needs no package."""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
_JIT_ERROR_LOG, _JIT_ERROR_LOG_BYTES = 5, 6  # CU_JIT_ERROR_LOG_BUFFER and its _SIZE_BYTES
_LOG_BYTES = 4096


class Gpu:
    """The first GPU, with its primary context current."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        device, context, version = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        self._call("cuDriverGetVersion", ctypes.byref(version))
        self.sm = 10 * self._attribute(device, _MAJOR) + self._attribute(device, _MINOR)
        self.ptx_version = f"{version.value // 1000 - 4}.{version.value % 1000 // 10}"
        """The newest PTX that the driver takes: 9.0 for CUDA 13.0, 8.9 for 12.9."""

    def run(self, ptx: str, entry: str, blocks: int, threads: int, source: Bytes, output: Bytes) -> None:
        """Launch a kernel on device copies of both arrays; fill `output` with what it leaves there."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_JIT_ERROR_LOG, _JIT_ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        status = self._cuda.cuModuleLoadDataEx(ctypes.byref(module), ptx.encode(), 2, options, values)
        if status:
            raise RuntimeError(f"the driver refused the PTX ({status}): {log.value.decode()}")
        self._call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        places = [self._copy_in(array) for array in (source, output)]
        pointers = (ctypes.c_void_p * 2)(*(ctypes.addressof(place) for place in places))
        self._call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, None, pointers, None)
        self._call("cuCtxSynchronize")
        self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(output.ctypes.data), places[1], ctypes.c_size_t(output.nbytes))
        for place in places:
            self._call("cuMemFree_v2", place)
        self._call("cuModuleUnload", module)

    def _copy_in(self, array: Bytes) -> ctypes.c_uint64:
        place = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(array.nbytes))
        self._call("cuMemcpyHtoD_v2", place, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        return place

    def _attribute(self, device: ctypes.c_int, number: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
        return value.value

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} returned {status}")


@functools.cache
def gpu() -> Gpu:
    """The GPU, opened once."""
    return Gpu()
