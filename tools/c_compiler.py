"""Finds the C compiler that builds the emulator's runtime, and the flags it is called with.

Knows compilers, not what they build: `setup.py` and `tools/check_runtime.py` name the files.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ZIGLANG = "ziglang>=0.15,<0.18"

# The baseline CPU: faster code for newer CPUs stands in functions with a target attribute, chosen at run time.
# Contraction is off so that a figure does not depend on which compiler built the library.
COMPILE_FLAGS = ("-std=c11", "-O3", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-Wall", "-Wextra", "-pthread")
LINK_FLAGS = ("-shared", "-Wl,-z,defs", "-lm")
_BASELINE_GCC = ("-march=x86-64",)
# Without a target zig tunes for the CPU it runs on and links against the newest glibc it knows.
_BASELINE_ZIG = ("-target", "x86_64-linux-gnu.2.17", "-march=x86_64")

_PROBE = """
#include <immintrin.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
__attribute__((target("avx512f"))) __m512 widest(__m512 x) { return _mm512_add_ps(x, x); }
double probe(double x) { pthread_t self = pthread_self(); return sqrt(x) + (self == 0); }
"""


def find_system_compiler() -> tuple[str, ...] | None:
    """Return the command of the first of $CC, cc, gcc, clang that builds a shared library for the baseline CPU, or None."""
    named = os.environ.get("CC", "").strip()
    for command in filter(None, (named, "cc", "gcc", "clang")):
        compiler = (*shlex.split(command), *_BASELINE_GCC)
        if _builds(compiler):
            return compiler
    return None


def find_compiler() -> tuple[str, ...] | None:
    """Return a working compiler and its flags for the baseline CPU: the system's, else the ziglang wheel's, else None."""
    return find_system_compiler() or _find_zig()


def build_requirements() -> list[str]:
    """Return what must be installed before the runtime can be built: nothing, or the ziglang wheel where no compiler works."""
    return [] if find_system_compiler() else [ZIGLANG]


def run_compiler(command: tuple[str, ...], *, cache: Path) -> None:
    """Run one compiler command; zig keeps its own cache in `cache`. Raises CalledProcessError when it fails."""
    zig_cache = {"ZIG_GLOBAL_CACHE_DIR": str(cache), "ZIG_LOCAL_CACHE_DIR": str(cache)}
    subprocess.run(command, check=True, env=os.environ | zig_cache)


def _find_zig() -> tuple[str, ...] | None:
    if importlib.util.find_spec("ziglang") is None:
        return None
    return (sys.executable, "-m", "ziglang", "cc", *_BASELINE_ZIG)


def _builds(compiler: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text(_PROBE)
        command = [*compiler, *COMPILE_FLAGS, str(source), "-o", str(Path(folder, "probe.so")), *LINK_FLAGS]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            return False
