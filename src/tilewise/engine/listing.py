"""What a file's kernels take, for somebody who has not said how to launch them: names, types, and a command line to complete."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace

from tilewise.core.errors import TilewiseError
from tilewise.core.module import Module
from tilewise.emu.compiled import parse_module
from tilewise.emu.lower.memory_map import symbols_of
from tilewise.engine.arguments import describe_parameter
from tilewise.engine.kernel_file import (
    BuildOptions,
    KernelEntry,
    KernelFile,
    build,
    list_kernels,
    open_kernel,
    uncompiled_kernels,
)
from tilewise.engine.template_names import full_name
from tilewise.ptx.debug_info import SourceFunction, read_functions

DTYPE_OF = {
    "float": "f32",
    "double": "f64",
    "__half": "f16",
    "half": "f16",
    "__nv_bfloat16": "bf16",
    "__nv_fp8_e4m3": "e4m3",
    "__nv_fp8_e5m2": "e5m2",
    **dict.fromkeys(("char", "signed char"), "s8"),
    **dict.fromkeys(("unsigned char", "bool"), "u8"),
    "short": "s16",
    "unsigned short": "u16",
    "int": "s32",
    "unsigned int": "u32",
    **dict.fromkeys(("long", "long long"), "s64"),
    **dict.fromkeys(("unsigned long", "unsigned long long"), "u64"),
}
"""The element type of each C++ type, as 64-bit Linux has them."""
SHORT_WORDS = {"uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int", "longlong": "long long"}
"""How CUDA's vector types, such as uint4, spell what they are made of."""
ELEMENTS = 1024
"""Of the arrays in a command line to complete."""
DYNAMIC_BYTES = 4 * ELEMENTS
"""Of the dynamic shared memory in it, for kernels that have such an array."""

_VECTOR = re.compile(r"([a-z]+)([1-4])")


@dataclass(frozen=True, slots=True)
class ListedParameter:
    """One parameter: its name (made up where nothing says it), its C++ type (empty where nothing says it) and its PTX type."""

    name: str
    type: str
    ptx_type: str


@dataclass(frozen=True, slots=True)
class ListedKernel:
    """One kernel: what it is called in C++ and in the PTX, and what it takes."""

    name: str
    ptx_name: str
    parameters: tuple[ListedParameter, ...]
    command: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A file's kernels, and the templates that need arguments to be one."""

    file: str
    kernels: tuple[ListedKernel, ...]
    templates: tuple[str, ...]


def list_file(file: KernelFile, options: BuildOptions, kernel: str | None = None, verb: str = "run") -> Listing:
    """Return what a file's kernels take, or only the one that is chosen; `verb` is that of the commands to complete.

    Raises CompileError, and TilewiseError for a kernel that is not there.
    """
    kernel = None if kernel is None else full_name(kernel, file.text)
    module = build(file, options, kernel)
    entries = list_kernels(module)
    chosen = entries if kernel is None else (open_kernel(file, options, kernel),)
    described = _describe_source(file, options, module, kernel)
    many = len(entries) > 1 or kernel is not None
    return Listing(
        str(file.path),
        tuple(_list_kernel(file, entry, described.get(entry.name), many, verb) for entry in chosen),
        uncompiled_kernels(file, entries),
    )


def _describe_source(file: KernelFile, options: BuildOptions, module: Module, kernel: str | None) -> dict[str, SourceFunction]:
    """What an unoptimised build says of each function; nothing where there is none."""
    if file.is_ptx:
        return read_functions(module.ptx)
    try:
        return read_functions(build(file, replace(options, unoptimised=True), kernel).ptx)
    except TilewiseError:  # only the optimised build compiles
        return {}


def _list_kernel(file: KernelFile, entry: KernelEntry, source: SourceFunction | None, many: bool, verb: str) -> ListedKernel:
    types = entry.signature.parameters if entry.signature else ()
    declared = source.parameters if source else ()
    parameters = []
    for index, parameter in enumerate(entry.parameters):
        name = declared[index].name if index < len(declared) and declared[index].name else f"p{index}"
        type_ = declared[index].type if index < len(declared) else types[index] if index < len(types) else ""
        parameters.append(ListedParameter(name, type_, describe_parameter(parameter)))
    chosen = f" --kernel {shlex.quote(entry.shown)}" if many else ""
    arguments = "".join(f" --arg {shlex.quote(_example(parameter))}" for parameter in parameters)
    shared = f" --smem {DYNAMIC_BYTES}" if _has_dynamic_array(entry) else ""
    command = f"tilewise {verb} {shlex.quote(str(file.path))}{chosen} --grid 1 --block 256{shared}{arguments}"
    return ListedKernel(entry.shown, entry.name, tuple(parameters), command)


def _has_dynamic_array(entry: KernelEntry) -> bool:
    """Whether a kernel, or a function that it may call, speaks of an `extern __shared__` array."""
    module = parse_module(entry.module.ptx)
    arrays = {variable.name for variable in module.variables if variable.external and variable.space == "shared"}
    functions = (entry.function, *(function for function in module.functions if not function.is_entry))
    return bool(arrays) and any(symbols_of(function) & arrays for function in functions)


def _example(parameter: ListedParameter) -> str:
    """An argument that a parameter could take."""
    pointed = _element(parameter.type.removesuffix("*")) if parameter.type.endswith("*") else None
    value = _element(parameter.type)
    if pointed is not None:
        shape, dtype = _shape(pointed)
        fill = ":normal" if dtype[0] in "fbe" else ":uniform(0,100)"
        return f"{parameter.name}={dtype}[{shape}]" + (fill if "const" in parameter.type else "")
    if parameter.ptx_type.endswith("]"):
        if value is not None and not value[1]:
            return f"{parameter.name}={value[0]}:1"
        if value is not None:
            return f"{parameter.name}={value[0]}[{value[1]}]:zeros"
        return f"{parameter.name}=u8{parameter.ptx_type.removeprefix('b8')}:zeros"
    if "pointer" in parameter.ptx_type or parameter.type.endswith("*"):
        return f"{parameter.name}=f32[{ELEMENTS}]"
    if parameter.ptx_type in ("f32", "f64"):
        return f"{parameter.name}=1.0"
    return f"{parameter.name}={ELEMENTS if parameter.ptx_type[1:] in ('32', '64') else 1}"


def _shape(element: tuple[str, int]) -> tuple[str, str]:
    dtype, width = element
    return (f"{ELEMENTS},{width}" if width else str(ELEMENTS)), dtype


def _element(words: str) -> tuple[str, int] | None:
    """The element type of a C++ type, and how many of them a vector type such as float4 has (0 for a plain one)."""
    plain = " ".join(word for word in words.split() if word not in ("const", "volatile", "restrict"))
    if plain in DTYPE_OF:
        return DTYPE_OF[plain], 0
    found = _VECTOR.fullmatch(plain)
    base = SHORT_WORDS.get(found[1], found[1]) if found else ""
    return (DTYPE_OF[base], int(found[2])) if found and base in DTYPE_OF else None
