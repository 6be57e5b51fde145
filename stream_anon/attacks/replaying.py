"""Guess a value of somebody by replays of the engine: all rows of a window are known but this one value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Tuple = tuple[int, ...]
Way = TypeVar("Way")
_SAME = 1e-9
_REST = 1e-3  # of the window counts so much beside the victim's class: it decides between equals


@dataclass(frozen=True, slots=True)
class WindowOfReplay:
    """The classes of a window: how often each pair of published tuple and size occurs, and each person's class."""

    classes: Counter[Tuple]
    of_row: tuple[Tuple, ...]

    def likeness(self, other: WindowOfReplay) -> float:
        """Return the share of the classes that the other one has too."""
        return (self.classes & other.classes).total() / max(self.classes.total(), 1)


@dataclass(frozen=True)
class ReplayCase(Generic[Way]):
    """One victim: what was published, and the values that are possible by the class alone.

    Parameters
    ----------
    replay
        Returns what is published of some codes in one of several ways, such as with draws of its own.
    codes
        int32[q, n], the quasi-identifiers of everybody.
    row, attribute
        The victim, and the place of what is wanted of them.
    values
        Codes, the true one among them.
    """

    replay: Callable[[NDArray[np.int32], Way], WindowOfReplay]
    codes: NDArray[np.int32]
    seen: WindowOfReplay
    row: int
    attribute: int
    values: NDArray[np.int64]

    @property
    def chance(self) -> float:
        """Return how often a guess is right that takes any of the values."""
        return 1 / len(self.values)

    def guessed(self, ways: Sequence[Way]) -> float:
        """Return the chance that the value is right for which replays in these ways come nearest.

        A value's likelihood is how often the replays put the victim into a class as the one that was published;
        where that is equal, how many of the window's classes they find.
        """
        scores = np.array([self._score(value, ways) for value in self.values.tolist()])
        best = scores >= scores.max() - _SAME
        return float((best & (self.values == self.codes[self.attribute, self.row])).sum() / best.sum())

    def _score(self, value: int, ways: Sequence[Way]) -> float:
        tried = [self.replayed(value, way) for way in ways]
        hits = [one.of_row[self.row] == self.seen.of_row[self.row] for one in tried]
        return float(np.mean(hits) + _REST * np.mean([self.seen.likeness(one) for one in tried]))

    def replayed(self, value: int, way: Way) -> WindowOfReplay:
        """Return what would have been published if the victim had this value."""
        codes = self.codes.copy()
        codes[self.attribute, self.row] = value
        return self.replay(codes, way)
