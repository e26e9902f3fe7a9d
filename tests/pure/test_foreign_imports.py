"""Who may import the libraries that a user of the GPU may have, or lack."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tilewise"
ALLOWED = {
    "torch": {"engine/peers.py", "engine/peers_triton.py", "engine/torch_op.py"},
    "cupy": {"engine/peers.py"},
    "triton": {"engine/peers.py", "engine/peers_triton.py"},
    "jax": set(),
    "cuda.bindings.driver": {"gpu/driver.py"},
    "cuda.core": set(),
    "platformdirs": {"core/settings.py"},
}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("library", ALLOWED)
def test_only_these_files_import_it(library: str) -> None:
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if any(name == library or name.startswith(f"{library}.") for name in imports(path))
    }
    assert found <= ALLOWED[library]


def test_libraries_of_arrays_load_only_inside_functions() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.name == "peers_triton.py":  # itself loaded inside one
            continue
        top = [node for node in ast.parse(path.read_text()).body if isinstance(node, (ast.Import, ast.ImportFrom))]
        names = {alias.name for node in top for alias in node.names} | {
            node.module or "" for node in top if isinstance(node, ast.ImportFrom)
        }
        assert not {name.partition(".")[0] for name in names} & {"torch", "cupy", "triton", "jax", "cuda", "llvmlite"} or (
            path.parent.name in ("emu", "isa", "lower")
        ), path
