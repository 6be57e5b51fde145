"""Choose the groups that counterfeits complete, and draw what the counterfeits show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.columns import NO_VALUE, Columns

NEIGHBOURS = 100
"""So many released records near a class, besides its own, lend their values to its counterfeits."""
LEAST_HOLDERS = 5
"""So many of these have each value that a completed class shows: with 3, who knows their values and looks for those
that chance made frequent told 62 % of pairs of a counterfeit and a person, where 20 values are equally frequent."""


class Counterfeits(NamedTuple):
    """Records that are nobody's: of each a row of the class that it completes, and one whose value it shows.

    int64[f] both.
    """

    like: NDArray[np.int64]
    donors: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ShortClasses:
    """The classes of a recoded table that have too few people, and what is released beside them.

    Parameters
    ----------
    rows
        Everybody has one.
    released
        bool[n], which rows are.
    short
        int32[n], the class of each row that is suppressed for want of people; negative for all others.
    low, high
        int32[q, c], the bounds of what each class would publish.
    shown
        int64[p, n], numbers that are equal for values of a field that are published alike.
    """

    rows: Columns
    released: NDArray[np.bool_]
    short: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    shown: NDArray[np.int64]

    def chosen(
        self, k: int, least: NDArray[np.int64], most: RecordBound, draws: np.random.Generator
    ) -> dict[int, NDArray[np.int64]]:
        """Return the classes that are completed to k records, those that need fewest counterfeits first.

        Each has as many people at least as it needs counterfeits, and these show as many values as are asked, all
        of them usual near by, and no more of all records are counterfeits than may be. Beside each are the rows
        that lend its counterfeits their values. O(classes x rows).

        Parameters
        ----------
        least
            int64[s], how many values of each sensitive attribute are asked.
        draws
            Says which of several that need equally many come first, and which of equally near rows lend.
        """
        seed = _seed(draws)
        members = np.flatnonzero(self.short >= 0)
        numbers, place = np.unique(self.short[members], return_inverse=True)
        people = np.bincount(place, minlength=len(numbers))
        fit = (people < k) & (2 * people >= k)
        for column, asked in zip(self.rows.sensitive, least.tolist(), strict=True):
            there = column[members] != NO_VALUE
            pairs = np.unique(np.stack([place[there], column[members][there]]), axis=1)
            fit &= np.bincount(pairs[0], minlength=len(numbers)) >= asked
        for column in self.shown:  # spares the look near by, which takes as long as there are rows
            value = np.unique(column, return_inverse=True)[1]
            rare = np.bincount(value[self.released], minlength=len(value)) < LEAST_HOLDERS
            fit[place[rare[value[members]]]] = False
        order = draws.permutation(np.flatnonzero(fit))
        order = order[np.argsort(-people[order], kind="stable")]
        released, made, found = int(self.released.sum()), 0, dict[int, NDArray[np.int64]]()
        for place_of in order.tolist() if released else ():
            number, own = int(numbers[place_of]), members[place == place_of]
            lenders = self._lenders(number, own, self._of_class(number, seed))
            if lenders is None:
                continue
            made += k - len(own)
            released += k
            if made > most.of(released):
                break
            found[number] = lenders
        return found

    def _lenders(self, number: int, own: NDArray[np.int64], draws: np.random.Generator) -> NDArray[np.int64] | None:
        """Return the rows whose values the counterfeits of a class may show; None if it has an unusual value.

        These are its own and the released ones near it, rows outside of its bounds in fewest attributes first, then
        by how far, as a share of the greatest code. A value is usual if `LEAST_HOLDERS` of those near by have it.
        An unusual one would be somebody's for sure, since no counterfeit shows it; and where most values are
        unusual, one that also occurs near by would be nobody's.
        """
        released = np.flatnonzero(self.released)
        codes = self.rows.codes[:, released]
        spans = self.rows.codes.max(axis=1, initial=1)[:, None]
        gap = np.maximum(self.low[:, number, None] - codes, codes - self.high[:, number, None]).clip(0)
        outside, far = (gap > 0).sum(axis=0), (gap / spans).sum(axis=0)
        near = released[np.lexsort((draws.random(len(released)), far, outside))[:NEIGHBOURS]]
        usual = np.ones(len(near), np.bool_)
        for column in self.shown:
            values, held = np.unique(column[near], return_counts=True)
            often = values[held >= LEAST_HOLDERS]
            if not np.isin(column[own], often).all():
                return None
            usual &= np.isin(column[near], often)
        return np.concatenate([own, near[usual]])

    def drawn(self, completed: Mapping[int, NDArray[np.int64]], k: int, draws: np.random.Generator) -> Counterfeits:
        """Return the counterfeits of classes that are completed to k records.

        Each shows the value of a row that is drawn for it from its class's lenders. So no value occurs that would
        not be published without them.
        """
        like, donors, seed = list[int](), list[int](), _seed(draws)
        for number, lenders in completed.items():
            own, of_class = np.flatnonzero(self.short == number), self._of_class(number, seed)
            count = k - len(own)
            like += own[np.arange(count) % len(own)].tolist()
            donors += of_class.choice(lenders, count).tolist()
        return Counterfeits(np.array(like, np.int64), np.array(donors, np.int64))

    def _of_class(self, number: int, seed: Sequence[int]) -> np.random.Generator:
        """Return draws that follow from what a class publishes, whichever other classes are completed.

        So the same table under another bound or criterion has the same counterfeits in this class.
        """
        return np.random.default_rng([*seed, *self.low[:, number].tolist(), *self.high[:, number].tolist()])


def _seed(draws: np.random.Generator) -> list[int]:
    seed: list[int] = draws.integers(1 << 62, size=2).tolist()
    return seed
