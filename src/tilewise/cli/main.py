"""The `tilewise` command: gathers the verbs, and turns what a user can cause into a sentence and an exit code.

Exit codes: 0 clean, 1 findings (such as a wrong result), 2 could not run, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

import tilewise
from tilewise.cli import bench, cache, check, devices, explain, ladder, run, trace
from tilewise.core.errors import TilewiseError

COULD_NOT_RUN = 2

# Plain help: loading rich for it would take longer than all the rest.
app = typer.Typer(
    name="tilewise",
    help=tilewise.__doc__,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)
app.command(context_settings={"ignore_unknown_options": True})(ladder.ladder)
app.command()(check.check)
app.command()(run.run)
app.command()(trace.trace)
app.command()(bench.bench)
app.command()(explain.explain)
app.command()(devices.devices)
app.command()(cache.cache)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (`sys.argv` by default) and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode gets question marks, not a traceback
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            app(arguments, prog_name="tilewise")
        except TilewiseError as error:
            _fail(str(error))
        except MemoryError as error:
            _fail(f"out of memory: {error or 'choose smaller sizes'}")


def _show_warning(message: Warning | str, *where: object, **unused: object) -> None:
    """Show a warning as a sentence, without the place in Tilewise that gave it."""
    print(f"tilewise: {message}", file=sys.stderr)


def _fail(message: str) -> NoReturn:
    """Print what went wrong, which may quote anybody's file, without characters that steer a terminal."""
    from tilewise.render.units import strip_controls

    lines = (strip_controls(line) for line in f"tilewise: {message}".split("\n"))
    print("\n".join(lines), file=sys.stderr)
    sys.exit(COULD_NOT_RUN)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tilewise {tilewise.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the command itself."""
