"""The columns of an open window: codes and dense numbers, grown as batches arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_VALUE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """What the numbers of a sensitive attribute stand for whose values are lists: sets of items, without order.

    Parameters
    ----------
    starts
        int64[k + 1], where the items of each of the k sets begin.
    items
        int32[starts[k]], dense numbers from 0, in each set once. No set is empty: a list without items is
        `NO_VALUE`.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]

    @classmethod
    def of(cls, sets: Sequence[Sequence[int]]) -> Sets:
        """Return sets given by keys of their items."""
        lengths = [len(one) for one in sets]
        keys = np.array([key for one in sets for key in one], np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(lengths, np.int64))])
        return cls(starts, np.unique(keys, return_inverse=True)[1].astype(np.int32))

    def occurrences(self, numbers: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return each item of n sets, given by numbers int32[n]: the place of its set among these, and the item."""
        lengths = np.diff(self.starts)[numbers]
        places = np.repeat(np.arange(len(numbers)), lengths)
        within = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return places, self.items[np.repeat(self.starts[numbers], lengths) + within]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Rows as columns of small integers.

    Parameters
    ----------
    codes
        int32[q, n], a row a quasi-identifier.
    individuals
        int32[n], dense numbers from 0.
    sensitive
        int32[s, n], a row a sensitive attribute with a criterion, dense numbers from 0, `NO_VALUE` where it is
        missing.
    sets
        For each of these what its numbers stand for if its values are lists, else None; empty where none has lists.
    families
        For each of these the family of each number if a class must hold families whole, int32[numbers], `NO_VALUE`
        for a number of none, else None; empty where none must.
    """

    codes: NDArray[np.int32]
    individuals: NDArray[np.int32]
    sensitive: NDArray[np.int32]
    sets: tuple[Sets | None, ...] = ()
    families: tuple[NDArray[np.int32] | None, ...] = ()

    def __len__(self) -> int:
        return len(self.individuals)

    @property
    def held(self) -> int:
        """Return the bytes of the columns, and of what their sets hold."""
        sets = sum(sets.starts.nbytes + sets.items.nbytes for sets in self.sets if sets is not None)
        return self.codes.nbytes + self.individuals.nbytes + self.sensitive.nbytes + sets

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Columns:
        """Return the chosen rows."""
        return Columns(
            np.ascontiguousarray(self.codes[:, rows]),
            self.individuals[rows],
            np.ascontiguousarray(self.sensitive[:, rows]),
            self.sets,
            self.families,
        )

    @classmethod
    def empty(cls, quasi_identifiers: int, sensitive: int) -> Columns:
        """Return columns without a row."""
        return cls(
            np.empty((quasi_identifiers, 0), np.int32), np.empty(0, np.int32), np.empty((sensitive, 0), np.int32)
        )

    @classmethod
    def concatenate(cls, parts: list[Columns]) -> Columns:
        """Return the rows of all parts in order; none of them knows its sets or families yet."""
        return cls(
            np.concatenate([part.codes for part in parts], axis=1),
            np.concatenate([part.individuals for part in parts]),
            np.concatenate([part.sensitive for part in parts], axis=1),
        )
