"""Mutual information (Shannon 1948) that a release keeps: of attributes, of pairs of them, and of a label.

No measure needs to know which row became which record. Of a released value it is unknown which of the values that
it covers was there; these are weighed as they are distributed in the original table (Gionis, Tassa, ESA 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes
from stream_anon.measures.grouping import dense, grouped

MOST_CELLS = 4_000_000  # of a joint distribution of two attributes
_PIECE = 512  # classes that are spread at once
_NONE = 1e-12  # bits up to which there is no information
_DEVIATIONS = 3.0  # by which the chi-square of independent columns exceeds its mean in about one case of a hundred
_FEWEST = 4  # rows of which something can be said


def entropy(weights: NDArray[np.floating] | NDArray[np.integer]) -> float:
    """Return the entropy in bits of what occurs with these weights, of which none is negative; 0.0 for nothing."""
    total = float(weights.sum())
    shares = weights[weights > 0] / total if total else np.empty(0)
    return max(0.0, float(-(shares * np.log2(shares)).sum()))


def mutual_information(one: NDArray[np.integer], other: NDArray[np.integer]) -> float:
    """Return I(one; other) in bits of two columns, integers [n] each."""
    first, ones = dense(one)
    second, others = dense(other)
    pairs, both = grouped((first, second), len(first))
    return max(
        0.0,
        entropy(np.bincount(first, minlength=ones))
        + entropy(np.bincount(second, minlength=others))
        - entropy(np.bincount(pairs, minlength=both)),
    )


def by_chance(one: NDArray[np.integer], other: NDArray[np.integer]) -> float:
    """Return the bits of mutual information up to which two columns, integers [n] each, may be independent.

    It is at most log2(1 + chi-square / n), since a divergence is at most the logarithm of one plus the chi-square
    divergence (Gibbs and Su, 2002). How chi-square is distributed where the columns are shuffled: Dawson, 1954.
    """
    rows = len(one)
    if rows < _FEWEST:
        return float("inf")
    mean, spreads = rows / (rows - 1), []
    for column in (one, other):
        counts = np.unique(column, return_counts=True)[1]
        kinds = len(counts)
        uneven = (rows * float((1 / counts).sum()) - kinds**2) / (rows - 2)
        mean *= kinds - 1
        spreads.append(((kinds - 1) * (rows - kinds) / (rows - 1) - uneven, uneven))
    (first, uneven), (second, other_uneven) = spreads
    variance = 2 * rows / (rows - 3) * first * second + rows**2 / (rows - 1) * uneven * other_uneven
    return float(np.log2(1 + (mean + _DEVIATIONS * np.sqrt(max(0.0, variance))) / rows))


def unknown_bits(
    codes: NDArray[np.int32], boxes: Boxes, attributes: tuple[int, ...], suppressed: int = 0
) -> float | None:
    """Return H(A | A*) summed over records: the bits that are unknown of one attribute, or of two together.

    A suppressed record may have had every value. O(n + c) for one attribute, and O(size) for each published set;
    for two O(classes x values x values).

    Parameters
    ----------
    codes
        Integers [q, n], the original table.
    boxes
        What was released of it.
    attributes
        The places of one attribute or two.
    suppressed
        Its records that were not released.

    Returns
    -------
    Bits; None where the values of two attributes make more than `MOST_CELLS` pairs.
    """
    if len(attributes) == 1:
        return _unknown_of_one(codes[attributes[0]], boxes, attributes[0], suppressed)
    one, other = attributes
    first, second = np.unique(codes[one]), np.unique(codes[other])
    if len(first) * len(second) > MOST_CELLS:
        return None
    counts = np.zeros((len(first), len(second)))
    np.add.at(counts, (np.searchsorted(first, codes[one]), np.searchsorted(second, codes[other])), 1)
    logs = _times_log(counts)
    chosen, weights = boxes.alike(attributes)
    lost = suppressed * float(_uncertainty(counts.sum(keepdims=True), logs.sum(keepdims=True)).sum())
    for start in range(0, len(chosen), _PIECE):
        part = chosen[start : start + _PIECE]
        left, right = boxes.cover(one, first, part), boxes.cover(other, second, part)
        within = [((left @ of_pairs) * right).sum(axis=1) for of_pairs in (counts, logs)]
        lost += float(_uncertainty(*within) @ weights[start : start + _PIECE])
    return lost


def _unknown_of_one(column: NDArray[np.int32], boxes: Boxes, place: int, suppressed: int) -> float:
    top = int(max(column.max(initial=0), boxes.high[place].max(initial=0))) + 1
    counts = np.bincount(column, minlength=top).astype(np.float64)
    within = np.concatenate([[0.0], np.cumsum(counts)])
    logs = np.concatenate([[0.0], np.cumsum(_times_log(counts))])
    low, high = boxes.low[place], boxes.high[place] + 1
    unknown = _uncertainty(within[high] - within[low], logs[high] - logs[low])
    for number, members in enumerate(boxes.members.get(place, ())):
        if members:
            held = counts[[code for code in members if code < top]]
            unknown[number] = _uncertainty(held.sum(keepdims=True), _times_log(held).sum(keepdims=True))[0]
    return float(unknown @ boxes.records) + suppressed * float(_uncertainty(within[-1:], logs[-1:])[0])


def _times_log(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(counts * np.log2(np.maximum(counts, 1.0)), np.float64)


def _uncertainty(total: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log2(total) - sum(count log2 count) / total: the entropy of counts, 0 for none."""
    held = np.maximum(total, 1.0)
    return np.maximum(np.log2(held) - logs / held, 0.0)


def information_kept(
    codes: NDArray[np.int32], boxes: Boxes, attributes: tuple[int, ...], suppressed: int = 0
) -> float | None:
    """Return I(A; A*) / H(A): what is known of an attribute, or of two together, after the release.

    1 where every value is published as it is, 0 where all are published alike. Where each value is always published
    as one node, it is the mutual information of both columns; otherwise see `unknown_bits`, whose parameters these
    are.

    Returns
    -------
    A share, 0 at the least; None where there is one value only, or `unknown_bits` is None.
    """
    rows = codes.shape[1]
    values, kinds = grouped((codes[place] for place in attributes), rows)
    known = entropy(np.bincount(values, minlength=kinds)) * rows
    unknown = unknown_bits(codes, boxes, attributes, suppressed) if known else None
    return None if unknown is None else max(0.0, 1 - unknown / known)


def dependence_kept(codes: NDArray[np.int32], boxes: Boxes, one: int, other: int) -> float | None:
    """Return what is left of I(A; B), the dependence of two attributes, for who holds the release only.

    Each published value is spread over the values that it covers, as these are distributed in the original table,
    and the two attributes of a class independently. Suppressed records are left out. The original table is needed
    for its distributions only: rows need not be told which class is theirs.

    Returns
    -------
    The share that is kept, above 1 where the release shows more dependence than there was; None where the
    attributes depend on each other no more than `by_chance`, nothing was released, or their values make more than
    `MOST_CELLS` pairs.
    """
    before = mutual_information(codes[one], codes[other])
    first, second = np.unique(codes[one]), np.unique(codes[other])
    if (
        not len(boxes)
        or before <= by_chance(codes[one], codes[other]) + _NONE
        or len(first) * len(second) > MOST_CELLS
    ):
        return None
    chosen, weights = boxes.alike((one, other))
    joint = np.zeros((len(first), len(second)))
    for start in range(0, len(chosen), _PIECE):
        part = chosen[start : start + _PIECE]
        left = _spread(codes[one], boxes, one, first, part) * weights[start : start + _PIECE, None]
        joint += left.T @ _spread(codes[other], boxes, other, second, part)
    return _of_joint(joint) / before


def label_information_kept(
    codes: NDArray[np.int32],
    labels: NDArray[np.int64],
    boxes: Boxes,
    released: NDArray[np.int64],
    attributes: Sequence[tuple[int, ...]],
) -> float | None:
    """Return what is left of the information that attributes have of a label that is published as it is.

    The sum of I(A; L) over single attributes, or of I(A, B; L) over pairs, after the release by the sum before. As
    for `dependence_kept`, each published value is spread over the values that it covers, so that a class whose
    records agree by chance tells little where it covers many values.

    Parameters
    ----------
    labels
        Integers [n], the label of each original row.
    released
        int64[c, m], how many records of each class have each label.
    attributes
        The places of single attributes, or of pairs.

    Returns
    -------
    The share that is kept; None where the attributes tell nothing of the label, nothing was released, or the values
    of two of them make more than `MOST_CELLS` combinations with the label.
    """
    before = after = 0.0
    for places in attributes:
        values = [np.unique(codes[place]) for place in places]
        if not len(boxes) or prod(map(len, values)) * released.shape[1] > MOST_CELLS:
            return None
        tuples, _ = grouped((codes[place] for place in places), codes.shape[1])
        before += mutual_information(tuples, labels)
        after += _of_joint(_label_joint(codes, boxes, released, places, values))
    return None if before < _NONE else after / before


def _label_joint(
    codes: NDArray[np.int32],
    boxes: Boxes,
    released: NDArray[np.int64],
    places: tuple[int, ...],
    values: Sequence[NDArray[np.int32]],
) -> NDArray[np.float64]:
    """Return how the values of one attribute or two and the label are distributed after the release."""
    joint = np.zeros((prod(map(len, values)), released.shape[1]))
    for start in range(0, len(boxes), _PIECE):
        part = np.arange(start, min(start + _PIECE, len(boxes)))
        spreads = [_spread(codes[j], boxes, j, own, part) for j, own in zip(places, values, strict=True)]
        for label, counts in enumerate(released[part].T.astype(np.float64)):
            weighed = spreads[0] * counts[:, None]
            joint[:, label] += (weighed.sum(axis=0) if len(spreads) == 1 else weighed.T @ spreads[1]).ravel()
    return joint


def _of_joint(joint: NDArray[np.float64]) -> float:
    """Return the mutual information of two things that occur together with these weights."""
    return max(0.0, entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint.ravel()))


def _spread(
    column: NDArray[np.int32], boxes: Boxes, place: int, values: NDArray[np.int32], classes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how each class is spread over the values, float64[classes, values], rows of sum 1."""
    counts = np.bincount(np.searchsorted(values, column), minlength=len(values))
    held = boxes.cover(place, values, classes) * counts
    return np.asarray(held / np.maximum(held.sum(axis=1, keepdims=True), 1), np.float64)
