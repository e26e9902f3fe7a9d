"""A kernel's source to a module, through NVRTC and the disk cache in front of it.

The calls to NVRTC itself stand in nvrtc_library.py.
"""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from tilewise.build.apart import run_nvrtc_apart
from tilewise.build.cache import Cache, default_cache, key_of
from tilewise.build.cubin import read_resources
from tilewise.build.includes import Includes, scan_includes
from tilewise.build.nvrtc_library import check_arch, check_options, compiler_version, library_identity, run_nvrtc, version
from tilewise.core.errors import TilewiseError
from tilewise.core.module import KernelResources, Module
from tilewise.core.source import KernelSource

__all__ = ["compile", "compile_source", "compiler_version"]

_BUNDLES_HEADERS = (13, 3)
"""The first NVRTC that carries CUDA's headers (NVRTC manual, "Bundled Headers")."""


def compile(
    source: str | KernelSource, name: str = "kernel.cu", *, arch: str = "sm_90a", options: tuple[str, ...] = ()
) -> Module:
    """Compile CUDA C++ to PTX and cubin.

    `source` is the text, and `name` the file name that messages and line tables then show; a KernelSource has its own name.
    `arch` is `sm_XX`, or `compute_XX` for PTX alone; `options` go to NVRTC as they are. Raises CompileError with the failing
    lines, and TilewiseError for anything else that is wrong with the arguments.
    """
    if isinstance(source, str):
        source = KernelSource(source, name)
    elif not isinstance(source, KernelSource):
        raise TilewiseError(f"source is a {type(source).__name__}: give CUDA C++ as a string, or a KernelSource.")
    return compile_source(source, arch, options)


def compile_source(
    source: KernelSource,
    arch: str = "sm_90a",
    options: tuple[str, ...] = (),
    *,
    names: tuple[str, ...] = (),
    time_limit_s: float | None = None,
    cache: Cache | None = None,
) -> Module:
    """Compile `source`, or take from the cache (default: the user's) what the same source gave before.

    `names` are C++ names of kernels that the PTX must have, such as "mm<16>". With `time_limit_s` the compiler runs in a process
    of its own (apart.py), as it must for sources of others. Raises CompileError with the failing lines; TilewiseError for an
    unknown architecture or option, a name that no kernel has, a compile that takes too long, or an NVRTC that cannot be loaded.
    """
    if not isinstance(arch, str):
        check_arch(arch)
    check_options(options)
    cache = default_cache() if cache is None else cache
    includes = scan_includes(source)
    include_options: tuple[str, ...] = ()
    if includes.missing:
        source, include_options = _find_cuda_headers(source, cache)
        includes = scan_includes(source)
    key = _key(source, arch, options, names, includes)
    if entry := cache.get(key):
        return _unpack(entry)
    if time_limit_s is None:
        output = run_nvrtc(source, arch, options, include_options, names)
    else:
        output = run_nvrtc_apart(source, arch, options, include_options, names, time_limit_s)
    resources = read_resources(output.cubin) if output.cubin else ()
    lowered = dict(output.lowered_names)
    module = Module(source.name, arch, output.ptx, output.cubin, resources, output.compiler, output.log, lowered)
    if not includes.computed and scan_includes(source) == includes:  # no header was edited while we compiled
        cache.put(key, _pack(module))
    return module


def _find_cuda_headers(source: KernelSource, cache: Cache) -> tuple[KernelSource, tuple[str, ...]]:
    """Return the source and the options with which NVRTC finds CUDA's own headers."""
    if version() >= _BUNDLES_HEADERS:
        folder = cache.folder("cuda-headers-{}.{}".format(*version())) or _temporary_folder()
        return source, (f"--use-bundled-headers={folder}",)
    from cuda.pathfinder import find_nvidia_header_directory

    folder = find_nvidia_header_directory("cudart")
    return (replace(source, include_paths=(*source.include_paths, Path(folder))) if folder else source), ()


@functools.cache
def _temporary_folder() -> Path:
    """Return a folder for CUDA's headers that goes with this process, for when there is no cache."""
    folder = tempfile.mkdtemp(prefix="tilewise-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _key(source: KernelSource, arch: str, options: tuple[str, ...], names: tuple[str, ...], includes: Includes) -> str:
    """Return the key over all that the compile depends on; CUDA's bundled headers go with the library's identity."""
    return key_of(
        "module 2",
        library_identity(),
        arch,
        source.std,
        source.name,
        source.text,
        key_of(*options),
        key_of(*names),
        key_of(*(text for pair in source.headers.items() for text in pair)),
        key_of(*(text for pair in source.defines.items() for text in pair)),
        key_of(*map(str, source.include_paths)),
        key_of(*(text for pair in includes.files for text in pair)),
        key_of(*includes.missing),
    )


def _pack(module: Module) -> dict[str, bytes]:
    meta = {
        "name": module.name,
        "arch": module.arch,
        "compiler": module.compiler,
        "log": module.log,
        "lowered_names": dict(module.lowered_names),
        "resources": [asdict(kernel) for kernel in module.resources],
    }
    parts = {"meta": json.dumps(meta).encode(), "ptx": module.ptx.encode()}
    return parts if module.cubin is None else {**parts, "cubin": module.cubin}


def _unpack(entry: dict[str, bytes]) -> Module:
    meta = json.loads(entry["meta"])
    resources = tuple(KernelResources(**kernel) for kernel in meta.pop("resources"))
    return Module(ptx=entry["ptx"].decode(), cubin=entry.get("cubin"), resources=resources, **meta)
