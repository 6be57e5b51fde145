"""How far values were raised in their hierarchies: absolute and relative distance, Prec (Sweeney 2002).

Whoever speaks of Prec means these functions: recoders choose levels by them, and studies report them. An engine
that minimises level / height prices by `attribute.level` too (`privacy/costs/cost.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import QuasiIdentifier


def every_level(attribute: QuasiIdentifier) -> Sequence[int]:
    """Return the levels of an attribute's hierarchy as it is given, 0 to its height."""
    return range(attribute.domain.height + 1)


def published_levels(
    attribute: QuasiIdentifier, low: NDArray[np.integer], high: NDArray[np.integer], counted: Sequence[int]
) -> NDArray[np.int64]:
    """Return the level of what is published for each pair of bounds, int64 of their shape; O(n log n).

    A tight range or a set has the level of the least node around it.

    Parameters
    ----------
    low, high
        Integers of one shape, the bounds of published codes.
    counted
        The levels that count, ascending from 0: `every_level`, or only those that part a table's values differently
        from the one before. A level that does not count is the highest one below it that does.
    """
    bounds, place = np.unique(np.stack([low.ravel(), high.ravel()]), axis=1, return_inverse=True)
    levels = [attribute.level(*pair) for pair in bounds.T.tolist()]
    found = np.searchsorted(np.asarray(counted), np.array(levels, np.int64), side="right") - 1
    return np.asarray(found[place.ravel()].reshape(low.shape), np.int64)


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

    The parameters are those of `absolute_distance`.
    """
    return 1.0 - relative_distance(levels, heights, records, suppressed) / len(heights)


def _mean(of_class: NDArray[np.float64], of_root: float, records: NDArray[np.int64], suppressed: int) -> float:
    total = int(records.sum()) + suppressed
    if total == 0:
        return 0.0
    return (float(of_class @ records) + suppressed * of_root) / total
