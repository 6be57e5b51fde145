"""Mutual information (Shannon 1948) that a release keeps, per attribute and per pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes
from stream_anon.measures.grouping import dense, grouped

MOST_CELLS = 4_000_000  # of a joint distribution of two attributes
_PIECE = 512  # classes that are spread at once


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


def information_kept(
    codes: NDArray[np.int32], boxes: Boxes, class_of_row: NDArray[np.int32], attributes: tuple[int, ...]
) -> float | None:
    """Return I(A; A*) / H(A): what is known of an attribute, or of several together, after the release.

    1 where every value is published as it is, 0 where all are published alike; None where there is one value only.

    Parameters
    ----------
    codes
        Integers [q, n], the original table.
    class_of_row
        int32[n], the class of each row, negative for suppressed ones: these count as one published value.
    """
    rows = codes.shape[1]
    values, kinds = grouped((codes[place] for place in attributes), rows)
    known = entropy(np.bincount(values, minlength=kinds))
    if known == 0:
        return None
    published, _ = grouped((_published(boxes, class_of_row, place) for place in attributes), rows)
    return min(1.0, mutual_information(values, published) / known)


def _published(boxes: Boxes, class_of_row: NDArray[np.int32], place: int) -> NDArray[np.int64]:
    if not len(boxes):
        return np.full(len(class_of_row), -1)
    return np.where(class_of_row >= 0, boxes.labels(place)[class_of_row], -1)


def dependence_kept(codes: NDArray[np.int32], boxes: Boxes, one: int, other: int) -> float | None:
    """Return what is left of I(A; B), the dependence of two attributes, for who holds the release only.

    Each published value is spread over the values that it covers, as these are distributed in the original table,
    and the two attributes of a class independently. Suppressed records are left out. The original table is needed
    for its distributions only: rows need not be told which class is theirs.

    Returns
    -------
    The share that is kept, above 1 where the release shows more dependence than there was; None where the
    attributes were independent, nothing was released, or their values make more than `MOST_CELLS` pairs.
    """
    before = mutual_information(codes[one], codes[other])
    first, second = np.unique(codes[one]), np.unique(codes[other])
    if before < 1e-12 or not len(boxes) or len(first) * len(second) > MOST_CELLS:
        return None
    chosen, weights = boxes.alike((one, other))
    joint = np.zeros((len(first), len(second)))
    for start in range(0, len(chosen), _PIECE):
        part = chosen[start : start + _PIECE]
        left = _spread(codes[one], boxes, one, first, part) * weights[start : start + _PIECE, None]
        joint += left.T @ _spread(codes[other], boxes, other, second, part)
    after = entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint.ravel())
    return max(0.0, after) / before


def _spread(
    column: NDArray[np.int32], boxes: Boxes, place: int, values: NDArray[np.int32], classes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how each class is spread over the values, float64[classes, values], rows of sum 1."""
    counts = np.bincount(np.searchsorted(values, column), minlength=len(values))
    held = boxes.cover(place, values, classes) * counts
    return np.asarray(held / np.maximum(held.sum(axis=1, keepdims=True), 1), np.float64)
