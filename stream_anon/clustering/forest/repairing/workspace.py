"""The desk of REPAIR: room to work in, allocated once per window, and the steps that may lie on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.repairing.groups import Groups, Lines

NOTHING = -1
MERGE = 0  # with the class `partner`
TAKE = 1  # the row `comer` from it
EXCHANGE = 2  # the row `comer` from it for the own row `goer`


class Desk(NamedTuple):
    """Room to work in, allocated once per window.

    Parameters
    ----------
    room, other
        int64[n + 1].
    parts, own
        float64[1 + s].
    helps
        int64[1 + s, kinds], 2 x stamp + 1 for a kind that would help, 2 x stamp for one that would not.
    asked_row, asked_class
        int64[n], int64[c], stamps.
    spare
        int8[n], 1 for a row that its class can spare, 0 for one it cannot, -1 where nobody asked since it changed.
    relief
        float64[n], by how much the NCP of its class falls without a row; known where `spare` is.
    version
        int64[c], how often a class changed.
    stamp
        int64[1], the stamp used last.
    step
        int64[4], written: action, partner, comer, goer.
    edges
        int32[q, 4], least, second least, greatest, second greatest code of the failing class.
    ease
        float64[n + 1], by how much the NCP of the failing class falls without each of its rows, in their order.
    box, costs
        int32[q, 2], the partner without the comer; float64[2, q], what each attribute costs in the failing class
        with the comer, and in the partner without.
    """

    room: NDArray[np.int64]
    other: NDArray[np.int64]
    parts: NDArray[np.float64]
    own: NDArray[np.float64]
    helps: NDArray[np.int64]
    asked_row: NDArray[np.int64]
    asked_class: NDArray[np.int64]
    spare: NDArray[np.int8]
    relief: NDArray[np.float64]
    version: NDArray[np.int64]
    stamp: NDArray[np.int64]
    step: NDArray[np.int64]
    edges: NDArray[np.int32]
    ease: NDArray[np.float64]
    box: NDArray[np.int32]
    costs: NDArray[np.float64]


def desk_for(groups: Groups, lines: Lines) -> Desk:
    """Return room for the groups and lines of one window."""
    n, q = groups.codes.shape
    parts = len(lines.kinds)
    return Desk(
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.int64),
        np.empty(parts, np.float64),
        np.empty(parts, np.float64),
        np.zeros((parts, int(lines.kinds.max(initial=0)) + 1), np.int64),
        np.zeros(n, np.int64),
        np.zeros(len(groups.head), np.int64),
        np.full(n, -1, np.int8),
        np.zeros(n, np.float64),
        np.zeros(len(groups.head), np.int64),
        np.zeros(1, np.int64),
        np.empty(4, np.int64),
        np.empty((q, 4), np.int32),
        np.empty(n + 1, np.float64),
        np.empty((q, 2), np.int32),
        np.empty((2, q), np.float64),
    )
