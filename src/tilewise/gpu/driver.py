"""NVIDIA's driver: one object a GPU, which loads modules and enqueues launches.

The only importer of cuda.bindings' driver, which is loaded when it is first needed. Uses each GPU's primary context, as PyTorch,
CuPy and JAX do, and leaves the caller's current context as it was. Nothing here waits for the GPU but `synchronize`.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tilewise.core.errors import TilewiseError
from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.gpu.errors import driver_error, driver_objection, missing_bindings, missing_driver
from tilewise.gpu.prepared import Prepared, parameter_block, prepare_call
from tilewise.ptx.ast import Function
from tilewise.ptx.parse import parse

LEGACY_STREAM = 1
"""CU_STREAM_LEGACY: the default stream that waits for all blocking ones."""
STATIC_SHARED_BYTES = 48 * 1024
"""Dynamic shared memory beyond this takes an opt-in [CUDA Programming Guide, Shared Memory]."""


@functools.cache
def open_gpu(ordinal: int = 0) -> Gpu:
    """Return the GPU of that number, as CUDA counts them in this process.

    Raises TilewiseError, with the remedy, where there is no GPU, no driver or no cuda.bindings.
    """
    return Gpu(load_driver(), ordinal)


def gpu_count() -> int:
    """Return how many GPUs this process can use; 0 where there is no driver."""
    try:
        cuda = load_driver()
    except TilewiseError:
        return 0
    code, count = cuda.cuDeviceGetCount()
    return 0 if code else int(count)


@functools.cache
def load_driver() -> Any:
    """Return cuda.bindings.driver with the driver initialised. Importing takes about 0.1 s."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise missing_bindings(str(error)) from error
    try:
        (code,) = driver.cuInit(0)
    except (RuntimeError, OSError) as error:  # libcuda.so.1 is not there
        raise missing_driver(str(error)) from error
    if code:
        raise driver_error(code.name, "opening the GPU")
    return driver


class Gpu:
    """One GPU with its primary context."""

    def __init__(self, cuda: Any, ordinal: int) -> None:
        self.cuda = cuda
        self.ordinal = ordinal
        self._device = self.call("cuDeviceGet", ordinal, doing=f"opening GPU {ordinal}")
        self._context = self.call("cuDevicePrimaryCtxRetain", self._device, doing=f"opening GPU {ordinal}")
        self._context_number = int(self._context)
        self._get_context = cuda.cuCtxGetCurrent
        self._modules: dict[bytes, Any] = {}
        self._lock = threading.Lock()

    @functools.cached_property
    def name(self) -> str:
        """Such as "NVIDIA H200"."""
        raw: bytes = self.call("cuDeviceGetName", 256, self._device)
        return raw.split(b"\0")[0].decode(errors="replace")

    @functools.cached_property
    def capability(self) -> tuple[int, int]:
        """The compute capability."""
        return self.attribute("COMPUTE_CAPABILITY_MAJOR"), self.attribute("COMPUTE_CAPABILITY_MINOR")

    @functools.cached_property
    def driver_version(self) -> tuple[int, int]:
        """The newest CUDA version that the driver knows, such as 13, 0."""
        number = self.call("cuDriverGetVersion")
        return number // 1000, number % 1000 // 10

    @functools.cached_property
    def bus_id(self) -> str:
        """Where it is on the PCI bus, as nvidia-smi names it too."""
        raw: bytes = self.call("cuDeviceGetPCIBusId", 32, self._device)
        return raw.split(b"\0")[0].decode()

    @functools.cached_property
    def own_stream(self) -> int:
        """A stream for callers that have none; it waits for no other."""
        with self.current():
            return int(self.call("cuStreamCreate", self.cuda.CUstream_flags.CU_STREAM_NON_BLOCKING.value))

    def attribute(self, name: str) -> int:
        """Return a device attribute, named without its CU_DEVICE_ATTRIBUTE_."""
        which = getattr(self.cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", which, self._device))

    def memory(self) -> tuple[int, int]:
        """Return the bytes of memory that are free, and all there are."""
        with self.current():
            free, total = self.call("cuMemGetInfo")
        return free, total

    def call(self, function: str, *arguments: Any, doing: str = "") -> Any:
        """Return what a driver function gives beside its status: nothing, one thing or a tuple.

        Raises TilewiseError if the driver refuses; `doing` names the work in the message.
        """
        code, *results = getattr(self.cuda, function)(*arguments)
        if code:
            raise driver_error(self.cuda.CUresult(code).name, doing or function)
        return results[0] if len(results) == 1 else tuple(results)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Make this GPU's primary context current in the block, and the caller's own again after it."""
        if int(self._get_context()[1]) == self._context_number:
            yield
            return
        self.call("cuCtxPushCurrent", self._context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent")

    def prepare(self, launch: Launch) -> Prepared:
        """Return a launch made ready for this GPU, its module loaded; pointers are addresses or Slots.

        Works while a stream is being captured. Raises TilewiseError for arguments that do not fit the kernel, a module that the
        driver does not load, and a configuration beyond the GPU.
        """
        block = parameter_block(launch, _kernel(launch.module, launch.kernel).parameters)
        with self.current(), self._uncaptured():
            function = self._function(launch)
        return prepare_call(self.cuda, function, launch, block)

    def enqueue(self, prepared: Sequence[Prepared], stream: int, buffers: Sequence[int]) -> None:
        """Enqueue prepared launches on a stream, in order; `buffers` are the addresses that their Slots stand for."""
        if int(self._get_context()[1]) == self._context_number:
            for one in prepared:
                code = one.call(stream, buffers)
                if code:
                    raise driver_error(self.cuda.CUresult(code).name, f"launching {one.label}")
        else:
            with self.current():
                self.enqueue(prepared, stream, buffers)

    def launch(self, launch: Launch, stream: int, buffers: Sequence[int] = ()) -> None:
        """Enqueue one launch, preparing it first."""
        self.enqueue([self.prepare(launch)], stream, buffers)

    def synchronize(self, stream: int) -> None:
        """Wait until a stream has done all its work; raises what a kernel in it did wrong."""
        with self.current():
            self.call("cuStreamSynchronize", stream, doing="waiting for the GPU")

    @contextlib.contextmanager
    def _uncaptured(self) -> Iterator[None]:
        """Let the block load modules even while a stream is being captured, by this thread or, in global mode, by another."""
        relaxed = self.cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        before = self.call("cuThreadExchangeStreamCaptureMode", relaxed)
        try:
            yield
        finally:
            self.call("cuThreadExchangeStreamCaptureMode", before)

    def _function(self, launch: Launch) -> Any:
        doing = f"loading {launch.kernel} of {launch.module.name}"
        function = self.call("cuModuleGetFunction", self._load(launch.module, doing), launch.kernel.encode(), doing=doing)
        if launch.dynamic_shared_bytes > STATIC_SHARED_BYTES:
            most = self.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
            if launch.dynamic_shared_bytes > most:
                raise TilewiseError(
                    f"{launch.kernel} asks for {launch.dynamic_shared_bytes:,} bytes of dynamic shared memory, more than the "
                    f"{most:,} that a block has on the {self.name}: give smaller tiles or fewer stages."
                )
            which = self.cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.call("cuFuncSetAttribute", function, which, launch.dynamic_shared_bytes, doing=doing)
        return function

    def _load(self, module: Module, doing: str) -> Any:
        """Return the module's handle: its cubin, or its PTX only where there is none."""
        image = module.ptx.encode() + b"\0" if module.cubin is None else module.cubin
        with self._lock:
            if image not in self._modules:
                objection = driver_objection(self.driver_version, module.compiler)
                if objection is not None and module.cubin is not None:
                    raise TilewiseError(f"{doing}: {objection}")
                self._modules[image] = self.call("cuModuleLoadData", image, doing=doing)
            return self._modules[image]


@functools.lru_cache(maxsize=256)
def _parse(ptx: str) -> dict[str, Function]:
    return {function.name: function for function in parse(ptx).functions if function.is_entry}


def _kernel(module: Module, name: str) -> Function:
    kernels = _parse(module.ptx)
    if name not in kernels:
        raise TilewiseError(f"{module.name} has no kernel {name!r}. There is {', '.join(sorted(kernels)) or 'none'}.")
    return kernels[name]
