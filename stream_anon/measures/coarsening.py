"""Which levels the attributes of a table must at least have, so that no set of them leaks more than is allowed."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.grouping import dense
from stream_anon.measures.leakage import Population, leakage
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

MOST_VECTORS = 20_000  # vectors of levels that are looked at before the search is finished greedily
_DIGITS = 12  # decimals of a loss: equal ones may differ in their last bits


@dataclass(frozen=True, slots=True)
class Coarsening:
    """Levels at which no set leaks more than is allowed.

    Parameters
    ----------
    levels
        One for each attribute.
    loss
        The mean NCP of the table's cells if each is published on its attribute's level.
    optimal
        Whether no allowed levels lose less.
    """

    levels: tuple[int, ...]
    loss: float
    optimal: bool


class Coarsened:
    """A table whose values are raised to levels: what it leaks and loses there; it remembers what it measured.

    Parameters
    ----------
    population
        The table.
    attributes
        Its quasi-identifiers, in the row order of its codes.
    disclosed
        Places of attributes that are known already. They are not raised.
    """

    def __init__(
        self, population: Population, attributes: Sequence[QuasiIdentifier], disclosed: Sequence[int] = ()
    ) -> None:
        self._population, self._attributes, self._disclosed = population, attributes, tuple(disclosed)
        self._known = leakage(population, self._disclosed)
        self.column = cache(self._column)
        self.loss_of = cache(self._loss_of)
        self._leaks = cache(self._measured)

    def leakage(self, chosen: tuple[int, ...], levels: Sequence[int]) -> float:
        """Return the bits that a set leaks on these levels beyond what is disclosed; O(n log n), once for each."""
        return self._leaks(chosen, tuple(levels[place] for place in chosen))

    def loss(self, levels: Sequence[int]) -> float:
        """Return the mean NCP of the table's cells on these levels."""
        total = sum(self.loss_of(place, level) for place, level in enumerate(levels))
        return round(total / max(len(levels), 1), _DIGITS)

    def next_level(self, place: int, level: int) -> int | None:
        """Return the lowest level above one on which the table has fewer different values; None if there is none.

        A level on which this table's values differ as before leaks as much and loses no less. Tight ranges and sets
        have no lowest level.
        """
        attribute = self._attributes[place]
        if not attribute.publishes_nodes:
            return None
        height = attribute.domain.height if attribute.max_level is None else attribute.max_level
        kinds = self.column(place, level)[1]
        return next((up for up in range(level + 1, height + 1) if self.column(place, up)[1] < kinds), None)

    def _measured(self, chosen: tuple[int, ...], levels: tuple[int, ...]) -> float:
        places = [place for place in self._disclosed if place not in chosen]
        columns = [self._population.codes[place] for place in places]
        columns += [self.column(place, level)[0] for place, level in zip(chosen, levels, strict=True)]
        raised = Population(np.stack(columns), self._population.individuals)
        return max(0.0, leakage(raised, range(len(columns))) - self._known)

    def _column(self, place: int, level: int) -> tuple[NDArray[np.int32], int]:
        """Return numbers that are equal where values have one node of a level, and how many nodes there are."""
        codes, inverse = np.unique(self._population.codes[place], return_inverse=True)
        numbers, count = dense(self._nodes(place, level, codes))
        return numbers[inverse].astype(np.int32), count

    def _loss_of(self, place: int, level: int) -> float:
        """Return the mean NCP of an attribute's cells on a level."""
        codes, counts = np.unique(self._population.codes[place], return_counts=True)
        bounds = self._attributes[place].nodes_at(codes, level).tolist()
        costs = np.array([self._attributes[place].ncp(low, high) for low, high in bounds])
        return float(costs @ counts) / max(self._population.rows, 1)

    def _nodes(self, place: int, level: int, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        bounds = self._attributes[place].nodes_at(codes, level)
        return bounds[:, 0] << 32 | bounds[:, 1]


def least_levels(
    table: Coarsened,
    start: Sequence[int],
    sets: Sequence[tuple[int, ...]],
    most: float,
    most_vectors: int = MOST_VECTORS,
) -> Coarsening | None:
    """Return the levels of least loss at which no set leaks more than `most` bits; None if there are none.

    Vectors of levels are looked at by their loss, of equal ones the one that keeps earlier attributes finer. Of a
    vector, the first set that leaks too much is taken: one of its attributes must be raised, since raising never
    leaks more, so the vectors after it raise one of these by a level. After `most_vectors` it goes on from the last
    one by the least added loss alone.

    Parameters
    ----------
    start
        The levels to begin from.
    sets
        Places of attributes, in the order in which they are tried.
    most_vectors
        Bounds the work.
    """
    first, top = tuple(start), list(start)
    for place in range(len(top)):
        while (higher := table.next_level(place, top[place])) is not None:
            top[place] = higher
    if any(table.leakage(chosen, top) > most for chosen in sets):
        return None
    waiting, seen, looked = [(table.loss(first), first)], {first}, 0
    while True:
        _, levels = heapq.heappop(waiting)
        looked += 1
        leaky = next((chosen for chosen in sets if table.leakage(chosen, levels) > most), None)
        if leaky is None:
            return Coarsening(levels, table.loss(levels), optimal=looked <= most_vectors)
        if looked >= most_vectors:
            waiting, seen = [], set()
        for place in leaky:
            higher = table.next_level(place, levels[place])
            if higher is None:
                continue
            raised = (*levels[:place], higher, *levels[place + 1 :])
            if raised not in seen:
                seen.add(raised)
                heapq.heappush(waiting, (table.loss(raised), raised))
