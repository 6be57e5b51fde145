"""Best-first search over tables T(n, m): n distinct rows violate a requirement, of m distinct rows in all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from stream_anon.recoding.recoders.recoder import Step


class CountedTable(Protocol):
    """A table as the search sees it."""

    @property
    def violating(self) -> int:
        """Return the distinct rows that violate some requirement."""
        ...

    @property
    def rows(self) -> int:
        """Return the distinct rows in all."""
        ...


T = TypeVar("T", bound=CountedTable)


@dataclass(frozen=True, slots=True)
class SearchResult(Generic[T]):
    """What a search found.

    Parameters
    ----------
    best
        The satisfying table of the most rows; None where none was met.
    optimal
        Whether the search came to its end: no table that it reaches has more rows, and where there is no best one,
        none satisfies.
    steps
        The tree, an expanded table a step.
    """

    best: T | None
    optimal: bool
    steps: tuple[Step, ...]


def best_first(start: T, children: Callable[[T], Sequence[tuple[str, T]]], most_expanded: int) -> SearchResult[T]:
    """Search for the table of the most distinct rows that violates nothing.

    The open table of the most rows is expanded, ties by fewest violations, then the first that was found. Children
    have no more rows than their parent, so that the search ends where no open table has more rows than the best
    one; of several equally large the first that was found is the answer. It is exponential in the number of
    nodes: `most_expanded` bounds it.

    Parameters
    ----------
    children
        Returns the tables that come of one, each with the name of what was changed.
    most_expanded
        Tables that are expanded at the most.
    """
    found = 1
    names = {0: "T"}
    open_tables: list[tuple[int, T]] = [] if start.violating == 0 else [(0, start)]
    best = start if start.violating == 0 else None
    steps: list[Step] = []
    while open_tables:
        number, table = min(open_tables, key=lambda own: (-own[1].rows, own[1].violating, own[0]))
        if best is not None and table.rows <= best.rows:
            break
        if len(steps) == most_expanded:
            return SearchResult(best, optimal=False, steps=tuple(steps))
        open_tables.remove((number, table))
        told = {}
        for name, child in children(table):
            names[found] = f"T{found}"
            told[f"by {name}"] = _written(names[found], child)
            if child.violating:
                open_tables.append((found, child))
            elif best is None or child.rows > best.rows:
                best = child
            found += 1
        steps.append(Step(f"expanded {_written(names[number], table)}", told))
    return SearchResult(best, optimal=True, steps=tuple(steps))


def _written(name: str, table: CountedTable) -> str:
    return f"{name}({table.violating}, {table.rows})"
