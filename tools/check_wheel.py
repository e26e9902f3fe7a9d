"""Builds the sdist and from it the wheel, and tries that in new environments outside the checkout.

With the newest versions that the project is pinned to (constraints.txt) and nothing else installed, it climbs the ladder,
explains a kind of finding and checks a kernel. With the oldest that the project's ranges allow (constraints-oldest.txt) it also
runs the tests that a library's version can decide.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from subprocess import run

ROOT = Path(__file__).parents[1]
TEST_PACKAGES = ("pytest", "pytest-xdist", "hypothesis")
OLDEST_TESTS = ("pure", "emu", "isa/test_table.py", "kernels/test_matmul_values.py", "kernels/test_ladder_figures.py")
"""Command line, tables, NumPy's arrays and the code that LLVM makes; `make test` runs all of them with the newest versions."""


def main() -> None:
    """Stop at the first step that fails. $UV is the uv to use; empty or unset: venv and pip."""
    uv = os.environ.get("UV")
    with tempfile.TemporaryDirectory(prefix="tilewise-wheel-") as name:
        folder = Path(name)
        wheel = _build(uv, folder)
        newest = _install(uv, folder / "newest", "constraints.txt", wheel)
        _run(newest / "tilewise", "ladder", "64", cwd=folder)
        _run(newest / "tilewise", "explain", "perf.fp64", cwd=folder)
        lesson = ROOT / "src" / "tilewise" / "checkers" / "cuda" / "perf.fp64.cu"
        _run(newest / "tilewise", "check", lesson, "--kernel", "fixed", "--html", folder / "report.html", cwd=folder)
        oldest = _install(uv, folder / "oldest", "constraints-oldest.txt", wheel, *TEST_PACKAGES)
        _run(oldest / "tilewise", "ladder", "64", cwd=folder)
        tests = [ROOT / "tests" / name for name in OLDEST_TESTS]
        options = ("-n", "auto", "-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml")
        _run(oldest / "pytest", *options, *tests, cwd=folder)
    print("the wheel works outside the checkout, with the newest and the oldest versions it allows")


def _build(uv: str | None, folder: Path) -> Path:
    pins = ROOT / "constraints.txt"
    if uv:
        _run(uv, "build", "--python", sys.executable, "--build-constraints", pins, "--out-dir", folder, ROOT, cwd=folder)
    else:
        _run(sys.executable, "-m", "build", "--dependency-constraints-txt", pins, "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _install(uv: str | None, venv: Path, pins: str, *packages: Path | str) -> Path:
    """Return the folder of commands of a new environment that holds the packages and what they depend on."""
    python = venv / "bin/python"
    if uv:
        _run(uv, "venv", "--python", sys.executable, venv, cwd=venv.parent)
        _run(uv, "pip", "install", "--python", python, "--constraints", ROOT / pins, *packages, cwd=venv.parent)
    else:
        _run(sys.executable, "-m", "venv", venv, cwd=venv.parent)
        _run(python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / pins, *packages, cwd=venv.parent)
    return venv / "bin"


def _run(*command: str | Path, cwd: Path) -> None:
    print("$", *command, flush=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TILEWISE_", "VIRTUAL_ENV"))}
    status = run(command, cwd=cwd, env=kept | {"TILEWISE_CACHE_DIR": str(cwd / "cache")}, check=False).returncode
    if status != 0:
        sys.exit(f"the wheel does not work: exit status {status} of the command above")


if __name__ == "__main__":
    main()
