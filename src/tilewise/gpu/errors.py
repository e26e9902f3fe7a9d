"""What the CUDA driver's refusals mean and what would put them right. Knows their names and makes no call."""

from __future__ import annotations

import re

from tilewise.core.errors import KernelFault, TilewiseError

NO_GPU_ADVICE = "run on a machine with one, or on the emulator with NumPy arrays"
LEAST_CAPABILITY = (7, 0)
"""What NVRTC 12 compiles for; NVRTC 13 begins at 7.5 (hw/device.py)."""

_MEANINGS = {
    "CUDA_ERROR_NO_DEVICE": f"the driver sees no NVIDIA GPU: {NO_GPU_ADVICE}; CUDA_VISIBLE_DEVICES may also hide it.",
    "CUDA_ERROR_INVALID_DEVICE": "there is no GPU of that number: `nvidia-smi -L` lists those there are, counted from 0.",
    "CUDA_ERROR_STUB_LIBRARY": "a stub of libcuda.so.1 was found before the driver's own: take the toolkit's folder `stubs` "
    "out of LD_LIBRARY_PATH.",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the driver's library and its kernel module are of different versions: restart the "
    "machine, or install the driver again.",
    "CUDA_ERROR_SYSTEM_NOT_READY": "the system's services for GPUs are not up: see `systemctl status nvidia-fabricmanager`.",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "the forward-compatibility driver does not support this GPU: install a "
    "driver of the system's own.",
    "CUDA_ERROR_OUT_OF_MEMORY": "the GPU has too little free memory: choose smaller sizes, or free what other programs hold "
    "(`nvidia-smi` lists them).",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "the module holds no code for this GPU: compile it for the GPU's own architecture.",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the module's PTX is newer than the driver: compile to a cubin (arch sm_XX, not "
    "compute_XX), or install a newer driver.",
    "CUDA_ERROR_INVALID_PTX": "the driver's assembler refuses the module's PTX: compile to a cubin (arch sm_XX, not compute_XX).",
    "CUDA_ERROR_INVALID_IMAGE": "the module is neither a cubin nor PTX that this driver reads.",
    "CUDA_ERROR_NOT_FOUND": "the module has no kernel of that name.",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "the block needs more registers or shared memory than an SM has: give fewer threads.",
    "CUDA_ERROR_INVALID_VALUE": "a size of the launch is beyond what the GPU takes.",
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": "the GPU cannot place a cluster of that size: give a smaller one.",
    "CUDA_ERROR_NOT_PERMITTED": "the driver does not permit that to this user.",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "a stream under capture cannot do that: run the call once before the capture.",
}
"""By CUresult's name [CUDA Driver API, Data types used by CUDA driver]."""

_FAULTS = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "accessed memory that is not there",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "made an access that is not aligned to its size",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "made an access in the wrong state space",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "ran an illegal instruction",
    "CUDA_ERROR_INVALID_PC": "jumped out of its code",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "overran its stack",
    "CUDA_ERROR_ASSERT": "failed an assertion",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "ran longer than the system allows",
    "CUDA_ERROR_LAUNCH_FAILED": "failed",
}
"""What ends a context: every later call of the process gives the same."""


def driver_error(name: str, doing: str) -> TilewiseError:
    """Return what CUresult `name` means while `doing` ("loading kernel.cu") as a sentence with the remedy."""
    if name in _FAULTS:
        return KernelFault(
            f"{doing}: a kernel {_FAULTS[name]} ({name}), and the GPU accepts nothing more from this process. "
            "The emulator names the line: run the same launch with tilewise.emulate, in a new process.",
            (),
        )
    return TilewiseError(f"{doing}: {_MEANINGS.get(name, 'the CUDA driver refused it.')} ({name})")


def missing_driver(reason: str) -> TilewiseError:
    """Return the error for a driver that cannot be loaded."""
    return TilewiseError(
        f"no NVIDIA driver can be loaded ({_first_line(reason)}): install one (it brings libcuda.so.1), "
        f"or {NO_GPU_ADVICE.replace('run on a machine with one, or', 'run')}."
    )


def missing_bindings(reason: str) -> TilewiseError:
    """Return the error for a Python without cuda.bindings."""
    return TilewiseError(f'cuda.bindings cannot be imported ({_first_line(reason)}): pip install "cuda-bindings>=13,<14".')


def driver_objection(driver: tuple[int, int], compiler: str) -> str | None:
    """Return why a driver of CUDA version `driver` does not load what `compiler` ("NVRTC 13.5") made; None where it does.

    A driver loads cubins of every compiler of its own major version and older ones [CUDA Compatibility, Minor Version
    Compatibility].
    """
    found = re.search(r"(\d+)\.(\d+)", compiler)
    if found is None or int(found[1]) <= driver[0]:
        return None
    return (
        f"the driver is of CUDA {driver[0]}.{driver[1]} and does not load what {compiler} compiled: install a driver of CUDA "
        f"{found[1]}, or an NVRTC of CUDA {driver[0]} (pip install nvidia-cuda-nvrtc-cu{driver[0]} cuda-bindings=={driver[0]}.*)."
    )


def capability_objection(name: str, capability: tuple[int, int], archs: tuple[str, ...], compiler: str) -> str | None:
    """Return why `compiler`, which compiles for `archs`, makes no code for a GPU; None where it does."""
    major, minor = capability
    if f"sm_{major}{minor}" in archs:
        return None
    has = f"{name} has compute capability {major}.{minor}"
    if capability < LEAST_CAPABILITY:
        return f"{has}, and Tilewise runs on 7.5 and newer (7.0 with the cu12 extra): use a newer GPU, or the emulator."
    if capability < (7, 5):
        return f"{has}, for which {compiler} does not compile: install the cu12 extra (pip install 'tilewise[cu12]')."
    return f"{has}, for which {compiler} does not compile: install a newer NVRTC (pip install --upgrade nvidia-cuda-nvrtc)."


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0].rstrip(".") if text.strip() else "no reason given"
