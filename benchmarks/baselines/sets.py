"""The loss of classes whose categories are published as the sets of values that occur."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier


def set_loss(
    attributes: Sequence[QuasiIdentifier],
    codes: NDArray[np.int32],
    classes: NDArray[np.int32],
    spans: Sequence[int],
) -> float:
    """Return the mean over rows and attributes of what is lost if sets and tight ranges are published.

    A category's set loses values in it / all values of its hierarchy, 0 for one; anything else (numbers, dates,
    prefixes) is published as the range from its least to its greatest value and loses width / `spans`.

    Parameters
    ----------
    codes
        int32[q, n].
    classes
        int32[n]; a row without a class (below 0) loses 1 in every attribute.
    spans
        Width of each attribute's whole range.
    """
    placed = np.flatnonzero(classes >= 0)
    total = float((classes.size - placed.size) * len(attributes))
    owner = classes[placed]
    count = int(owner.max(initial=-1)) + 1
    sizes = np.bincount(owner, minlength=count)
    for attribute, column, span in zip(attributes, codes[:, placed], spans, strict=True):
        if isinstance(attribute.domain, CategoricalDomain):
            pairs = np.unique((owner.astype(np.int64) << 32) | column)
            values = np.bincount(pairs >> 32, minlength=count)
            lost = np.where(values > 1, values / attribute.domain.size, 0.0)
        else:
            low, high = np.full(count, np.iinfo(np.int32).max), np.full(count, -1)
            np.minimum.at(low, owner, column)
            np.maximum.at(high, owner, column)
            lost = (high - low) / max(span, 1)
        total += float((lost * sizes).sum())
    return total / classes.size / len(attributes)


def spans_of(attributes: Sequence[QuasiIdentifier], codes: NDArray[np.int32]) -> list[int]:
    """Return the width of each attribute's range: a number's declared one, else that between the table's values."""
    return [
        attribute.domain.size - 1
        if hasattr(attribute.domain, "minimum")
        else int(column.max(initial=0) - column.min(initial=0))
        for attribute, column in zip(attributes, codes, strict=True)
    ]
