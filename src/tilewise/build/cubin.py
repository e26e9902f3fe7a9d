"""What a cubin says of its kernels: registers, shared memory and stack. Reads the ELF file itself; runs no tool.

NVIDIA documents the sections of a cubin only through cuobjdump's output; the numbers below were read off cubins of NVRTC 12.6,
13.0 and 13.5 for sm_70 to sm_120 and agree there with what `ptxas -v` says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tilewise.core.errors import TilewiseError
from tilewise.core.module import KernelResources

_CLASS_64, _MACHINE_CUDA = 2, 190

_VALUE = 0x04  # EIFMT_SVAL: a 16-bit size, then that many bytes; every other format is four bytes in all
_REGCOUNT, _FRAME_SIZE, _MIN_STACK_SIZE = 0x2F, 0x11, 0x12
_UNKNOWN_STACK = 0xFFFFFFFF  # ptxas: "Stack size cannot be statically determined"

_RESERVED_SHARED_BYTES = 1024
"""What the system takes at the start of shared memory: part of `.nv.shared.<kernel>` from compute capability 9.0 on."""


class _Malformed(Exception):
    """What keeps the bytes from being a cubin."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    offset: int
    size: int


def read_resources(cubin: bytes) -> tuple[KernelResources, ...]:
    """Return what each kernel of a cubin takes, by name.

    A kernel is what has a bank of constants for its parameters. `local_bytes` includes the frames of the functions that it calls,
    where ptxas could add them up (no recursion). Raises TilewiseError when the bytes are no cubin.
    """
    try:
        sections = {section.name: section for section in _sections(cubin)}
        kernels = sorted(name.removeprefix(".nv.constant0.") for name in sections if name.startswith(".nv.constant0."))
        attributes = _attributes(cubin, sections) if kernels else {}
    except _Malformed as reason:
        raise TilewiseError(f"These {len(cubin)} bytes are no cubin ({reason}): give one that NVRTC or ptxas made.") from None
    reserved = _RESERVED_SHARED_BYTES if _compute_capability(cubin) >= 90 else 0
    return tuple(_resources(kernel, attributes, sections.get(f".nv.shared.{kernel}"), reserved) for kernel in kernels)


def _resources(kernel: str, attributes: dict[tuple[int, str], int], shared: _Section | None, reserved: int) -> KernelResources:
    frame = attributes.get((_FRAME_SIZE, kernel), 0)
    stack = attributes.get((_MIN_STACK_SIZE, kernel), _UNKNOWN_STACK)
    registers = attributes.get((_REGCOUNT, kernel))
    if registers is None:
        raise TilewiseError(f"The cubin does not say how many registers {kernel} takes: give one of NVRTC or ptxas 12 or newer.")
    return KernelResources(
        name=kernel,
        registers=registers,
        static_shared_bytes=max(0, shared.size - reserved) if shared else 0,
        local_bytes=frame if stack == _UNKNOWN_STACK else stack,
    )


def _sections(cubin: bytes) -> Iterator[_Section]:
    """Yield the sections of a 64-bit little-endian ELF file for CUDA (System V ABI, chapter 4)."""
    magic, elf_class = _unpack("<4sB", cubin)
    (machine,) = _unpack("<H", cubin, 18)
    if (magic, elf_class, machine) != (b"\x7fELF", _CLASS_64, _MACHINE_CUDA):
        raise _Malformed("no 64-bit ELF file for CUDA")
    (table,) = _unpack("<Q", cubin, 40)
    entry_bytes, count, names_index = _unpack("<HHH", cubin, 58)
    names = _string_table(cubin, table + names_index * entry_bytes)
    for index in range(count):
        name, _, _, _, offset, size = _unpack("<IIQQQQ", cubin, table + index * entry_bytes)
        yield _Section(_string(names, name), offset, size)


def _string_table(cubin: bytes, header: int) -> bytes:
    offset, size = _unpack("<QQ", cubin, header + 24)
    return cubin[offset : offset + size]


def _string(table: bytes, start: int) -> str:
    end = table.find(b"\0", start)
    return table[start : None if end < 0 else end].decode(errors="replace")


def _attributes(cubin: bytes, sections: dict[str, _Section]) -> dict[tuple[int, str], int]:
    """Return the values of `.nv.info` that belong to a function, by attribute and the function's name."""
    if absent := {".nv.info", ".symtab", ".strtab"}.difference(sections):
        raise _Malformed(f"no section {min(absent)}")
    info, symbols, names = sections[".nv.info"], sections[".symtab"], sections[".strtab"]
    strings = cubin[names.offset : names.offset + names.size]
    values = {}
    at, end = info.offset, info.offset + info.size
    while at < end:
        form, attribute, size = _unpack("<BBH", cubin, at)
        at += 4
        if form != _VALUE:
            continue
        if attribute in (_REGCOUNT, _FRAME_SIZE, _MIN_STACK_SIZE):
            symbol, value = _unpack("<II", cubin, at)
            (name,) = _unpack("<I", cubin, symbols.offset + symbol * 24)
            values[attribute, _string(strings, name)] = value
        at += size
    return values


def _compute_capability(cubin: bytes) -> int:
    """Return such as 90: the second byte of e_flags since ELF ABI 8 (CUDA 13), the first before."""
    abi = cubin[8]
    (flags,) = _unpack("<I", cubin, 48)
    return int(flags >> 8 if abi >= 8 else flags) & 0xFF


def _unpack(form: str, cubin: bytes, offset: int = 0) -> tuple[Any, ...]:
    if offset + struct.calcsize(form) > len(cubin):
        raise _Malformed("cut short")
    return struct.unpack_from(form, cubin, offset)
