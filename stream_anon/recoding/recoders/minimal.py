"""Minimal nodes: those that satisfy what is asked, with no finer node that does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.recoding.lattice.lattice_shape import LatticeShape
from stream_anon.recoding.recoders.nodes import Nodes, Vector
from stream_anon.recoding.recoders.recoder import Step

_OPEN, _FAILS, _SATISFIES = 0, 1, 2


@dataclass(frozen=True, slots=True)
class MinimalNodes:
    """The minimal nodes in lexicographic order, none where not even the top satisfies; and how they were found."""

    vectors: tuple[Vector, ...]
    step: Step


def minimal_nodes(shape: LatticeShape, nodes: Nodes) -> MinimalNodes:
    """Find every minimal node; each node is counted or told from a counted one.

    Going up never suppresses more: what is above a node that satisfies does too, and what is below one that fails
    fails. The walk is that of Flash (Kohlmayer et al., PASSAT 2012): from each open node, the lowest first, a path
    goes up through open nodes, and a binary search finds where on it nodes begin to satisfy. OLA (El Emam et al.,
    JAMIA 2009) finds the same nodes by halving the heights between bottom and top.
    """
    tags = np.full(shape.nodes, _OPEN, np.int8)
    for height in range(shape.top + 1):
        for node in shape.at_height(height).tolist():
            if tags[node] == _OPEN:
                _search(_path(shape, tags, node), shape, nodes, tags)
    satisfying = tags == _SATISFIES
    minimal = satisfying.copy()
    every = np.arange(shape.nodes)
    for place, stride in enumerate(shape.strides):
        upper = every[shape.vectors[:, place] > 0]
        minimal[upper] &= ~satisfying[upper - stride]
    found = tuple(shape.levels(node) for node in np.flatnonzero(minimal).tolist())
    figures = {
        "nodes": shape.nodes,
        "counted": nodes.counted,
        "told from others": shape.nodes - nodes.counted,
        "satisfying": int(satisfying.sum()),
        "minimal": len(found),
    }
    return MinimalNodes(found, Step("searched the lattice", figures))


def _path(shape: LatticeShape, tags: NDArray[np.int8], node: int) -> list[int]:
    """Return a path of open nodes up from `node`, each time to the first open one above."""
    path = [node]
    while True:
        vector = shape.levels(path[-1])
        above = (
            path[-1] + stride
            for level, top, stride in zip(vector, shape.tops, shape.strides, strict=True)
            if level < top and tags[path[-1] + stride] == _OPEN
        )
        successor = next(above, None)
        if successor is None:
            return path
        path.append(successor)


def _search(path: list[int], shape: LatticeShape, nodes: Nodes, tags: NDArray[np.int8]) -> None:
    low, high = 0, len(path)
    while low < high:
        middle = (low + high) // 2
        vector = shape.levels(path[middle])
        if nodes.satisfies(vector):
            tags[(shape.vectors >= vector).all(axis=1)] = _SATISFIES
            high = middle
        else:
            tags[(shape.vectors <= vector).all(axis=1)] = _FAILS
            low = middle + 1
