"""Look whether what would be published of a class is on a level that the policy allows.

Part of the gate: it looks at what would be published, whoever chose it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.generalization import GeneralizedClasses

_MOST_REMEMBERED = 100_000


class LevelLimits:
    """The lowest and highest levels of some attributes; it remembers what it found of bounds between windows."""

    def __init__(self, attributes: Sequence[QuasiIdentifier]) -> None:
        self._attributes = attributes
        self._fine = [_KnownAnswers(a.is_too_fine) if a.min_level else None for a in attributes]
        self._coarse = [_KnownAnswers(a.is_too_coarse) if a.max_level is not None else None for a in attributes]

    def too_fine(self, generalized: GeneralizedClasses) -> NDArray[np.bool_]:
        """Return for each class whether a value would be published below its attribute's `min_level`; bool[c]."""
        found = np.zeros(generalized.low.shape[1], np.bool_)
        for j, known in enumerate(self._fine):
            if known is not None:
                found |= known.of(generalized.low[j], generalized.high[j])
        return found

    def too_coarse(
        self, generalized: GeneralizedClasses, codes: NDArray[np.int32], class_of_row: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Return for each class whether a value would be published above its attribute's `max_level`; bool[c].

        Parameters
        ----------
        codes
            int32[q, n].
        class_of_row
            int32[n], negative for rows in no class. A class of which all values of an attribute are unknown has no
            lower node than the root there.
        """
        found = np.zeros(generalized.low.shape[1], np.bool_)
        for j, known in enumerate(self._coarse):
            if known is None:
                continue
            above = known.of(generalized.low[j], generalized.high[j])
            if above.any():
                named = np.zeros_like(found)
                unknown = self._attributes[j].unknown_code
                named[class_of_row[(class_of_row >= 0) & (codes[j] != unknown)]] = True
                found |= above & named
        return found


class _KnownAnswers:
    """Answers to a question about bounds, each asked once."""

    def __init__(self, asks: Callable[[int, int], bool]) -> None:
        self._asks = asks
        self._answers: dict[int, bool] = {}

    def of(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return the answer for each pair of bounds; O(c log c)."""
        unique, place = np.unique(low.astype(np.int64) << 32 | high, return_inverse=True)
        if len(self._answers) > _MOST_REMEMBERED:
            self._answers.clear()
        known = self._answers
        for pair in unique.tolist():
            if pair not in known:
                known[pair] = self._asks(pair >> 32, pair & 0xFFFFFFFF)
        return np.array([known[pair] for pair in unique.tolist()], np.bool_)[place]
