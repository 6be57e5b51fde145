"""How far values were raised in their hierarchies: absolute and relative distance, Prec (Sweeney 2002)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def absolute_distance(
    levels: NDArray[np.int64], heights: NDArray[np.int64], records: NDArray[np.int64], suppressed: int = 0
) -> float:
    """Return the mean over records of the sum of their levels; 0.0 for no record at all.

    For whole attributes, which have one level for all records, it is the height of the node in the lattice
    (Samarati 2001; Sweeney 2002).

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
    return _mean(levels.sum(axis=0, dtype=np.float64), float(heights.sum()), records, suppressed)


def relative_distance(
    levels: NDArray[np.int64], heights: NDArray[np.int64], records: NDArray[np.int64], suppressed: int = 0
) -> float:
    """Return the mean over records of the sum of level / height; see `absolute_distance`.

    Divided by the number of attributes it is 1 - Prec.
    """
    return _mean((levels / heights[:, None]).sum(axis=0), float(len(heights)), records, suppressed)


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
    return 1.0 - relative_distance(levels, heights, records, suppressed) / len(heights)


def _mean(of_class: NDArray[np.float64], of_root: float, records: NDArray[np.int64], suppressed: int) -> float:
    total = int(records.sum()) + suppressed
    if total == 0:
        return 0.0
    return (float(of_class @ records) + suppressed * of_root) / total
