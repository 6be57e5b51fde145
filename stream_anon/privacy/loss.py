"""What a release costs: GCP (Xu et al., KDD 2006; Ghinita et al., VLDB 2007), Prec, discernibility, labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def gcp(ncp: NDArray[np.float64], records: NDArray[np.int64], suppressed: int) -> float | None:
    """Return the mean NCP over records and quasi-identifiers; None for no record at all.

    Parameters
    ----------
    ncp
        float64[q, c], unweighted, of each class.
    records
        int64[c].
    suppressed
        Number of suppressed records; each counts 1 in every attribute. Rejected ones are left out.
    """
    total = int(records.sum()) + suppressed
    if total == 0:
        return None
    published = float((ncp.mean(axis=0) * records).sum())
    return (published + suppressed) / total


def prec(
    levels: NDArray[np.int64], heights: NDArray[np.int64], records: NDArray[np.int64], suppressed: int
) -> float:
    """Return Prec (Sweeney 2002): 1 minus the mean of level / height over all cells; 1.0 for no record at all.

    Parameters
    ----------
    levels
        int64[q, c], the level of what is published for each class.
    heights
        int64[q], levels above a single value.
    records
        int64[c].
    suppressed
        Number of suppressed records; each cell of theirs counts as its root.
    """
    total = int(records.sum()) + suppressed
    if total == 0:
        return 1.0
    lost = float((levels / heights[:, None] * records).sum()) / len(heights)
    return 1.0 - (lost + suppressed) / total


def discernibility(records: NDArray[np.int64], suppressed: int) -> int:
    """Return the sum of the squared class sizes (Bayardo, Agrawal, ICDE 2005).

    A suppressed record, which cannot be told from any other, counts as many as there are records in all.
    """
    return int((records**2).sum()) + suppressed * (int(records.sum()) + suppressed)


def classification_loss(class_of_row: NDArray[np.int32], labels: NDArray[np.int64]) -> float | None:
    """Return the share of records that have not their class's most frequent label (Iyengar, KDD 2002).

    Parameters
    ----------
    class_of_row
        int32[n], negative for suppressed records: each of them counts.
    labels
        int64[n], not negative.
    """
    if not len(labels):
        return None
    placed = class_of_row >= 0
    kinds = int(labels.max()) + 1
    pairs, counts = np.unique(class_of_row[placed].astype(np.int64) * kinds + labels[placed], return_counts=True)
    largest = np.zeros(int(class_of_row.max(initial=-1)) + 1, np.int64)
    np.maximum.at(largest, pairs // kinds, counts)
    return 1.0 - int(largest.sum()) / len(labels)
