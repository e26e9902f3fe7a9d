"""Writes small PTX kernels for tests and launches them: register declarations and the frame of the module are filled in."""

from __future__ import annotations

import re
from typing import Any

from tilewise.core.launch import Launch
from tilewise.core.module import Module

_TYPES = {"p": "pred", "rs": "b16", "r": "b32", "rd": "b64", "f": "f32", "fd": "f64"}
"""Register type by the letters of its name, as NVRTC names them."""
_REGISTER = re.compile(r"%(p|rs|r|rd|f|fd)(\d+)\b")
SOURCE = "kernel.cu"
"""The file that `.loc 1 ...` names."""


def assemble(body: str, parameters: str = "", *, shared_bytes: int = 0, local_bytes: int = 0, outside: str = "") -> str:
    """Return a module with one kernel, `k`.

    `parameters` are types such as "u64 u32": they are called a0, a1, ...; `buffer` is the shared array, at shared address 0, and
    `depot` a local one. `outside` stands before the kernel.
    """
    declared = ",\n".join(f"\t.param .{type_} a{index}" for index, type_ in enumerate(parameters.split()))
    last: dict[str, int] = {}
    for prefix, number in _REGISTER.findall(body):
        last[prefix] = max(last.get(prefix, 0), int(number))
    registers = "".join(f"\t.reg .{_TYPES[prefix]} %{prefix}<{number + 1}>;\n" for prefix, number in last.items())
    shared = f"\t.shared .align 16 .b8 buffer[{shared_bytes}];\n" if shared_bytes else ""
    shared += f"\t.local .align 16 .b8 depot[{local_bytes}];\n" if local_bytes else ""
    return (
        f".version 8.4\n.target sm_90\n.address_size 64\n{outside}\n"
        f'.visible .entry k(\n{declared}\n)\n{{\n{registers}{shared}{body}\n}}\n.file 1 "{SOURCE}"\n'
    )


def launch(ptx: str, grid: Any, block: Any, *args: Any, dynamic_shared_bytes: int = 0) -> Launch:
    """Return a launch of kernel `k`."""
    return Launch(Module("test", "sm_90", ptx), "k", grid, block, args, dynamic_shared_bytes=dynamic_shared_bytes)
