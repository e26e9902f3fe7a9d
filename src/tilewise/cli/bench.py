"""`tilewise bench`: reads the command line's arguments; the figures come from engine, their looks from render."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewise.core.errors import TilewiseError

if TYPE_CHECKING:
    from tilewise.engine.results import BenchResult

WRONG_RESULT = 1


def bench(
    suite: Annotated[
        str | None, typer.Option(help="Which of square, llm, odd, skinny and layouts, separated by commas; all by default.")
    ] = None,
    shapes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Products of your own: CSV with columns M, N, K and layout.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Element type; f32 for now.")] = "f32",
    vs: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Peers: cublas, cupy, triton; '' for none; cublas where there is one.")
    ] = None,
    gpu: Annotated[int, typer.Option(help="The GPU's number.")] = 0,
    save: Annotated[Path | None, typer.Option(metavar="DIR", help="Write bench.json and pictures into this folder.")] = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Say what became faster or slower since the result saved there.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Time products on a GPU beside other libraries'."""
    if suite is not None and shapes is not None:
        raise TilewiseError("--suite and --shapes both say what to run: give one of them.")

    # Loaded once the arguments are read: --help and their errors need none of it.
    from tilewise.engine import bench as engine
    from tilewise.engine.peers import has_cublas
    from tilewise.engine.results import changes, load_result
    from tilewise.engine.suites import load_shapes, load_suites
    from tilewise.render.bench import render_bench, render_changes
    from tilewise.render.files import open_folder
    from tilewise.render.json import as_json as to_json
    from tilewise.render.progress import show_bar
    from tilewise.render.terminal import open_console

    chosen = load_suites(_words(suite), dtype) if shapes is None else load_shapes(shapes)
    peers = _words(vs) if vs is not None else ["cublas"] if has_cublas() else []
    before = None if compare is None else load_result(compare)
    folder = None if save is None else open_folder(save)
    with show_bar() as progress:
        result = engine.bench(
            chosen, vs=peers or [], ordinal=gpu, command=shlex.join(["tilewise", *sys.argv[1:]]), progress=progress
        )
    if as_json:
        print(to_json(asdict(result)))
    else:
        console = open_console()
        render_bench(result, console)
        if before is not None:
            render_changes(changes(result, before), console)
    if folder is not None:
        _save(result, folder)
    if not all(row.correct for row in result.rows):
        print("tilewise: wrong result", file=sys.stderr)
        raise typer.Exit(WRONG_RESULT)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _save(result: BenchResult, folder: Path) -> None:
    from tilewise.engine.results import FILE_NAME
    from tilewise.render.files import write_whole
    from tilewise.render.json import as_json as to_json
    from tilewise.render.ratios import draw_ratios

    write_whole(folder / FILE_NAME, f"{to_json(asdict(result))}\n".encode())
    if find_spec("matplotlib") is None:
        message = f"{folder} has {FILE_NAME} and no pictures: they need matplotlib (pip install 'tilewise[plot]')."
        print(f"tilewise: {message}", file=sys.stderr)
        return
    for name, data in draw_ratios(result).items():
        write_whole(folder / name, data)
