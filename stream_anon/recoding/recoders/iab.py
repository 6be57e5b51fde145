"""IAB: several requirements at once, by best-first search over cuts through the hierarchies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.grouping import grouped, people
from stream_anon.microdata.bounds import Shield
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table


@dataclass(frozen=True)
class Iab:
    """Keep the most distinct rows under several requirements.

    Rows of the whole table: two are the same if all that is published of them is, the fields that pass included.

    A table is expanded, for each attribute of a requirement, by replacing the values of violating rows, and all
    others under the same parents, by these parents, wherever they occur. `best_first` says in which order. What
    every policy asks, k individuals for each tuple of all quasi-identifiers, is one of the requirements.

    An answer that is proved optimal has the most rows of all tables that expansions reach. A child raises an
    attribute for all violating rows at once, so that a cut which raises it for some of them, and another one for
    the rest, may be out of reach and have more rows.

    Parameters
    ----------
    requirements
        Further ones.
    most_expanded
        Tables that are expanded at the most. Where no satisfying table has been met by then, the search goes on
        from the last one by the child of fewest violations, and the answer is not proved optimal.
    """

    requirements: tuple[Shield, ...] = ()
    most_expanded: int = 1_000
    across_groups: ClassVar[bool] = True

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the best table that was found; rows of groups that fall short of l are suppressed.

        Where the whole table has too few individuals for a requirement no table satisfies, and all is suppressed.
        """
        required = self._required(table, asked)
        individuals, needed = int(table.individuals.max()) + 1, max(k for _, k in required)
        if individuals < needed:
            low, high = table.bounds([own.height for own in table.levels])
            why = {"individuals": individuals, "needed": needed, "suppressed": len(table)}
            return Recoding(low, high, np.ones(len(table), np.bool_), (Step("no table satisfies", why),))
        start = Cut(table, required, tuple(np.zeros(len(own.codes), np.int64) for own in table.levels))
        seen: set[bytes] = set()
        found = best_first(start, lambda cut: cut.children(seen), self.most_expanded)
        best, steps = found.best, list(found.steps)
        if best is None:
            best = start
            while best.violating and (children := best.children(set())):
                name, best = min(children, key=lambda own: (own[1].violating, -own[1].rows))
                steps.append(Step("went on greedily", {"by": name, "to": f"T({best.violating}, {best.rows})"}))
        low, high = best.bounds()
        suppressed = _falling_short(table, best.nodes, required, asked)
        figures = {
            "distinct rows": best.rows,
            "proved optimal": "yes" if found.optimal else "no",
            "suppressed": int(suppressed.sum()),
        }
        return Recoding(low, high, suppressed, (*steps, Step("answer", figures)))

    def _required(self, table: Table, asked: RecodingGoal) -> list[tuple[list[int], int]]:
        """Return each requirement as places of attributes and a k."""
        required = [(list(range(len(table.names))), asked.k)]
        required += [
            ([table.place(name, "method.requirements") for name in own.attributes], own.k)
            for own in self.requirements
        ]
        return required


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut through each hierarchy: int64[codes] an attribute, the level on which each code is published."""

    table: Table
    required: list[tuple[list[int], int]]
    levels: tuple[NDArray[np.int64], ...]

    @cached_property
    def nodes(self) -> list[NDArray[np.int64]]:
        """Return the number of each cell's node; int64[n] an attribute."""
        return [self._numbers(place)[codes] for place, codes in enumerate(self.table.places)]

    def _numbers(self, place: int) -> NDArray[np.int64]:
        """Return the number of the node that each code of an attribute is in."""
        own = self.table.levels[place]
        numbers = own.nodes[self.levels[place], np.arange(len(own.codes))].astype(np.int64)
        # Nodes of a cut do not overlap: level and number tell them apart.
        return grouped((self.levels[place], numbers), len(numbers))[0]

    @cached_property
    def _counted(self) -> tuple[NDArray[np.bool_], int, int]:
        groups, rows = grouped((*self.nodes, self.table.passing), len(self.table))
        wrong = np.zeros(len(self.table), np.bool_)
        for places, k in self.required:
            own, count = grouped((self.nodes[place] for place in places), len(self.table))
            wrong |= (people(own, count, self.table.individuals) < k)[own]
        return wrong, len(np.unique(groups[wrong])), rows

    @property
    def violating(self) -> int:
        """Return the distinct rows that violate some requirement."""
        return self._counted[1]

    @property
    def rows(self) -> int:
        """Return the distinct rows in all."""
        return self._counted[2]

    def children(self, seen: set[bytes]) -> Sequence[tuple[str, Cut]]:
        """Return the cuts that come of raising one attribute, without those that were `seen`, and note them."""
        found = []
        for place in sorted({place for places, _ in self.required for place in places}):
            raised = self._raised(place)
            if raised is None:
                continue
            levels = (*self.levels[:place], raised, *self.levels[place + 1 :])
            key = b"".join(own.tobytes() for own in levels)
            if key not in seen:
                seen.add(key)
                found.append((self.table.names[place], Cut(self.table, self.required, levels)))
        return found

    def _raised(self, place: int) -> NDArray[np.int64] | None:
        """Return an attribute's levels with the parents of violating rows' nodes, None if all are roots."""
        own, now = self.table.levels[place], self.levels[place]
        raised = now.copy()
        for code in np.unique(self.table.places[place][self._counted[0]]).tolist():
            level = int(now[code])
            inside = own.nodes[level] == own.nodes[level, code]
            while level < own.height:
                level += 1
                parent = own.nodes[level] == own.nodes[level, code]
                if parent.sum() > inside.sum():
                    raised[parent] = np.maximum(raised[parent], level)
                    break
        return None if np.array_equal(raised, now) else raised

    def bounds(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return what is published of each cell."""
        cells = zip(self.levels, self.table.places, strict=True)
        return self.table.bounds(np.array([levels[codes] for levels, codes in cells]))


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search over tables T(n, m) found: n distinct rows violate a requirement, of m distinct rows in all.

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

    best: Cut | None
    optimal: bool
    steps: tuple[Step, ...]


def best_first(
    start: Cut, children: Callable[[Cut], Sequence[tuple[str, Cut]]], most_expanded: int
) -> SearchResult:
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
    open_tables: list[tuple[int, Cut]] = [] if start.violating == 0 else [(0, start)]
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


def _written(name: str, table: Cut) -> str:
    return f"{name}({table.violating}, {table.rows})"


def _falling_short(
    table: Table, nodes: Sequence[NDArray[np.int64]], required: Sequence[tuple[list[int], int]], asked: RecodingGoal
) -> NDArray[np.bool_]:
    """Return the rows to suppress so that all that are left meet k, l and every requirement; bool[n].

    Who leaves for one requirement may be missed by another: it is repeated until nobody leaves.
    """
    every, count = grouped(nodes, len(table))
    suppressed = np.zeros(len(table), np.bool_)
    while True:
        short = asked.short(table, np.where(suppressed, -1, every), count)[every]
        for places, k in required:
            own, groups = grouped((nodes[place] for place in places), len(table))
            kept = np.flatnonzero(~suppressed)
            short |= (people(own[kept], groups, table.individuals[kept]) < k)[own]
        if not (short & ~suppressed).any():
            return suppressed
        suppressed |= short
