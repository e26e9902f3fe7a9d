"""Multiply-adds of a register tile are emitted in patches, and stay the sums that the kernel wrote."""

from __future__ import annotations

import numpy as np
import pytest

from tilewise.build.nvrtc import compile_source
from tilewise.core.launch import Launch
from tilewise.core.problem import Problem
from tilewise.core.source import KernelSource
from tilewise.emu.compiled import parse_module
from tilewise.emu.jit import AVX2, Target, host_target
from tilewise.emu.lower import chains
from tilewise.emu.lower.kernel import analyse_program, lower
from tilewise.emu.lower.program import prepare
from tilewise.emu.machine import emulate
from tilewise.engine.operands import as_matrix, product_launch
from tilewise.kernels.ladder import block, rung
from tilewise.kernels.source import kernel_source

ROTATING = """
extern "C" __global__ void rotate(const float* a, const float* b, float* c, int steps) {
    float acc[8] = {1, 2, 3, 4, 5, 6, 7, 8}, next = a[threadIdx.x];
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        const float now = next;
        next = a[threadIdx.x + 32 * (step + 1)];
#pragma unroll
        for (int k = 0; k < 2; ++k)
#pragma unroll
            for (int i = 0; i < 8; ++i) acc[i] = fmaf(now, b[8 * step + i], acc[i]);
        const float first = acc[0];
#pragma unroll
        for (int i = 0; i < 7; ++i) acc[i] = acc[i + 1];
        acc[7] = first;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) c[32 * i + threadIdx.x] = acc[i];
}
"""
"""Accumulators that change places, and a factor that the next round reads: both are overwritten while others still want them."""


@pytest.mark.parametrize("name", ["r04", "r05", "r06", "r07"])
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100"])
def test_thread_tiles_run_in_patches(name: str, arch: str) -> None:
    row = rung(name)
    module = compile_source(kernel_source(row, row.default_plan, "rr"), arch)
    program = prepare(parse_module(module.ptx), "gemm", block(row, row.default_plan))
    ir = lower(analyse_program(program, (4, 4, 1)), careful=False).ir
    assert ir.count("\npatch") >= 8
    assert ir.count("@llvm.fma.v32f32(") <= 1


def _one_by_one(name: str, monkeypatch: pytest.MonkeyPatch, target: Target) -> tuple[np.ndarray, np.ndarray]:
    """A product with patches, and without."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((150, 70), (70, 140)))
    row, results = rung(name), []
    for enough in (chains.ENOUGH_CHAINS, 10**9):
        monkeypatch.setattr(chains, "ENOUGH_CHAINS", enough)
        monkeypatch.setattr("tilewise.emu.compiled._emulator_digest", lambda enough=enough: str(enough).encode())
        c = np.full((150, 140), np.nan, np.float32)
        module = compile_source(kernel_source(row, row.default_plan, "rr"))
        matrices = as_matrix(a), as_matrix(b), as_matrix(c)
        emulate(product_launch(module, row, row.default_plan, Problem(150, 140, 70), *matrices), target=target)
        results.append(c)
        from tilewise.emu import compiled

        compiled._compile.cache_clear()
    return results[0], results[1]


@pytest.mark.parametrize("target", [host_target(), AVX2], ids=["host", "avx2"])
@pytest.mark.parametrize("name", ["r04", "r05"])
def test_patches_change_no_bit(name: str, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    patched, plain = _one_by_one(name, monkeypatch, target)
    np.testing.assert_array_equal(patched.view(np.uint32), plain.view(np.uint32))


def test_registers_that_change_places_keep_their_values() -> None:
    steps = 5
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal(32 * (steps + 1), dtype=np.float32), rng.standard_normal(8 * steps, dtype=np.float32)
    c = np.zeros((8, 32), np.float32)
    emulate(Launch(compile_source(KernelSource(ROTATING, "rotate.cu")), "rotate", (1, 1, 1), (32, 1, 1), (a, b, c, steps)))
    expected = np.repeat(np.arange(1.0, 9.0)[:, None], 32, axis=1)
    for step in range(steps):
        factor = a[32 * step : 32 * step + 32].astype(np.float64)
        expected = np.roll(expected + 2 * factor * b[8 * step : 8 * step + 8, None].astype(np.float64), -1, axis=0)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)
