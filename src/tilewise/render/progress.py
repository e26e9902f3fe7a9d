"""What a climb is doing, as a bar on stderr, and what a check is doing, as a line."""

from __future__ import annotations

import threading
from collections import deque
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
SAID_AFTER_S, SAID_EVERY_S = 5.0, 60.0
"""Where stderr is no terminal: a line is said after so long, and then every so often."""


@contextmanager
def show_status() -> Iterator[Callable[[str], None]]:
    """Show what is being done in a line on stderr, once the block has run for two seconds; where that is no terminal, say it.

    Yields what to tell it.
    """
    console = Console(stderr=True)
    with _show_line(console) if console.is_terminal else _say_lines(console) as tell:
        yield tell


@contextmanager
def _say_lines(console: Console) -> Iterator[Callable[[str], None]]:
    """Print what is being done after a while, and again every minute."""
    told, ended = deque([""], maxlen=1), threading.Event()

    def say() -> None:
        pause = SAID_AFTER_S
        while not ended.wait(pause):
            console.print(plain(f"tilewise: {told[-1]}"), soft_wrap=True)
            pause = SAID_EVERY_S

    speaker = threading.Thread(target=say, daemon=True)
    speaker.start()
    try:
        yield told.append
    finally:
        ended.set()
        speaker.join()


@contextmanager
def _show_line(console: Console) -> Iterator[Callable[[str], None]]:
    status = console.status("")
    timer = threading.Timer(STATUS_AFTER_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda text: status.update(plain(text))
    finally:
        timer.cancel()
        timer.join()
        status.stop()
