"""The nodes of a lattice as numbers: one level per attribute, counted like the digits of a number."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray


class LatticeShape:
    """The product of q chains of levels.

    Nodes are numbered in the lexicographic order of their levels, so the lower number is the smaller vector. The
    bottom is 0, the top `nodes - 1`.

    Parameters
    ----------
    heights
        Levels above the first, per attribute in policy order.
    """

    def __init__(self, heights: Sequence[int]) -> None:
        self.tops = tuple(heights)
        counts = [height + 1 for height in heights]
        self.nodes = prod(counts)
        self.strides = tuple(prod(counts[place + 1 :]) for place in range(len(counts)))
        grid = np.indices(counts).reshape(len(counts), self.nodes).T if counts else np.zeros((1, 0))
        self.vectors: NDArray[np.int16] = np.ascontiguousarray(grid, np.int16)
        """int16[nodes, q], the levels of each node."""
        self.heights: NDArray[np.int64] = self.vectors.sum(axis=1, dtype=np.int64)
        """int64[nodes], the sum of each node's levels."""
        order = np.argsort(self.heights, kind="stable")
        ends = np.cumsum(np.bincount(self.heights))
        self._by_height = np.split(order, ends[:-1])

    @property
    def top(self) -> int:
        """Return the height of the top."""
        return sum(self.tops)

    def number(self, levels: Sequence[int]) -> int:
        """Return the number of the node with these levels; ValueError if there is none."""
        if len(levels) != len(self.tops) or any(
            not 0 <= level <= top for level, top in zip(levels, self.tops, strict=True)
        ):
            raise ValueError("a node has one level for each attribute, from 0 to its height")
        return sum(level * stride for level, stride in zip(levels, self.strides, strict=True))

    def levels(self, node: int) -> tuple[int, ...]:
        """Return the levels of a node."""
        return tuple(self.vectors[node].tolist())

    def at_height(self, height: int) -> NDArray[np.int64]:
        """Return the nodes of one height, ascending."""
        return self._by_height[height]

    def below(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return every node one level below one of `nodes`, ascending, each once."""
        vectors = self.vectors[nodes]
        lower = [nodes[vectors[:, place] > 0] - stride for place, stride in enumerate(self.strides)]
        return np.unique(np.concatenate(lower)) if lower else np.empty(0, np.int64)
