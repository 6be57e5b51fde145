"""How often people were released is counted as by a dictionary, in few bytes."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.release_counts import ReleaseCounts
from stream_anon.engine.returning import ReturnsKey
from tests.support.traced import traced

KEY = ReturnsKey(b"sixteen bytes or more")
PSEUDONYMS = st.integers(-(2**63), 2**63 - 1).filter(bool)


@given(st.lists(st.tuples(st.booleans(), st.sets(PSEUDONYMS | st.integers(1, 9), max_size=40)), max_size=12))
def test_people_are_counted_as_by_a_counter(steps: list[tuple[bool, set[int]]]) -> None:
    counts, expected = ReleaseCounts(), Counter[int]()
    for added, chosen in steps:
        people = sorted(chosen if added else {person for person in chosen if expected[person]})
        (counts.add if added else counts.take_off)(np.array(people, np.int64))
        expected.update(dict.fromkeys(people, 1 if added else -1))
        everybody = sorted(expected)
        assert counts.of(np.array(everybody, np.int64)).tolist() == [expected[person] for person in everybody]
        assert counts.spread() == Counter(times for times in expected.values() if times)
    assert not counts.of(np.array([2**62 + 1], np.int64)).any()


def test_people_take_at_most_27_bytes_each_and_40_while_the_table_doubles() -> None:
    counts, named = ReleaseCounts(), KEY.pseudonyms(np.arange(1_000_000))
    for start in range(0, len(named), 10_000):
        part, before = named[start : start + 10_000], counts.held
        with traced() as memory:
            counts.add(part)
            most = before + memory()[1] - 200 * len(part)  # without what the part takes
        if start >= 100_000:
            assert counts.held <= 27 * len(counts)
            assert most <= 40 * len(counts)
    assert (counts.of(named) == 1).all()


def test_a_count_stays_at_the_largest_number() -> None:
    counts, one = ReleaseCounts(), np.array([7], np.int64)
    for _ in range(65_540):
        counts.add(one)
    assert counts.of(one).tolist() == [65_535]


def test_who_was_taken_off_takes_no_room_in_the_end() -> None:
    counts = ReleaseCounts()
    for start in range(0, 200_000, 10_000):
        people = KEY.pseudonyms(np.arange(start, start + 10_000))
        counts.add(people)
        counts.take_off(people)
    held = counts.held
    for _ in range(3):
        counts.add(KEY.pseudonyms(np.arange(10_000)))
    assert counts.held == held <= 1_000_000
