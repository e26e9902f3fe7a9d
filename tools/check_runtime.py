"""Builds each C test in tests/runtime with the emulator's runtime, under the address and undefined-behaviour sanitizers; runs it.

A test is one file with a `main` that exits non-zero on a failure. Warnings are errors here, and only here, so that a user's newer
compiler cannot break an install.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from c_compiler import COMPILE_FLAGS, find_system_compiler

ROOT = Path(__file__).parents[1]
RUNTIME = ROOT / "src/tilewise/emu/runtime"
TESTS = ROOT / "tests/runtime"

# -O1 -g after -O3: the last level counts; reports name lines.
_SANITIZE = ("-Werror", "-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_TIMEOUT_S = 120


def main() -> int:
    """Return 0 when every test passes, 1 else; a machine without a sanitizing compiler says so and passes."""
    compiler = find_system_compiler()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if compiler is None or not _sanitizes(compiler, folder):
            print("runtime tests skipped: no system compiler with the address and undefined-behaviour sanitizers")
            return 0
        tests = sorted(TESTS.glob("*.c"))
        failed = [test.name for test in tests if not _passes(compiler, test, folder)]
    print(f"runtime tests under sanitizers: {len(tests) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def _sanitizes(compiler: tuple[str, ...], folder: Path) -> bool:
    source, program = folder / "sanitizes.c", folder / "sanitizes"
    source.write_text("int main(void) { return 0; }\n")
    built = subprocess.run([*compiler, *_SANITIZE, str(source), "-o", str(program)], capture_output=True, check=False)
    return built.returncode == 0 and subprocess.run([str(program)], capture_output=True, check=False).returncode == 0


def _passes(compiler: tuple[str, ...], test: Path, folder: Path) -> bool:
    program = folder / test.stem
    sources = [str(path) for path in (test, *sorted(RUNTIME.glob("*.c")))]
    command = [*compiler, *COMPILE_FLAGS, *_SANITIZE, f"-I{RUNTIME}", *sources, "-o", str(program), "-lm"]
    if subprocess.run(command, check=False).returncode != 0:
        print(f"{test.name}: does not build", file=sys.stderr)
        return False
    try:
        status = subprocess.run([str(program)], check=False, timeout=_TIMEOUT_S).returncode
    except subprocess.TimeoutExpired:
        status = None
    if status != 0:
        print(f"{test.name}: {f'exit status {status}' if status else f'still running after {_TIMEOUT_S} s'}", file=sys.stderr)
    return status == 0


if __name__ == "__main__":
    sys.exit(main())
