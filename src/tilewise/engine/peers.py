"""Other libraries' products, to time beside ours: cuBLAS through PyTorch or CuPy, CuPy's own, Triton's.

With torch_op.py and peers_triton.py the only importer of torch, cupy and triton.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tilewise.core.errors import TilewiseError, nearest

if TYPE_CHECKING:
    from tilewise.engine.gpu_operands import GpuOperands
    from tilewise.gpu.timing import Work


@dataclass(frozen=True, slots=True)
class Peer:
    """A contestant: what it is called, what it runs on, and how its calls on a problem's operands are made."""

    name: str
    through: str
    """The package that runs it."""
    make_work: Callable[[GpuOperands], Work]


def open_peers(names: Sequence[str]) -> list[Peer]:
    """Return the peers of these names.

    Raises TilewiseError for an unknown one, and for one whose package is missing.
    """
    makers = {"cublas": _cublas, "cupy": _cupy, "triton": _triton}
    for name in names:
        if name not in makers:
            raise TilewiseError(f"there is no peer {name!r}.{nearest(name, makers)}")
    return [makers[name]() for name in dict.fromkeys(names)]


def has_cublas() -> bool:
    """Return whether a package is installed through which cuBLAS runs."""
    return any(find_spec(package) is not None for package in ("torch", "cupy"))


def peer_versions(peers: Sequence[Peer]) -> dict[str, str]:
    """Return the versions of what peers run on, by package."""
    packages = {peer.through for peer in peers}
    if packages & {"torch", "cupy"}:
        packages.add("nvidia-cublas")
    return {package: found for package in sorted(packages) if (found := _version(package))}


@contextlib.contextmanager
def true_float32(peers: Sequence[Peer]) -> Iterator[None]:
    """Keep PyTorch from TF32 in the block; CuPy and Triton's peer use none by default."""
    if not any(peer.through == "torch" for peer in peers):
        yield
        return
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _cublas() -> Peer:
    if find_spec("torch") is not None:
        return Peer("cublas", "torch", _torch_work)
    if find_spec("cupy") is not None:
        return Peer("cublas", "cupy", _cupy_work)
    raise TilewiseError("cuBLAS runs through PyTorch or CuPy, and neither is installed: pip install torch, or cupy-cuda13x.")


def _cupy() -> Peer:
    if find_spec("cupy") is None:
        raise TilewiseError("CuPy is not installed: pip install cupy-cuda13x, or leave cupy out of --vs.")
    return Peer("cupy", "cupy", _cupy_work)


def _triton() -> Peer:
    for package in ("torch", "triton"):
        if find_spec(package) is None:
            raise TilewiseError(f"Triton's product needs {package}: pip install {package}, or leave triton out of --vs.")
    return Peer("triton", "triton", _triton_work)


def _torch_work(operands: GpuOperands) -> Work:
    import torch

    tensors = _torch_tensors(operands)

    def work(stream: int, number: int) -> None:
        a, b, c = tensors[number]
        with torch.cuda.stream(_torch_stream(stream, operands.gpu.ordinal)):
            torch.mm(a, b, out=c)

    return work


def _triton_work(operands: GpuOperands) -> Work:
    import torch

    from tilewise.engine.peers_triton import matmul

    tensors = _torch_tensors(operands)

    def work(stream: int, number: int) -> None:
        with torch.cuda.stream(_torch_stream(stream, operands.gpu.ordinal)):
            matmul(*tensors[number])

    return work


def _torch_tensors(operands: GpuOperands) -> list[tuple[Any, Any, Any]]:
    import torch

    tensors = []
    for number in range(operands.sets):
        a, b, c = (torch.from_dlpack(array) for array in operands.arrays(number))
        tensors.append((a, b, c))
    return tensors


@functools.lru_cache(maxsize=64)
def _torch_stream(stream: int, device: int) -> Any:
    import torch

    return torch.cuda.ExternalStream(stream, device=device)


def _cupy_work(operands: GpuOperands) -> Work:
    import cupy

    arrays = [tuple(cupy.asarray(array) for array in operands.arrays(number)) for number in range(operands.sets)]

    def work(stream: int, number: int) -> None:
        a, b, c = arrays[number]
        with cupy.cuda.Device(operands.gpu.ordinal), _cupy_stream(stream):
            cupy.matmul(a, b, out=c)

    return work


@functools.lru_cache(maxsize=64)
def _cupy_stream(stream: int) -> Any:
    import cupy

    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(_Stream(stream))
    return cupy.cuda.ExternalStream(stream)


class _Stream:
    """A stream as CUDA's protocol for Python shows it [cuda.core, __cuda_stream__, version 0]."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def _version(package: str) -> str:
    names = ("cupy-cuda13x", "cupy-cuda12x", "cupy") if package == "cupy" else (package,)
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""
