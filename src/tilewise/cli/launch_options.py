"""Options that several verbs share: how a file is compiled, and the launch facts (their grammar: core/launch_facts.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewise.core.errors import TilewiseError, nearest

if TYPE_CHECKING:
    from tilewise.core.launch_facts import LaunchFacts
    from tilewise.engine.kernel_file import BuildOptions

BUILDS = ("optimised", "unoptimised")

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A .cu or .ptx file; its lines `// tilewise: FLAGS` state launch facts too.")
]
Kernel = Annotated[
    str | None, typer.Option("--kernel", metavar="NAME", help="Such as mm, ns::mm or 'mm<16>'; not needed where there is one.")
]
Grid = Annotated[
    str | None, typer.Option("--grid", metavar="X,Y,Z", help="Blocks; like all sizes, whole-number expressions in the arguments.")
]
Block = Annotated[str | None, typer.Option("--block", metavar="X,Y,Z", help="Threads of a block.")]
Cluster = Annotated[str | None, typer.Option("--cluster", metavar="X,Y,Z", help="Blocks of a cluster.")]
Smem = Annotated[str | None, typer.Option("--smem", metavar="BYTES", help="Dynamic shared memory of a block.")]
MaxDynamicSmem = Annotated[
    str | None,
    typer.Option(
        "--max-dynamic-smem", metavar="BYTES", help="Dynamic shared memory that the host allows the kernel, above 48 KB."
    ),
]
Arg = Annotated[
    list[str] | None,
    typer.Option("--arg", metavar="NAME=VALUE", help="Once a parameter, in order: n=64, a=1.5, 'A=f32[n,n]:normal', 'A=a.npy'."),
]
Seed = Annotated[str | None, typer.Option("--seed", metavar="N", help="Of random arrays.")]
Device = Annotated[str, typer.Option("--device", help="The GPU to compile for: one of tilewise devices, or a JSON file.")]
Arch = Annotated[str | None, typer.Option("--arch", metavar="SM", help="Compile for this instead, such as sm_80.")]
Define = Annotated[list[str] | None, typer.Option("-D", metavar="NAME[=VALUE]", help="Define a macro.")]
Include = Annotated[list[Path] | None, typer.Option("-I", metavar="DIR", help="Look for included files here too.")]
Std = Annotated[str, typer.Option("-std", "--std", help="C++ standard.")]
CompileSeconds = Annotated[float, typer.Option("--compile-seconds", help="Stop the compiler after so long.")]

MaxInstructions = Annotated[
    int | None, typer.Option("--max-instructions", metavar="N", help="Stop after so many warp instructions of PTX.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def read_facts(
    kernel: str | None,
    grid: str | None,
    block: str | None,
    cluster: str | None,
    smem: str | None,
    arg: list[str] | None,
    seed: str | None,
    max_dynamic_smem: str | None = None,
) -> LaunchFacts:
    """Return the launch facts that options state.

    Raises TilewiseError that points at the column where one is wrong.
    """
    from tilewise.core.launch_facts import parse_facts

    single = {"--kernel": kernel, "--grid": grid, "--block": block, "--cluster": cluster, "--smem": smem, "--seed": seed}
    single["--max-dynamic-smem"] = max_dynamic_smem
    pairs = [(flag, text) for flag, text in single.items() if text is not None]
    return parse_facts([*pairs, *(("--arg", text) for text in arg or ())])


def read_build_options(
    device: str, arch: str | None, define: list[str] | None, include: list[Path] | None, std: str, build: str, seconds: float
) -> BuildOptions:
    """Return how to compile.

    Raises TilewiseError for an unknown device or build, and a time limit that is none.
    """
    from tilewise.engine.kernel_file import BuildOptions
    from tilewise.hw.device_file import find_device

    if build not in BUILDS:
        raise TilewiseError(f"--build {build!r} is unknown.{nearest(build, BUILDS)}")
    if not 0 < seconds < 1e6:
        raise TilewiseError(f"--compile-seconds {seconds:g} is no time limit: give such as 60.")
    defines = dict(_split_define(text) for text in define or ())
    return BuildOptions(
        arch=arch or find_device(device).arch,
        defines=defines,
        include_paths=tuple(include or ()),
        std=std,
        unoptimised=build == "unoptimised",
        time_limit_s=seconds,
    )


def _split_define(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    return name, value if equals else "1"
