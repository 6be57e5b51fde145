"""Histograms of all nodes in one store: how many records lie in groups of which size and diversity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_VALUE_BITS, _SIZE_BITS = 17, 28
MOST_VALUES, MOST_SIZE = (1 << _VALUE_BITS) - 1, (1 << _SIZE_BITS) - 1
MOST_NODES = 1 << (63 - _VALUE_BITS - _SIZE_BITS)
_MOST_KEPT = 4  # values of l whose sums are kept


def entry_keys(
    node: int | NDArray[np.int64], sizes: NDArray[np.int64], values: NDArray[np.int64] | int
) -> NDArray[np.int64]:
    """Return the keys of groups: equal for groups of one node, one size and one number of values."""
    return (node << (_VALUE_BITS + _SIZE_BITS)) | (sizes << _VALUE_BITS) | values


class Histograms:
    """Records by node, size of their group, and number of sensitive values in it.

    Parameters
    ----------
    nodes
        How many nodes there are.
    keys
        int64[e], from `entry_keys`, in any order; equal ones add up.
    records
        int64[e].

    Notes
    -----
    16 bytes an entry. One node needs as many entries as its groups have different sizes and diversities, of n
    records at most the square root of 2n for each number of values.
    """

    def __init__(self, nodes: int, keys: NDArray[np.int64], records: NDArray[np.int64]) -> None:
        self.keys, self.records = aggregated(keys, records)
        self._first = np.arange(nodes + 1, dtype=np.int64) << (_VALUE_BITS + _SIZE_BITS)
        self._starts = np.searchsorted(self.keys, self._first)
        self._sums = _running(self.records)
        self._poor: dict[int, NDArray[np.int64]] = {}

    def suppressed(self, nodes: NDArray[np.int64], k: int, l: int = 1) -> NDArray[np.int64]:  # noqa: E741
        """Return the records of each node in groups of fewer than k individuals or l values; O(log e) a node."""
        least = min(k, MOST_SIZE)
        ends = np.searchsorted(self.keys, self._first[nodes] + (least << _VALUE_BITS))
        found: NDArray[np.int64] = self._sums[ends] - self._sums[self._starts[nodes]]
        if l > 1:
            poor = self._below(l)
            found = found + poor[self._starts[nodes + 1]] - poor[ends]
        return found

    def suppressed_at(self, node: int, k: int, l: int) -> int:  # noqa: E741 - the letter of the paper
        """Return the same of one node, without sums over all nodes that are kept for the next request; O(e)."""
        own = slice(self._starts[node], self._starts[node + 1])
        keys = self.keys[own]
        short = ((keys >> _VALUE_BITS) & MOST_SIZE) < k
        if l > 1:
            short |= (keys & MOST_VALUES) < l
        return int(self.records[own][short].sum())

    def up_to(self, k: int, l: int) -> tuple[NDArray[np.int64], ...]:  # noqa: E741 - the letter of the paper
        """Return all entries, with sizes above k counted as k and values above l as l.

        Returns
        -------
        starts
            int64[nodes + 1], where each node's entries begin.
        sizes, values, records
            int64[e].
        """
        sizes = np.minimum((self.keys >> _VALUE_BITS) & MOST_SIZE, k)
        values = np.minimum(self.keys & MOST_VALUES, l)
        nodes = self.keys >> (_VALUE_BITS + _SIZE_BITS)
        keys, records = aggregated(entry_keys(nodes, sizes, values), self.records)
        starts = np.searchsorted(keys, self._first)
        return starts, (keys >> _VALUE_BITS) & MOST_SIZE, keys & MOST_VALUES, records

    def _below(self, l: int) -> NDArray[np.int64]:  # noqa: E741 - the letter of the paper
        """Return running sums over the records in groups of fewer than l values."""
        if l not in self._poor:
            while len(self._poor) >= _MOST_KEPT:
                del self._poor[next(iter(self._poor))]
            self._poor[l] = _running(np.where((self.keys & MOST_VALUES) < l, self.records, 0))
        return self._poor[l]


def aggregated(keys: NDArray[np.int64], records: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys ascending, each once, with the sum of its records."""
    if not len(keys):
        return keys.astype(np.int64), records.astype(np.int64)
    order = np.argsort(keys)
    keys, sums = keys[order], records[order]
    new = np.concatenate([[True], keys[1:] != keys[:-1]])
    if not new.all():
        sums = np.add.reduceat(sums, np.flatnonzero(new))
        keys = keys[new]
    return keys, sums


def _running(records: NDArray[np.int64]) -> NDArray[np.int64]:
    sums = np.zeros(len(records) + 1, np.int64)
    np.cumsum(records, out=sums[1:])
    return sums
