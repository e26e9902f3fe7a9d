"""`tilewise devices`: the catalogue on the command line, each figure with its source."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def devices(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these, such as h200 a100, or a device file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an object a device.")] = False,
) -> None:
    """List the GPUs with limits, rates and their sources."""
    from tilewise.hw.catalog import DEVICES
    from tilewise.hw.device_file import find_device

    chosen = [find_device(name) for name in names] if names else list(DEVICES.values())
    if as_json:
        from tilewise.render.json import as_json as to_json

        print(to_json([json.loads(one.to_json()) for one in chosen]))
        return

    from tilewise.render.devices import render_catalogue, render_device
    from tilewise.render.terminal import open_console

    console = open_console()
    if not names:
        render_catalogue(chosen, console)
    for one in chosen if names else ():
        render_device(one, console)
