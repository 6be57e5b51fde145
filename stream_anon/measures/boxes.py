"""Published classes as boxes: which codes each of them stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.grouping import firsts, grouped
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Classes

_GRID = 4_000_000  # combinations of values up to which all are counted
_CELLS = 2_000_000  # pairs of a box and a tuple that are compared at once

Members = Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """What c classes publish of q attributes.

    Parameters
    ----------
    low, high
        int32[q, c], the bounds of the published codes, both ends included.
    records
        int64[c].
    members
        By the place of an attribute that publishes sets: the codes of each class's set, in order; empty for a
        class whose bounds say it all.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    records: NDArray[np.int64]
    members: dict[int, Members] = field(default_factory=dict)

    def __post_init__(self) -> None:
        classes = len(self.records)
        if self.low.shape != self.high.shape or self.low.shape[1] != classes:
            raise ValueError("bounds are int32[q, c] for c classes")
        if any(len(sets) != classes for sets in self.members.values()):
            raise ValueError("members are c sets for c classes")

    def __len__(self) -> int:
        return len(self.records)

    def cover(self, place: int, codes: NDArray[np.integer], classes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return whether each of the chosen classes stands for each of the codes, bool[len(classes), m]."""
        low, high = self.low[place, classes], self.high[place, classes]
        inside: NDArray[np.bool_] = (codes >= low[:, None]) & (codes <= high[:, None])
        sets = self.members.get(place)
        if sets is not None:
            _keep_members(inside, codes, [sets[number] for number in classes.tolist()])
        return inside

    def width(self, place: int, classes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return how many codes each of the chosen classes stands for, int64[len(classes)]."""
        widths = self.high[place, classes].astype(np.int64) - self.low[place, classes] + 1
        sets = self.members.get(place)
        if sets is not None:
            for row, number in enumerate(classes.tolist()):
                widths[row] = len(sets[number]) or widths[row]
        return np.asarray(widths, np.int64)

    def labels(self, place: int) -> NDArray[np.int64]:
        """Return numbers that are equal where classes publish the same of an attribute, int64[c]."""
        known: dict[tuple[int, ...], int] = {}
        sets = self.members.get(place)
        kinds = [known.setdefault(each, len(known)) for each in sets] if sets is not None else [0] * len(self)
        return grouped((self.low[place], self.high[place], np.array(kinds, np.int64)), len(self))[0]

    def alike(self, attributes: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return one class of each group that publishes the same of some attributes, and each group's records."""
        groups, count = grouped((self.labels(place) for place in attributes), len(self))
        return firsts(groups, count), np.bincount(groups, self.records, minlength=count).astype(np.int64)

    def matches(self, codes: NDArray[np.integer], attributes: Sequence[int]) -> NDArray[np.int64]:
        """Return for each tuple how many records are published with values that are compatible with it.

        Counted over the grid of all combinations of values where these are few, O(grid + 2^q c) for c distinct
        published tuples; else by comparing each with each of m tuples, O(m c q), in pieces of some megabytes.

        Parameters
        ----------
        codes
            Integers [q, m], of all attributes.
        attributes
            The places of those that are looked at; with none every record matches.
        """
        chosen, weights = self.alike(attributes)
        axes = [np.unique(codes[place]) for place in attributes]
        intervals = not any(place in self.members for place in attributes)
        few = prod(len(axis) + 1 for axis in axes) <= _GRID and 2 ** len(axes) <= codes.shape[1]
        if intervals and few:
            return self._over_grid(codes, attributes, axes, chosen, weights)
        found = np.empty(codes.shape[1], np.int64)
        piece = max(1, _CELLS // max(len(chosen), 1))
        for start in range(0, codes.shape[1], piece):
            part = codes[:, start : start + piece]
            inside = np.ones((len(chosen), part.shape[1]), np.bool_)
            for place in attributes:
                inside &= self.cover(place, part[place], chosen)
            found[start : start + piece] = weights @ inside
        return found

    def _over_grid(
        self,
        codes: NDArray[np.integer],
        attributes: Sequence[int],
        axes: Sequence[NDArray[np.integer]],
        chosen: NDArray[np.int64],
        weights: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Count by differences: each box is noted at its corners, and sums along each axis spread it."""
        shape = [len(axis) + 1 for axis in axes]
        lows = [np.searchsorted(axis, self.low[j, chosen]) for j, axis in zip(attributes, axes, strict=True)]
        ends = [
            np.searchsorted(axis, self.high[j, chosen], "right") for j, axis in zip(attributes, axes, strict=True)
        ]
        size = prod(shape)
        grid = np.zeros(size)
        for corner in product((0, 1), repeat=len(axes)):
            places = np.zeros(len(chosen), np.int64)
            for at_end, low, end, length in zip(corner, lows, ends, shape, strict=True):
                places = places * length + (end if at_end else low)
            grid += np.bincount(places, weights * (-1) ** sum(corner), size)
        spread = grid.reshape(shape)
        for axis in range(len(axes)):
            spread = spread.cumsum(axis=axis)
        at = tuple(np.searchsorted(axis, codes[j]) for j, axis in zip(attributes, axes, strict=True))
        # Whole numbers below 2^53: floats add them without error.
        return np.asarray(spread[at], np.int64) if at else np.full(codes.shape[1], int(grid[0]), np.int64)


def _keep_members(inside: NDArray[np.bool_], codes: NDArray[np.integer], sets: Members) -> None:
    """Take out of bool[len(sets), m] what is no member of a row's set; an empty set takes out nothing."""
    rows = np.flatnonzero([bool(each) for each in sets])
    occurring, place = np.unique(codes, return_inverse=True)
    if not len(rows) or not len(occurring):
        return
    owners = np.repeat(np.arange(len(rows)), [len(sets[row]) for row in rows.tolist()])
    members = np.fromiter((code for each in sets for code in each), np.int64, len(owners))
    at = np.minimum(np.searchsorted(occurring, members), len(occurring) - 1)
    found = occurring[at] == members
    table = np.zeros((len(rows), len(occurring)), np.bool_)
    table[owners[found], at[found]] = True
    inside[rows] = table[:, place]


def boxes_of(
    attributes: Sequence[QuasiIdentifier], tuples: Sequence[Sequence[object]], records: Sequence[int]
) -> Boxes:
    """Return the boxes of published tuples, read by what the policy says of each attribute; O(q c).

    Parameters
    ----------
    attributes
        The q quasi-identifiers.
    tuples
        c published tuples of q values.
    records
        How many records are published with each.

    Raises
    ------
    ValueError
        For a value that the attribute cannot publish; the message names the attribute only.
    """
    low = np.empty((len(attributes), len(tuples)), np.int32)
    high = np.empty_like(low)
    members: dict[int, Members] = {}
    for place, attribute in enumerate(attributes):
        sets: list[tuple[int, ...]] = []
        for number, values in enumerate(tuples):
            codes = attribute.read(values[place])
            if codes is None:
                raise ValueError(f"{attribute.name}: a published value is none that the policy can publish")
            low[place, number], high[place, number] = codes[0], codes[-1]
            sets.append(codes if isinstance(values[place], list) else ())
        if any(sets):
            members[place] = sets
    return Boxes(low, high, np.array(records, np.int64), members)


def boxes_of_classes(attributes: Sequence[QuasiIdentifier], classes: Classes) -> Boxes:
    """Return the boxes of a release's own classes, O(q c); `boxes_of` reads the same from what is published."""
    members: dict[int, Members] = {}
    for place, attribute in enumerate(attributes):
        if attribute.publication is PublishedForm.VALUES:
            sets = [attribute.read(each) if isinstance(each, list) else () for each in classes.values[place]]
            members[place] = [codes or () for codes in sets]
    return Boxes(classes.low, classes.high, classes.records, members)
