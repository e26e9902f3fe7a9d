"""The driver's side without a GPU: arguments, sentences for what can go wrong, and launches on NumPy arrays."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from fake_driver import FakeDriver

import tilewise
from tilewise.core.errors import KernelFault, TilewiseError
from tilewise.core.launch import Launch, Slot
from tilewise.core.module import Module
from tilewise.gpu import driver
from tilewise.gpu.device import describe
from tilewise.gpu.driver import Gpu
from tilewise.gpu.errors import capability_objection, driver_error, driver_objection
from tilewise.gpu.run import run

SOURCE = """
struct Pair { int x; double y; };
extern "C" __global__ void mix(float* to, Pair pair, short s, const float* from, float f, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i] * f + pair.x + float(pair.y) + s;
}
"""


def compiled(fake: FakeDriver) -> Module:
    module = tilewise.compile(SOURCE, "mix.cu", arch="sm_90a")
    assert module.cubin is not None
    fake.modules[module.cubin] = module
    return module


def pair(x: int, y: float) -> Any:
    return np.array((x, y), np.dtype([("x", "<i4"), ("y", "<f8")], align=True))[()]


def test_a_launch_on_numpy_arrays_runs_and_leaves_its_results_in_them(fake: FakeDriver) -> None:
    base = np.arange(24, dtype=np.float32)
    to, source = base[12:], base[:12].copy()
    source.flags.writeable = False
    run(Launch(compiled(fake), "mix", (1, 1, 1), (32, 1, 1), (to, pair(3, 0.5), -2, source, 2.0, 12)))
    np.testing.assert_array_equal(to, 2 * source + 1.5)
    np.testing.assert_array_equal(base[:12], np.arange(12))
    assert not fake.memory  # all that was taken was given back


def test_slots_are_filled_anew_by_each_call(fake: FakeDriver) -> None:
    gpu = driver.open_gpu(0)
    arrays = [np.full(8, value, np.float32) for value in (0, 1, 0, 10)]
    addresses = [fake.adopt(array) for array in arrays]
    prepared = gpu.prepare(Launch(compiled(fake), "mix", (1, 1, 1), (32, 1, 1), (Slot(0, 4), pair(0, 0), 0, Slot(1), 1.0, 7)))
    gpu.enqueue([prepared], 1, addresses[:2])
    gpu.enqueue([prepared], 1, addresses[2:])
    np.testing.assert_array_equal(arrays[0], [0, *7 * [1]])
    np.testing.assert_array_equal(arrays[2], [0, *7 * [10]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: np.zeros(3, np.float32)}, "argument 0 is a NumPy array, which a GPU cannot reach"),
        ({4: Slot(0)}, "argument 4 is a pointer, but parameter 4 is a .f32"),
        ({5: 2.5}, "argument 5 = 2.5 is not a whole number of 32 bits"),
        ({2: 70_000}, "argument 2 = 70000 is not a whole number of 16 bits"),
        ({1: 3}, "a structure of 16"),
    ],
)
def test_arguments_that_do_not_fit_are_named(fake: FakeDriver, change: dict[int, Any], message: str) -> None:
    args = dict(enumerate((Slot(0), pair(0, 0), 0, Slot(1), 1.0, 7))) | change
    with pytest.raises(TilewiseError, match=re.escape(message)):
        driver.open_gpu(0).prepare(Launch(compiled(fake), "mix", (1, 1, 1), (32, 1, 1), tuple(args.values())))


def test_a_kernel_that_is_not_there_is_named_beside_those_that_are(fake: FakeDriver) -> None:
    with pytest.raises(TilewiseError, match=r"mix\.cu has no kernel 'mux'\. There is mix"):
        driver.open_gpu(0).prepare(Launch(compiled(fake), "mux", (1, 1, 1), (32, 1, 1), ()))


def test_more_shared_memory_than_a_block_has_is_refused(fake: FakeDriver) -> None:
    args = (Slot(0), pair(0, 0), 0, Slot(1), 1.0, 7)
    with pytest.raises(TilewiseError, match=r"300,000 bytes of dynamic shared memory, more than the 232,448"):
        driver.open_gpu(0).prepare(Launch(compiled(fake), "mix", (1, 1, 1), (32, 1, 1), args, dynamic_shared_bytes=300_000))


def test_an_older_driver_is_refused_with_both_remedies(fake: FakeDriver) -> None:
    fake.version = 12080
    a = np.ones((2, 2), np.float32)
    with pytest.raises(
        TilewiseError, match=r"the driver is of CUDA 12\.8 and does not load what NVRTC 13.*install a driver of CUDA 13"
    ):
        tilewise.matmul(a, a, on="gpu")


@pytest.mark.parametrize(
    ("version", "compiler", "refused"),
    [((13, 0), "NVRTC 13.5", False), ((12, 9), "NVRTC 13.0", True), ((13, 5), "NVRTC 12.9", False), ((12, 0), "", False)],
)
def test_a_driver_loads_cubins_of_its_own_major_version_and_older(version: tuple[int, int], compiler: str, refused: bool) -> None:
    assert (driver_objection(version, compiler) is not None) is refused


def test_an_old_gpu_is_refused(fake: FakeDriver) -> None:
    fake.attributes |= {"COMPUTE_CAPABILITY_MAJOR": 6, "COMPUTE_CAPABILITY_MINOR": 1}
    fake.name = b"NVIDIA GeForce GTX 1080\0"
    a = np.ones((2, 2), np.float32)
    with pytest.raises(TilewiseError, match=r"GTX 1080 has compute capability 6\.1, and Tilewise runs on 7\.5 and newer"):
        tilewise.plan(2, 2, 2)
    with pytest.raises(TilewiseError, match=r"compute capability 6\.1"):
        tilewise.matmul(a, a, on="gpu")


def test_what_the_compiler_lacks_is_said_with_what_to_install() -> None:
    archs = ("sm_75", "sm_80", "sm_90")
    assert capability_objection("H200", (9, 0), archs, "NVRTC 13.5") is None
    assert "cu12 extra" in str(capability_objection("V100", (7, 0), archs, "NVRTC 13.5"))
    assert "newer NVRTC" in str(capability_objection("X", (15, 0), archs, "NVRTC 13.5"))
    assert capability_objection("V100", (7, 0), ("sm_70",), "NVRTC 12.9") is None


def test_the_gpu_is_described_by_what_the_driver_tells(fake: FakeDriver) -> None:
    device = describe(driver.open_gpu(0))
    assert (device.key, device.name, device.arch, device.sms) == ("h200", "NVIDIA H200", "sm_90a", 132)
    assert device.hbm_bandwidth_bytes_per_s == 2 * 3_201_000_000 * 768
    assert device.sources["sms"] == "as the driver reports"


def test_a_newer_gpu_than_the_catalogue_has_takes_the_nearest_figures(fake: FakeDriver) -> None:
    fake.attributes |= {"COMPUTE_CAPABILITY_MAJOR": 15, "COMPUTE_CAPABILITY_MINOR": 0, "CLOCK_RATE": 0}
    device = describe(Gpu(fake, 0))
    assert device.arch == "sm_150"
    assert device.clock_hz > 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("CUDA_ERROR_NO_DEVICE", "the driver sees no NVIDIA GPU: run on a machine with one"),
        ("CUDA_ERROR_OUT_OF_MEMORY", "choose smaller sizes"),
        ("CUDA_ERROR_NO_BINARY_FOR_GPU", "compile it for the GPU's own architecture"),
        ("CUDA_ERROR_UNKNOWN", "the CUDA driver refused it. (CUDA_ERROR_UNKNOWN)"),
    ],
)
def test_refusals_of_the_driver_are_sentences(name: str, message: str) -> None:
    assert message in str(driver_error(name, "opening the GPU"))


def test_a_fault_of_a_kernel_points_to_the_emulator() -> None:
    error = driver_error("CUDA_ERROR_ILLEGAL_ADDRESS", "waiting for the GPU")
    assert isinstance(error, KernelFault)
    assert "accessed memory that is not there" in str(error)
    assert "tilewise.emulate" in str(error)


def test_without_bindings_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "cuda.bindings":
            raise ImportError("No module named 'cuda'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    driver.load_driver.cache_clear()
    with pytest.raises(TilewiseError, match=r'cuda\.bindings cannot be imported .*pip install "cuda-bindings'):
        driver.load_driver()


MISSING = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("llvmlite", "platformdirs", "elftools"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import numpy as np, tilewise
print(tilewise.plan(64, 64, 64, device="h200").best)
try:
    print(tilewise.matmul(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), on="gpu"))
except tilewise.TilewiseError as error:
    print("TilewiseError:", error)
print(sorted(name for name in sys.modules if name.startswith(("tilewise.emu", "torch", "cupy", "jax", "triton"))))
"""


def test_the_gpu_path_needs_no_emulator_and_imports_no_array_library() -> None:
    result = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=True)
    plan, outcome, modules = result.stdout.strip().rsplit("\n", 2)
    assert plan.startswith("TilePlan(")
    assert (
        outcome.startswith(("TilewiseError: no NVIDIA driver can be loaded", "TilewiseError: opening", "[[2. 2.]"))
        or "2." in outcome
    )
    assert modules == "[]"
