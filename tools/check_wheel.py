"""Builds the sdist and from it the wheel, installs that into empty environments outside the checkout; climbs the ladder there.

Twice: with the newest versions that the project is pinned to (constraints.txt), and with the oldest its ranges allow.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINS = ("constraints.txt", "constraints-oldest.txt")


def main() -> None:
    """Stop at the first step that fails. $UV is the uv to use; empty or unset: venv and pip."""
    uv = os.environ.get("UV")
    with tempfile.TemporaryDirectory(prefix="tilewise-wheel-") as name:
        folder = Path(name)
        wheel = _build(uv, folder)
        for pins in PINS:
            _climb(_install(uv, wheel, ROOT / pins, folder / Path(pins).stem), folder)
    print("the wheel works outside the checkout, with the newest and the oldest versions it allows")


def _build(uv: str | None, folder: Path) -> Path:
    pins = str(ROOT / "constraints.txt")
    if uv:
        _run(uv, "build", "--python", sys.executable, "--build-constraints", pins, "--out-dir", folder, ROOT, cwd=folder)
    else:
        _run(sys.executable, "-m", "build", "--dependency-constraints-txt", pins, "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _install(uv: str | None, wheel: Path, pins: Path, venv: Path) -> Path:
    """Return the `tilewise` command of a new environment that holds the wheel and what it depends on."""
    python = venv / "bin/python"
    if uv:
        _run(uv, "venv", "--python", sys.executable, venv, cwd=venv.parent)
        _run(uv, "pip", "install", "--python", python, "--constraints", pins, wheel, cwd=venv.parent)
    else:
        _run(sys.executable, "-m", "venv", venv, cwd=venv.parent)
        _run(python, "-m", "pip", "install", "--quiet", "--constraint", pins, wheel, cwd=venv.parent)
    return venv / "bin/tilewise"


def _climb(tilewise: Path, folder: Path) -> None:
    home = folder / f"home-of-{tilewise.parents[1].name}"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "XDG_", "TILEWISE_"))}
    _run(tilewise, "ladder", "64", cwd=home, env=kept | {"HOME": str(home)})


def _run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> None:
    print("$", " ".join(map(str, command)), flush=True)
    status = subprocess.run(command, cwd=cwd, env=env, check=False).returncode
    if status != 0:
        sys.exit(f"the wheel does not work: exit status {status} of the command above")


if __name__ == "__main__":
    main()
