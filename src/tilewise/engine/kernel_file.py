"""Anybody's .cu or .ptx file: read, compiled apart, and the kernel in it that a user means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from tilewise.build.nvcc import compile_with_nvcc, find_host_code, has_nvcc
from tilewise.build.nvrtc import compile_source
from tilewise.build.stand_ins import with_stand_ins
from tilewise.core.errors import CompileError, TilewiseError, nearest
from tilewise.core.launch_facts import LaunchFacts, choose_facts, read_comment_facts
from tilewise.core.module import Module
from tilewise.core.source import KernelSource
from tilewise.emu.compiled import parse_module
from tilewise.engine.template_names import declared_name, full_name
from tilewise.ptx.ast import Function, Variable
from tilewise.ptx.cursor import without_comments
from tilewise.ptx.mangled import Signature, demangle

FILE_LIMIT_BYTES = 64 << 20
"""Larger than any source or PTX; a device file that never ends is not read on."""
DEFAULT_STD = "c++17"
SUFFIXES = (".cu", ".ptx")

_VERSION = re.compile(r"^\s*\.version\s+\d", re.MULTILINE)
_DECLARED = re.compile(r"__global__\b([^;{}]{0,2000})")
"""A kernel's declaration, up to its body."""
_REFUSES_HOST = "not allowed in JIT mode"
"""In NVRTC's errors at functions and variables of the host."""
_SUFFIXED = re.compile(r"\b(\d+)[uUlL]+\b")
"""A whole number with its type."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How a source is compiled: what the command line alone may say."""

    arch: str = "sm_90a"
    defines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    include_paths: tuple[Path, ...] = ()
    std: str = DEFAULT_STD
    unoptimised: bool = False
    """Whether to build for a debugger (-G): slow code that keeps every variable, and its names."""
    without_names: bool = False
    """Whether an unoptimised build may do without names (--Ofast-compile=max), for sources that do not compile with -G."""
    assembled: bool = False
    """Whether to assemble the PTX too, which says what the kernel takes of a GPU."""
    time_limit_s: float = 60.0


@dataclass(frozen=True, slots=True)
class KernelFile:
    """A file's text, and whether it is PTX."""

    path: Path
    text: str = field(repr=False)
    is_ptx: bool
    source: KernelSource | None = field(default=None, repr=False)
    """The source that it is, where its text is not all: with headers, folders and macros of its own."""

    def facts(self, given: LaunchFacts) -> LaunchFacts:
        """Return the launch facts that the file's comment lines state, with those of the command line in their place."""
        stated = read_comment_facts(self.text, str(self.path), self.path.parent)
        return choose_facts(stated, given.kernel, str(self.path)).overridden_by(given)


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """One kernel of a module. `name` is its PTX name, `signature` what C++ calls it (None for extern "C")."""

    module: Module
    function: Function = field(repr=False)
    signature: Signature | None

    @property
    def name(self) -> str:
        """What the PTX calls it."""
        return self.function.name

    @property
    def shown(self) -> str:
        """What its author calls it."""
        return self.signature.name if self.signature else self.function.name

    @property
    def parameters(self) -> tuple[Variable, ...]:
        """Its parameters as the PTX has them."""
        return self.function.parameters


def open_file(path: Path) -> KernelFile:
    """Return a .cu or .ptx file.

    Raises TilewiseError for one that cannot be read, is too large or holds no text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT_BYTES + 1)
    except (OSError, ValueError) as error:  # a NUL character in a path is a ValueError
        raise TilewiseError(f"{str(path)!r} cannot be read: {getattr(error, 'strerror', error)}.") from None
    if len(data) > FILE_LIMIT_BYTES:
        raise TilewiseError(f"{path} has more than {FILE_LIMIT_BYTES >> 20} MB: give a .cu or .ptx file.")
    if b"\0" in data:
        raise TilewiseError(f"{path} is no text: give a .cu or .ptx file.")
    text = data.decode("utf-8-sig", errors="replace")  # editors on Windows begin files with a byte order mark
    if path.suffix not in SUFFIXES and not _VERSION.search(text) and "__global__" not in text:
        raise TilewiseError(f"{path} holds neither CUDA C++ nor PTX: give a .cu or .ptx file.")
    return KernelFile(path, text, path.suffix == ".ptx" or (path.suffix != ".cu" and _VERSION.search(text) is not None))


def build(file: KernelFile, options: BuildOptions, kernel: str | None = None) -> Module:
    """Return a file's module; a template's instance that `kernel` names, such as "mm<16>", will be in it.

    A file with host code is compiled by nvcc; so is one that NVRTC does not compile with stand-ins for headers of the host, where
    there is nvcc. The host's own functions and variables, which NVRTC refuses, are taken for the device's.

    Raises CompileError, and TilewiseError for options and names that cannot be.
    """
    if file.is_ptx:
        return Module(str(file.path), "", file.text)
    source = file.source or KernelSource(
        file.text, str(file.path), include_paths=options.include_paths, defines=options.defines, std=options.std
    )
    arch = options.arch if options.assembled else options.arch.replace("sm_", "compute_")
    flags = _unoptimised_flags(options) if options.unoptimised else ()
    names = (kernel,) if kernel is not None and "<" in kernel else ()
    if file.source is not None:
        return compile_source(source, arch, flags, names=names, time_limit_s=options.time_limit_s)
    device_code = with_stand_ins(source)
    host = find_host_code(source.text, device_code.headers)
    if host is None:
        try:
            return _compile_device_code(device_code, arch, flags, names, options.time_limit_s)
        except CompileError:
            host = find_host_code(source.text)
            if host is None or not has_nvcc():
                raise
    return compile_with_nvcc(source, host, arch, flags, names=names, time_limit_s=options.time_limit_s)


def _compile_device_code(
    source: KernelSource, arch: str, flags: tuple[str, ...], names: tuple[str, ...], time_limit_s: float
) -> Module:
    try:
        return compile_source(source, arch, flags, names=names, time_limit_s=time_limit_s)
    except CompileError as error:
        if _REFUSES_HOST not in error.log:
            raise
    return compile_source(source, arch, (*flags, "-default-device"), names=names, time_limit_s=time_limit_s)


def _unoptimised_flags(options: BuildOptions) -> tuple[str, ...]:
    """What keeps NVRTC and nvcc from optimising [NVRTC manual, Supported Compile Options]."""
    return ("--Ofast-compile=max",) if options.without_names else ("-G",)


def list_kernels(module: Module) -> tuple[KernelEntry, ...]:
    """Return the kernels of a module."""
    functions = parse_module(module.ptx).functions
    return tuple(KernelEntry(module, function, demangle(function.name)) for function in functions if function.is_entry)


def open_kernel(file: KernelFile, options: BuildOptions, kernel: str | None) -> KernelEntry:
    """Return the kernel of that C++ or PTX name, or of its last parts, compiled; None for the file's only one.

    Raises CompileError, and TilewiseError with the kernels there are.
    """
    named = None if kernel is None else full_name(kernel, file.text)
    return find_kernel(build(file, options, named), named, file)


def find_kernel(module: Module, kernel: str | None, file: KernelFile | None = None) -> KernelEntry:
    """Return the kernel of that C++ or PTX name in a module, of that file if it is of one; None for the only one.

    Raises TilewiseError with the kernels there are.
    """
    entries = list_kernels(module)
    found = entries if kernel is None else _find(entries, kernel, module.lowered_names.get(kernel))
    if len(found) == 1:
        return found[0]
    where = file.path if file else module.name
    templates = uncompiled_kernels(file, entries) if file else ()
    if len(found) > 1:
        names = ", ".join([*(str(entry.signature or entry.name) for entry in found), *templates])
        asked = "choose one with --kernel" if kernel is None else f"{kernel!r} may be any of them"
        raise TilewiseError(f"{where} has the kernels {names}: {asked}.")
    for name in templates:
        if kernel is None or name == _last_part(kernel):
            raise TilewiseError(f"{where} has {name} as a template: give its arguments, as in --kernel '{name}<16>'.")
    if not entries:
        raise TilewiseError(f"{where} has no kernel.")
    raise TilewiseError(f"{where} has no kernel {kernel!r}.{nearest(str(kernel), (entry.shown for entry in entries))}")


def _find(entries: Sequence[KernelEntry], kernel: str, lowered: str | None) -> tuple[KernelEntry, ...]:
    """The kernels that a name may mean: that of the PTX exactly, else any that C++ may call so."""
    exact = tuple(entry for entry in entries if entry.name in (kernel, lowered))
    return exact or tuple(entry for entry in entries if _is_called(entry, kernel))


def uncompiled_kernels(file: KernelFile, entries: Iterable[KernelEntry]) -> tuple[str, ...]:
    """Return the names of kernels that a source declares and its module lacks: templates without an instance."""
    compiled = {_last_part(entry.signature.plain_name if entry.signature else entry.name) for entry in entries}
    text = "" if file.is_ptx else without_comments(file.text)
    declared = [name for declaration in _DECLARED.findall(text) if (name := declared_name(declaration))]
    return tuple(dict.fromkeys(name for name in declared if name not in compiled))


def _is_called(entry: KernelEntry, kernel: str) -> bool:
    """Whether a user may mean a kernel: by its name with all, some or no namespaces, template arguments or parameters."""
    if entry.signature is None:
        return False
    wanted = _bare(kernel)
    names = (entry.signature.name, entry.signature.plain_name, str(entry.signature))
    return any(wanted in (_bare(name), *_tails(name)) for name in names)


def _bare(name: str) -> str:
    """A name without spaces, and with its numbers as they are written whatever their type: 32 for 32u."""
    return _SUFFIXED.sub(r"\1", name.replace(" ", ""))


def _tails(name: str) -> Iterator[str]:
    """Yield a name as `_bare` has it, with ever fewer of its namespaces."""
    head, mark, rest = re.split(r"([<(]|$)", _bare(name.replace("(anonymous namespace)::", "")), maxsplit=1)
    parts = head.split("::")
    for first in range(len(parts)):
        yield "::".join(parts[first:]) + mark + rest


def _last_part(name: str) -> str:
    return name.rpartition("::")[2]
