"""A compiled module: the PTX that the emulator runs, the cubin that a GPU runs, and what each kernel takes of an SM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What the assembler gave one kernel, read from the cubin. Bytes, and registers a thread."""

    name: str
    registers: int
    static_shared_bytes: int
    local_bytes: int
    """Stack frame a thread, spills included."""


@dataclass(frozen=True, slots=True)
class Module:
    """PTX and cubin of one compile. `cubin` is None (and `resources` empty) for a bare .ptx."""

    name: str
    arch: str
    """As given to the compiler: "sm_90a"."""
    ptx: str = field(repr=False)
    cubin: bytes | None = field(default=None, repr=False)
    resources: tuple[KernelResources, ...] = ()
    compiler: str = ""
    """Such as "NVRTC 13.5"."""
    log: str = ""
    """Warnings of the compiler."""
    lowered_names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """The kernels that were asked for by their C++ names, such as "mm<16>", by what the PTX calls them."""
