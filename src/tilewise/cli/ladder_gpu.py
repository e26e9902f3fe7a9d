"""`tilewise ladder --on gpu`: the part of the verb that runs on a GPU."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from tilewise.core.errors import TilewiseError

WRONG_RESULT = 1
EMULATORS_DEVICE = "h200"
FILE_NAME = "ladder_gpu.json"


def refuse_emulator_options(device: str, sample_blocks: int | None, threads: int | None) -> None:
    """Raise TilewiseError for options that mean nothing on a GPU."""
    if device != EMULATORS_DEVICE:
        raise TilewiseError(f"--device {device} is for the emulator: --on gpu builds for the GPU there is.")
    if sample_blocks is not None or threads is not None:
        raise TilewiseError("--sample-blocks and --threads are for the emulator: a GPU runs all blocks.")


def climb_on_gpu(
    sizes: tuple[int, int, int],
    layout: str,
    rungs: Sequence[str] | None,
    tile: int | None,
    seed: int,
    *,
    counters: bool,
    emulated: Path | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Run the climb and show it; exits with 1 if a result is wrong."""
    from tilewise.core.problem import Problem, as_layout
    from tilewise.engine.ladder_gpu import ladder_on_gpu, read_emulated
    from tilewise.engine.rung_objects import to_objects
    from tilewise.render.files import open_folder, write_whole
    from tilewise.render.json import as_json as to_json
    from tilewise.render.ladder_gpu import render_ladder_on_gpu
    from tilewise.render.progress import show_bar
    from tilewise.render.terminal import open_console

    problem = Problem(*sizes, layout=as_layout(layout))
    counts = None if emulated is None else read_emulated(emulated, problem)
    folder = None if save is None else open_folder(save)
    with show_bar() as progress:
        rows = ladder_on_gpu(problem, rungs=rungs, tile=tile, seed=seed, counters=counters, emulated=counts, progress=progress)
    text = to_json(to_objects(rows))
    if as_json:
        print(text)
    else:
        render_ladder_on_gpu(rows, open_console())
    if folder is not None:
        write_whole(folder / FILE_NAME, f"{text}\n".encode())
    wrong = [row.label for row in rows if not row.correct]
    if wrong:
        print(f"tilewise: wrong result: {', '.join(wrong)}", file=sys.stderr)
        raise typer.Exit(WRONG_RESULT)
