"""Builds the programs of this folder, each in several ways, and runs their kernels on the emulator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tilewise.build.nvrtc import compile_source
from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.core.source import KernelSource
from tilewise.emu.machine import Emulation, emulate

FOLDER = Path(__file__).parent / "cuda"
BUILDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sm_90a": ("compute_90a", ()),
    "sm_100": ("compute_100", ()),
    "debug": ("compute_90a", ("--device-debug",)),
    "fast-compile": ("compute_90a", ("--Ofast-compile=max",)),
}
"""Architecture and options. NVRTC has another compiler for sm_100 than for sm_90a; the last two builds are not optimised."""
in_every_build = pytest.mark.parametrize("build", [*list(BUILDS)[:-1], pytest.param("fast-compile", marks=pytest.mark.slow)])


@dataclass(frozen=True)
class Program:
    """One file in one build."""

    module: Module

    def run(self, kernel: str, grid: Any, block: Any, *args: Any, shared_bytes: int = 0) -> Emulation:
        """Run one of its kernels; arrays among `args` are read and written."""
        return emulate(Launch(self.module, kernel, grid, block, args, dynamic_shared_bytes=shared_bytes))


@cache
def program(name: str, build: str) -> Program:
    path = FOLDER / f"{name}.cu"
    arch, options = BUILDS[build]
    return Program(compile_source(KernelSource(path.read_text(), str(path)), arch, options))


def blocks_for(items: int, per_block: int) -> int:
    """Blocks of `per_block` items each that hold so many items."""
    return -(-items // per_block)
