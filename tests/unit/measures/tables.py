"""Random tables and releases of them, and the words of the measures written out naively."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
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


def frame_of_rows(class_of_row: NDArray[np.integer], **columns: Sequence[object] | NDArray[np.integer]) -> Any:
    """Return the rows of a release as a pandas frame with their class in `published`; -1 is none."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    return pandas.DataFrame({"published": class_of_row, **columns})


def as_anonypyx(boxes: Boxes) -> Any:
    """Return boxes as a release that anonypyx measures: ranges, and the sets of attributes that have some."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what pandas thinks of anonypyx is not our matter
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        schemas = pytest.importorskip("anonypyx.generalisation", reason="anonypyx is not installed")
        prepared = pytest.importorskip("anonypyx.metrics.preprocessing", reason="anonypyx is not installed")
        columns: dict[str, object] = {"count": boxes.records}
        sets = {f"a{place}": [f"a{place}_{code}" for code in range(SIZES[place])] for place in boxes.members}
        ranges = {}
        for place, (low, high) in enumerate(zip(boxes.low, boxes.high, strict=True)):
            for code in range(SIZES[place]) if place in boxes.members else ():
                columns[f"a{place}_{code}"] = [covers(boxes, number, place, code) for number in range(len(boxes))]
            if place not in boxes.members:
                ranges[f"a{place}"] = f"a{place}_min", f"a{place}_max"
                columns |= {f"a{place}_min": low, f"a{place}_max": high}
        names = [f"a{place}" for place in range(len(SIZES))]
        schema = schemas.MachineReadable(sets, ranges, [])
        return prepared.PreparedUtilityDataFrame(pandas.DataFrame(columns), schema, names)
