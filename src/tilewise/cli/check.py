"""`tilewise check`: reads the command line's arguments; findings come from engine, their looks from render."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tilewise.cli import check_options as its
from tilewise.cli import launch_options as options
from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.launch import CHECKED_INSTRUCTIONS

if TYPE_CHECKING:
    from tilewise.core.launch_facts import LaunchFacts
    from tilewise.core.report import Report
    from tilewise.engine.check import CheckOptions
    from tilewise.engine.check_filter import Filters
    from tilewise.engine.kernel_file import BuildOptions, KernelFile

FINDINGS = 1
COULD_NOT_RUN = 2
BUILDS = ("optimised", "unoptimised", "both")
EXIT_CODES = {"clean": 0, "findings": FINDINGS, "incomplete": COULD_NOT_RUN}


def check(
    file: options.File,
    kernel: options.Kernel = None,
    grid: options.Grid = None,
    block: options.Block = None,
    cluster: options.Cluster = None,
    smem: options.Smem = None,
    max_dynamic_smem: options.MaxDynamicSmem = None,
    arg: options.Arg = None,
    seed: options.Seed = None,
    expect: its.Expect = None,
    out: its.Output = None,
    rtol: its.Rtol = None,
    atol: its.Atol = None,
    build: its.Build = None,
    schedules: its.Schedules = 1,
    sample_blocks: its.SampleBlocks = None,
    only: its.Only = None,
    ignore: its.Ignore = None,
    baseline: its.Baseline = None,
    write_baseline: its.WriteBaseline = None,
    fail_on: its.FailOn = "error",
    lines: its.Lines = False,
    sarif: its.Sarif = None,
    html: its.Html = None,
    device: options.Device = "h200",
    arch: options.Arch = None,
    define: options.Define = None,
    include: options.Include = None,
    std: options.Std = "c++17",
    compile_seconds: options.CompileSeconds = 60.0,
    threads: its.Threads = None,
    max_instructions: options.MaxInstructions = CHECKED_INSTRUCTIONS,
    as_json: options.AsJson = False,
) -> None:
    """Find what is wrong with a kernel, at its source lines: races, bounds, barriers, results, traffic. Needs no GPU."""
    given = options.read_facts(kernel, grid, block, cluster, smem, arg, seed, max_dynamic_smem)
    how = options.read_build_options(device, arch, define, include, std, "optimised", compile_seconds)
    _check_choices(build, schedules, sample_blocks, rtol, atol)
    wanted = _read_check_options(
        device, expect, out, rtol, atol, schedules, sample_blocks, threads, max_instructions, fail_on, examples=html is not None
    )

    from tilewise.engine.check_filter import Filters
    from tilewise.engine.kernel_file import open_file

    opened = open_file(file)
    facts = opened.facts(given)
    if not facts.states_launch:
        _show_listing(opened, how, facts.kernel, as_json)
        raise typer.Exit(COULD_NOT_RUN)
    filters = Filters(tuple(only or ()), tuple(ignore or ()), baseline)
    report = _run(opened, how, facts, build, wanted, filters)
    sources = _sources(report, opened)
    _write_files(report, sources, opened, write_baseline, sarif, html)
    _show(report, sources, as_json, lines)
    raise typer.Exit(EXIT_CODES[report.verdict])


def _read_check_options(
    device: str,
    expect: list[str] | None,
    out: str | None,
    rtol: float | None,
    atol: float | None,
    schedules: int,
    sample_blocks: int | None,
    threads: int | None,
    max_instructions: int | None,
    fail_on: str,
    *,
    examples: bool,
) -> CheckOptions:
    from tilewise.core.report import require_severity
    from tilewise.engine.check import CheckOptions
    from tilewise.engine.check_results import Tolerances
    from tilewise.engine.expect import parse_expectation
    from tilewise.hw.device_file import find_device

    return CheckOptions(
        device=find_device(device),
        expectations=tuple(parse_expectation(text) for text in expect or ()),
        out=out,
        tolerances=Tolerances(atol, rtol),
        schedules=schedules,
        sample_blocks=sample_blocks,
        threads=threads,
        max_instructions=max_instructions,
        fail_on=require_severity(fail_on),
        examples=examples,
    )


def _check_choices(build: str | None, schedules: int, sample_blocks: int | None, rtol: float | None, atol: float | None) -> None:
    if build is not None and build not in BUILDS:
        raise TilewiseError(f"--build {build!r} is unknown.{nearest(build, BUILDS)}")
    for flag, number in (("--schedules", schedules), ("--sample-blocks", sample_blocks)):
        if number is not None and number < 1:
            raise TilewiseError(f"{flag} {number}: give a whole number of at least 1.")
    for flag, size in (("--rtol", rtol), ("--atol", atol)):
        if size is not None and not 0 <= size < float("inf"):
            raise TilewiseError(f"{flag} {size}: give a number of at least 0, such as 1e-3.")


def _show_listing(file: KernelFile, how: BuildOptions, kernel: str | None, as_json: bool) -> None:
    from tilewise.engine.listing import list_file

    listing = list_file(file, how, kernel, verb="check")
    if as_json:
        from dataclasses import asdict

        from tilewise.render.json import as_json as to_json

        print(to_json(asdict(listing)))
        return
    from tilewise.render.listing import render_listing
    from tilewise.render.terminal import open_console

    render_listing(listing, open_console())


def _sources(report: Report, file: KernelFile) -> dict[str, str]:
    """The texts of the files that a report names: the file's own, and those beside it."""
    from tilewise.render.source_text import read_sources

    own = {str(file.path): file.text, **({"": file.text} if file.is_ptx else {})}
    return {**read_sources(report, file.path.parent), **own}


def _run(
    file: KernelFile, how: BuildOptions, facts: LaunchFacts, build: str | None, wanted: CheckOptions, filters: Filters
) -> Report:
    from tilewise.engine.check_file import check_file
    from tilewise.render.progress import show_status

    with show_status() as tell:
        return check_file(file, how, facts, build, wanted, filters, tell)


def _show(report: Report, sources: dict[str, str], as_json: bool, lines: bool) -> None:
    if as_json:
        from tilewise.render.json import as_json as to_json

        print(to_json(report.to_json()))
        return
    from tilewise.render.check import render_check, render_lines
    from tilewise.render.terminal import open_console

    console = open_console()
    render_check(report, sources, console)
    if lines and report.counters is not None:
        render_lines(report.counters, sources, console)


def _write_files(
    report: Report, sources: dict[str, str], file: KernelFile, baseline: Path | None, sarif: Path | None, html: Path | None
) -> None:
    if baseline is not None:
        from tilewise.engine.check_filter import write_baseline

        write_baseline(report, baseline, {str(file.path): file.text})
    if sarif is not None:
        from tilewise.render.sarif import write_sarif

        write_sarif(report, sarif, sources, file.path)
    if html is not None:
        from tilewise.render.html import write_html

        write_html(report, sources, html)
