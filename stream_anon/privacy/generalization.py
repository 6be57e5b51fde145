"""Generalize classes: from the codes in a class to the tuple that is published for all its records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.domain import Published
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

_MOST_REMEMBERED = 100_000
_MOST_NEAR = 256  # codes up to which pairs of them have a table of half a megabyte


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
        Per quasi-identifier that publishes sets, the sorted codes of each class, none for a class whose set covers
        everything; None for the others.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    values: Sequence[Sequence[Published]]
    labels: NDArray[np.int64]
    ncp: NDArray[np.float64]
    members: Sequence[Sequence[tuple[int, ...]] | None]


class Generalizer:
    """Finds nodes, values and NCP of an attribute, and remembers the nodes it met.

    It remembers nodes and ranges, never which window they came from, and sets of values for one window only:
    there are too many of them.
    """

    def __init__(self, attribute: QuasiIdentifier) -> None:
        self._attribute = attribute
        self._forget()

    def _forget(self) -> None:
        self._place: dict[object, int] = {}
        size, intervals = self._attribute.size, self._attribute.publication is not PublishedForm.VALUES
        # The place of each pair of bounds, -1 where it is not known yet.
        self._near = np.full((size, size), -1, np.int64) if intervals and size <= _MOST_NEAR else None
        self._labels: dict[str, int] = {}
        self.values: list[Published] = []
        self._bounds = np.empty((2, 64), np.int32)
        self._label = np.empty(64, np.int64)
        self._ncp = np.empty(64)

    def begin_window(self) -> None:
        """Start anew if too much is remembered; only between windows: within one a label names one value."""
        if len(self.values) > _MOST_REMEMBERED or self._attribute.publication is PublishedForm.VALUES:
            self._forget()

    def intervals(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the place of the node over each pair of bounds; O(c), and O(depth) for each new one.

        O(c log c) for attributes of many values.
        """
        if self._near is not None:
            places = self._near[low, high]
            for lost in np.flatnonzero(places < 0).tolist():
                pair = int(low[lost]) << 32 | int(high[lost])
                place = self._place[pair] if pair in self._place else self._interval(pair)
                places[lost] = self._near[low[lost], high[lost]] = place
            return places
        packed = (low.astype(np.int64) << 32) | high
        unique, inverse = np.unique(packed, return_inverse=True)
        known = self._place
        found = [known[pair] if pair in known else self._interval(pair) for pair in unique.tolist()]
        return np.array(found, np.int64)[inverse]

    def sets(self, members: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
        """Return the place of what is published for each set of codes."""
        known = self._place
        return np.array([known[codes] if codes in known else self._set(codes) for codes in members], np.int64)

    def columns(
        self, places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
        """Return low, high, label and NCP of the nodes at `places`."""
        return self._bounds[0, places], self._bounds[1, places], self._label[places], self._ncp[places]

    def _interval(self, pair: int) -> int:
        low, high = self._attribute.lifted(*self._attribute.node(pair >> 32, pair & 0xFFFFFFFF))
        return self._remember(pair, low, high, self._attribute.publish(low, high), self._attribute.ncp(low, high))

    def _set(self, codes: tuple[int, ...]) -> int:
        published = self._attribute.publish_set(codes)
        ends = (0, self._attribute.unknown_code) if published == ROOT_LABEL else (codes[0], codes[-1])
        return self._remember(codes, *ends, published, self._attribute.ncp_set(codes))

    def _remember(self, key: object, low: int, high: int, published: Published, ncp: float) -> int:
        place = len(self.values)
        if place == len(self._label):
            self._bounds = np.concatenate([self._bounds, np.empty_like(self._bounds)], axis=1)
            self._label = np.concatenate([self._label, np.empty_like(self._label)])
            self._ncp = np.concatenate([self._ncp, np.empty_like(self._ncp)])
        self._bounds[:, place] = low, high
        self._label[place] = self._labels.setdefault(json.dumps(published), len(self._labels))
        self._ncp[place] = ncp
        self.values.append(published)
        self._place[key] = place
        return place


@bare_kernel
def widen_bounds(
    codes: NDArray[np.int32], class_of_row: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
) -> None:
    """Widen bounds int32[q, c] to hold the codes int32[q, n] of each class's rows."""
    for j in range(len(codes)):
        for i in range(len(class_of_row)):
            own, code = class_of_row[i], codes[j, i]
            if own >= 0:
                low[j, own] = min(low[j, own], code)
                high[j, own] = max(high[j, own], code)


def bounds_of_classes(
    codes: NDArray[np.int32], class_of_row: NDArray[np.int32], classes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the least and greatest code of each attribute in each class; O(q n).

    Parameters
    ----------
    codes
        int32[q, n].
    class_of_row
        int32[n], 0..classes-1, negative for rows in no class; every class holds a row.
    """
    low = np.full((len(codes), classes), np.iinfo(np.int32).max, np.int32)
    high = np.full((len(codes), classes), -1, np.int32)
    widen_bounds(np.ascontiguousarray(codes), np.ascontiguousarray(class_of_row), low, high)
    return low, high


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
    """Return the tuple published for each class: the lowest nodes above its codes, none below `min_level`.

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
    labels, ncp = np.empty(low.shape, np.int64), np.empty(low.shape)
    values: list[Sequence[Published]] = []
    members: list[Sequence[tuple[int, ...]] | None] = []
    for j, (attribute, generalizer) in enumerate(zip(attributes, generalizers, strict=True)):
        generalizer.begin_window()
        sets = None
        if attribute.publication is PublishedForm.VALUES:
            sets = members_of_classes(codes[j], class_of_row, classes)
            places = generalizer.sets(sets)
        else:
            places = generalizer.intervals(low[j], high[j])
        low[j], high[j], labels[j], ncp[j] = generalizer.columns(places)
        values.append(list(map(generalizer.values.__getitem__, places.tolist())))
        if sets is not None:
            # All that is published as "*" is one value and covers everything.
            pairs = zip(sets, values[j], strict=True)
            sets = [() if published == ROOT_LABEL else own for own, published in pairs]
        members.append(sets)
    return GeneralizedClasses(low, high, values, labels, ncp, members)


def raised(
    generalizers: Sequence[Generalizer],
    attributes: Sequence[QuasiIdentifier],
    generalized: GeneralizedClasses,
    levels: NDArray[np.int64],
) -> GeneralizedClasses:
    """Return the classes with their nodes raised by levels int64[q, c], at most to the highest that are allowed.

    A level that has the same values as the one below it is no further level.
    """
    low, high = np.empty_like(generalized.low), np.empty_like(generalized.high)
    labels, ncp = np.empty_like(generalized.labels), np.empty_like(generalized.ncp)
    values: list[Sequence[Published]] = []
    for j, (attribute, generalizer) in enumerate(zip(attributes, generalizers, strict=True)):
        starts = np.stack([generalized.low[j], generalized.high[j], levels[j]], axis=1)
        unique, inverse = np.unique(starts, axis=0, return_inverse=True)
        wider = np.array([_climbed(attribute, *start) for start in unique.tolist()], np.int32)[inverse]
        places = generalizer.intervals(wider[:, 0], wider[:, 1])
        low[j], high[j], labels[j], ncp[j] = generalizer.columns(places)
        values.append([generalizer.values[place] for place in places.tolist()])
    return GeneralizedClasses(low, high, values, labels, ncp, generalized.members)


def _climbed(attribute: QuasiIdentifier, low: int, high: int, levels: int) -> tuple[int, int]:
    for _ in range(levels):
        wider = attribute.above(low, high)
        if attribute.is_too_coarse(*wider):
            break
        low, high = wider
    return low, high


@bare_kernel
def number_tuples(
    labels: NDArray[np.int64], table: NDArray[np.int64], first: NDArray[np.int64], group: NDArray[np.int64]
) -> int:
    """Give c tuples numbers in the order of their first appearance; return how many differ.

    Parameters
    ----------
    labels
        int64[q, c].
    table
        int64[a power of two, at least twice c], -1 everywhere.
    first, group
        int64[c], written: the column of the first of each, the number of each column's tuple.
    """
    mask, used = len(table) - 1, 0
    for column in range(labels.shape[1]):
        spread = 0
        for row in range(len(labels)):
            spread = (spread ^ labels[row, column]) * 0x2545F4914F6CDD1D
            spread ^= (spread >> 32) & 0xFFFFFFFF
        slot, place = spread & mask, -1
        while place < 0:
            place = table[slot]
            if place < 0:
                place = used
                table[slot] = used
                first[used] = column
                used += 1
            else:
                for row in range(len(labels)):
                    if labels[row, first[place]] != labels[row, column]:
                        place = -1
                        break
            slot = (slot + 1) & mask
        group[column] = place
    return used


def alike(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group c clusters by their published tuples, given as labels int64[q, c]; O(q c).

    Clusters that generalize alike become one class; k and l survive the union.

    Returns
    -------
    first
        int64[d], the first cluster of each distinct tuple, ascending.
    group
        int64[c], the place in `first` of each cluster's tuple.
    """
    count = labels.shape[1]
    first, group = np.empty(count, np.int64), np.empty(count, np.int64)
    table = np.full(1 << (2 * count).bit_length(), -1, np.int64)
    used = number_tuples(np.ascontiguousarray(labels), table, first, group)
    return first[:used], group
