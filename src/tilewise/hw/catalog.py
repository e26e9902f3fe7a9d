"""The GPUs that Tilewise knows: one row each, with a source for every figure.

What all parts of one compute capability share stands once, in `_CAPABILITIES`. A GPU that is not here enters as a device file
(`Device.from_json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError, nearest
from tilewise.hw.device import Device

KIB = 2**10
GIB = 2**30

_GUIDE = "CUDA Programming Guide 13.4, Compute Capabilities, tables 30 and 31"
_GUIDE_12 = "CUDA C++ Programming Guide 12.9, Technical Specifications per Compute Capability"
_OCCUPANCY = "cuda_occupancy.h of CUDA 13.5, NVIDIA's occupancy calculator"
_RESERVED = "CUDA Programming Guide, Shared Memory: 1 KB a block is kept for the system from compute capability 8.0 on"
_FMA_RATE = "CUDA C++ Programming Guide, Arithmetic Instructions: 32-bit multiply-adds a clock and SM"
_L1_128 = (
    "128 bytes a clock and SM are returned by L1 and shared memory alike [forums.developer.nvidia.com/t/77228, of compute "
    "capability 7.x; GA102 whitepaper, of 8.6]; later parts are taken to return as many"
)
_L1_64 = "64 bytes a clock and SM are returned by L1 and shared memory alike, half of GA10x's [GA102 whitepaper, of Turing]"
_H100_PAPER = "NVIDIA H100 Tensor Core GPU Architecture whitepaper"
_A100_PAPER = "NVIDIA A100 Tensor Core GPU Architecture whitepaper"
_V100_PAPER = "NVIDIA Tesla V100 GPU Architecture whitepaper"
_TURING_PAPER = "NVIDIA Turing GPU Architecture whitepaper"
_GA102_PAPER = "NVIDIA Ampere GA102 GPU Architecture whitepaper"
_ADA_PAPER = "NVIDIA Ada GPU Architecture whitepaper"
_BLACKWELL_PAPER = "NVIDIA RTX Blackwell GPU Architecture whitepaper"


@dataclass(frozen=True, slots=True)
class _Capability:
    """What all parts of one compute capability share."""

    arch: str
    threads_per_sm: int
    blocks_per_sm: int
    shared_kib_per_sm: int
    shared_kib_per_block: int
    fp32_fmas: int
    l1_bytes_per_clock: int = 128
    reserved_shared_bytes: int = KIB
    shared_unit_bytes: int = 128
    guide: str = _GUIDE
    l1_source: str = _L1_128


_CAPABILITIES = {
    (7, 0): _Capability("sm_70", 2048, 32, 96, 96, 64, reserved_shared_bytes=0, shared_unit_bytes=256, guide=_GUIDE_12),
    (7, 5): _Capability("sm_75", 1024, 16, 64, 64, 64, 64, reserved_shared_bytes=0, shared_unit_bytes=256, l1_source=_L1_64),
    (8, 0): _Capability("sm_80", 2048, 32, 164, 163, 64),
    (8, 6): _Capability("sm_86", 1536, 16, 100, 99, 128),
    (8, 9): _Capability("sm_89", 1536, 24, 100, 99, 128),
    (9, 0): _Capability("sm_90a", 2048, 32, 228, 227, 128),
    (10, 0): _Capability("sm_100a", 2048, 32, 228, 227, 128),
    (12, 0): _Capability("sm_120a", 1536, 24, 100, 99, 128),
}


def _device(
    key: str,
    name: str,
    capability: tuple[int, int],
    *,
    sms: int,
    mhz: int,
    memory_gib: int,
    gb_per_s: int,
    l2_kib: int,
    sources: tuple[str, str, str, str, str],
) -> Device:
    """Return one row; `sources` are those of SMs, clock, memory, its bandwidth and L2, in this order."""
    shared = _CAPABILITIES[capability]
    product = ("sms", "clock_hz", "memory_bytes", "hbm_bandwidth_bytes_per_s", "l2_bytes")
    return Device(
        key=key,
        name=name,
        arch=shared.arch,
        compute_capability=capability,
        sms=sms,
        clock_hz=mhz * 10**6,
        threads_per_sm=shared.threads_per_sm,
        blocks_per_sm=shared.blocks_per_sm,
        registers_per_sm=64 * KIB,
        shared_bytes_per_sm=shared.shared_kib_per_sm * KIB,
        threads_per_block=1024,
        registers_per_thread=255,
        registers_per_block=64 * KIB,
        shared_bytes_per_block=48 * KIB,
        shared_bytes_per_block_optin=shared.shared_kib_per_block * KIB,
        reserved_shared_bytes_per_block=shared.reserved_shared_bytes,
        register_allocation_unit=256,
        warp_allocation_granularity=4,
        shared_allocation_unit_bytes=shared.shared_unit_bytes,
        memory_bytes=memory_gib * GIB,
        hbm_bandwidth_bytes_per_s=gb_per_s * 10**9,
        l2_bytes=l2_kib * KIB,
        fp32_fmas_per_sm_per_clock=shared.fp32_fmas,
        shared_wavefronts_per_sm_per_clock=shared.l1_bytes_per_clock / 128,
        l1_sectors_per_sm_per_clock=shared.l1_bytes_per_clock / 32,
        sources={**_capability_sources(shared), **dict(zip(product, sources, strict=True))},
    )


def _capability_sources(shared: _Capability) -> dict[str, str]:
    return {
        "threads_per_sm": shared.guide,
        "blocks_per_sm": shared.guide,
        "registers_per_sm": shared.guide,
        "shared_bytes_per_sm": shared.guide,
        "threads_per_block": shared.guide,
        "registers_per_thread": shared.guide,
        "registers_per_block": shared.guide,
        "shared_bytes_per_block": f"{shared.guide}: more than 48 KB takes an opt-in",
        "shared_bytes_per_block_optin": shared.guide,
        "reserved_shared_bytes_per_block": _RESERVED,
        "register_allocation_unit": _OCCUPANCY,
        "warp_allocation_granularity": _OCCUPANCY,
        "shared_allocation_unit_bytes": _OCCUPANCY,
        "fp32_fmas_per_sm_per_clock": _FMA_RATE,
        "shared_wavefronts_per_sm_per_clock": f"{shared.l1_source}; a wavefront is 128 bytes",
        "l1_sectors_per_sm_per_clock": f"{shared.l1_source}; a sector is 32 bytes",
    }


_ROWS = (
    _device(
        "h200",
        "H200 SXM",
        (9, 0),
        sms=132,
        mhz=1980,
        memory_gib=141,
        gb_per_s=4800,
        l2_kib=60 * KIB,
        sources=(
            "measured on an H200, 2026-11-29 (as the driver reports)",
            "nvidia-smi's highest SM clock [github.com/awslabs/amazon-eks-ami/pull/1985]; it gives the H200 datasheet's 67 "
            "TFLOP/s of fp32. Under load it can be lower: 61.0 TFLOP/s of fp32 FMAs, that is 1.81 GHz, measured on an H200, "
            "2026-11-29",
            "NVIDIA H200 datasheet: 141 GB",
            "NVIDIA H200 datasheet: 4.8 TB/s; reading alone reached 4.47 TB/s, measured on an H200, 2026-11-29",
            "measured on an H200, 2026-11-29 (as the driver reports)",
        ),
    ),
    _device(
        "h100",
        "H100 SXM",
        (9, 0),
        sms=132,
        mhz=1980,
        memory_gib=80,
        gb_per_s=3352,
        l2_kib=50 * KIB,
        sources=(
            _H100_PAPER,
            f"{_H100_PAPER}: boost clock of fp32 and fp64 work, which gives its 66.9 TFLOP/s; tensor-core work has 1830 MHz",
            _H100_PAPER,
            f"{_H100_PAPER}: 5120 bits at 2619 MHz, two transfers a clock",
            _H100_PAPER,
        ),
    ),
    _device(
        "h100-pcie",
        "H100 PCIe",
        (9, 0),
        sms=114,
        mhz=1755,
        memory_gib=80,
        gb_per_s=2039,
        l2_kib=50 * KIB,
        sources=(
            _H100_PAPER,
            "NVIDIA H100 PCIe product brief PB-11133: 1755 MHz, which gives the whitepaper's 51.2 TFLOP/s of fp32",
            _H100_PAPER,
            "NVIDIA H100 PCIe product brief PB-11133: 5120 bits at 1593 MHz, two transfers a clock",
            _H100_PAPER,
        ),
    ),
    _device(
        "b200",
        "B200 SXM",
        (10, 0),
        sms=148,
        mhz=1965,
        memory_gib=180,
        gb_per_s=7672,
        l2_kib=129_536,
        sources=(
            "as the driver reports [github.com/pytorch/ao/pull/4002]",
            "nvidia-smi's highest SM clock; it gives 74.5 of the HGX B200 datasheet's 75 TFLOP/s of fp32",
            "NVIDIA HGX B200 datasheet: 180 GB a GPU",
            "as the driver reports: 7680 bits at 3996 MHz, two transfers a clock [github.com/pytorch/ao/pull/4002]",
            "as the driver reports [github.com/pytorch/ao/pull/4002]; the Blackwell Tuning Guide says 126 MB",
        ),
    ),
    _device(
        "a100-80gb",
        "A100 SXM 80 GB",
        (8, 0),
        sms=108,
        mhz=1410,
        memory_gib=80,
        gb_per_s=2039,
        l2_kib=40 * KIB,
        sources=(_A100_PAPER, _A100_PAPER, "NVIDIA A100 datasheet", "NVIDIA A100 datasheet: 2,039 GB/s", _A100_PAPER),
    ),
    _device(
        "a100-40gb",
        "A100 SXM 40 GB",
        (8, 0),
        sms=108,
        mhz=1410,
        memory_gib=40,
        gb_per_s=1555,
        l2_kib=40 * KIB,
        sources=(_A100_PAPER, _A100_PAPER, _A100_PAPER, f"{_A100_PAPER}: 1555 GB/s", _A100_PAPER),
    ),
    _device(
        "v100",
        "V100 SXM2 32 GB",
        (7, 0),
        sms=80,
        mhz=1530,
        memory_gib=32,
        gb_per_s=900,
        l2_kib=6 * KIB,
        sources=(_V100_PAPER, _V100_PAPER, "NVIDIA V100 datasheet: 32 GB", _V100_PAPER, _V100_PAPER),
    ),
    _device(
        "l40s",
        "L40S",
        (8, 9),
        sms=142,
        mhz=2520,
        memory_gib=48,
        gb_per_s=864,
        l2_kib=96 * KIB,
        sources=(
            "NVIDIA L40S datasheet: 18,176 CUDA cores, 128 an SM",
            "nvidia-smi's highest SM clock; it gives the L40S datasheet's 91.6 TFLOP/s of fp32",
            "NVIDIA L40S datasheet",
            "NVIDIA L40S datasheet",
            "as the driver reports: 100,663,296 bytes, all of AD102's",
        ),
    ),
    _device(
        "l4",
        "L4",
        (8, 9),
        sms=58,
        mhz=2040,
        memory_gib=24,
        gb_per_s=300,
        l2_kib=48 * KIB,
        sources=(
            "as the driver reports; 58 SMs of 128 lanes give the datasheet's 30.3 TFLOP/s",
            "as the driver reports; 2040 MHz give the L4 datasheet's 30.3 TFLOP/s of fp32",
            "NVIDIA L4 datasheet",
            "NVIDIA L4 datasheet",
            "as the driver reports: 49,152 KB",
        ),
    ),
    _device(
        "t4",
        "T4",
        (7, 5),
        sms=40,
        mhz=1590,
        memory_gib=16,
        gb_per_s=320,
        l2_kib=4 * KIB,
        sources=(
            _TURING_PAPER,
            f"{_TURING_PAPER}: 1590 MHz, which gives the T4 datasheet's 8.1 TFLOP/s of fp32",
            _TURING_PAPER,
            f"{_TURING_PAPER}: 256 bits at 10 Gb/s a pin",
            _TURING_PAPER,
        ),
    ),
    _device(
        "rtx5090",
        "GeForce RTX 5090",
        (12, 0),
        sms=170,
        mhz=2407,
        memory_gib=32,
        gb_per_s=1792,
        l2_kib=96 * KIB,
        sources=(_BLACKWELL_PAPER,) * 5,
    ),
    _device(
        "rtx4090",
        "GeForce RTX 4090",
        (8, 9),
        sms=128,
        mhz=2520,
        memory_gib=24,
        gb_per_s=1008,
        l2_kib=72 * KIB,
        sources=(_ADA_PAPER,) * 5,
    ),
    _device(
        "rtx3090",
        "GeForce RTX 3090",
        (8, 6),
        sms=82,
        mhz=1695,
        memory_gib=24,
        gb_per_s=936,
        l2_kib=6 * KIB,
        sources=(_GA102_PAPER,) * 5,
    ),
)

DEVICES: Mapping[str, Device] = {row.key: row for row in _ROWS}
"""The catalogue, by key, in the order in which it is shown."""

ALIASES = {"a100": "a100-80gb", "h100-sxm": "h100", "h200-sxm": "h200", "5090": "rtx5090", "4090": "rtx4090", "3090": "rtx3090"}
"""Other names for a key."""


def device(name: str) -> Device:
    """Return the device of that key, name or alias; case, blanks, "NVIDIA", "GeForce" and "Tesla" do not matter.

    Raises TilewiseError, with the nearest keys, for any other.
    """
    wanted = _plain(name)
    for row in DEVICES.values():
        if wanted in (_plain(row.key), _plain(row.name)):
            return row
    for alias, key in ALIASES.items():
        if wanted == _plain(alias):
            return DEVICES[key]
    raise TilewiseError(f"there is no device {name!r} in the catalogue.{nearest(name.lower(), DEVICES)}")


def _plain(name: str) -> str:
    words = name.lower().replace("-", " ").replace("_", " ").split()
    return "".join(word for word in words if word not in ("nvidia", "geforce", "tesla"))
