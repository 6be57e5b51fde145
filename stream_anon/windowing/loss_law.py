"""How the loss of a window falls with its number of records: a power law, fitted to windows that were published.

::

    log(loss) = a - b log(records)

On the census b is 0.25 at 500 records and 0.38 at 150,000, so a law holds near the sizes that it was fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

USUAL = 0.35
"""The exponent b where windows of one size only were seen."""
FLATTEST, STEEPEST = 0.05, 1.0
_TRUST = 0.1  # how much spread of log(records) it takes to believe windows as much as `USUAL`
_LEAST_LOSS = 1e-6  # a window without loss has no logarithm
_MOST_RECORDS = 1e12


class WindowLoss(NamedTuple):
    """The published records of a window, and their mean NCP."""

    records: int
    loss: float

    @classmethod
    def of_published(cls, gcp: float | None, released: int, suppressed: int) -> WindowLoss | None:
        """Return the loss of what was published, given a GCP in which each suppressed record counts 1.

        None where nothing was published.
        """
        if gcp is None or not released:
            return None
        return cls(released, max(0.0, gcp * (released + suppressed) - suppressed) / released)


@dataclass(frozen=True, slots=True)
class LossLaw:
    """A power law.

    Parameters
    ----------
    level
        a: the logarithm of the loss of a window of one record.
    exponent
        b, from `FLATTEST` to `STEEPEST`.
    """

    level: float
    exponent: float

    @classmethod
    def fit(cls, seen: Sequence[WindowLoss], weights: Sequence[float] | None = None) -> LossLaw:
        """Return the law of least weighted squares of log(loss), its exponent drawn to `USUAL`; in any order.

        Parameters
        ----------
        seen
            One or more windows of one or more records.
        weights
            Above 0, one for each; else they count alike.
        """
        weights = [1.0] * len(seen) if weights is None else weights
        sizes = [math.log(each.records) for each in seen]
        losses = [math.log(max(each.loss, _LEAST_LOSS)) for each in seen]
        total = math.fsum(weights)
        size = math.fsum(w * x for w, x in zip(weights, sizes, strict=True)) / total
        loss = math.fsum(w * y for w, y in zip(weights, losses, strict=True)) / total
        spread = math.fsum(w * (x - size) ** 2 for w, x in zip(weights, sizes, strict=True))
        together = math.fsum(w * (x - size) * (y - loss) for w, x, y in zip(weights, sizes, losses, strict=True))
        exponent = (_TRUST * USUAL - together) / (_TRUST + spread)
        exponent = min(max(exponent, FLATTEST), STEEPEST)
        return cls(loss + exponent * size, exponent)

    def loss(self, records: float) -> float:
        """Return the loss of a window of so many records, at most 1."""
        return min(1.0, math.exp(self.level - self.exponent * math.log(records)))

    def records(self, loss: float) -> float:
        """Return how many records a window needs to lose no more than `loss`, which is above 0; from 1 to 1e12."""
        found = (self.level - math.log(loss)) / self.exponent
        return math.exp(min(max(found, 0.0), math.log(_MOST_RECORDS)))
