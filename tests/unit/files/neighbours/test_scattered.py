"""Rows in heaps come back once, in any order."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from stream_anon.files.neighbours.scattered import Scattered


def orders(seed: int, heaps: int, rows: int) -> tuple[int, ...]:
    scattered = Scattered(heaps, np.random.default_rng(seed))
    for row in range(rows):
        scattered.add(np.array([row], np.int32), [(row,)])
    found = [heap for _, heap in scattered.heaps()]
    numbers = [number for heap in found for number in heap.classes.tolist()]
    assert [row for heap in found for (row,) in heap.payload] == numbers  # a row keeps what it holds
    return tuple(numbers)


def test_every_order_of_rows_of_several_windows_is_equally_likely() -> None:
    draws = 600
    found = Counter(orders(seed, 2, 3) for seed in range(draws))
    assert found.keys() == set(itertools.permutations(range(3)))
    expected = draws / 6
    assert sum((count - expected) ** 2 / expected for count in found.values()) < 15.1  # chi square of 5, 1 %


def test_no_row_is_lost_or_doubled() -> None:
    assert sorted(orders(1, 5, 200)) == list(range(200))
