"""Choose levels where a lattice would have too many nodes: those that group the table at even paces."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from stream_anon.recoding.lattice.attribute_levels import AttributeLevels
from stream_anon.recoding.lattice.rows import Rows

MOST_NODES = 50_000
_MOST_COUNTED = 20_000  # rows that groups are counted over


def chosen_levels(
    levels: Sequence[AttributeLevels], rows: Rows, wanted: Sequence[int], most: int = MOST_NODES
) -> tuple[AttributeLevels, ...]:
    """Return levels of which the lattice has at most `most` nodes; all of them where that is so.

    Levels are ranked by how much they group: the logarithm of the number of groups that an attribute makes on that
    level, alone and with each other attribute as it is, on average. What goes first is a level between two others
    that lie the closest together by that figure, then a value itself that the next level groups least, then a root.
    O(levels x attributes x n log n).

    Parameters
    ----------
    wanted
        Per attribute the level that stays whatever it is worth: a request's limit.
    """
    kept = [list(range(each.height + 1)) for each in levels]
    if prod(map(len, kept)) <= most:
        return tuple(levels)
    pace = _paces(levels, rows.take(slice(0, _MOST_COUNTED)))
    while prod(map(len, kept)) > most:
        places = [
            (_rank(own, level), _gap(pace[place], own, level), place, level)
            for place, own in enumerate(kept)
            for level in own
            if level != wanted[place]
        ]
        if not places:
            break  # one level is left of each: one node
        _, _, place, level = min(places)
        kept[place].remove(level)
    return tuple(each.chosen(own) for each, own in zip(levels, kept, strict=True))


def _rank(kept: Sequence[int], level: int) -> int:
    """Return 0 for a level between others, 1 for the first, 2 for the last."""
    return 2 if level == kept[-1] else int(level == kept[0])


def _gap(paces: Sequence[float], kept: Sequence[int], level: int) -> float:
    """Return how far a level's neighbours lie apart; at the ends it is one of them itself."""
    place = kept.index(level)
    return paces[kept[max(place - 1, 0)]] - paces[kept[min(place + 1, len(kept) - 1)]]


def _paces(levels: Sequence[AttributeLevels], rows: Rows) -> list[list[float]]:
    """Return per attribute and level the mean logarithm of the groups that it makes, alone and in pairs."""
    places = [each.places(own) for each, own in zip(levels, rows.codes, strict=True)]
    figures = []
    for j, each in enumerate(levels):
        others = [places[i].astype(np.int64) for i in range(len(levels)) if i != j]
        figures.append([_pace(row[places[j]], others) for row in each.nodes])
    return figures


def _pace(nodes: NDArray[np.int32], others: Sequence[NDArray[np.int64]]) -> float:
    counts = [len(np.unique(nodes))]
    counts += [len(np.unique(other * (int(nodes.max()) + 1) + nodes)) for other in others]
    return float(np.mean(np.log(counts)))
