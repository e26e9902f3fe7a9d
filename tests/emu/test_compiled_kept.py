"""Compiled kernels kept on disk: used by the next process, never another kernel's, rebuilt when damaged."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tilewise.build.cache import Cache
from tilewise.build.nvrtc import compile_source
from tilewise.core.launch import Launch
from tilewise.core.source import KernelSource
from tilewise.emu import compiled
from tilewise.emu.blueprint import from_json
from tilewise.emu.jit import AVX2, Target, host_target
from tilewise.emu.machine import emulate

SOURCE = """
extern "C" __global__ void scale(float* x, float factor, int n) {
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) x[i] = fmaf(tile[threadIdx.x], factor, 1.0f);
}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """An empty cache for compiled kernels, and no kernel in memory."""
    empty = Cache(tmp_path / "cache")
    monkeypatch.setattr(compiled, "default_cache", lambda: empty)
    return empty


def forget() -> None:
    """Start as a new process does."""
    compiled._compile.cache_clear()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget()


def launch(block: int = 64, n: int = 100, source: str = SOURCE) -> Launch:
    x = np.arange(n, dtype=np.float32)
    return Launch(
        compile_source(KernelSource(source, "scale.cu")), "scale", (-(-n // block), 1, 1), (block, 1, 1), (x, np.float32(3), n)
    )


def run(work: Launch, target: Target | None = None) -> tuple[np.ndarray, object]:
    emulation = emulate(work, target=target)
    array = work.args[0]
    assert isinstance(array, np.ndarray)
    return array, emulation.counters


def refuse_to_lower(*_: object, **__: object) -> None:
    raise AssertionError("lowered a kernel that stands on disk")


def test_second_process_lowers_nothing_and_counts_the_same(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    first, counted = run(launch())
    forget()
    monkeypatch.setattr(compiled, "lower", refuse_to_lower)
    again, counted_again = run(launch())
    np.testing.assert_array_equal(first, 3 * np.arange(100, dtype=np.float32) + 1)
    np.testing.assert_array_equal(again, first)
    assert counted_again == counted


def test_blueprint_survives_its_text(cache: Cache) -> None:
    blueprint = compiled.compile_kernel(launch()).blueprint
    assert from_json(blueprint.to_json()) == blueprint
    assert from_json(dataclasses.replace(blueprint, groups=blueprint.groups + 1).to_json()) != blueprint


@pytest.mark.parametrize(
    "other",
    [
        lambda: run(launch(block=32)),
        lambda: run(launch(source=SOURCE.replace("1.0f", "2.0f"))),
        lambda: run(launch(), AVX2 if host_target() != AVX2 else None),
    ],
    ids=["block shape", "source", "processor"],
)
def test_nothing_is_taken_for_another_kernel(cache: Cache, monkeypatch: pytest.MonkeyPatch, other: object) -> None:
    run(launch())
    forget()
    monkeypatch.setattr(compiled, "lower", refuse_to_lower)
    with pytest.raises(AssertionError, match="stands on disk"):
        other()  # type: ignore[operator]


def test_damaged_entries_are_made_anew(cache: Cache, tmp_path: Path) -> None:
    expected, _ = run(launch())
    forget()
    entries = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert entries
    for path in entries:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
    again, _ = run(launch())
    np.testing.assert_array_equal(again, expected)
