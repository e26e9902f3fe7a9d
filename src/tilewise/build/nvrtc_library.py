"""CUDA C++ to PTX and cubin through NVRTC, loaded when it is first needed.

Knows NVRTC's calls, options and architectures. The wording of its errors stands in diagnostics.py, the cache in front of it in
nvrtc.py.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewise.build.diagnostics import compile_error, name_error
from tilewise.core.errors import TilewiseError
from tilewise.core.source import KernelSource

WHEEL = "nvidia-cuda-nvrtc"
_ARCH = re.compile(r"(?:sm|compute)_(\d+)([af]?)")
_FILE = re.compile(r'^(\s*\.file\s+\d+\s+")([^"]*)(")', re.MULTILINE)
_DEBUG = frozenset({"-G", "--device-debug"})

_OPTIONS_NAMING_FILES = re.compile(
    r"-I|--?include|--pre-include|--use-bundled-headers|--?((use|create)-)?pch|--options-file|-optf"
)
"""Options that make the result depend on files that the cache's key would not cover."""


@dataclass(frozen=True, slots=True)
class Output:
    """What one compile gave. `cubin` is None for a `compute_XX` architecture; `log` holds the compiler's warnings."""

    ptx: str
    cubin: bytes | None
    log: str
    compiler: str
    lowered_names: tuple[tuple[str, str], ...] = ()
    """Each C++ name that was asked for, and what the PTX calls it."""


def run_nvrtc(
    source: KernelSource,
    arch: str,
    options: tuple[str, ...],
    include_options: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
) -> Output:
    """Compile `source` afresh.

    `include_options` are those that find CUDA's own headers; `names` are C++ names of kernels that must be in the PTX, such as
    instances of templates. Raises CompileError when NVRTC refuses the source, and TilewiseError for an unknown architecture, an
    option that NVRTC does not know, a name that no kernel has, text with a NUL, or an NVRTC that cannot be loaded.
    """
    check_arch(arch)
    check_options(options)
    nvrtc = _library()
    arguments = [_bytes(text, "an option") for text in _arguments(source, arch, options, include_options)]
    with _program(nvrtc, source) as program:
        for name in names:
            _call(nvrtc, nvrtc.nvrtcAddNameExpression, program, _bytes(name, "a kernel's name"))
        (code,) = nvrtc.nvrtcCompileProgram(program, len(arguments), arguments)
        log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).decode(errors="replace").rstrip("\0\n ")
        if code == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            reason, given = log.removeprefix("nvrtc: error: "), b" ".join(arguments).decode()
            raise TilewiseError(f"{compiler_version()} refuses an option: {reason}. The options were {given}.", where=source.name)
        if code not in (nvrtc.nvrtcResult.NVRTC_SUCCESS, nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION):
            raise TilewiseError(f"{compiler_version()} failed with {code.name}. {log}", where=source.name)
        ptx = _name_files(source, _read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).decode().rstrip("\0"))
        if code == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
            raise name_error(source, log, names) or compile_error(source, log, ptx)
        lowered = tuple((name, _lowered_name(nvrtc, program, name)) for name in names)
        cubin = _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program) if arch.startswith("sm_") else None
    return Output(ptx, cubin, log, compiler_version(), lowered)


@functools.cache
def version() -> tuple[int, int]:
    """Return NVRTC's major and minor version; raises TilewiseError when it cannot be loaded."""
    nvrtc = _library()
    major, minor = _call(nvrtc, nvrtc.nvrtcVersion)
    return major, minor


def compiler_version() -> str:
    """Return such as "NVRTC 13.5", without compiling anything; raises TilewiseError when NVRTC cannot be loaded."""
    major, minor = version()
    return f"NVRTC {major}.{minor}"


@functools.cache
def library_identity() -> str:
    """Return what tells this NVRTC from another build of the same version: its file's name, size and time of change.

    NVRTC from its wheel is not loaded for this: what stands in the cache then costs neither its 45 MB nor its tenth of a second.
    """
    path = _wheel_library() or _loaded_library()
    if path is None:
        return compiler_version()
    file = path.stat()
    return f"NVRTC {path} {file.st_size} {file.st_mtime_ns}"


def _wheel_library() -> Path | None:
    """The library of the nvidia-cuda-nvrtc wheel, which is what is loaded where there is one."""
    try:
        files = importlib.metadata.files(WHEEL) or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    libraries = [Path(str(file.locate())) for file in files if file.name.startswith("libnvrtc.so.")]
    return libraries[0] if len(libraries) == 1 and libraries[0].exists() else None


def _loaded_library() -> Path | None:
    from cuda.pathfinder import load_nvidia_dynamic_lib

    _library()
    path = load_nvidia_dynamic_lib("nvrtc").abs_path
    return None if path is None else Path(path)


@functools.cache
def supported_archs() -> tuple[str, ...]:
    """Return the real architectures that this NVRTC compiles for, such as "sm_90" and "sm_90a", oldest first.

    NVRTC lists the numbers; the suffix `a` (this chip alone) exists from 9.0 on and `f` (its family) from 10.0 on (NVRTC manual,
    --gpu-architecture).
    """
    nvrtc = _library()
    (numbers,) = _call(nvrtc, nvrtc.nvrtcGetSupportedArchs)
    return tuple(f"sm_{number}{suffix}" for number in sorted(numbers) for suffix in _suffixes(number))


def check_arch(arch: str) -> None:
    """Raise TilewiseError, naming the supported architectures nearest first, unless NVRTC compiles for `arch`."""
    known = supported_archs()
    if isinstance(arch, str) and _ARCH.fullmatch(arch) and arch.replace("compute_", "sm_") in known:
        return
    number = re.search(r"\d{1,9}", str(arch))
    wanted = int(number[0]) if number else 0
    ordered = sorted(known, key=lambda name: abs(_number(name) - wanted))
    raise TilewiseError(f"arch {arch!r} is none that {compiler_version()} compiles for. Nearest first: {', '.join(ordered)}.")


def check_options(options: tuple[str, ...]) -> None:
    """Raise TilewiseError for a raw option that would read files behind the cache's back, or one string in place of a tuple."""
    if isinstance(options, str):
        raise TilewiseError(f"options = {options!r} is one string: give a tuple, such as ({options!r},).")
    for option in options:
        if _OPTIONS_NAMING_FILES.match(option):
            raise TilewiseError(f"option {option!r} names files to read: give folders as include_paths and texts as headers.")


def _suffixes(number: int) -> tuple[str, ...]:
    return ("", *("a" for _ in range(number >= 90)), *("f" for _ in range(number >= 100)))


def _number(arch: str) -> int:
    match = _ARCH.fullmatch(arch)
    assert match
    return int(match[1])


def _arguments(source: KernelSource, arch: str, options: tuple[str, ...], include_options: tuple[str, ...]) -> list[str]:
    """Return NVRTC's options: PTX with source lines, and no cache but ours."""
    return [
        f"--gpu-architecture={arch}",
        f"--std={source.std}",
        *(["--no-cache"] if version() >= (12, 9) else []),
        *([] if _DEBUG.intersection(options) else ["-lineinfo"]),
        *(f"--include-path={path}" for path in source.include_paths),
        *include_options,
        *_define_options(source.defines),
        *options,
    ]


def _define_options(defines: Mapping[str, str]) -> Iterator[str]:
    for name, value in defines.items():
        if not re.fullmatch(r"[A-Za-z_]\w*(\([^()]*\))?", name, re.ASCII):
            raise TilewiseError(f"define {name!r} is no macro's name: give an identifier, such as TILE.")
        yield f"-D{name}={value}"


@contextmanager
def _program(nvrtc: Any, source: KernelSource) -> Iterator[Any]:
    """Hold one NVRTC program for `source` and its in-memory headers."""
    headers = [_bytes(text, f"header {name}") for name, text in source.headers.items()]
    names = [_bytes(name, "a header's name") for name in source.headers]
    text, name = _bytes(source.text, source.name), _bytes(source.name, "the source's name")
    (program,) = _call(nvrtc, nvrtc.nvrtcCreateProgram, text, name, len(headers), headers, names)
    try:
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _lowered_name(nvrtc: Any, program: Any, name: str) -> str:
    (lowered,) = _call(nvrtc, nvrtc.nvrtcGetLoweredName, program, name.encode())
    return str(lowered.decode())


def _read(get_size: Any, get: Any, program: Any) -> bytes:
    """Return the bytes that one of NVRTC's pairs of size and content getters gives."""
    _, size = get_size(program)
    buffer = bytearray(size)
    if size:
        get(program, buffer)
    return bytes(buffer)


def _name_files(source: KernelSource, ptx: str) -> str:
    """Return the PTX with the names of the source and its in-memory headers as given: NVRTC makes relative ones absolute."""
    names = {os.path.abspath(name): name for name in (source.name, *source.headers)}  # noqa: PTH100 - lexical, as NVRTC does it
    return _FILE.sub(lambda match: match[1] + names.get(match[2], match[2]) + match[3], ptx)


def _call(nvrtc: Any, function: Any, *arguments: object) -> tuple[Any, ...]:
    """Return what an NVRTC function gave beside its status, which no input of a user's can make a failure."""
    code, *results = function(*arguments)
    if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"{function.__name__} failed with {code.name}")
    return tuple(results)


def _bytes(text: str, what: str) -> bytes:
    """Return `text` as UTF-8 for C, which ends it at the first NUL."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise TilewiseError(f"line {line} holds a NUL character, where NVRTC would stop reading: remove it.", where=what)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TilewiseError(
            f"character {error.start} ({text[error.start]!r}) is not Unicode text: give UTF-8.", where=what
        ) from None


@functools.cache
def _library() -> Any:
    """Return cuda.bindings.nvrtc with its library loaded.

    Raises TilewiseError that says what to install. Importing takes about 0.1 s, so nothing does before the first compile.
    """
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError, OSError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise TilewiseError(
            f"NVRTC, which compiles CUDA C++, cannot be loaded ({reason}). "
            'Install it with: pip install "nvidia-cuda-nvrtc>=13,<14" "cuda-bindings>=13,<14"'
        ) from error
    return nvrtc
