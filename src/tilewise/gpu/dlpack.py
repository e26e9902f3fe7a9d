"""DLPack: reads the tensor that another library's capsule describes, and makes capsules of our own.

The structures are those of dlpack.h 1.1 [github.com/dmlc/dlpack]. No byte of a tensor is copied or read.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewise.core.errors import TilewiseError

CUDA = 2
"""kDLCUDA."""
CUDA_MANAGED = 13
"""kDLCUDAManaged."""
ON_GPU = (CUDA, CUDA_MANAGED)
READ_ONLY = 1
"""DLPACK_FLAG_BITMASK_READ_ONLY."""

_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
"""DLDataTypeCode, by the beginning of a dtype's name."""
_FLOAT = 2


class _Device(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in a GPU's memory as a capsule describes it; strides in bytes."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    """Such as "float32"."""
    device: int
    read_only: bool


_api = ctypes.pythonapi
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_raw_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", _api))
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", _api))
_drop = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("Py_DecRef", _api))


def read_capsule(capsule: Any) -> Tensor:
    """Return the tensor of a capsule, which stays as it is and must outlive every use of the tensor.

    Raises TilewiseError for a tensor that is not in a GPU's memory, and for packed elements.
    """
    address = id(capsule)
    flags = 0
    if _is_valid(address, _VERSIONED):
        versioned = _ManagedVersioned.from_address(_pointer_in(capsule, _VERSIONED))
        flags, tensor = versioned.flags, versioned.tensor
    elif _is_valid(address, _PLAIN):
        tensor = _Managed.from_address(_pointer_in(capsule, _PLAIN)).tensor
    else:
        raise TilewiseError("__dlpack__ gave no capsule that holds a tensor: it must give a new one at each call.")
    if tensor.device.device_type not in ON_GPU:
        raise TilewiseError(f"the tensor is on a device of DLPack's type {tensor.device.device_type}, not on an NVIDIA GPU (2).")
    if tensor.dtype.lanes != 1:
        raise TilewiseError(f"the tensor's elements are packs of {tensor.dtype.lanes}: give one of plain numbers.")
    item_bytes = tensor.dtype.bits // 8
    shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
    if tensor.strides and tensor.ndim:
        strides = tuple(item_bytes * stride for stride in tensor.strides[: tensor.ndim])
    else:
        strides = dense_strides(shape, item_bytes)
    return Tensor(
        pointer=(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        strides=strides,
        dtype=_dtype_name(tensor.dtype),
        device=tensor.device.device_id,
        read_only=bool(flags & READ_ONLY),
    )


def make_capsule(owner: object, pointer: int, shape: Sequence[int], strides: Sequence[int], device: int) -> Any:
    """Return a capsule of float32 elements; `owner` lives until whoever takes it is done. Strides count elements."""
    dims = ctypes.c_int64 * max(1, len(shape))
    holder = _Holder(owner, dims(*shape), dims(*strides))
    tensor = holder.managed.tensor
    tensor.data, tensor.ndim, tensor.byte_offset = pointer, len(shape), 0
    tensor.device = _Device(CUDA, device)
    tensor.dtype = _DataType(_FLOAT, 32, 1)
    tensor.shape, tensor.strides = holder.shape, holder.strides
    holder.managed.manager_ctx = id(holder)
    holder.managed.deleter = ctypes.cast(_DELETE, ctypes.c_void_p)
    _keep(holder)
    return _new_capsule(ctypes.addressof(holder.managed), _PLAIN, ctypes.cast(_DESTROY_CAPSULE, ctypes.c_void_p))


def dense_strides(shape: Sequence[int], item_bytes: int) -> tuple[int, ...]:
    """Return the strides, in bytes, of a row-major array without gaps."""
    strides = []
    step = item_bytes
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))


class _Holder:
    """What a capsule of ours keeps alive."""

    def __init__(self, owner: object, shape: Any, strides: Any) -> None:
        self.owner, self.shape, self.strides = owner, shape, strides
        self.managed = _Managed()


def _delete(managed: int) -> None:
    """Called by whoever took the tensor, from any thread, once it is done with it."""
    _drop(_Managed.from_address(managed).manager_ctx)


def _destroy_capsule(capsule: int) -> None:
    """Called when a capsule goes: one that nobody took still holds the tensor."""
    if _is_valid(capsule, _PLAIN):
        _delete(_raw_pointer_in(capsule, _PLAIN))


_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DELETE, _DESTROY_CAPSULE = _Callback(_delete), _Callback(_destroy_capsule)
"""For C; they must live as long as any capsule."""


def _dtype_name(dtype: Any) -> str:
    kind = _CODES.get(dtype.code, f"DLPack type {dtype.code}, bits ")
    return kind if kind == "bool" else f"{kind}{dtype.bits}"
