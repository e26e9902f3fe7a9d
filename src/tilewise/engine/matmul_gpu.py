"""Products of arrays on a GPU: what depends on the arrays' form alone is made once and kept, the rest is a few microseconds.

Nothing here waits for the GPU but `multiply_host`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewise.core.errors import TilewiseError
from tilewise.core.problem import Problem
from tilewise.engine.built import build_auxiliary, build_fp32, build_rung, require_compiler
from tilewise.engine.operands import WORD_BYTES
from tilewise.engine.pairs import product_shape
from tilewise.engine.recipe import LOW_BITS, Buffer, Builder, Recipe, make_recipe
from tilewise.engine.rules import Candidate, rank
from tilewise.gpu.arrays import Form, Geometry, Library, library_of
from tilewise.gpu.device import device_of
from tilewise.gpu.dlpack import dense_strides
from tilewise.gpu.driver import Gpu, open_gpu
from tilewise.gpu.memory import DeviceArray, allocate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tilewise.gpu.prepared import Prepared

DTYPE = "float32"
KEPT = 4096
"""Forms of products that a process keeps."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A product of arrays of one form, ready to launch."""

    gpu: Gpu
    device: int
    shape: tuple[int, ...]
    prepared: tuple[Prepared, ...]
    workspace: int
    """Float32 numbers; 0 for none."""
    extents: tuple[tuple[int, int], ...]
    """Of a, b and out: the first byte and the end, from its address."""
    geometries: tuple[Geometry, Geometry, Geometry]
    recipe: Recipe


def multiply(library: Library, a: Any, b: Any, out: Any = None) -> Any:
    """Return the product of two arrays of one library on one GPU, enqueued on the caller's current stream.

    Raises TilewiseError for arrays that matmul does not take.
    """
    form_a, at_a, held_a = library.look(a)
    form_b, at_b, held_b = library.look(b)
    if out is None:
        ready = get_ready(library, form_a, form_b, at_a & LOW_BITS, at_b & LOW_BITS)
        result, at_out = library.empty(ready.shape, a, ready.device)
    else:
        form_out, at_out, _ = library.look(out, writes=True)
        ready = get_ready(library, form_a, form_b, at_a & LOW_BITS, at_b & LOW_BITS, form_out, at_out & LOW_BITS)
        check_overlap(ready, (at_a, at_b, at_out))
    stream = library.stream(ready.device)
    if ready.workspace:
        workspace, at_workspace = library.empty((ready.workspace,), a, ready.device)
        ready.gpu.enqueue(ready.prepared, stream, (at_a, at_b, at_out, at_workspace))
        library.finish(ready.device, stream, (held_a, held_b, workspace))
    else:
        ready.gpu.enqueue(ready.prepared, stream, (at_a, at_b, at_out))
        library.finish(ready.device, stream, (held_a, held_b))
    return library.hand_over(result, a) if out is None else out


def multiply_host(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the product of two NumPy arrays, copied to the first GPU and back."""
    import numpy as np

    gpu = open_gpu(0)
    on_gpu = []
    for host in (a, b):
        array = allocate(gpu, host.shape, gpu.own_stream)
        array.memory.copy_from(np.ascontiguousarray(host))
        on_gpu.append(array)
    result: NDArray[np.float32] = multiply(library_of(DeviceArray), *on_gpu).numpy()
    return result


@functools.lru_cache(maxsize=KEPT)
def get_ready(
    library: Library,
    form_a: Form,
    form_b: Form,
    low_bits_a: int,
    low_bits_b: int,
    form_out: Form | None = None,
    low_bits_out: int = 0,
) -> Ready:
    """Return the product of arrays of these forms; without `form_out`, of a new array for the result."""
    a, b = library.geometry(form_a), library.geometry(form_b)
    shape = product_shape(a.shape, b.shape)
    dense = Geometry(shape, dense_strides(shape, WORD_BYTES), DTYPE, a.device)
    out = dense if form_out is None else library.geometry(form_out)
    check_arrays(a, b, out, shape)
    low_bits = (low_bits_a, low_bits_b, low_bits_out)
    return make_ready((a, b, out), low_bits, lambda problem: rank(problem, device_of(a.device)).chosen)


def make_ready(
    geometries: tuple[Geometry, Geometry, Geometry], low_bits: tuple[int, int, int], choose: Callable[[Problem], Candidate]
) -> Ready:
    """Return the product of arrays laid out like this, with the kernels that `choose` chooses, compiled and loaded."""
    number = geometries[0].device
    gpu, device = open_gpu(number), device_of(number)
    require_compiler(device)
    a, b, out = (Buffer(each.shape, each.strides, bits) for each, bits in zip(geometries, low_bits, strict=True))
    builder = Builder(
        rung=lambda name, tile, layout: build_rung(name, tile, layout, device.arch),
        fp32=lambda file, header: build_fp32(file, header, device.arch),
        auxiliary=lambda kernel: build_auxiliary(kernel, device.arch),
    )
    recipe = make_recipe(a, b, out, choose, builder)
    return Ready(
        gpu=gpu,
        device=number,
        shape=geometries[2].shape,
        prepared=tuple(gpu.prepare(launch) for launch in recipe.launches),
        workspace=recipe.workspace_bytes // WORD_BYTES,
        extents=tuple(_extent(each) for each in geometries),
        geometries=geometries,
        recipe=recipe,
    )


def check_overlap(ready: Ready, addresses: tuple[int, int, int]) -> None:
    """Raise TilewiseError if `out` shares an element with an operand; views that interleave do not."""
    *operands, out = zip(addresses, ready.extents, ready.geometries, strict=True)
    low, high = out[0] + out[1][0], out[0] + out[1][1]
    for name, (address, (first, end), geometry) in zip("ab", operands, strict=True):
        if address + first < high and low < address + end and _share_memory(address, geometry, out[0], out[2]):
            raise TilewiseError(f"out overlaps {name} in memory, which the product still reads: give an array of its own.")


def _share_memory(address: int, geometry: Geometry, other_address: int, other: Geometry) -> bool:
    import numpy as np

    from tilewise.engine.phantom import phantom_at

    one = phantom_at(address, geometry.shape, geometry.strides)
    return np.shares_memory(one, phantom_at(other_address, other.shape, other.strides))


def _extent(geometry: Geometry) -> tuple[int, int]:
    if 0 in geometry.shape:
        return 0, 0
    steps = [(size - 1) * stride for size, stride in zip(geometry.shape, geometry.strides, strict=True)]
    return sum(min(0, step) for step in steps), sum(max(0, step) for step in steps) + WORD_BYTES


def check_arrays(a: Geometry, b: Geometry, out: Geometry, shape: tuple[int, ...]) -> None:
    """Raise TilewiseError unless the arrays are float32, on one GPU, and `out` has the product's shape."""
    for name, geometry in (("a", a), ("b", b), ("out", out)):
        if geometry.dtype != DTYPE:
            raise TilewiseError(f"{name} is of type {geometry.dtype}, and matmul takes {DTYPE} only for now: convert it first.")
        if geometry.device != a.device:
            where = "the CPU" if geometry.device < 0 else f"GPU {geometry.device}"
            raise TilewiseError(
                f"a is on GPU {a.device} and {name} on {where}: move them to one GPU, where the product then runs."
            )
    if out.shape != shape:
        raise TilewiseError(f"out has shape {out.shape}, and the product has shape {shape}: give an array of that shape.")
