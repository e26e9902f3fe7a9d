"""What every test runs under: a cache folder of its own, repeatable examples in CI, a skip where a test's hardware is missing."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from commanding import Tilewise, Write
from hypothesis import settings

settings.register_profile("local", deadline=None)  # the first example may compile a kernel
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

CACHE = pytest.StashKey[str]()


@pytest.fixture
def tilewise(capsys: pytest.CaptureFixture[str]) -> Tilewise:
    """The command line."""
    return Tilewise(capsys)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files for it."""

    def write_file(text: str, name: str = "k.cu") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_file


def pytest_configure(config: pytest.Config) -> None:
    """Give all processes of this run one cache that starts empty, so that no entry of another run hides a fault in compiling."""
    if not hasattr(config, "workerinput"):  # xdist's workers inherit the variable
        config.stash[CACHE] = os.environ["TILEWISE_CACHE_DIR"] = tempfile.mkdtemp(prefix="tilewise-test-cache-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the cache."""
    if CACHE in config.stash:
        shutil.rmtree(config.stash[CACHE])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked gpu where no GPU answers."""
    if item.get_closest_marker("gpu") and not _gpu_answers():
        pytest.skip("no NVIDIA GPU with its driver")


@functools.cache
def _gpu_answers() -> bool:
    try:
        return int(ctypes.CDLL("libcuda.so.1").cuInit(0)) == 0
    except OSError:
        return False
