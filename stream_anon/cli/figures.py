"""Figures as a table on a terminal: a bold row of headings, names to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_figures(console: Console, headings: Sequence[str], rows: Iterable[tuple[str, list[str]]]) -> None:
    """Print a table and an empty line; nothing if there is no row."""
    rows = list(rows)
    if not rows:
        return
    shown = Table.grid(padding=(0, 2))
    shown.add_column(overflow="fold")
    for _ in headings[1:]:
        shown.add_column(justify="right", overflow="fold")
    shown.add_row(*(Text(heading, "bold") for heading in headings))
    for name, cells in rows:
        shown.add_row(Text(name), *map(Text, cells))
    console.print(shown)
    console.print()


def print_remarks(console: Console, remarks: Iterable[str], end: str = "\n") -> None:
    """Print remarks, a line each; nothing if there is none."""
    lines = [Text(remark) for remark in remarks]
    if lines:
        console.print(*lines, sep="\n", end="\n" + end)
