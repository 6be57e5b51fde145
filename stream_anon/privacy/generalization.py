"""Generalize classes: from the codes in a class to the tuple that is published for all its records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import Publication, QuasiIdentifier
from stream_anon.microdata.domains import Published
from stream_anon.microdata.hierarchy import ROOT_LABEL

_MOST_REMEMBERED = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class GeneralizedClasses:
    """The published tuples of c classes.

    Parameters
    ----------
    low, high
        int32[q, c], bounds of the published nodes (of the least and greatest code for sets).
    values
        Per quasi-identifier c published values.
    labels
        int64[q, c], equal for equal published values of one attribute.
    ncp
        float64[q, c].
    members
        Per quasi-identifier that publishes sets, the sorted codes of each class; None for the others.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    values: Sequence[Sequence[Published]]
    labels: NDArray[np.int64]
    ncp: NDArray[np.float64]
    members: Sequence[Sequence[tuple[int, ...]] | None]


@dataclass(frozen=True, slots=True)
class _Node:
    low: int
    high: int
    published: Published
    label: int
    ncp: float


class Generalizer:
    """Finds nodes, values and NCP of an attribute, and remembers the nodes it met.

    It remembers only nodes of the policy's hierarchies, never which window they came from.
    """

    def __init__(self, attribute: QuasiIdentifier) -> None:
        self._attribute = attribute
        self._nodes: dict[object, _Node] = {}
        self._labels: dict[str, int] = {}

    def forget_surplus(self) -> None:
        """Start anew if too much is remembered; only between windows, within one a label names one value."""
        if len(self._nodes) > _MOST_REMEMBERED:
            self._nodes.clear()
            self._labels.clear()

    def intervals(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> list[_Node]:
        """Return the node over each pair of bounds; O(c log c), and O(depth) for each node not met before."""
        packed = (low.astype(np.int64) << 32) | high
        unique, inverse = np.unique(packed, return_inverse=True)
        nodes = [self._interval(pair) for pair in unique.tolist()]
        return [nodes[i] for i in inverse.tolist()]

    def sets(self, members: Sequence[tuple[int, ...]]) -> list[_Node]:
        """Return what is published for each set of codes."""
        return [self._set(codes) for codes in members]

    def _interval(self, pair: int) -> _Node:
        node = self._nodes.get(pair)
        if node is None:
            low, high = self._attribute.node(pair >> 32, pair & 0xFFFFFFFF)
            node = self._remember(
                pair, low, high, self._attribute.publish(low, high), self._attribute.ncp(low, high)
            )
        return node

    def _set(self, codes: tuple[int, ...]) -> _Node:
        node = self._nodes.get(codes)
        if node is None:
            published = self._attribute.publish_set(codes)
            ends = (0, self._attribute.unknown_code) if published == ROOT_LABEL else (codes[0], codes[-1])
            node = self._remember(codes, *ends, published, self._attribute.ncp_set(codes))
        return node

    def _remember(self, key: object, low: int, high: int, published: Published, ncp: float) -> _Node:
        label = self._labels.setdefault(json.dumps(published), len(self._labels))
        node = _Node(low, high, published, label, ncp)
        self._nodes[key] = node
        return node


def bounds_of_classes(
    codes: NDArray[np.int32], class_of_row: NDArray[np.int32], classes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the least and greatest code of each attribute in each class; O(q n + n log n).

    Parameters
    ----------
    codes
        int32[q, n].
    class_of_row
        int32[n], 0..classes-1, negative for rows in no class; every class holds a row.
    """
    order = np.argsort(class_of_row, kind="stable")
    owners = class_of_row[order]
    placed = int(np.searchsorted(owners, 0))
    starts = np.searchsorted(owners[placed:], np.arange(classes))
    ordered = np.take(codes, order[placed:], axis=1)
    return np.minimum.reduceat(ordered, starts, axis=1), np.maximum.reduceat(ordered, starts, axis=1)


def members_of_classes(
    codes: NDArray[np.int32], class_of_row: NDArray[np.int32], classes: int
) -> list[tuple[int, ...]]:
    """Return the sorted distinct codes of one attribute in each class."""
    placed = class_of_row >= 0
    packed = np.unique((class_of_row[placed].astype(np.int64) << 32) | codes[placed])
    owners, present = packed >> 32, (packed & 0xFFFFFFFF).tolist()
    ends = np.searchsorted(owners, np.arange(classes + 1)).tolist()
    return [tuple(present[ends[i] : ends[i + 1]]) for i in range(classes)]


def generalize(
    generalizers: Sequence[Generalizer],
    attributes: Sequence[QuasiIdentifier],
    codes: NDArray[np.int32],
    class_of_row: NDArray[np.int32],
    classes: int,
) -> GeneralizedClasses:
    """Return the tuple published for each class.

    Parameters
    ----------
    generalizers
        One for each attribute, kept between windows.
    attributes
        The quasi-identifiers, in the row order of `codes`.
    codes
        int32[q, n].
    class_of_row
        int32[n], 0..classes-1, negative for rows in no class; every class holds a row.
    """
    low, high = bounds_of_classes(codes, class_of_row, classes)
    nodes: list[list[_Node]] = []
    members: list[Sequence[tuple[int, ...]] | None] = []
    for j, (attribute, generalizer) in enumerate(zip(attributes, generalizers, strict=True)):
        generalizer.forget_surplus()
        if attribute.publication is Publication.VALUES:
            sets = members_of_classes(codes[j], class_of_row, classes)
            found = generalizer.sets(sets)
            nodes.append(found)
            # All that is published as "*" is one value and covers everything.
            everything = tuple(range(attribute.size))
            pairs = zip(sets, found, strict=True)
            members.append([everything if node.published == ROOT_LABEL else own for own, node in pairs])
        else:
            members.append(None)
            nodes.append(generalizer.intervals(low[j], high[j]))
    return GeneralizedClasses(
        low=np.array([[node.low for node in row] for row in nodes], np.int32),
        high=np.array([[node.high for node in row] for row in nodes], np.int32),
        values=[[node.published for node in row] for row in nodes],
        labels=np.array([[node.label for node in row] for row in nodes], np.int64),
        ncp=np.array([[node.ncp for node in row] for row in nodes]),
        members=members,
    )


def unite_alike(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for c clusters with published labels int64[q, c] a representative per tuple and each one's class.

    Clusters that generalize alike become one class; k and l survive the union.

    Returns
    -------
    representatives
        int64[d], the first cluster of each distinct tuple, ascending.
    class_of_cluster
        int64[c], 0..d-1.
    """
    _, first, inverse = np.unique(labels, axis=1, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    by_place = np.argsort(first)
    rank[by_place] = np.arange(len(first))
    return first[by_place], rank[inverse.ravel()]
