"""The cost tables of some attributes, as kernels read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class CostModel(NamedTuple):
    """The cost tables of q attributes as flat arrays.

    Parameters
    ----------
    kind
        int8[q], one of the constants of `domains.walk`.
    domain
        int64[q], codes of the domain; the codes for missing and unknown values follow.
    levels
        int64[q], number of levels stored in `steps`.
    start
        int64[q], where the attribute's entries begin, in `table` for TABLE and in `steps` else.
    slope, base, weight
        float64[q].
    table
        float32, row-major (domain + 2) squared per attribute, weighted.
    steps
        int32: widths of the levels, or for FIRSTS and RANGES domain / cell entries a level.
    share
        float64[q], what each value of a published set costs, 0 where nodes or ranges are published.
    crowd
        What a record pays for each record of its class, itself included.
    least
        int64[q], for attributes without a table: which of the levels in `steps` is the lowest that is published,
        counted from 1; for HALVING how many halvings lead down to it, and one; 0 where each code may be published,
        -1 where only the root. See `lowest_nodes`.
    cell
        int64[q], of FIRSTS and FIRSTS_LEVEL: codes of one node of level 1, which `steps` leaves out; else 1.
    """

    kind: NDArray[np.int8]
    domain: NDArray[np.int64]
    levels: NDArray[np.int64]
    start: NDArray[np.int64]
    slope: NDArray[np.float64]
    base: NDArray[np.float64]
    weight: NDArray[np.float64]
    table: NDArray[np.float32]
    steps: NDArray[np.int32]
    share: NDArray[np.float64]
    crowd: float
    least: NDArray[np.int64]
    cell: NDArray[np.int64]
