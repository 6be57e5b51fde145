"""What commands print: consoles that are not too wide, tables, and remarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


def console_of(width: int, *, bounded: bool = True) -> Console:
    """Return standard output for plain texts: so wide, on a terminal no wider than that, or as wide as it is."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        return Console(highlight=False, markup=False, width=width)
    return Console(highlight=False, markup=False, width=min(console.width, width)) if bounded else console


def ruled_table(gap: int = 2) -> Table:
    """Return a table without columns yet, that has a line below its headings and so many blanks between columns."""
    return Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, gap, 0, 0), show_edge=False)


def titled_table(title: str, headings: Iterable[str]) -> Table:
    """Return a table in a frame, with a title and columns that are folded where they do not fit."""
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def print_figures(console: Console, headings: Sequence[str], rows: Iterable[tuple[str, list[str]]]) -> None:
    """Print a table, names to the left and numbers to the right, and an empty line; nothing if there is no row."""
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
