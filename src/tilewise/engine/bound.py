"""A product bound to its arrays: all is decided, compiled and loaded, and a call only enqueues."""

from __future__ import annotations

from typing import Any

from tilewise.core.errors import TilewiseError
from tilewise.core.problem import Problem
from tilewise.engine.matmul_gpu import Ready, check_arrays, check_overlap, make_ready
from tilewise.engine.operands import ORDERS, in_place
from tilewise.engine.phantom import phantom
from tilewise.engine.recipe import LOW_BITS
from tilewise.engine.rules import Candidate, rank
from tilewise.gpu.arrays import Geometry, JaxArrays, Library, library_of
from tilewise.gpu.device import device_of


class Bound:
    """A prepared call. `out` is what it writes; calls of several threads on several streams are allowed."""

    __slots__ = ("_buffers", "_device", "_enqueue", "_keep", "_prepared", "_stream", "out")

    def __init__(self, library: Library, ready: Ready, buffers: tuple[int, ...], keep: tuple[object, ...], out: Any) -> None:
        self.out = out
        self._enqueue = ready.gpu.enqueue
        self._prepared = ready.prepared
        self._buffers = buffers
        self._keep = keep
        self._stream = library.stream
        self._device = ready.device

    def __call__(self) -> Any:
        """Enqueue the product on the caller's current stream and return `out`."""
        self._enqueue(self._prepared, self._stream(self._device), self._buffers)
        return self.out


def bind(problem: Problem, candidate: Candidate, a: Any, b: Any, out: Any = None) -> Bound:
    """Return a problem's prepared call on arrays of a GPU, by the candidate's kernel; see `Plan.bind`.

    A column-major `out` makes the product that of the transposes, another problem, and a very tall one is several.
    """
    library = library_of(type(a))
    if not library.on_gpu(a):
        raise TilewiseError(f"a, of type {type(a).__name__}, is not on a GPU: bind arrays of PyTorch, CuPy or the like on a GPU.")
    if isinstance(library, JaxArrays):
        raise TilewiseError("a is a JAX array, which a prepared call cannot write or reuse: call tilewise.matmul.")
    looks = [library.look(array, writes=array is out) for array in ((a, b) if out is None else (a, b, out))]
    geometries = [library.geometry(form) for form, _, _ in looks]
    a_form, b_form = geometries[:2]
    _check_problem(problem, a_form, b_form)
    shape = (problem.M, problem.N)
    if out is None:
        out, address = library.empty(shape, a, a_form.device)
        looks.append((library.look(out)[0], address, out))
        geometries.append(library.geometry(looks[2][0]))
    triple = (a_form, b_form, geometries[2])
    check_arrays(*triple, shape)
    addresses = (looks[0][1], looks[1][1], looks[2][1])
    a_bits, b_bits, out_bits = (address & LOW_BITS for address in addresses)
    device = device_of(a_form.device)

    def choose(part: Problem) -> Candidate:
        return candidate if part == problem else rank(part, device).chosen

    ready = make_ready(triple, (a_bits, b_bits, out_bits), choose)
    check_overlap(ready, addresses)
    keep: tuple[object, ...] = (a, b, *(held for _, _, held in looks))
    if not ready.workspace:
        return Bound(library, ready, addresses, keep, out)
    workspace, at_workspace = library.empty((ready.workspace,), a, ready.device)
    return Bound(library, ready, (*addresses, at_workspace), (*keep, workspace), out)


def _check_problem(problem: Problem, a: Geometry, b: Geometry) -> None:
    """Raise TilewiseError unless two arrays are a problem's operands, in its layout."""
    for name, geometry, shape, order in (
        ("a", a, (problem.M, problem.K), problem.layout[0]),
        ("b", b, (problem.K, problem.N), problem.layout[1]),
    ):
        if geometry.shape != shape:
            raise TilewiseError(f"{name} has shape {geometry.shape}, and the plan is for {shape}: plan again for these arrays.")
        array = phantom(0, 0, geometry.shape, geometry.strides)
        orders = [each for each in ORDERS if in_place(array, each) is not None]
        if orders and order not in orders:
            raise TilewiseError(
                f"{name} is of order {orders[0]!r}, and the plan's layout is {problem.layout!r}: plan again with {name}'s order."
            )
