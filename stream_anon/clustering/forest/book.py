"""The order that is in force, and when it is learned anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.learn import learn_order
from stream_anon.clustering.forest.order import Digits, KeyTable, key_table
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.privacy.cost import CostModel

_LEAST_CLASSES = 8  # a window of fewer possible classes teaches little
_LARGER = 2  # a window so many times as large as the one learned from is worth learning from again


class OrderBook:
    """Holds the order of the digits; it changes only between windows.

    The first window is laid along a built-in order until it closes; then the order is learned from its rows, and
    again from a window much larger than that one. Nothing else outlives a window.

    Parameters
    ----------
    attributes
        The quasi-identifiers.
    model
        Their cost tables.
    seed
        Of the changes that are tried.
    """

    def __init__(self, attributes: Sequence[QuasiIdentifier], model: CostModel, seed: int) -> None:
        self._digits = Digits.of(attributes)
        self._model = model
        self._seed = seed
        self._order = self._digits.cold_order()
        self._learned_from = 0
        self.version = 0
        self.table: KeyTable = key_table(self._digits, self._order)

    def consider(self, codes: NDArray[np.int32], k: int) -> None:
        """Learn from the rows of a window that closes, codes int32[q, n], if they have something to teach."""
        n = codes.shape[1]
        if n < _LEAST_CLASSES * k or n < _LARGER * self._learned_from:
            return
        draws = np.random.default_rng([self._seed, self.version])
        self._order = learn_order(codes, self._digits, self._model, k, self._order, draws)
        self._learned_from = n
        self.version += 1
        self.table = key_table(self._digits, self._order)
