"""The catalogue for people: all devices at a glance, or one with every figure, and the source behind each figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from tilewise.hw.device import FIGURES, Device
from tilewise.render.terminal import plain
from tilewise.render.units import show_ratio

if TYPE_CHECKING:
    from rich.console import Console

GLANCE: tuple[tuple[str, str, Callable[[Device], str]], ...] = (
    ("SMs", "sms", lambda device: str(device.sms)),
    ("GHz", "clock_hz", lambda device: f"{device.clock_hz / 1e9:.3f}"),
    ("GB/s", "hbm_bandwidth_bytes_per_s", lambda device: f"{device.hbm_bandwidth_bytes_per_s / 1e9:,.0f}"),
    ("L2 MiB", "l2_bytes", lambda device: show_ratio(device.l2_bytes / 2**20)),
    ("smem KiB", "shared_bytes_per_block_optin", lambda device: show_ratio(device.shared_bytes_per_block_optin / 2**10)),
)
"""What the overview shows: a heading, the field behind it and how it is written."""

LEGEND = (
    "SMs, their clock, bandwidth of device memory, L2, shared memory of a block at most;",
    "TFLOP/s: fp32 peak, that is 2 x FMAs a clock and SM x SMs x clock;",
    "FLOP/B: that peak over the bandwidth, the ridge point if there were no caches.",
    "tilewise devices NAME shows every figure of a device with its source.",
)


def render_catalogue(devices: Sequence[Device], console: Console) -> None:
    """Print a row a device, with [numbers] of the sources that are listed below."""
    numbers: dict[str, int] = {}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("device", no_wrap=True)
    for heading, _, _ in GLANCE:
        table.add_column(heading, justify="right")
    table.add_column("TFLOP/s", justify="right")
    table.add_column("FLOP/B", justify="right")
    for device in devices:
        cells = []
        for _, field, show in GLANCE:
            number = numbers.setdefault(device.sources[field], len(numbers) + 1)
            cells.append(plain(f"{show(device)} [{number}]"))
        peak = device.fp32_flops_per_s
        ridge = peak / device.hbm_bandwidth_bytes_per_s
        table.add_row(plain(device.key), *cells, f"{peak / 1e12:.1f}", show_ratio(ridge))
    console.print(table)
    console.print()
    for sentence in LEGEND:
        console.print(sentence)
    console.print()
    for source, number in numbers.items():
        console.print(plain(f"[{number}] {source}"))


def render_device(device: Device, console: Console) -> None:
    """Print every figure of a device beside its source."""
    title = plain(
        f"{device.key}: {device.name}, compute capability {'.'.join(map(str, device.compute_capability))}, {device.arch}", "bold"
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("source", overflow="fold")
    for name in FIGURES:
        table.add_row(plain(name), f"{getattr(device, name):,}", plain(device.sources[name]))
    console.print(title)
    console.print(table)
