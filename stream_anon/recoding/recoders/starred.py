"""Publish suppressed rows as a group of their own, with every quasi-identifier at its root."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table


def starred(table: Table, asked: RecodingGoal, recoding: Recoding, draws: np.random.Generator) -> Recoding:
    """Return a recoding with the suppressed rows at the roots, none if they cannot become a group.

    If they are too few, rows of other groups join them, one at a time, whose suppression adds the least loss; only
    such as their groups can spare. Where no group can spare one, the group joins whole whose suppression adds the
    least. O(rows that join x n).

    Parameters
    ----------
    draws
        Choose among several. What rows hold besides must not: who knows all quasi-identifiers could tell from the
        sensitive values of those that joined which one the suppressed person has.
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
    while asked.short(table, np.where(stars, 0, -1), 1)[0]:
        if stars.all():
            return recoding  # the whole table is no group
        rows = _cheapest(table, asked, groups, added, stars, draws)
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
    asked: RecodingGoal,
    groups: NDArray[np.int64],
    added: NDArray[np.float64],
    stars: NDArray[np.bool_],
    draws: np.random.Generator,
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
        return draws.choice(rows[added[rows] == added[rows].min()], 1)
    left = np.flatnonzero(groups >= 0)
    # All rows of a group are published alike, and so add the same.
    total = added[left] * np.bincount(groups[left])[groups[left]]
    return np.flatnonzero(groups == draws.choice(np.unique(groups[left[total == total.min()]])))


def _spare(table: Table, asked: RecodingGoal, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
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
