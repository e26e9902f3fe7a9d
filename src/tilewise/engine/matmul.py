"""`tilewise.matmul`: sends a product to where its arrays are, a GPU or the emulator on the CPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from tilewise.core.errors import TilewiseError, nearest
from tilewise.engine.host import as_operand, check_out
from tilewise.engine.matmul_gpu import multiply, multiply_host
from tilewise.engine.memory import require_memory
from tilewise.engine.operands import WORD_BYTES
from tilewise.engine.pairs import product_shape
from tilewise.gpu.arrays import library_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PLACES = ("gpu", "emulator")


def matmul(a: Any, b: Any, *, out: Any = None, on: Literal["gpu", "emulator"] | None = None) -> Any:
    """Return the product of two float32 arrays as `numpy.matmul` defines it, computed by a CUDA kernel.

    a: (..., M, K) or (K,); b: (..., K, N) or (K,); leading dimensions broadcast. Sizes may be 0; K = 0 gives zeros.
    NaN and infinity propagate as IEEE 754 says. `out`, of the result's shape, gets the product and is returned.

    PyTorch's CUDA tensors, CuPy's and JAX's arrays, and anything on a GPU with DLPack or the CUDA array interface: the product is
    enqueued on the arrays' GPU and the caller's current stream there and waited for by nobody, also while the stream is captured
    into a CUDA graph; the result is of the caller's kind (a DeviceArray where that kind cannot be made).
    NumPy arrays, and what becomes one, run on the emulator; with on="gpu", on the first GPU, copied there and back.

    Rows or columns that are contiguous, whatever lies between them, are read (and `out`'s written) in place; arrays of other
    strides go through a copy. True float32: no TF32.

    Raises TilewiseError for other types than float32, for shapes that do not match, for arrays of different kinds or on different
    GPUs, for an `out` that has the wrong shape, is read-only or overlaps an operand, and for sizes beyond memory.
    """
    library = library_of(type(a))
    if not library.on_gpu(a):
        for name, other in (("b", b), ("out", out)):
            if library_of(type(other)).on_gpu(other):
                kinds = f"a is {_kind(a)} and {name} is {_kind(other)} on a GPU"
                raise TilewiseError(f"{kinds}: give all on the GPU, or all as NumPy arrays.")
        return _multiply_numpy(a, b, out, on)
    if type(b) is not type(a) and (library_of(type(b)) is not library or not library.on_gpu(b)):
        raise _mixed(a, "b", b)
    if out is not None and type(out) is not type(a) and (library_of(type(out)) is not library or not library.on_gpu(out)):
        raise _mixed(a, "out", out)
    if on is not None and on != "gpu":
        raise TilewiseError(f"a is on a GPU, and on = {on!r}: copy a and b to NumPy arrays for the emulator.")
    return multiply(library, a, b, out)


def _mixed(a: Any, name: str, other: Any) -> TilewiseError:
    where = " on the CPU" if library_of(type(other)) is library_of(type(a)) else ""
    return TilewiseError(f"a is {_kind(a)} on a GPU and {name} is {_kind(other)}{where}: give all of one kind, on one GPU.")


def _kind(value: object) -> str:
    kind = type(value)
    return f"a {kind.__module__.partition('.')[0]}.{kind.__name__}"


def _multiply_numpy(a: Any, b: Any, out: Any, on: str | None) -> NDArray[np.float32]:
    import numpy as np

    if on is not None and on not in PLACES:
        raise TilewiseError(f"on = {on!r} is no place to run.{nearest(str(on), PLACES)}")
    a, b = as_operand("a", a), as_operand("b", b)
    shape = product_shape(a.shape, b.shape)
    if out is None:
        require_memory(WORD_BYTES * math.prod(shape), f"a product of shape {shape}")
        result = np.empty(shape, np.float32)
    else:
        result = check_out(out, shape, a, b)
    if on == "gpu":
        result[...] = multiply_host(a, b)
    else:
        from tilewise.engine.matmul_emulated import multiply_emulated  # loads the emulator, which a GPU machine may lack

        multiply_emulated(a, b, result)
    return result if shape or out is not None else result[()]  # as NumPy: a number for two vectors
