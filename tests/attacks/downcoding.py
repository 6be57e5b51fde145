"""The downcoding attacker: knowing that nodes are minimal, he claims that two children of each node occur."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.quasi_identifier import QuasiIdentifier


@dataclass(frozen=True, slots=True)
class Claim:
    """That the rows of a class lie under two children at least of the node published for them.

    Parameters
    ----------
    right
        Whether they do.
    chance
        How probable that was, had chance put the rows under the node.
    """

    right: bool
    chance: float

    @property
    def bits(self) -> float:
        """Return what the claim reveals if it is right."""
        return -math.log2(max(self.chance, 1e-9))


def children(attribute: QuasiIdentifier, low: int, high: int) -> list[tuple[int, int]]:
    """Return the greatest nodes below the one over `low` to `high`."""
    found, start = [], low
    while start <= high:
        stop = start
        for end in range(high, start, -1):
            if attribute.node(start, end) == (start, end) and (start, end) != (low, high):
                stop = end
                break
        found.append((start, stop))
        start = stop + 1
    return found


def claims(
    attribute: QuasiIdentifier,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    codes: NDArray[np.int32],
    class_of_row: NDArray[np.int32],
) -> Iterator[Claim]:
    """Yield a claim for each class whose published node has children.

    Parameters
    ----------
    low, high
        int32[c], the published nodes.
    codes, class_of_row
        int32[n], the true codes, and each row's class or a negative number.
    """
    known: dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
    order = np.argsort(class_of_row, kind="stable")
    ends = np.searchsorted(class_of_row[order], np.arange(len(low) + 1))
    for c, node in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        rows = order[ends[c] : ends[c + 1]]
        assert ((codes[rows] >= node[0]) & (codes[rows] <= node[1])).all(), "a row lies outside of its node"
        assert attribute.node(*node) == node, "something narrower than a node was published"
        if node[0] == node[1]:
            continue
        if node not in known:
            starts = np.array([first for first, _ in children(attribute, *node)], np.int64)
            inside = codes[(codes >= node[0]) & (codes <= node[1])]
            under = np.searchsorted(starts, inside, side="right") - 1
            known[node] = starts, np.bincount(under, minlength=len(starts)) / len(inside)
        starts, shares = known[node]
        under = np.searchsorted(starts, codes[rows], side="right")
        yield Claim(len(np.unique(under)) > 1, float(1 - (shares ** len(rows)).sum()))
