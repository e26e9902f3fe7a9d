"""A kernel compiled for the CPU: its fast function at once, the careful one on demand; both kept on disk for the next process."""

from __future__ import annotations

import functools
import hashlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tilewise.build.cache import default_cache, key_of
from tilewise.core.launch import Dim3, Launch
from tilewise.emu.blueprint import Blueprint, draw, from_json
from tilewise.emu.jit import Code, Target, compile_ir, compiler_version, host_target
from tilewise.emu.lower.body import LARGE_GRID, SMALL_GRID, View
from tilewise.emu.lower.kernel import FUNCTION, Analysis, Lowered, analyse_program, lower
from tilewise.emu.lower.program import prepare
from tilewise.ptx.ast import PtxModule
from tilewise.ptx.call_sites import copy_called
from tilewise.ptx.parse import parse


class CompiledKernel:
    """A kernel's blueprint and code. Safe to use from several threads.

    `analyse` gives the kernel's analysis where code must be made; with both functions on disk it is never called.
    """

    def __init__(self, key: str, target: Target, analyse: Callable[[], Analysis], *, view: View = "") -> None:
        self._key = key
        self._target = target
        self._view = view
        self._analyse = functools.cache(analyse)
        self._careful: Code | None = None
        self._lock = threading.Lock()
        self.careful_seconds = 0.0
        """Time that making the careful function took, 0 as long as nobody needed it."""
        self.blueprint, self._fast = self._load_fast()
        self.fast_address = self._fast.address(FUNCTION)

    def careful_address(self) -> int:
        """The careful function, made now if it was not before."""
        with self._lock:
            if self._careful is None:
                start = time.perf_counter()
                self._careful = self._load_careful()
                self.careful_seconds = time.perf_counter() - start
            return self._careful.address(FUNCTION)

    def _load_fast(self) -> tuple[Blueprint, Code]:
        kept = default_cache().get(self._key)
        if kept is None:
            fast = self._lower(careful=False)
            kept = {"code": compile_ir(fast.ir, self._target), "blueprint": draw(self._analyse(), fast).to_json()}
            default_cache().put(self._key, kept)
        return from_json(kept["blueprint"]), Code(kept["code"], self._target)

    def _lower(self, *, careful: bool) -> Lowered:
        return lower(self._analyse(), careful=careful, vector_bits=self._target.vector_bits, view=self._view)

    def _load_careful(self) -> Code:
        key = key_of(self._key, "careful")
        kept = default_cache().get(key)
        if kept is None:
            careful = self._lower(careful=True)
            kept = {"code": compile_ir(careful.ir, self._target)}
            default_cache().put(key, kept)
        return Code(kept["code"], self._target)


def compile_kernel(launch: Launch, target: Target | None = None, *, view: View = "") -> CompiledKernel:
    """Return the kernel of a launch compiled for `target` (this processor), from memory or disk if it was compiled before.

    The runtime looks at accesses as closely as `view` says.

    Raises TilewiseError for PTX that the parser does not take, an unknown kernel and operands that the emulator does not have.
    """
    return _compile(launch.module.ptx, launch.kernel, launch.block, _grid_class(launch.grid), target or host_target(), view)


@functools.lru_cache(maxsize=64)
def _compile(ptx: str, kernel: str, block: Dim3, grid_class: Dim3, target: Target, view: View) -> CompiledKernel:
    shape = ",".join(map(str, block + grid_class))
    key = key_of("emulator", _emulator_digest(), compiler_version(), target.cpu, target.features, ptx, kernel, shape)
    if view:
        key = key_of(key, view)
    analyse = functools.partial(_analyse, ptx, kernel, block, grid_class, bool(view))
    return CompiledKernel(key, target, analyse, view=view)


@functools.lru_cache(maxsize=8)
def _analyse(ptx: str, kernel: str, block: Dim3, grid_class: Dim3, copies_called: bool) -> Analysis:
    module = copy_called(parse_module(ptx), kernel) if copies_called else parse_module(ptx)
    return analyse_program(prepare(module, kernel, block), grid_class)


@functools.lru_cache(maxsize=16)
def parse_module(ptx: str) -> PtxModule:
    """Parse PTX, once for each text."""
    return parse(ptx)


def _grid_class(grid: Dim3) -> Dim3:
    """Grids of one class share their code."""
    x, y, z = (SMALL_GRID if size <= SMALL_GRID else LARGE_GRID for size in grid)
    return x, y, z


@functools.cache
def _emulator_digest() -> bytes:
    """A digest of the sources that compiled code depends on: code kept by another version is not taken for this one's."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for folder in ("emu", "ptx", "hw"):
        for source in sorted((package / folder).rglob("*.[pch]*")):
            if source.suffix in (".py", ".c", ".h"):
                digest.update(source.read_bytes())
    return digest.digest()
