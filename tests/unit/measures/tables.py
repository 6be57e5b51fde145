"""Random tables and releases of them, and the words of the measures written out naively."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes

SIZES = (4, 7, 3)


def random_table(draws: np.random.Generator, rows: int) -> NDArray[np.int32]:
    """Return the codes of a table of three attributes, some values frequent and some rare."""
    return np.stack([np.minimum(draws.geometric(0.4, rows) - 1, size - 1) for size in SIZES]).astype(np.int32)


def random_release(
    draws: np.random.Generator, codes: NDArray[np.int32], *, sets: bool = False
) -> tuple[Boxes, NDArray[np.int32]]:
    """Return boxes over random classes of about five rows, and the class of each row; about a tenth is suppressed.

    With `sets` the first attribute is published as the set of what occurs.
    """
    rows = codes.shape[1]
    classes = max(1, rows // 5)
    class_of_row = draws.integers(0, classes, rows)
    class_of_row[: min(classes, rows)] = np.arange(min(classes, rows))
    class_of_row = np.where(draws.random(rows) < 0.1, -1, class_of_row)
    _, class_of_row = np.unique(np.append(class_of_row, -1), return_inverse=True)
    class_of_row = (class_of_row[:-1] - 1).astype(np.int32)
    low, high, records, members = [], [], [], []
    for number in range(class_of_row.max() + 1):
        part = codes[:, class_of_row == number]
        low.append(part.min(axis=1))
        high.append(part.max(axis=1))
        records.append(part.shape[1])
        members.append(tuple(sorted(set(part[0].tolist()))))
    bounds = (np.array(ends, np.int32).reshape(-1, len(codes)).T for ends in (low, high))
    return Boxes(*bounds, np.array(records, np.int64), {0: members} if sets else {}), class_of_row


def covers(boxes: Boxes, number: int, place: int, code: int) -> bool:
    """Return whether a class stands for a code."""
    if place in boxes.members and boxes.members[place][number]:
        return code in boxes.members[place][number]
    return bool(boxes.low[place, number] <= code <= boxes.high[place, number])
