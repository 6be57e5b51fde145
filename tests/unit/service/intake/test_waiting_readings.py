"""How records were read belongs to their window: a chunk that two windows share, to the later one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.release import InputRange
from stream_anon.service.events import Readings
from stream_anon.service.intake.waiting_readings import WaitingReadings


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3), st.booleans(), st.integers(0, 4)), max_size=20))
def test_nothing_is_told_before_its_window_and_nothing_twice(chunks: list[tuple[int, int, bool, int]]) -> None:
    """Chunks of a source follow each other; after some of them a window is sealed, perhaps within the chunk."""
    waiting, end, untold = WaitingReadings(), 0, []
    for records, singly, seals, short in chunks:
        start, end = end, end + records
        waiting.add(0, end, Readings(singly))
        untold.append((end, singly))
        if seals:
            sealed = max(start + 1, end - short)
            told = waiting.take([InputRange(0, 0, sealed)])
            assert told.singly == sum(count for stop, count in untold if stop <= sealed)
            untold = [(stop, count) for stop, count in untold if stop > sealed]
    assert waiting.take([InputRange(0, 0, end + 1)]).singly == sum(count for _, count in untold)


def test_a_source_that_is_lost_is_forgotten() -> None:
    waiting = WaitingReadings()
    waiting.add(0, 5, Readings(1, 2))
    waiting.add(1, 5, Readings(4, 8))
    waiting.keep({1})
    assert waiting.take([InputRange(0, 0, 9), InputRange(1, 0, 9)]) == Readings(4, 8)
