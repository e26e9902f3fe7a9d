"""A file's kernels for people: what each takes, and a command line to complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from tilewise.render.terminal import plain

if TYPE_CHECKING:
    from rich.console import Console

    from tilewise.engine.listing import ListedKernel, Listing


def render_listing(listing: Listing, console: Console) -> None:
    """Print the kernels of a file."""
    console.print(plain(f"{listing.file} states no launch: give --grid, --block and an --arg for each parameter.", "bold"))
    for kernel in listing.kernels:
        _render_kernel(kernel, console)
    for name in listing.templates:
        console.print()
        console.print(plain(f"{name}: a template, which needs its arguments, as in --kernel '{name}<16>'"))
    if not listing.kernels and not listing.templates:
        console.print(plain("It has no kernel."))


def _render_kernel(kernel: ListedKernel, console: Console) -> None:
    console.print()
    as_ptx = "" if kernel.ptx_name == kernel.name else f"   ({kernel.ptx_name})"
    console.print(plain(kernel.name + as_ptx, "bold cyan"))
    if kernel.parameters:
        table = Table.grid(padding=(0, 2, 0, 0))
        for parameter in kernel.parameters:
            table.add_row(*map(plain, (f"  {parameter.name}", parameter.type or "?", parameter.ptx_type)))
        console.print(table)
    console.print(plain(f"  {kernel.command}"), soft_wrap=True)  # one line, to be copied
