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
def show_progress() -> Iterator[Callable[[Step], None] | None]:
    """Show a bar while the block runs and remove it afterwards; yields what to tell each step to, or None without a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(step: Step) -> None:
            bar.update(task, description=f"{step.rung} {step.stage}", completed=step.done, total=step.total)

        yield tell
