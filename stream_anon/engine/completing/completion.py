"""Choose the groups that counterfeits complete, and draw what the counterfeits show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.columns import NO_VALUE, Columns

NEIGHBOURS = 50
"""So many released records near a class, besides its own, lend their values to its counterfeits."""


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
    """

    rows: Columns
    released: NDArray[np.bool_]
    short: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    def chosen(
        self, k: int, least: NDArray[np.int64], most: RecordBound, draws: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the classes that are completed to k records, those that need fewest counterfeits first.

        Each has as many people at least as it needs counterfeits, and these show as many values as are asked, and
        no more of all records are counterfeits than may be.

        Parameters
        ----------
        least
            int64[s], how many values of each sensitive attribute are asked.
        draws
            Says which of several that need equally many come first.
        """
        members = np.flatnonzero(self.short >= 0)
        numbers, place = np.unique(self.short[members], return_inverse=True)
        people = np.bincount(place, minlength=len(numbers))
        fit = (people < k) & (2 * people >= k)
        for column, asked in zip(self.rows.sensitive, least.tolist(), strict=True):
            there = column[members] != NO_VALUE
            pairs = np.unique(np.stack([place[there], column[members][there]]), axis=1)
            fit &= np.bincount(pairs[0], minlength=len(numbers)) >= asked
        order = draws.permutation(np.flatnonzero(fit))
        order = order[np.argsort(-people[order], kind="stable")]
        released, made, found = int(self.released.sum()), 0, list[int]()
        for number in order.tolist() if released else ():
            made += k - int(people[number])
            released += k
            if made > most.of(released):
                break
            found.append(int(numbers[number]))
        return np.array(found, np.int64)

    def drawn(self, completed: NDArray[np.int64], k: int, draws: np.random.Generator) -> Counterfeits:
        """Return the counterfeits of classes that are completed to k records.

        Each shows the value of a row that is drawn for it, among those of its own class and of released rows near
        it: of rows outside of its bounds in fewest attributes, then by how far, as a share of the greatest
        code. So a value that only the class has may be a counterfeit's too, and none occurs that would not be
        published without them. O(classes x rows).
        """
        released = np.flatnonzero(self.released)
        codes = self.rows.codes[:, released]
        spans = self.rows.codes.max(axis=1, initial=1)[:, None]
        like, donors = list[int](), list[int]()
        for number in completed.tolist():
            own = np.flatnonzero(self.short == number)
            gap = np.maximum(self.low[:, number, None] - codes, codes - self.high[:, number, None]).clip(0)
            outside, far = (gap > 0).sum(axis=0), (gap / spans).sum(axis=0)
            nearest = np.lexsort((draws.random(len(released)), far, outside))[:NEIGHBOURS]
            lenders = np.concatenate([own, released[nearest]])
            count = k - len(own)
            like += draws.choice(own, count).tolist()
            donors += draws.choice(lenders, count).tolist()
        return Counterfeits(np.array(like, np.int64), np.array(donors, np.int64))
