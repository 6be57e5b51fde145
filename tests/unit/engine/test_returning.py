"""How often people are released is counted, by source and period, and bounded."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.returning import (
    ReleaseCounts,
    Returns,
    ReturnsKey,
    people_of,
    released_people,
)
from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.microdata.release import Release, ReleasedPeople, Suppression
from tests.support.batches import batch_of, small_policy

KEY = ReturnsKey(b"sixteen bytes or more")
DAY = 86_400.0
PSEUDONYMS = st.integers(-(2**63), 2**63 - 1).filter(bool)


def named(*people: int) -> NDArray[np.int64]:
    """Return the pseudonyms of people of `batch_of`."""
    keys = batch_of(small_policy(), 0, range(len(people)), people=people).individuals
    return KEY.pseudonyms(keys)


class Wall:
    now = 10 * DAY

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.tuples(st.booleans(), st.sets(PSEUDONYMS | st.integers(1, 9), max_size=40)), max_size=12))
def test_people_are_counted_as_by_a_counter(steps: list[tuple[bool, set[int]]]) -> None:
    counts, expected = ReleaseCounts(), Counter[int]()
    for added, chosen in steps:
        people = sorted(chosen if added else {person for person in chosen if expected[person]})
        (counts.add if added else counts.take_off)(np.array(people, np.int64))
        expected.update(dict.fromkeys(people, 1 if added else -1))
        everybody = sorted(expected)
        assert counts.of(np.array(everybody, np.int64)).tolist() == [expected[person] for person in everybody]
    assert not counts.of(np.array([2**62 + 1], np.int64)).any()


def test_a_million_people_take_at_most_forty_bytes_each() -> None:
    counts = ReleaseCounts()
    for start in range(0, 1_000_000, 100_000):
        counts.add(KEY.pseudonyms(np.arange(start, start + 100_000)))
        assert counts.held <= 27 * len(counts), "and half as much more while it grows"
    assert len(counts) == 1_000_000
    assert (counts.of(KEY.pseudonyms(np.arange(1_000_000))) == 1).all()


def test_a_count_stays_at_the_largest_number() -> None:
    counts, one = ReleaseCounts(), np.array([7], np.int64)
    for _ in range(65_540):
        counts.add(one)
    assert counts.of(one).tolist() == [65_535]


def test_pseudonyms_are_of_a_key_and_tell_no_ids() -> None:
    ids = np.arange(100, dtype=np.int64)
    mine, others = KEY.pseudonyms(ids), ReturnsKey(b"another secret of 16").pseudonyms(ids)
    assert len(np.unique(mine)) == 100
    assert not set(mine.tolist()) & (set(others.tolist()) | set(ids.tolist()))
    assert mine.tolist() == ReturnsKey(b"sixteen bytes or more").pseudonyms(ids).tolist()
    assert "sixteen" not in repr(KEY)


def returns(most: int = 2, wall: Wall | None = None) -> Returns:
    counted = Returns(ReturnBound(most, DAY), KEY, wall or Wall())
    counted.open(0)
    return counted


def engine(counted: Returns, k: int = 2) -> Engine:
    made = Engine(small_policy(k, max_records=100), draws=np.random.default_rng(1), returns=counted)
    for source in (0, 1):
        made.open(source, 0)
    return made


def window(made: Engine, people: list[int], source: int = 0) -> SealedWindow:
    first = made.position(source)
    made.add(batch_of(made._policy, source, range(first, first + len(people)), people=people), 0.0)
    sealed = made.seal(0.0)
    assert sealed is not None
    return sealed


def closed(sealed: SealedWindow) -> Release:
    return Closer(sealed.policy).release(sealed, np.random.default_rng(1))


def test_who_was_released_as_often_as_allowed_is_left_out_and_nobody_in_the_window() -> None:
    made = engine(returns(2))
    for _ in range(2):
        assert closed(window(made, [1, 2, 3])).released == 3
    sealed = window(made, [1, 2, 3, 4, 5])
    assert (sealed.records, sealed.individuals, sealed.returning) == (2, 2, 3)
    release = closed(sealed)
    assert release.suppressed == {Suppression.RETURNING: 3}
    assert (release.released, release.records_in) == (2, 5)


def test_who_is_left_out_closes_no_window_and_is_counted_without_rows_of_their_own() -> None:
    made = engine(returns(1))
    window(made, [1, 2])
    sealed = window(made, [1, 2] * 300)
    assert (sealed.records, sealed.returning, sealed.ranges[0].end) == (0, 600, 602)


def test_a_person_counts_once_for_a_window_however_many_records_they_have() -> None:
    made = engine(returns(2))
    window(made, [1, 1, 1, 2])
    assert window(made, [1, 2]).returning == 0
    assert window(made, [1, 2]).returning == 2


def test_a_window_counts_while_it_is_published_and_who_was_suppressed_is_taken_off() -> None:
    counted = returns(1)
    made = engine(counted, k=3)
    sealed = window(made, [1, 2])
    assert window(made, [1]).returning == 1, "nobody knows yet that it was suppressed"
    counted.settle(sealed, closed(sealed))  # two people are too few
    assert window(made, [1, 2, 3]).returning == 0


def test_what_is_taken_off_was_counted_in_the_counts_of_now() -> None:
    """The source was opened again meanwhile: the topic knows what is out, and the window never was."""
    counted = returns(1)
    made = engine(counted, k=3)
    sealed = window(made, [1, 2])
    made.revoke([0])
    made.open(0, 2, [ReleasedPeople(10, named(1))])
    counted.settle(sealed, closed(sealed))
    assert window(made, [1, 2]).returning == 1


def test_counts_are_of_a_source_and_of_a_period() -> None:
    wall = Wall()
    made = engine(returns(1, wall))
    window(made, [1, 2])
    assert window(made, [1, 2], source=1).returning == 0
    wall.now += DAY
    assert window(made, [1, 2]).returning == 0
    wall.now -= 5 * DAY
    assert window(made, [1, 2]).returning == 2, "a clock that goes back brings no period back"


def test_history_counts_if_it_is_of_this_period_and_a_later_one_begins_another() -> None:
    people = named(1, 2)
    for period, left_out in ((9, 0), (10, 2), (11, 2)):
        made = engine(returns(1))
        made.revoke([0])
        made.open(0, 0, [ReleasedPeople(period, people)])
        assert window(made, [1, 2]).returning == left_out, period


def test_what_is_noted_is_who_was_released() -> None:
    made = engine(returns(5), k=3)
    made.add(batch_of(made._policy, 0, range(4), people=[1, 2, 3, 3]), 0.0)
    sealed = window(made, [1, 7, 8], source=1)
    noted = released_people(sealed, closed(sealed))
    everybody = {source: people.tolist() for source, people in people_of(sealed).items()}
    assert {source: released.people.tolist() for source, released in noted.items()} == everybody
    assert {source: len(people) for source, people in everybody.items()} == {0: 3, 1: 3}
    assert all(released.period == 10 for released in noted.values())
    few = window(engine(returns(5), k=3), [1, 2])
    assert [len(released.people) for released in released_people(few, closed(few)).values()] == [0]


@pytest.mark.parametrize("secret", [b"", b"fifteen bytes.."])
def test_a_short_secret_is_refused(secret: bytes) -> None:
    with pytest.raises(ValueError, match="counts of returns"):
        ReturnsKey(secret)
