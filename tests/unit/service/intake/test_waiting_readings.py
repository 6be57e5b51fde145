"""Broker times belong to the window that took their records, and how a chunk was read to that in which it ends."""

from __future__ import annotations

import gc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.release import InputRange
from stream_anon.ports import Chunk
from stream_anon.service.intake.waiting_readings import WaitingReadings
from tests.support.traced import traced


def chunk(source: int, offsets: list[int]) -> Chunk:
    column = np.array(offsets, np.int64)
    return Chunk(source, offsets[0], [b""] * len(offsets), column, column * 1000)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3), st.booleans(), st.integers(0, 4)), max_size=20))
def test_nothing_is_told_before_its_window_and_nothing_twice(chunks: list[tuple[int, int, bool, int]]) -> None:
    """Chunks of a source follow each other; after some of them a window is sealed, perhaps within the chunk."""
    waiting, end, begin, untold = WaitingReadings(), 0, 0, list[tuple[int, int]]()
    for records, singly, seals, short in chunks:
        start, end = end, end + records
        waiting.add(chunk(0, list(range(start, end))), singly)
        untold.append((end, singly))
        if seals:
            sealed = max(start + 1, end - short)
            told = waiting.take([InputRange(0, 0, sealed)])
            assert told.singly == sum(count for stop, count in untold if stop <= sealed)
            assert told.times.tolist() == list(range(begin, sealed))
            begin, untold = sealed, [(stop, count) for stop, count in untold if stop > sealed]
    told = waiting.take([InputRange(0, 0, end + 1)])
    assert (told.singly, told.times.tolist()) == (sum(count for _, count in untold), list(range(begin, end)))


def test_exactly_the_times_of_a_window_are_taken() -> None:
    waiting = WaitingReadings()
    waiting.add(chunk(0, [1, 2, 5]))
    waiting.add(chunk(0, [7, 8]))
    waiting.add(chunk(1, [4]))
    assert waiting.take([InputRange(0, 0, 8)]).times.tolist() == [1, 2, 5, 7]
    assert waiting.take([InputRange(0, 8, 20), InputRange(1, 0, 5)]).times.tolist() == [8, 4]
    assert waiting.take([InputRange(0, 0, 99)]).times.tolist() == []


def test_a_source_that_is_lost_is_forgotten() -> None:
    waiting = WaitingReadings()
    waiting.add(chunk(0, [4]), 1, 2)
    waiting.add(chunk(1, [3, 4]), 4, 8)
    waiting.keep({1})
    told = waiting.take([InputRange(0, 0, 9), InputRange(1, 0, 9)])
    assert (told.singly, told.coerced, told.times.tolist()) == (4, 8, [3, 4])


def test_times_of_a_held_window_do_not_grow_without_bound() -> None:
    waiting = WaitingReadings(most=10)
    for first in range(0, 400, 4):
        waiting.add(chunk(0, list(range(first, first + 4))))
    assert waiting.take([InputRange(0, 0, 400)]).times.tolist() == list(range(10))
    waiting.add(chunk(0, [400]))
    waiting.keep({1})
    waiting.add(chunk(1, list(range(20))))
    assert len(waiting.take([InputRange(1, 0, 20)]).times) == 10


def test_times_of_records_that_trickle_in_cost_few_bytes_each() -> None:
    waiting, count = WaitingReadings(), 20_000
    with traced() as memory:
        for offset in range(count):
            waiting.add(chunk(0, [offset]))
        gc.collect()  # or the tuples that the interpreter keeps for reuse are counted too
        held = memory()[0]
    assert held < 20 * count + 20_000
    assert len(waiting.take([InputRange(0, 0, count)]).times) == count
