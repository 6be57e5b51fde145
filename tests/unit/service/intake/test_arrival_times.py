"""Broker times belong to the window that took their records."""

from __future__ import annotations

import gc

import numpy as np

from stream_anon.microdata.release import InputRange
from stream_anon.ports import Chunk
from stream_anon.service.intake.arrival_times import BrokerTimes
from tests.support.traced import traced


def chunk(source: int, offsets: list[int]) -> Chunk:
    column = np.array(offsets, np.int64)
    return Chunk(source, offsets[0], [b""] * len(offsets), column, column * 1000)


def test_exactly_the_times_of_a_window_are_taken() -> None:
    times = BrokerTimes()
    times.add(chunk(0, [1, 2, 5]))
    times.add(chunk(0, [7, 8]))
    times.add(chunk(1, [4]))
    assert times.take([InputRange(0, 0, 8)]).tolist() == [1, 2, 5, 7]
    assert times.take([InputRange(0, 8, 20), InputRange(1, 0, 5)]).tolist() == [8, 4]
    assert times.take([InputRange(0, 0, 99)]).tolist() == []


def test_times_of_a_lost_partition_are_dropped() -> None:
    times = BrokerTimes()
    times.add(chunk(0, [1]))
    times.add(chunk(1, [2]))
    times.keep({1})
    assert times.take([InputRange(0, 0, 9), InputRange(1, 0, 9)]).tolist() == [2]


def test_times_of_a_held_window_do_not_grow_without_bound() -> None:
    times = BrokerTimes(most=10)
    for first in range(0, 400, 4):
        offsets = np.arange(first, first + 4)
        times.add(Chunk(0, first, [b""] * 4, offsets, offsets * 1000))
    assert times.take([InputRange(0, 0, 400)]).tolist() == list(range(10))
    times.add(Chunk(0, 400, [b""], np.array([400]), np.array([7000])))
    times.keep({1})
    times.add(Chunk(1, 0, [b""] * 20, np.arange(20), np.arange(20) * 1000))
    assert len(times.take([InputRange(1, 0, 20)])) == 10


def test_times_of_records_that_trickle_in_cost_few_bytes_each() -> None:
    times, count = BrokerTimes(), 20_000
    with traced() as memory:
        for offset in range(count):
            times.add(chunk(0, [offset]))
        gc.collect()  # or the tuples that the interpreter keeps for reuse are counted too
        held = memory()[0]
    assert held < 20 * count + 20_000
    assert len(times.take([InputRange(0, 0, count)])) == count
