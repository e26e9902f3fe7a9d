"""`tilewise run`: reads the command line's arguments; the launch comes from engine, its looks from render."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewise.cli import launch_options as options
from tilewise.core.errors import TilewiseError

if TYPE_CHECKING:
    from tilewise.engine.listing import Listing
    from tilewise.engine.run import RunReport

FAULTS = 1
COULD_NOT_RUN = 2


def run(
    file: options.File,
    kernel: options.Kernel = None,
    grid: options.Grid = None,
    block: options.Block = None,
    cluster: options.Cluster = None,
    smem: options.Smem = None,
    max_dynamic_smem: options.MaxDynamicSmem = None,
    arg: options.Arg = None,
    seed: options.Seed = None,
    out: Annotated[
        list[str] | None, typer.Option(metavar="NAME[=FILE.npy]", help="Print an array whole, or save it; may be repeated.")
    ] = None,
    device: options.Device = "h200",
    arch: options.Arch = None,
    define: options.Define = None,
    include: options.Include = None,
    std: options.Std = "c++17",
    build: Annotated[str, typer.Option(help="optimised, or unoptimised as for a debugger.")] = "optimised",
    compile_seconds: options.CompileSeconds = 60.0,
    threads: Annotated[int | None, typer.Option(help="CPU threads to emulate on, all by default; counts are the same.")] = None,
    max_instructions: options.MaxInstructions = None,
    resident_blocks: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Blocks on their way at once where blocks wait for each other; by default as on the GPU."
        ),
    ] = None,
    schedule_seed: Annotated[int, typer.Option(min=0, metavar="N", help="Let blocks and warps take turns in another order.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Run a kernel of a .cu or .ptx file on this CPU; without launch facts, list what its kernels take."""
    given = options.read_facts(kernel, grid, block, cluster, smem, arg, seed, max_dynamic_smem)
    how = options.read_build_options(device, arch, define, include, std, build, compile_seconds)

    from tilewise.engine import run as engine
    from tilewise.engine.kernel_file import open_file, open_kernel
    from tilewise.engine.listing import list_file

    opened = open_file(file)
    facts = opened.facts(given)
    if not facts.states_launch:
        _show_listing(list_file(opened, how, facts.kernel), as_json)
        raise typer.Exit(COULD_NOT_RUN)
    outputs = [_split_out(text) for text in out or ()]
    engine.check_labels(facts, (name for name, _ in outputs))
    report = engine.run(
        open_kernel(opened, how, facts.kernel),
        facts,
        threads=threads,
        max_instructions=max_instructions,
        resident_blocks=resident_blocks,
        schedule_seed=schedule_seed,
    )
    for name, path in outputs:
        if path is not None:
            engine.save_array(report, name, path)
    _show_report(report, [name for name, path in outputs if path is None], as_json)
    if report.faults:
        raise typer.Exit(FAULTS)


def _split_out(text: str) -> tuple[str, Path | None]:
    name, equals, path = text.partition("=")
    if equals and not path.endswith(".npy"):
        raise TilewiseError(f"--out {text!r}: give the name of a .npy file, as in {name}={name}.npy.")
    return name, Path(path) if equals else None


def _show_listing(listing: Listing, as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        from tilewise.render.json import as_json as to_json

        print(to_json(asdict(listing)))
        return
    from tilewise.render.listing import render_listing
    from tilewise.render.terminal import open_console

    render_listing(listing, open_console())


def _show_report(report: RunReport, whole: list[str], as_json: bool) -> None:
    arrays = {name: report.array(name) for name in whole}
    if as_json:
        from tilewise.render.json import as_json as to_json

        values = {"values": {name: array.tolist() for name, array in arrays.items()}} if arrays else {}
        print(to_json({**report.to_json(), **values}))
        return
    from tilewise.render.run import render_run
    from tilewise.render.terminal import open_console

    render_run(report, arrays, open_console())
