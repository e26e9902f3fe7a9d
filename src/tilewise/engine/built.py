"""Kernels compiled for a GPU, once a process; the disk cache stands behind it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tilewise.build.nvrtc import compile_source
from tilewise.build.nvrtc_library import compiler_version, supported_archs
from tilewise.core.errors import TilewiseError
from tilewise.gpu.errors import capability_objection
from tilewise.hw.catalog import DEVICES
from tilewise.hw.device import NVRTC_13_LEAST
from tilewise.kernels.auxiliary import auxiliary_source
from tilewise.kernels.fp32 import fp32_source
from tilewise.kernels.ladder import rung
from tilewise.kernels.source import kernel_source

if TYPE_CHECKING:
    from tilewise.core.module import Module
    from tilewise.core.plan import TilePlan
    from tilewise.core.problem import Layout
    from tilewise.hw.device import Device

KEPT = 1024
"""Modules a process keeps."""


@functools.lru_cache(maxsize=KEPT)
def build_rung(name: str, tile: TilePlan, layout: Layout, arch: str) -> Module:
    """Return the module of a rung with a plan."""
    return compile_source(kernel_source(rung(name), tile, layout), arch)


@functools.lru_cache(maxsize=KEPT)
def build_auxiliary(kernel: str, arch: str) -> Module:
    """Return the module of an auxiliary kernel."""
    return compile_source(auxiliary_source(kernel), arch)


@functools.lru_cache(maxsize=KEPT)
def build_fp32(file: str, header: str, arch: str) -> Module:
    """Return the module of a file of cuda/fp32 with its plan.cuh."""
    return compile_source(fp32_source(file, header), arch)


@functools.cache
def require_compiler(device: Device) -> None:
    """Raise TilewiseError if the NVRTC that is installed makes no code for the device.

    NVRTC is asked (and for that loaded) only about devices that it may not know.
    """
    known = {row.compute_capability for row in DEVICES.values()}
    if device.compute_capability in known and device.compute_capability >= NVRTC_13_LEAST:
        return
    objection = capability_objection(device.name, device.compute_capability, supported_archs(), compiler_version())
    if objection is not None:
        raise TilewiseError(objection)
