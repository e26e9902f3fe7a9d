"""Other libraries' arrays on a GPU: where they are and how they are laid out, without copying or importing anything.

A library is found by an array's type and taken from sys.modules. PyTorch and CuPy have ways of their own, which take a
microsecond; JAX and everything else goes through DLPack or the CUDA array interface. A *form* is all of an array but its address:
what the work depends on that is done once and kept.
"""

from __future__ import annotations

import collections
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tilewise.core.errors import TilewiseError
from tilewise.gpu.dlpack import ON_GPU, Tensor, dense_strides, read_capsule
from tilewise.gpu.driver import LEGACY_STREAM, Gpu, open_gpu
from tilewise.gpu.memory import allocate, order_after

Form = tuple[Any, ...]
"""Shape, strides, dtype and GPU in the library's own terms; hashable."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """A form in Tilewise's terms."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes."""
    dtype: str
    """NumPy's name of it: "float32"."""
    device: int
    """The GPU's number; -1 for the CPU."""


class Library(Protocol):
    """What Tilewise asks of a library of arrays."""

    name: str

    def __hash__(self) -> int: ...

    def on_gpu(self, array: Any) -> bool:
        """Return whether the array is in a GPU's memory."""

    def look(self, array: Any, *, writes: bool = False) -> tuple[Form, int, object]:
        """Return an array's form, its address, and what must live until the work that uses it is enqueued.

        Raises TilewiseError for an array that cannot be read in place (or written, if `writes`).
        """

    def geometry(self, form: Form) -> Geometry:
        """Return what a form says."""

    def stream(self, device: int) -> int:
        """Return the caller's current stream on a GPU."""

    def empty(self, shape: tuple[int, ...], like: Any, device: int) -> tuple[Any, int]:
        """Return a new float32 array without values on the GPU of that number, which is `like`'s, and its address."""

    def finish(self, device: int, stream: int, held: tuple[object, ...]) -> None:
        """Keep alive what was looked at until the work that was enqueued on the stream with it is done."""

    def hand_over(self, result: Any, like: Any) -> Any:
        """Return a result that `empty` made as an array of `like`'s kind, once the work that writes it is enqueued."""


def _find_library(kind: type) -> Library:
    torch, cupy, jax = (sys.modules.get(name) for name in ("torch", "cupy", "jax"))
    if torch is not None and issubclass(kind, torch.Tensor):
        return _one_of(TorchArrays, torch)
    if cupy is not None and issubclass(kind, cupy.ndarray):
        return _one_of(CupyArrays, cupy)
    if jax is not None and issubclass(kind, jax.Array):
        return _one_of(JaxArrays)
    return _one_of(AnyArrays)


library_of: Callable[[type], Library] = functools.cache(_find_library)
"""Return the library of arrays of a type; AnyArrays for what is no array, too."""


@functools.cache
def _one_of(library: Callable[..., Library], *modules: Any) -> Library:
    """The only instance of a library, whatever types its arrays have."""
    return library(*modules)


class TorchArrays:
    """PyTorch's tensors."""

    name = "torch.Tensor"

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._strided = torch.strided
        self._is_grad_enabled = torch.is_grad_enabled
        # What Inductor's generated code calls, where this PyTorch has it: the public ways take 2 us more each.
        self.stream = getattr(torch._C, "_cuda_getCurrentRawStream", self._public_stream)
        guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
        self._empty_on_current = getattr(guards, "_empty_strided_cuda", None)
        self._current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)

    def on_gpu(self, array: Any) -> bool:
        """Return whether a tensor is on a GPU."""
        return bool(array.is_cuda)

    def look(self, array: Any, *, writes: bool = False) -> tuple[Form, int, object]:
        """Refuses tensors whose numbers are not those in memory, and those that want gradients."""
        try:
            form, address = (array.shape, array.stride(), array.dtype, array.get_device()), array.data_ptr()
        except RuntimeError:  # it has no memory or no strides, as sparse ones
            raise self._refusal(array) from None
        if array.is_neg() or (array.requires_grad and self._is_grad_enabled()):
            raise self._refusal(array)
        return form, address, None

    def geometry(self, form: Form) -> Geometry:
        """Return what a form says."""
        shape, strides, dtype, device = form
        item_bytes = dtype.itemsize
        return Geometry(tuple(shape), tuple(item_bytes * step for step in strides), str(dtype).removeprefix("torch."), device)

    def empty(self, shape: tuple[int, ...], like: Any, device: int) -> tuple[Any, int]:
        """Return a tensor of PyTorch's own allocator, as the current stream and any capture need it."""
        if self._empty_on_current is not None and len(shape) == 2 and self._current_device() == device:
            result = self._empty_on_current(shape, (shape[1], 1), like.dtype)
        else:
            result = like.new_empty(shape)
        return result, result.data_ptr()

    def finish(self, device: int, stream: int, held: tuple[object, ...]) -> None:
        """PyTorch's allocator orders reuse by the current stream: nothing is left to do."""

    def hand_over(self, result: Any, like: Any) -> Any:
        """It is a tensor already."""
        return result

    def _public_stream(self, device: int) -> int:
        return int(self._torch.cuda.current_stream(device).cuda_stream)

    def _refusal(self, array: Any) -> TilewiseError:
        if array.layout is not self._strided:
            return TilewiseError(f"a tensor of layout {array.layout} is no dense matrix: give tensor.to_dense().")
        if array.is_neg():
            return TilewiseError("a tensor is a negated view, whose memory has other signs: give tensor.resolve_neg().")
        if array.requires_grad and self._is_grad_enabled():
            return TilewiseError(
                "a tensor requires a gradient, which matmul does not compute: give tensor.detach(), or use torch.mm."
            )
        return TilewiseError("a tensor has no memory of its own, as fake and functional ones: give one that holds numbers.")


class CupyArrays:
    """CuPy's arrays."""

    name = "cupy.ndarray"

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._current_stream = cupy.cuda.get_current_stream
        self._get_device = cupy.cuda.runtime.getDevice

    def on_gpu(self, array: Any) -> bool:
        """CuPy has no others."""
        return True

    def look(self, array: Any, *, writes: bool = False) -> tuple[Form, int, object]:
        """Return an array's form and address."""
        data = array.data
        return (array.shape, array.strides, array.dtype, data.device_id), data.ptr, None

    def geometry(self, form: Form) -> Geometry:
        """Return what a form says."""
        shape, strides, dtype, device = form
        return Geometry(shape, strides, dtype.name, device)

    def stream(self, device: int) -> int:
        """Return the current stream on a GPU."""
        return int(self._current_stream(device).ptr)

    def empty(self, shape: tuple[int, ...], like: Any, device: int) -> tuple[Any, int]:
        """Return an array of CuPy's own pool."""
        if self._get_device() == device:
            result = self._cupy.ndarray(shape, like.dtype)
        else:
            with self._cupy.cuda.Device(device):
                result = self._cupy.ndarray(shape, like.dtype)
        return result, result.data.ptr

    def finish(self, device: int, stream: int, held: tuple[object, ...]) -> None:
        """CuPy's pool orders reuse by the current stream: nothing is left to do."""

    def hand_over(self, result: Any, like: Any) -> Any:
        """It is CuPy's array already."""
        return result


class AnyArrays:
    """Arrays of any library that has DLPack or the CUDA array interface; results are DeviceArrays."""

    name = "of DLPack or the CUDA array interface"

    def __init__(self) -> None:
        self._in_flight = _InFlight()

    def on_gpu(self, array: Any) -> bool:
        """Return whether a value says that it is an array on an NVIDIA GPU."""
        if hasattr(array, "__dlpack_device__"):
            return array.__dlpack_device__()[0] in ON_GPU
        return hasattr(array, "__cuda_array_interface__")

    def look(self, array: Any, *, writes: bool = False) -> tuple[Form, int, object]:
        """Return an array's form and address; work on `stream` then comes after what its library says writes it."""
        tensor, held = self._look(array)
        if writes and tensor.read_only:
            raise TilewiseError("out is read-only: give an array that can be written.")
        return (tensor.shape, tensor.strides, tensor.dtype, tensor.device), tensor.pointer, held

    def geometry(self, form: Form) -> Geometry:
        """Return what a form says."""
        return Geometry(*form)

    def stream(self, device: int) -> int:
        """Return the legacy default stream, which all of a process share."""
        return LEGACY_STREAM

    def empty(self, shape: tuple[int, ...], like: Any, device: int) -> tuple[Any, int]:
        """Return a DeviceArray."""
        result = allocate(open_gpu(device), shape, self.stream(device))
        return result, result.pointer

    def finish(self, device: int, stream: int, held: tuple[object, ...]) -> None:
        """Hold what was borrowed until the GPU is done with it, as far as is known at the next call."""
        self._in_flight.hold(open_gpu(device), stream, held)

    def hand_over(self, result: Any, like: Any) -> Any:
        """Return an array of `like`'s library where it names one [Python array API standard], else the DeviceArray."""
        if not hasattr(like, "__array_namespace__"):
            return result
        return like.__array_namespace__().from_dlpack(result)

    def _look(self, array: Any) -> tuple[Tensor, object]:
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            return self._read_interface(interface), array
        device = array.__dlpack_device__()[1]
        capsule = _capsule(array, self.stream(device))
        return read_capsule(capsule), capsule

    def _read_interface(self, interface: dict[str, Any]) -> Tensor:
        """What a CUDA array interface says [Numba's documentation, CUDA Array Interface, version 3]."""
        import numpy as np

        dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
        pointer, read_only = interface["data"]
        device = _device_of(pointer)
        producer = interface.get("stream")
        if producer is not None:
            order_after(open_gpu(device), producer, self.stream(device))
        strides = interface.get("strides") or dense_strides(shape, dtype.itemsize)
        name = dtype.name if dtype.isnative else dtype.str
        return Tensor(pointer, shape, tuple(strides), name, device, read_only)


class JaxArrays(AnyArrays):
    """JAX's arrays, which run on streams of JAX's own: DLPack orders our stream after them, and theirs after ours."""

    name = "jax.Array"

    def on_gpu(self, array: Any) -> bool:
        """Return whether an array is on GPUs; one that is spread over several counts."""
        return any(device.platform in ("gpu", "cuda") for device in array.devices())

    def look(self, array: Any, *, writes: bool = False) -> tuple[Form, int, object]:
        """Return an array's form and address."""
        if writes:
            raise TilewiseError("out is a JAX array, which cannot be written: leave out away and use what matmul returns.")
        return super().look(array)

    def stream(self, device: int) -> int:
        """Return a stream of Tilewise's own: JAX shows none of its."""
        return open_gpu(device).own_stream

    def _look(self, array: Any) -> tuple[Tensor, object]:
        if len(array.devices()) > 1:
            raise TilewiseError(f"a JAX array is spread over {len(array.devices())} devices: give one that lies on a single GPU.")
        capsule = _capsule(array, self.stream(array.__dlpack_device__()[1]))
        return read_capsule(capsule), capsule


class _InFlight:
    """Borrowed arrays, each held until the work that uses it has run: looked through at every call, never waited for."""

    def __init__(self) -> None:
        self._held: collections.deque[tuple[Gpu, Any, object]] = collections.deque()

    def hold(self, gpu: Gpu, stream: int, held: tuple[object, ...]) -> None:
        """Hold objects until what is enqueued on the stream by now is done; let go of those whose work is."""
        with gpu.current():
            event = gpu.call("cuEventCreate", gpu.cuda.CUevent_flags.CU_EVENT_DISABLE_TIMING.value)
            gpu.call("cuEventRecord", event, stream)
        self._held.append((gpu, event, held))
        while self._held and self._is_done(*self._held[0][:2]):
            gpu, event, _ = self._held.popleft()
            gpu.call("cuEventDestroy", event)

    def _is_done(self, gpu: Gpu, event: Any) -> bool:
        (code,) = gpu.cuda.cuEventQuery(event)
        return int(code) == 0


def _capsule(array: Any, stream: int) -> Any:
    """Return an array's capsule, a versioned one where its library knows of versions; `stream` then waits for its values."""
    try:
        return array.__dlpack__(stream=stream, max_version=(1, 1))
    except TypeError:  # before version 1
        return array.__dlpack__(stream=stream)


def _device_of(pointer: int) -> int:
    """Return the number of the GPU that an address lies on; the first one's for an array without memory."""
    gpu = open_gpu(0)
    if pointer == 0:
        return 0
    with gpu.current():
        which = gpu.cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        code, device = gpu.cuda.cuPointerGetAttribute(which, pointer)
    if code:
        raise TilewiseError(f"address {pointer:#x} of the CUDA array interface is in no GPU's memory.")
    return int(device)
