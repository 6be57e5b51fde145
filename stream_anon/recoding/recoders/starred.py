"""Publish suppressed rows as a group of their own, with every quasi-identifier at its root."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.grouping import dense, grouped, split
from stream_anon.recoding.recoders.protocol import Asked, Recoding, Step, Table


def starred(table: Table, asked: Asked, recoding: Recoding) -> Recoding:
    """Return a recoding with the suppressed rows at the roots, none if they cannot become a group.

    If they are too few, rows of other groups join them, one at a time, whose suppression adds the least loss; only
    such as their groups can spare. Where no group can spare one, the group joins whole whose suppression adds the
    least. Of several, `_First` chooses, and never by the order of the rows. O(rows that join x n).
    """
    tops = [own.height for own in table.levels]
    low, high = table.bounds(tops)
    groups, _ = table.grouped(recoding.low, recoding.high)
    groups[recoding.suppressed] = -1
    # A group at the roots already is the one that suppressed rows are in.
    rooted = ((recoding.low == low) & (recoding.high == high)).all(axis=0)
    groups[rooted] = -1
    stars = groups < 0
    if not recoding.suppressed.any():
        return recoding
    joined = 0
    added = 1 - _losses(table, recoding)
    first = _First(table)
    while asked.short(table, np.where(stars, 0, -1), 1)[0]:
        if stars.all():
            return recoding  # the whole table is no group
        rows = _cheapest(table, asked, groups, added, stars, first)
        groups[rows] = -1
        stars[rows] = True
        joined += len(rows)
    told = {"records": int(stars.sum()), "of these joined": joined}
    return replace(
        recoding,
        low=np.where(stars, low, recoding.low),
        high=np.where(stars, high, recoding.high),
        suppressed=np.zeros(len(table), np.bool_),
        steps=(*recoding.steps, Step("published suppressed records at the roots", told)),
    )


def _losses(table: Table, recoding: Recoding) -> NDArray[np.float64]:
    """Return the mean NCP of each row; float64[n]."""
    total = np.zeros(len(table))
    for attribute, lows, highs in zip(table.attributes, recoding.low, recoding.high, strict=True):
        pairs, place = np.unique(np.stack([lows, highs]), axis=1, return_inverse=True)
        total += np.array([attribute.ncp(int(a), int(b)) for a, b in pairs.T])[place.ravel()]
    return total / len(table.attributes)


def _cheapest(
    table: Table,
    asked: Asked,
    groups: NDArray[np.int64],
    added: NDArray[np.float64],
    stars: NDArray[np.bool_],
    first: _First,
) -> NDArray[np.intp]:
    """Return the rows to join next: one that its group can spare, else a whole group."""
    if len(np.unique(table.individuals[stars])) < asked.k:
        useful = ~np.isin(table.individuals, table.individuals[stars])
    else:  # people enough: it is values that are missing
        useful = np.zeros(len(table), np.bool_)
        for row in table.values:
            useful |= (row >= 0) & ~np.isin(row, row[stars])
    rows = np.flatnonzero(useful & ~stars & _spare(table, asked, groups))
    if len(rows):
        return np.array([first.of(rows[added[rows] == added[rows].min()], stars)])
    left = np.flatnonzero(groups >= 0)
    # All rows of a group are published alike, and so add the same.
    total = added[left] * np.bincount(groups[left])[groups[left]]
    return np.flatnonzero(groups == groups[first.of(left[total == total.min()], stars)])


@dataclass(frozen=True)
class _First:
    """Chooses among rows by what they hold: quasi-identifiers, then what passes, then their person's other rows.

    Rows between which it cannot choose are alike in all of these, so that either choice publishes the same. Numbers
    of sensitive values and of people say nothing: they come from the order of the rows.
    """

    table: Table

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Return numbers that ascend with what rows hold, equal for rows that hold the same; int64[n]."""
        ranks, count = grouped(self.table.rows.codes, len(self.table))
        for kinds in self._passing():
            ranks, count = split(ranks, count, *dense(kinds))
        return ranks

    def _passing(self) -> list[NDArray[np.int64]]:
        if self.table.passed is None:
            return list(self.table.rows.sensitive)
        passed = list(map(repr, self.table.passed()))  # values of several types have no order
        numbers = {text: number for number, text in enumerate(sorted(set(passed)))}
        return [np.array([numbers[text] for text in passed], np.int64)]

    @cached_property
    def _rows_of(self) -> list[NDArray[np.intp]]:
        """Return the rows of each person."""
        people = self.table.individuals
        order = np.argsort(people, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(people[order])) + 1)

    def of(self, rows: NDArray[np.intp], stars: NDArray[np.bool_]) -> int:
        """Return one of some rows, given which rows are suppressed."""
        least = rows[self.ranks[rows] == self.ranks[rows].min()]
        if len(self._rows_of) == len(self.table):
            return int(least[0])  # nobody has other rows

        def others(row: np.intp) -> list[int]:
            own = self._rows_of[self.table.individuals[row]]
            return sorted((2 * self.ranks[own] + stars[own]).tolist())

        return int(min(least, key=others))


def _spare(table: Table, asked: Asked, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the rows without which their group still meets what is asked; bool[n]."""
    held, often = _counted(groups, table.individuals)
    spare = (held > asked.k) | (often > 1)
    if asked.l > 1:
        for row in table.values:
            kinds, often = _counted(np.where(row >= 0, groups, -1), row)
            spare &= (row < 0) | (kinds > asked.l) | (often > 1)
    return spare


def _counted(groups: NDArray[np.int64], items: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each row in a group how many different items the group holds, and how often it holds the row's."""
    kinds, often = np.zeros(len(groups), np.int64), np.zeros(len(groups), np.int64)
    inside = groups >= 0
    if inside.any():
        span = int(items.max()) + 1
        pairs, place, counts = np.unique(
            groups[inside] * span + items[inside], return_inverse=True, return_counts=True
        )
        kinds[inside] = np.bincount(pairs // span)[groups[inside]]
        often[inside] = counts[place]
    return kinds, often
