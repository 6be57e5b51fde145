"""A bar that counts what is done, where there is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)


@contextmanager
def counting(what: str, total: int, console: Console) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal while the block lasts; what it gives is told how many are done."""
    with _shown(console, TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.update(task, completed=count)


@contextmanager
def counting_read() -> Iterator[Callable[[int], None]]:
    """Show on a terminal how much an audit has read; what it gives is told how much more."""
    with _shown(
        Console(stderr=True), SpinnerColumn(), TextColumn("{task.completed:,.0f} records and certificates read")
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda count: bar.advance(task, count)


def _shown(console: Console, *columns: ProgressColumn) -> Progress:
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)
