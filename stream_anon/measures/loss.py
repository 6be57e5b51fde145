"""What a release costs, beyond `stream_anon.privacy.loss`: conditional entropy and average class size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes
from stream_anon.privacy.loss import classification_loss, discernibility, gcp

__all__ = ["average_class_size", "classification_loss", "conditional_entropy", "discernibility", "gcp"]


def average_class_size(records: NDArray[np.int64], k: int) -> float | None:
    """Return records per class over k (LeFevre et al., ICDE 2006): 1 for the smallest legal classes; None for none.

    Parameters
    ----------
    records
        int64[c].
    """
    return float(records.sum()) / len(records) / k if len(records) else None


def conditional_entropy(codes: NDArray[np.int32], boxes: Boxes, suppressed: int = 0) -> float:
    """Return the bits that the release lost: what is unknown of each cell, summed (Gionis, Tassa 2007).

    Of a cell it is unknown which of the values that its published node covers was there; these are weighed as they
    are distributed in the original table. A suppressed cell stands for all values. O(q (n + c)), and O(size) for
    each published set.

    Parameters
    ----------
    codes
        Integers [q, n], the original table.
    boxes
        What was released of it.
    suppressed
        Its records that were not released.
    """
    lost = 0.0
    every = np.arange(len(boxes))
    for place, column in enumerate(codes):
        top = int(max(column.max(initial=0), boxes.high[place].max(initial=0))) + 1
        counts = np.bincount(column, minlength=top).astype(np.float64)
        within = np.concatenate([[0.0], np.cumsum(counts)])
        logs = np.concatenate([[0.0], np.cumsum(_times_log(counts))])
        low, high = boxes.low[place, every], boxes.high[place, every] + 1
        unknown = _uncertainty(within[high] - within[low], logs[high] - logs[low])
        for number, members in enumerate(boxes.members.get(place, ())):
            if members:
                chosen = counts[[code for code in members if code < top]]
                unknown[number] = _uncertainty(chosen.sum(keepdims=True), _times_log(chosen).sum(keepdims=True))[0]
        whole = _uncertainty(within[-1:], logs[-1:])[0]
        lost += float(unknown @ boxes.records) + suppressed * float(whole)
    return lost


def _times_log(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(counts * np.log2(np.maximum(counts, 1.0)), np.float64)


def _uncertainty(total: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log2(total) - sum(count log2 count) / total: the entropy of counts, 0 for none."""
    held = np.maximum(total, 1.0)
    return np.maximum(np.log2(held) - logs / held, 0.0)
