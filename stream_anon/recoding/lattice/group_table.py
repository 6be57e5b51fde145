"""The groups of one node, and how they merge when one attribute goes up a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.recoding.lattice.histograms import MOST_SIZE, MOST_VALUES, aggregated, entry_keys

_MOST_WORD = 2**62
Keys = NDArray[np.int64]
"""int64[w, g]: the tuple of each group, its nodes as digits of w whole numbers, the first the most significant."""


class TupleKeys:
    """Write tuples of nodes as whole numbers, so that groups are sorted and compared at once.

    Parameters
    ----------
    radices
        Nodes of each attribute on its first level, in the order of their significance. As many attributes share a
        word as fit into it.
    """

    def __init__(self, radices: Sequence[int]) -> None:
        self.radices = tuple(radices)
        self.words: list[int] = []
        self.strides = [1] * len(self.radices)
        word, product = 0, 1
        for place in range(len(self.radices) - 1, -1, -1):
            if product * self.radices[place] > _MOST_WORD:
                word, product = word + 1, 1
            self.words.append(word)
            self.strides[place] = product
            product *= self.radices[place]
        self.words = [word - own for own in reversed(self.words)]

    def write(self, nodes: NDArray[np.int64]) -> Keys:
        """Return the keys of tuples int64[q, g]."""
        keys = np.zeros((self.words[-1] + 1, nodes.shape[1]), np.int64)
        for place, row in enumerate(nodes):
            keys[self.words[place]] += row * self.strides[place]
        return keys

    def raised(self, keys: Keys, place: int, step: NDArray[np.int64]) -> Keys:
        """Return the keys after the nodes of one attribute were replaced by `step[node]`."""
        word = self.words[place]
        wider = keys.copy() if len(keys) > 1 else np.empty_like(keys)
        wider[word] = keys[word] + self.rise(keys, place, step)
        return wider

    def rise(self, keys: Keys, place: int, step: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return by how much the attribute's word grows when its nodes are replaced by `step[node]`."""
        word, stride = self.words[place], self.strides[place]
        digit = keys[word] // stride
        if place and self.words[place - 1] == word:
            digit %= self.radices[place]
        rises: NDArray[np.int64] = ((step - np.arange(len(step))) * stride)[digit]
        return rises


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Which of some things (people, values) occur in which group, each pair once.

    Parameters
    ----------
    groups, items
        int64[p], ascending by group, then item.
    span
        Above every item.
    """

    groups: NDArray[np.int64]
    items: NDArray[np.int64]
    span: int

    @classmethod
    def of(cls, groups: NDArray[np.int64], items: NDArray[np.int64], span: int) -> Members:
        """Return the pairs, each once; O(p log p)."""
        packed = np.sort(groups * span + items)
        packed = packed[np.concatenate([[True], packed[1:] != packed[:-1]])[: len(packed)]]
        owners = packed // span
        return cls(owners, packed - owners * span, span)

    def merged(self, group_of: NDArray[np.int64]) -> Members:
        """Return the pairs after groups merged; `group_of` int64[g] is the new group of each."""
        return Members.of(group_of[self.groups], self.items, self.span) if len(self.groups) else self

    def merged_at_once(self, group_of: NDArray[np.int64]) -> Members:
        """Return the pairs of several nodes; int64[m, g] is the group of each on each of m nodes."""
        if not len(self.groups):
            return self
        return Members.of(group_of[:, self.groups].ravel(), np.tile(self.items, len(group_of)), self.span)

    def counts(self, groups: int) -> NDArray[np.int64]:
        """Return how many things each group holds."""
        return np.bincount(self.groups, minlength=groups)


@dataclass(frozen=True, slots=True, eq=False)
class GroupTable:
    """The groups of one node.

    Neither individuals nor values add up when groups merge. A person whose rows are all alike lies in one group on
    every node and is counted there; of the others, and of values, the pairs with their groups are kept.

    Parameters
    ----------
    keys
        Ascending, each once.
    records
        int64[g].
    settled
        int64[g], individuals whose rows are all in one group already.
    roaming
        The other individuals.
    values
        Of each sensitive attribute.
    """

    keys: Keys
    records: NDArray[np.int64]
    settled: NDArray[np.int64]
    roaming: Members
    values: tuple[Members, ...]

    def __len__(self) -> int:
        return len(self.records)

    def merged(self, keys: Keys) -> GroupTable:
        """Return the table of a coarser node; `keys` are those that the groups have there."""
        order = _order(keys)
        ranked = keys if order is None else keys[:, order]
        new = np.concatenate([[True], (ranked[:, 1:] != ranked[:, :-1]).any(axis=0)])[: len(self)]
        starts = np.flatnonzero(new)
        group_of = np.cumsum(new) - 1
        records, settled = self.records, self.settled
        if order is not None:
            records, settled = records[order], settled[order]
            group_of, ranks = np.empty_like(group_of), group_of
            group_of[order] = ranks
        return GroupTable(
            np.ascontiguousarray(ranked[:, starts]),
            _summed(records, starts),
            _summed(settled, starts),
            self.roaming.merged(group_of),
            tuple(each.merged(group_of) for each in self.values),
        )

    def at_once(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], GroupTable]:
        """Return the groups of several coarser nodes, and the row of `keys` that each group is of.

        Parameters
        ----------
        keys
            int64[m, g], those that the groups have on each of m nodes; of one word.
        """
        order = np.argsort(keys, axis=1)
        ranked = np.take_along_axis(keys, order, axis=1)
        new = np.ones(keys.shape, np.bool_)
        new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
        starts = np.flatnonzero(new)
        group_of = np.empty(keys.shape, np.int64)
        np.put_along_axis(group_of, order, (np.cumsum(new) - 1).reshape(keys.shape), axis=1)
        return starts // max(keys.shape[1], 1), GroupTable(
            ranked.reshape(1, -1)[:, starts],
            _summed(self.records[order].ravel(), starts),
            _summed(self.settled[order].ravel(), starts),
            self.roaming.merged_at_once(group_of),
            tuple(each.merged_at_once(group_of) for each in self.values),
        )

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of individuals in each group."""
        if not len(self.roaming.groups):
            return self.settled
        return self.settled + self.roaming.counts(len(self))

    def diversity(self) -> NDArray[np.int64]:
        """Return the least number of distinct values of a sensitive attribute in each group; 0 without any."""
        if not self.values:
            return np.zeros(len(self), np.int64)
        least: NDArray[np.int64] = np.minimum.reduce([each.counts(len(self)) for each in self.values])
        return least

    def entries(self, node: int | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the histogram as keys and records, for `Histograms`.

        Parameters
        ----------
        node
            Number of the node, or int64[g] that of each group.
        """
        sizes = np.minimum(self.sizes(), MOST_SIZE)
        values = np.minimum(self.diversity(), MOST_VALUES) if self.values else 0
        return aggregated(entry_keys(node, sizes, values), self.records)


def _summed(counts: NDArray[np.int64], starts: NDArray[np.intp]) -> NDArray[np.int64]:
    return np.add.reduceat(counts, starts) if len(starts) else counts


def _order(keys: Keys) -> NDArray[np.intp] | None:
    """Return the order that sorts keys, None if they are sorted."""
    if len(keys) == 1:
        only = keys[0]
        return None if (only[1:] >= only[:-1]).all() else np.argsort(only)
    return np.lexsort(keys[::-1])


def numbered(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    """Return the distinct keys ascending, and the place of each; O(g log g)."""
    if len(keys) == 1:
        unique, inverse = np.unique(keys[0], return_inverse=True)
        return unique[None], inverse.astype(np.int64)
    distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
    return distinct, inverse.ravel().astype(np.int64)
