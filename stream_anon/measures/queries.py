"""The error of range counts that are answered from a release (Xiao, Tao, VLDB 2006; LeFevre et al., TODS 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes

QUERIES = 1_000
SANITY = 0.001  # of all records: an answer is compared with no fewer


@dataclass(frozen=True, slots=True)
class RangeCount:
    """How many records have codes within bounds, both ends included, in each of some attributes."""

    attributes: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


def random_range_counts(
    sizes: Sequence[int], draws: np.random.Generator, queries: int = QUERIES
) -> tuple[RangeCount, ...]:
    """Return random range counts over two or three attributes in turn.

    Parameters
    ----------
    sizes
        The number of codes of each attribute; with fewer attributes than three they are over fewer.
    draws
        Where attributes and bounds come from; equal ones give equal queries.
    """
    found = []
    for number in range(queries):
        count = min(2 + number % 2, len(sizes))
        chosen = np.sort(draws.choice(len(sizes), count, replace=False)).tolist()
        ends = [sorted(draws.integers(0, sizes[place], 2).tolist()) for place in chosen]
        found.append(RangeCount(tuple(chosen), tuple(low for low, _ in ends), tuple(high for _, high in ends)))
    return tuple(found)


def true_counts(codes: NDArray[np.int32], queries: Sequence[RangeCount]) -> NDArray[np.int64]:
    """Return the answers of the original table, integers [q, n]; int64[queries]."""
    answers = np.empty(len(queries), np.int64)
    for number, query in enumerate(queries):
        inside = np.ones(codes.shape[1], np.bool_)
        for place, low, high in zip(query.attributes, query.low, query.high, strict=True):
            inside &= (codes[place] >= low) & (codes[place] <= high)
        answers[number] = np.count_nonzero(inside)
    return answers


def estimated_counts(boxes: Boxes, queries: Sequence[RangeCount]) -> NDArray[np.float64]:
    """Return the answers of a release, every value that a box stands for being as likely; float64[queries].

    Suppressed records are in no box and are not counted.
    """
    every = np.arange(len(boxes))
    widths = [boxes.width(place, every) for place in range(len(boxes.low))]
    answers = np.empty(len(queries))
    for number, query in enumerate(queries):
        share = boxes.records.astype(np.float64)
        for place, low, high in zip(query.attributes, query.low, query.high, strict=True):
            share *= _overlap(boxes, place, low, high) / widths[place]
        answers[number] = share.sum()
    return answers


def _overlap(boxes: Boxes, place: int, low: int, high: int) -> NDArray[np.int64]:
    """Return how many codes of each class lie within bounds, int64[c]."""
    shared = np.minimum(boxes.high[place], high).astype(np.int64) - np.maximum(boxes.low[place], low) + 1
    for number, members in enumerate(boxes.members.get(place, ())):
        if members:
            shared[number] = sum(low <= code <= high for code in members)
    return np.asarray(np.maximum(shared, 0), np.int64)


def query_error(
    codes: NDArray[np.int32], boxes: Boxes, queries: Sequence[RangeCount], sanity: float = SANITY
) -> float | None:
    """Return the mean relative error of range counts, |estimate - count| / max(count, sanity x n); or None.

    Parameters
    ----------
    codes
        Integers [q, n], the original table.
    boxes
        What was released of it.
    queries
        See `random_range_counts`.
    sanity
        Share of all records below which a count is too small to be compared with.
    """
    if not queries or not codes.shape[1]:
        return None
    true = true_counts(codes, queries)
    error = np.abs(estimated_counts(boxes, queries) - true)
    return float((error / np.maximum(true, sanity * codes.shape[1])).mean())
