"""Features of records for classifiers: the same columns for released and for original records.

A number or a day becomes one feature: the middle of what may have been there, as in Inan, Kantarcioglu and Bertino
(ICDE 2009), who take the expected value. A category becomes one feature for each node of its hierarchy that was
released, or lies above one that was: 1 where all that may have been there lies under the node. So a released
`south` and an original `Rome` agree in the feature `south`, and a classifier that was trained on nodes understands
values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

MOST_NODES = 128  # of one attribute: the most frequent ones


@dataclass(frozen=True, slots=True, eq=False)
class AttributeFeatures:
    """The features of one attribute.

    Parameters
    ----------
    middle
        Whether the middle is a feature.
    size
        Codes of the attribute's domain.
    low, high
        int64[m], the bounds of m nodes, of which each is a feature.
    """

    middle: bool
    size: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def of(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the features of what lies between bounds, float32[n, middle + m]; middles are from 0 to 1."""
        under = (low[:, None] >= self.low) & (high[:, None] <= self.high)
        if not self.middle:
            return under.astype(np.float32)
        last = self.size - 1
        known = low <= last
        middles = np.where(known, (low.astype(np.float64) + np.minimum(high, last)) / 2, last / 2) / max(last, 1)
        return np.column_stack([middles, under]).astype(np.float32)


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The columns that classifiers see: those of what they are trained on."""

    nodes: tuple[AttributeFeatures, ...]

    @classmethod
    def of(cls, attributes: Sequence[QuasiIdentifier], boxes: Boxes) -> FeatureSpace:
        """Return the columns for a training set.

        Parameters
        ----------
        attributes
            The quasi-identifiers, in the row order of the boxes.
        boxes
            What classifiers are trained on; of sets the bounds count.
        """
        return cls(tuple(_nodes(own, boxes, place) for place, own in enumerate(attributes)))

    def features(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the features of rows.

        Parameters
        ----------
        low, high
            int32[q, n], bounds of codes; an original row has the same twice.

        Returns
        -------
        float32[n, features].
        """
        return np.hstack([own.of(*bounds) for own, *bounds in zip(self.nodes, low, high, strict=True)])


def exact(codes: NDArray[np.int32]) -> Boxes:
    """Return original rows as boxes, one a row."""
    return Boxes(codes, codes, np.ones(codes.shape[1], np.int64))


def _nodes(attribute: QuasiIdentifier, boxes: Boxes, place: int) -> AttributeFeatures:
    pairs, where = np.unique(np.stack([boxes.low[place], boxes.high[place]]), axis=1, return_inverse=True)
    records = np.bincount(where.ravel(), boxes.records, pairs.shape[1])
    held: Counter[tuple[int, int]] = Counter()
    for low, high, count in zip(*pairs.tolist(), records.tolist(), strict=True):
        if attribute.domain.ordered and high < attribute.missing_code:
            continue
        node = attribute.node(low, high)
        while node != (0, attribute.unknown_code):
            held[node] += int(count)
            above = attribute.above(*node)
            if above == node:
                break
            node = above
    total = int(boxes.records.sum())
    # What is true of all rows would tell nothing.
    chosen = sorted(node for node, count in held.most_common(MOST_NODES) if count < total)
    bounds = np.array(chosen, np.int64).reshape(-1, 2)
    return AttributeFeatures(attribute.domain.ordered, attribute.domain.size, bounds[:, 0], bounds[:, 1])
