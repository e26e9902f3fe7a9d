"""Device code out of files that hold host code too: nvcc's, where it is installed. NVRTC compiles device code alone."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewise.build.cubin import read_resources
from tilewise.core.errors import CompileError, TilewiseError
from tilewise.core.module import Module
from tilewise.core.source import KernelSource
from tilewise.ptx.cursor import without_comments

SHOWN = 8
"""Lines of errors that a message quotes."""

_HOST = re.compile(
    r"^(?P<launch>[^\n]*<<<)|^(?P<main>[^\n]*\b(?:int|void|auto)\s+main\s*\()|"
    r"^[ \t]*#[ \t]*include[ \t]*<(?P<header>"
    r"(?:assert|cuda|cuda_runtime\w*|device_launch_parameters|float|math|std\w+|string|limits|time)\.h|[a-z_]+)>",
    re.MULTILINE,
)
"""What NVRTC cannot compile: launches, main, and headers of the host. C++'s own headers have no suffix, CUDA's have one."""
_COUNTED = "detected in the compilation of"
"""In nvcc's last line, which counts the errors."""
_VERSION = re.compile(r"\bV(\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class HostCode:
    """The first host code of a text, in words, and its line."""

    what: str
    line: int


def find_host_code(text: str, stood_in: Collection[str] = ()) -> HostCode | None:
    """Return the first host code in a text, passing over headers that something else stands in for; None where there is none."""
    text = without_comments(text)
    found = next((match for match in _HOST.finditer(text) if match["header"] is None or match["header"] not in stood_in), None)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    what = "a kernel's launch" if found["launch"] is not None else "main" if found["main"] is not None else f"<{found['header']}>"
    return HostCode(what, line)


def compile_with_nvcc(
    source: KernelSource, host: HostCode, arch: str, options: Sequence[str], *, names: Sequence[str] = (), time_limit_s: float
) -> Module:
    """Compile the device code of a file on disk; `arch` is sm_XX, or compute_XX for PTX alone.

    The instances of templates that `names` has, such as "mm<16>", will be in the module.

    Raises CompileError, and TilewiseError where nvcc is missing or takes longer than `time_limit_s`.
    """
    where = f"{source.name}:{host.line}"
    nvcc = _find_nvcc()
    if nvcc is None:
        raise TilewiseError(
            f"{host.what} is host code, which NVRTC does not compile, and there is no nvcc: install it (pip install "
            "nvidia-cuda-nvcc, beside a C++ compiler), or put the kernels into a file of their own.",
            where=where,
        )
    if not Path(source.name).is_file():
        raise TilewiseError(f"{host.what} is host code: give the file that it stands in.", where=where)
    virtual = arch.replace("sm_", "compute_")
    common = [*_flags(source), *options]
    with tempfile.TemporaryDirectory(prefix="tilewise-") as folder:
        ptx_path, cubin_path = Path(folder, "out.ptx"), Path(folder, "out.cubin")
        path = _with_instances(source, names, Path(folder)) if names else source.name
        log = _run([nvcc, "-ptx", f"-arch={virtual}", *common, "-o", str(ptx_path), path], source, time_limit_s)
        ptx = ptx_path.read_text(errors="replace")
        cubin = None
        if arch != virtual:
            _run([nvcc, "-cubin", f"-arch={arch}", *common, "-o", str(cubin_path), path], source, time_limit_s)
            cubin = cubin_path.read_bytes()
    resources = read_resources(cubin) if cubin else ()
    return Module(source.name, arch, _with_name(ptx, source.name), cubin, resources, _version(nvcc), log)


def _with_instances(source: KernelSource, names: Sequence[str], folder: Path) -> str:
    """Write a file that includes the source and takes the addresses of templates' instances, which makes nvcc compile them."""
    asked = [f"[[maybe_unused]] static auto* const tilewise_kernel_{i} = &{name};" for i, name in enumerate(names)]
    path = folder / "instances.cu"
    path.write_text("\n".join([f'#include "{Path(source.name).resolve()}"', '#line 1 "--kernel"', *asked, ""]))
    return str(path)


def has_nvcc() -> bool:
    """Whether nvcc is installed."""
    return _find_nvcc() is not None


def _find_nvcc() -> str | None:
    """The nvcc on the path, or where CUDA's packages and toolkits put it."""
    from cuda.pathfinder import find_nvidia_binary_utility

    found = shutil.which("nvcc") or find_nvidia_binary_utility("nvcc")
    return None if found is None else str(found)


def _flags(source: KernelSource) -> list[str]:
    flags = ["-x=cu", "-lineinfo", f"-std={source.std}"]  # "-x=cu": nvcc itself takes a file for CUDA by the suffix .cu alone
    flags += [f"-D{name}={value}" for name, value in source.defines.items()]
    return flags + [f"-I{folder}" for folder in source.include_paths]


def _run(command: Sequence[str], source: KernelSource, time_limit_s: float) -> str:
    """Run nvcc in a group of its own, so that what it starts ends with it; return what it said."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as child:
        try:
            said, _ = child.communicate(timeout=time_limit_s)
        except subprocess.TimeoutExpired:
            raise TilewiseError(f"nvcc took longer than {time_limit_s:g} s and was stopped.", where=source.name) from None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    log = said.decode(errors="replace")
    if child.returncode:
        errors = (
            [line for line in log.splitlines() if "error" in line and _COUNTED not in line]
            or log.splitlines()
            or ["it said nothing"]
        )
        raise CompileError("\n".join([f"{source.name} does not compile with nvcc.", *errors[:SHOWN]]), log)
    return log


def _with_name(ptx: str, name: str) -> str:
    """The PTX with the file's name as it was given, where nvcc writes its whole path."""
    return ptx.replace(f'"{Path(name).resolve()}"', f'"{name}"')


def _version(nvcc: str) -> str:
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    found = _VERSION.search(said)
    return f"nvcc {found[1]}" if found else "nvcc"
