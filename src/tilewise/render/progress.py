"""What a climb is doing, as a bar on stderr; nothing where stderr is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from tilewise.engine.ladder import Step


@contextmanager
def show_bar() -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a bar while the block runs and remove it afterwards.

    Yields what to tell what comes next, with how many of how many steps are behind it; None without a terminal.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(text: str, done: int, total: int) -> None:
            bar.update(task, description=text, completed=done, total=total)

        yield tell


@contextmanager
def show_progress() -> Iterator[Callable[[Step], None] | None]:
    """Show a bar for the steps of a climb; see `show_bar`."""
    with show_bar() as tell:
        yield None if tell is None else lambda step: tell(f"{step.rung} {step.stage}", step.done, step.total)
