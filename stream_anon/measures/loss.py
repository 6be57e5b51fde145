"""What a release costs beside its GCP: discernibility, labels, average class size, conditional entropy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes
from stream_anon.measures.information import unknown_bits


def discernibility(records: NDArray[np.int64], suppressed: int) -> int:
    """Return the sum of the squared class sizes (Bayardo, Agrawal, ICDE 2005).

    A suppressed record, which cannot be told from any other, counts as many as there are records in all.
    """
    return int((records**2).sum()) + suppressed * (int(records.sum()) + suppressed)


def classification_loss(labels: NDArray[np.int64], suppressed: int) -> float | None:
    """Return the share of records that have not their class's most frequent label (Iyengar, KDD 2002).

    Parameters
    ----------
    labels
        int64[c, m], how many records of each class have each label.
    suppressed
        Number of suppressed records: each of them counts.
    """
    total = int(labels.sum()) + suppressed
    if not total:
        return None
    return 1.0 - int(labels.max(axis=1, initial=0).sum()) / total


def average_class_size(records: NDArray[np.int64], k: int) -> float | None:
    """Return records per class over k (LeFevre et al., ICDE 2006): 1 for the smallest legal classes; None for none.

    Parameters
    ----------
    records
        int64[c].
    """
    return float(records.sum()) / len(records) / k if len(records) else None


def conditional_entropy(codes: NDArray[np.int32], boxes: Boxes, suppressed: int = 0) -> float:
    """Return the bits that the release lost: what is unknown of each cell, summed (Gionis, Tassa 2007).

    See `unknown_bits`, of one attribute after the other, whose parameters these are.
    """
    return sum(unknown_bits(codes, boxes, (place,), suppressed) or 0.0 for place in range(len(codes)))
