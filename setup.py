"""Builds the emulator's C runtime into one shared library inside the package.

The library knows nothing of Python (no Python.h): Tilewise loads it with ctypes, so one wheel serves every Python version.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

from c_compiler import COMPILE_FLAGS, LINK_FLAGS, find_compiler, run_compiler
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

RUNTIME = Path("src/tilewise/emu/runtime")


class BuildRuntime(build_ext):
    """Compiles the C files with the compiler that was found, instead of the one that built Python."""

    def get_ext_filename(self, fullname: str) -> str:
        """Return the library's path below the package root, without a Python version in its name."""
        return str(Path(*fullname.split("."))) + ".so"

    def build_extension(self, ext: Extension) -> None:
        """Compile and link in one command; a failure shows the compiler's own output."""
        compiler = find_compiler()
        if compiler is None:
            sys.exit("No C compiler works here (tried $CC, cc, gcc, clang), nor the ziglang wheel: install one of them.")
        library = Path(self.get_ext_fullpath(ext.name))
        library.parent.mkdir(parents=True, exist_ok=True)
        command = (*compiler, *COMPILE_FLAGS, *map(str, ext.sources), "-o", str(library), *LINK_FLAGS)
        print(" ".join(command))
        try:
            run_compiler(command, cache=Path(self.build_temp, "zig").absolute())
        except subprocess.CalledProcessError as failure:
            sys.exit(f"{compiler[0]} could not build the C runtime (exit status {failure.returncode}); its output is above.")


class PythonFreeWheel(bdist_wheel):
    """Tags the wheel for any Python 3 on this platform (docs/adr/0002)."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return py3-none and the platform."""
        return "py3", "none", super().get_tag()[2]


if sysconfig.get_platform() != "linux-x86_64":
    sys.exit(f"Tilewise runs on Linux x86-64; this is {sysconfig.get_platform()}.")

setup(
    cmdclass={"build_ext": BuildRuntime, "bdist_wheel": PythonFreeWheel},
    ext_modules=[
        Extension(
            "tilewise.emu.runtime.libtilewise_runtime",
            sources=sorted(str(path) for path in RUNTIME.glob("*.c")),
            depends=sorted(str(path) for path in RUNTIME.glob("*.h")),
        )
    ],
)
