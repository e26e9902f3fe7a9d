"""The catalogue as a table for people: a column a device, a row a figure, and a numbered source behind each figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from tilewise.hw.device import FIGURES, Device
from tilewise.render.terminal import plain

if TYPE_CHECKING:
    from rich.console import Console

LABEL_WIDTH = 36
COLUMN_WIDTH = 20


def render_devices(devices: Sequence[Device], console: Console) -> None:
    """Print the devices' figures in tables as wide as the console, with [numbers] of the sources listed below."""
    numbers: dict[str, int] = {}
    for device in devices:
        for name in FIGURES:
            numbers.setdefault(device.sources[name], len(numbers) + 1)
    abreast = max(1, (console.width - LABEL_WIDTH) // COLUMN_WIDTH)
    for first in range(0, len(devices), abreast):
        console.print(_table(devices[first : first + abreast], numbers))
        console.print()
    for source, number in numbers.items():
        console.print(plain(f"[{number}] {source}"))


def _table(devices: Sequence[Device], numbers: dict[str, int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for device in devices:
        table.add_column(plain(device.key), justify="right")
    table.add_row("name", *(plain(device.name) for device in devices))
    table.add_row("arch", *(plain(device.arch) for device in devices))
    for name in FIGURES:
        cells = (f"{getattr(device, name):,} [{numbers[device.sources[name]]}]" for device in devices)
        table.add_row(plain(name), *(plain(cell) for cell in cells))
    for name in ("fp32_flops_per_s", "shared_wavefronts_per_s", "l1_sectors_per_s"):
        table.add_row(plain(f"= {name}"), *(plain(f"{getattr(device, name):,.4g}") for device in devices))
    return table
