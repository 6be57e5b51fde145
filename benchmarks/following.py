"""A reader who follows people from window to window by what is published of them.

The reader knows who comes to a window, and afterwards in which class they were. When somebody comes again, the
reader picks their class: the one most of whose people lie in the tuple of their last class, if people are spread
evenly over a tuple; with values also by how much of a class shows what all their classes had in common. The reader
further knows quasi-identifiers as they were when somebody first came. They are not in a window where no class has a
tuple that fits these; with values, where no class that fits shows one of those in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Classes, Release


class Reader:
    """Follows people over windows, and is told afterwards in which class each of them was.

    Parameters
    ----------
    policy
        What is released under.
    people
        The id of everybody who ever comes.
    values
        All that may be published of the sensitive attribute.

    Attributes
    ----------
    links, linked, by_value, largest
        int64[n]: windows in which somebody came again, and in how many of these their class was picked; by the
        tuple, with values, and by taking the largest class.
    absences, excluded, excluded_by_value
        int64[n]: windows without somebody since they first came, and how many of these the reader is sure of.
    wrong, wrong_by_value
        int64[n]: windows in which somebody came again of which the reader is sure that they did not.
    """

    def __init__(self, policy: Policy, people: Sequence[str], values: Sequence[str]) -> None:
        self._quasi = policy.quasi_identifiers
        self._place = {person: place for place, person in enumerate(people)}
        self._column = {value: column for column, value in enumerate(values)}
        self._known = np.zeros(len(people), np.bool_)
        self._codes = np.zeros((len(people), len(self._quasi)), np.int32)
        self._common = np.ones((len(people), len(values)), np.bool_)
        self._last: dict[int, tuple[int, int]] = {}  # window and class
        self._windows: list[Classes] = []
        self.links, self.linked, self.by_value, self.largest = (np.zeros(len(people), np.int64) for _ in range(4))
        self.absences, self.excluded, self.excluded_by_value = (np.zeros(len(people), np.int64) for _ in range(3))
        self.wrong, self.wrong_by_value = (np.zeros(len(people), np.int64) for _ in range(2))

    def read(self, release: Release, records: Mapping[str, tuple[int, Mapping[str, object]]]) -> None:
        """Read a window; `records` has for each person who came the row of one record, and the record."""
        classes = release.classes
        shares = np.zeros((len(classes), len(self._column)))
        for number, (value,) in zip(release.class_of_row.tolist(), release.payload, strict=True):
            if number >= 0:
                shares[number, self._column[str(value)]] += 1
        shares /= shares.sum(axis=1, keepdims=True)
        came = {self._place[person]: int(release.class_of_row[row]) for person, (row, _) in records.items()}
        self._exclude(classes, shares, came)
        self._pick(classes, shares, {place: number for place, number in came.items() if number >= 0})
        for person, (_, record) in records.items():
            place, number = self._place[person], came[self._place[person]]
            if number >= 0:
                self._common[place] &= shares[number] > 0
                self._last[place] = len(self._windows), number
                if not self._known[place]:
                    self._known[place] = True
                    self._codes[place] = [one.code(record[one.name]) for one in self._quasi]
        self._windows.append(classes)

    def shares(self, people: Sequence[str]) -> dict[str, float]:
        """Return of the returns and absences of some people which share the reader told, rounded; 0 of none."""
        own = [self._place[person] for person in people]
        links, absences = int(self.links[own].sum()), int(self.absences[own].sum())
        came_again = self.links[own] > 0
        always = (self.by_value[own] == self.links[own])[came_again]

        def share(found: NDArray[np.int64], of: int) -> float:
            return round(float(found[own].sum() / of), 4) if of else 0.0

        return {
            "largest": share(self.largest, links),
            "followed": share(self.linked, links),
            "by_value": share(self.by_value, links),
            "always": round(float(always.mean()), 4) if len(always) else 0.0,
            "absent": share(self.excluded, absences),
            "absent_by_value": share(self.excluded_by_value, absences),
            "wrong": share(self.wrong_by_value, links),
        }

    def _exclude(self, classes: Classes, shares: NDArray[np.float64], came: Mapping[int, int]) -> None:
        people = np.flatnonzero(self._known)
        fits = np.ones((len(people), len(classes)), np.bool_)
        for codes, low, high in zip(self._codes[people].T, classes.low, classes.high, strict=True):
            fits &= (low <= codes[:, None]) & (codes[:, None] <= high)
        shows = self._common[people].astype(np.float64) @ (shares > 0).T > 0
        sure, sure_by_value = ~fits.any(axis=1), ~(fits & shows).any(axis=1)
        there = np.isin(people, [place for place, number in came.items() if number >= 0])
        absent = ~np.isin(people, list(came))  # who came and was suppressed is neither
        self.absences[people] += absent
        self.excluded[people] += absent & sure
        self.excluded_by_value[people] += absent & sure_by_value
        self.wrong[people] += there & sure
        self.wrong_by_value[people] += there & sure_by_value

    def _pick(self, classes: Classes, shares: NDArray[np.float64], came: Mapping[int, int]) -> None:
        likely: dict[tuple[int, int], NDArray[np.float64]] = {}
        for place, number in came.items():
            last = self._last.get(place)
            if last is None:
                continue
            if last not in likely:
                likely[last] = _likely(self._windows[last[0]], last[1], classes)
            self.links[place] += 1
            self.largest[place] += _is_picked(classes.individuals, number)
            self.linked[place] += _is_picked(likely[last], number)
            self.by_value[place] += _is_picked(likely[last] * (shares @ self._common[place]), number)


def _likely(before: Classes, own: int, classes: Classes) -> NDArray[np.float64]:
    """Return how many people of each class lie in the tuple of an earlier one; float64[c]."""
    low = np.maximum(before.low[:, [own]], classes.low)
    high = np.minimum(before.high[:, [own]], classes.high)
    parts = np.maximum(high - low + 1, 0) / (classes.high - classes.low + 1)
    return np.asarray(parts.prod(axis=0) * classes.individuals)


def _is_picked(likely: NDArray[np.float64] | NDArray[np.int64], number: int) -> bool:
    return bool(likely[number] > 0 and likely.argmax() == number)
