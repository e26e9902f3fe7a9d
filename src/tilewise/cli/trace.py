"""`tilewise trace`: reads the command line's arguments; what the thread sees comes from engine, its looks from render."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from tilewise.cli import launch_options as options
from tilewise.core.errors import TilewiseError

COULD_NOT_RUN = 2
LIMIT = 10_000
MAX_INSTRUCTIONS = 100_000_000
"""A kernel that never ends is often why somebody traces it."""

_INDEX = re.compile(r"[0-9]{1,10}(,[0-9]{1,10}){0,2}", re.ASCII)


def trace(
    file: options.File,
    line: Annotated[list[str], typer.Option("--line", metavar="LINE", help="Such as 21, 17-20 or tile.cuh:9; may be repeated.")],
    block: Annotated[str, typer.Option("--block", metavar="X,Y,Z", help="The thread's block.")] = "0",
    thread: Annotated[str, typer.Option("--thread", metavar="X,Y,Z", help="The thread in its block.")] = "0",
    kernel: options.Kernel = None,
    grid: options.Grid = None,
    block_size: Annotated[str | None, typer.Option("--block-size", metavar="X,Y,Z", help="Threads of a block.")] = None,
    cluster: options.Cluster = None,
    smem: options.Smem = None,
    max_dynamic_smem: options.MaxDynamicSmem = None,
    arg: options.Arg = None,
    seed: options.Seed = None,
    device: options.Device = "h200",
    arch: options.Arch = None,
    define: options.Define = None,
    include: options.Include = None,
    std: options.Std = "c++17",
    build: Annotated[str, typer.Option(help="unoptimised, which knows the source's variables, or optimised.")] = "unoptimised",
    compile_seconds: options.CompileSeconds = 60.0,
    limit: Annotated[int, typer.Option(metavar="N", help="Stop after so many instructions at the lines.")] = LIMIT,
    max_instructions: options.MaxInstructions = MAX_INSTRUCTIONS,
    registers: Annotated[bool, typer.Option("--registers", help="Show registers that hold no variable too.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Follow one thread of a kernel through source lines: its variables, and the memory it reads and writes."""
    where, who = _parse_index("--block", block), _parse_index("--thread", thread)
    given = options.read_facts(kernel, grid, block_size, cluster, smem, arg, seed, max_dynamic_smem)
    how = options.read_build_options(device, arch, define, include, std, build, compile_seconds)
    if limit < 1:
        raise TilewiseError(f"--limit {limit} is not a number of instructions: give a whole number of at least 1.")

    from tilewise.engine import trace as engine
    from tilewise.engine.kernel_file import open_file, open_kernel
    from tilewise.engine.source_lines import parse_lines

    lines = [parse_lines(text) for text in line]
    opened = open_file(file)
    facts = opened.facts(given)
    entry = open_kernel(opened, how, facts.kernel)
    report = engine.trace(entry, facts, where, who, lines, limit=limit, max_instructions=max_instructions)
    if as_json:
        from tilewise.render.json import as_json as to_json

        print(to_json(report.to_json()))
    else:
        from tilewise.render.terminal import open_console
        from tilewise.render.trace import render_trace

        render_trace(report, opened.text, open_console(), registers=registers)


def _parse_index(flag: str, text: str) -> tuple[int, int, int]:
    if not _INDEX.fullmatch(text):
        raise TilewiseError(f"{flag} {text!r} is no place: give one to three whole numbers, such as 0,0.")
    x, y, z = (*map(int, text.split(",")), 0, 0)[:3]
    return x, y, z
