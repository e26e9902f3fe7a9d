"""A kernel's source: where every kernel, ours or a user's, enters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class KernelSource:
    """CUDA C++ text with all that its meaning depends on.

    `name` is the file name that messages and line tables show (an absolute path where there is a file); `headers` are included by
    name before any folder of `include_paths` is looked at.
    """

    text: str
    name: str = "kernel.cu"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    include_paths: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    std: str = "c++17"
