"""A bar that counts what is done, where there is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def counting(what: str, total: int, console: Console) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal while the block lasts; what it gives is told how many are done."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.update(task, completed=count)
