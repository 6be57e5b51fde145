"""How many individuals the records of a published class can be of: a release names nobody."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes
from stream_anon.measures.leakage import Population


def individuals_within(population: Population, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the fewest and the most individuals that the records of each class can be of, int64[c] both.

    A class of r records holds r of the rows whose values it stands for. They are of the fewest individuals if those
    with most of these rows gave all of theirs. Both numbers are r where every row is another person's, and equal
    where every row that fits a class is in it. O(n log n), then O(n q) a class at the worst; of the attributes, the
    one that leaves the fewest rows is looked at first.

    Parameters
    ----------
    population
        The rows that the classes were made of.

    Raises
    ------
    ValueError
        If a class holds more records than rows fit it.
    """
    people = population.people
    if people is None:
        return boxes.records, boxes.records
    codes = population.codes
    orders = [np.argsort(column, kind="stable") for column in codes]
    columns = [column[order] for column, order in zip(codes, orders, strict=True)]
    starts = [np.searchsorted(column, low) for column, low in zip(columns, boxes.low, strict=True)]
    ends = [np.searchsorted(column, high, "right") for column, high in zip(columns, boxes.high, strict=True)]
    fewest, most = np.empty(len(boxes), np.int64), np.empty(len(boxes), np.int64)
    for number, records in enumerate(boxes.records.tolist()):
        first = min(range(len(codes)), key=lambda place: ends[place][number] - starts[place][number])
        rows = orders[first][starts[first][number] : ends[first][number]]
        for place in range(len(codes)):
            rows = rows[boxes.cover(place, codes[place, rows], np.array([number]))[0]]
        if len(rows) < records:
            raise ValueError("a class holds more records than the original rows that fit it")
        given = np.cumsum(np.sort(np.unique(people[rows], return_counts=True)[1])[::-1])
        fewest[number] = np.searchsorted(given, records) + 1
        most[number] = min(records, len(given))
    return fewest, most
