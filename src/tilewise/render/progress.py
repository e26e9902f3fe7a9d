"""What a climb is doing, as a bar on stderr; nothing where stderr is no terminal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tilewise.render.terminal import plain

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


STATUS_AFTER_S = 2.0


@contextmanager
def show_status() -> Iterator[Callable[[str], None]]:
    """Show what is being done in a line on stderr, once the block has run for two seconds; nothing where that is no terminal.

    Yields what to tell it.
    """
    console = Console(stderr=True)
    status = console.status("")
    timer = threading.Timer(STATUS_AFTER_S, status.start) if console.is_terminal else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield lambda text: status.update(plain(text))
    finally:
        if timer is not None:
            timer.cancel()
            timer.join()
        status.stop()
