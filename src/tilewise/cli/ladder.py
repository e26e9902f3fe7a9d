"""`tilewise ladder`: reads the command line's arguments; the figures come from engine, their looks from render."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewise.core.errors import TilewiseError, nearest

if TYPE_CHECKING:
    from tilewise.engine.row import LadderRow
    from tilewise.hw.device import Device

WRONG_RESULT = 1
DEFAULT_SIZE = 512
MOST_DIGITS = 20
"""More than any size has; Python itself refuses to read numbers of thousands of digits."""
OPTIONS = (
    *("--rungs", "--device", "--tile", "--layout", "--sample-blocks", "--seed", "--threads", "--save", "--json", "--help"),
    *("--on", "--counters", "--emulated"),
)


def ladder(
    sizes: Annotated[
        list[str] | None, typer.Argument(metavar="[M N K]", help="Sizes of C = A B; one for a cube, none for 512.")
    ] = None,
    rungs: Annotated[str | None, typer.Option(help="Only these rungs, such as r01,r03.")] = None,
    device: Annotated[
        str, typer.Option(help="The GPU to build for and hold the counts against: one of tilewise devices, or a JSON file.")
    ] = "h200",
    tile: Annotated[int | None, typer.Option(help="Side of r03's tile: 8, 16 or 32.")] = None,
    layout: Annotated[str, typer.Option(help="Order of A, then of B: r row-major, c column-major; rr, rc, cr or cc.")] = "rr",
    sample_blocks: Annotated[
        int | None, typer.Option(help="Run no more than so many blocks of a grid, spread over it, and scale their counts.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random inputs.")] = 0,
    threads: Annotated[int | None, typer.Option(help="CPU threads to emulate on, all by default; counts are the same.")] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write ladder.json and a roofline, as SVG and PNG, into this folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an object for each plan of a rung.")] = False,
    on: Annotated[str, typer.Option(help="Where to run: emulator counts, gpu times beside cuBLAS.")] = "emulator",
    counters: Annotated[bool, typer.Option("--counters", help="On a GPU: count with Nsight Compute (ncu) too.")] = False,
    emulated: Annotated[
        Path | None, typer.Option(metavar="FILE", help="On a GPU: counts of the emulator to stand beside, from ladder --json.")
    ] = None,
) -> None:
    """Climb from the naive product to tiled ones, counting all."""
    problem = parse_sizes(sizes or [])
    names = None if rungs is None else [name.strip() for name in rungs.split(",")]
    if on == "gpu":
        from tilewise.cli.ladder_gpu import climb_on_gpu, refuse_emulator_options

        refuse_emulator_options(device, sample_blocks, threads)
        climb_on_gpu(problem, layout, names, tile, seed, counters=counters, emulated=emulated, save=save, as_json=as_json)
        return
    if on != "emulator":
        raise TilewiseError(f"--on {on} is no place to run.{nearest(on, ('emulator', 'gpu'))}")
    if counters or emulated is not None:
        raise TilewiseError("--counters and --emulated belong to --on gpu: the emulator counts by itself.")
    how: dict[str, Any] = {"tile": tile, "layout": layout, "seed": seed, "threads": threads, "sample_blocks": sample_blocks}
    _climb(problem, names, device, save, as_json, how)


def _climb(
    problem: tuple[int, int, int], names: list[str] | None, device: str, save: Path | None, as_json: bool, how: dict[str, Any]
) -> None:
    """Climb on the emulator; `how` goes to engine.ladder."""
    # Loaded once the arguments are read: --help and their errors need none of it.
    from tilewise.engine import ladder as engine
    from tilewise.engine.choice import out_of_reach
    from tilewise.engine.rung_objects import to_objects
    from tilewise.hw.device_file import find_device
    from tilewise.render.files import open_folder
    from tilewise.render.json import as_json as to_json
    from tilewise.render.progress import show_progress
    from tilewise.render.terminal import open_console, render_ladder

    target = find_device(device)
    folder = None if save is None else open_folder(save)
    with show_progress() as progress:
        rows = engine.ladder(*problem, rungs=names, device=target, progress=progress, **how)
    if as_json:
        print(to_json(to_objects(rows)))
    else:
        render_ladder(rows, open_console(), tile=how["tile"], left_out=out_of_reach(target) if names is None else ())
    if folder is not None:
        _save(rows, target, folder)
    wrong = [row.label for row in rows if not row.correct]
    if wrong:
        print(f"tilewise: wrong result: {', '.join(wrong)}", file=sys.stderr)
        raise typer.Exit(WRONG_RESULT)


def _save(rows: Sequence[LadderRow], device: Device, folder: Path) -> None:
    from tilewise.engine.rung_objects import to_objects
    from tilewise.render.files import write_whole
    from tilewise.render.json import as_json as to_json
    from tilewise.render.roofline import draw_roofline

    write_whole(folder / "ladder.json", f"{to_json(to_objects(rows))}\n".encode())
    if find_spec("matplotlib") is None:
        message = f"{folder} has ladder.json and no pictures: they need matplotlib (pip install 'tilewise[plot]')."
        print(f"tilewise: {message}", file=sys.stderr)
        return
    pictures = draw_roofline(rows, device)
    for name, data in pictures.items():
        write_whole(folder / name, data)
    print(f"tilewise: {folder} has {', '.join(['ladder.json', *pictures])}.", file=sys.stderr)


def parse_sizes(words: list[str]) -> tuple[int, int, int]:
    """Return M, N, K: 512 each for no word, a cube for one.

    Raises TilewiseError for two words or more than three, for a word that is no whole number of at least 1, and for an unknown
    option among them.
    """
    match [_parse_size(word) for word in words]:
        case []:
            return DEFAULT_SIZE, DEFAULT_SIZE, DEFAULT_SIZE
        case [side]:
            return side, side, side
        case [M, N, K]:
            return M, N, K
        case given:
            raise TilewiseError(
                f"{len(given)} sizes ({' '.join(words)}) do not make a product: give M N K, one size for a cube, or none for 512."
            )


def _parse_size(word: str) -> int:
    if word.startswith("-") and not word[1:2].isdigit():
        option = word.partition("=")[0]
        raise TilewiseError(f"ladder has no option {option}.{nearest(option, OPTIONS)}")
    if not (word.isascii() and word.isdecimal() and len(word) <= MOST_DIGITS and int(word) >= 1):
        raise TilewiseError(f"size {word!r} is not a whole number of at least 1.")
    return int(word)
