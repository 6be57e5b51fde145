"""People are counted by how often they were released, in periods that the topic still has whole."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.audit.scope import AuditScope
from stream_anon.errors import BrokerError
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.microdata.release import ReleasedPeople
from stream_anon.operations.report.figures import release_spread as room
from stream_anon.operations.report.figures.release_spread import (
    KEPT,
    ReleasesFound,
    ReleasesInPeriod,
    ReleaseSpread,
)
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from tests.support.clock import FakeClock

WEEK = 7 * 86_400.0
BOUND = ReturnBound(3, WEEK)
KEY, OTHER = b"8 bytes!", b"8 others"
NOW = 100 * WEEK + 5


def _spread(stretch: AuditScope | None = None, now: float = NOW) -> ReleaseSpread:
    return ReleaseSpread(BOUND, stretch or AuditScope(), now)


def _released(sealed: float, *people: int) -> ReleasedPeople:
    return ReleasedPeople(int(sealed), np.array(people, np.int64))


@given(st.lists(st.tuples(st.integers(0, 1), st.sets(st.integers(1, 30), min_size=1)), max_size=20))
def test_people_are_counted_as_by_a_counter(windows: list[tuple[int, set[int]]]) -> None:
    spread, expected = _spread(now=99 * WEEK), (Counter[int](), Counter[int]())
    for later, people in windows:
        spread.add(KEY, _released((99 + later) * WEEK + 9, *sorted(people)))
        expected[later].update(people)
    told = {one.begins / WEEK - 99: one.people for one in spread.found()}
    assert told == {later: Counter(own.values()) for later, own in enumerate(expected) if own}


def test_a_period_of_which_entries_may_be_gone_is_left_out() -> None:
    entry = _released(99 * WEEK, 7)
    for now, there in ((100 * WEEK + KEPT - 1, True), (100 * WEEK + KEPT, False)):
        spread = _spread(now=now)
        spread.add(KEY, entry)
        assert bool(spread.found()) is there


@pytest.mark.parametrize(
    ("stretch", "there"),
    [
        (AuditScope(until=100 * WEEK), False),
        (AuditScope(until=100 * WEEK + 1), True),
        (AuditScope(since=101 * WEEK), False),
        (AuditScope(since=101 * WEEK - 1), True),
    ],
)
def test_a_period_that_overlaps_that_of_the_report_is_told(stretch: AuditScope, there: bool) -> None:
    spread = _spread(stretch)
    spread.add(KEY, _released(100 * WEEK, 7))
    assert bool(spread.found()) is there


def test_people_under_two_keys_are_told_to_be_two(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = _spread()
    for key in (KEY, KEY, OTHER):
        spread.add(key, _released(NOW, 7, 8))
    assert spread.found() == (ReleasesInPeriod(100 * WEEK, 101 * WEEK, 2, {1: 2, 2: 2}),)
    monkeypatch.setattr(room, "_MOST_KEYS", 2)
    for number in range(9):
        spread.add(bytes([number] * 8), _released(NOW, 7))
    [found] = spread.found()
    assert found.keys == 3


def test_who_was_released_too_often_is_counted() -> None:
    one = ReleasesInPeriod(0, WEEK, 1, {1: 40, 3: 5, 4: 2, 9: 1})
    assert ReleasesFound((one, one)).beyond(3) == 6
    assert ReleasesFound((one,)).beyond(9) == 0


class _Topic:
    """Stands for `KafkaReturns`."""

    entries: tuple[ReleasedPeople, ...] = ()
    error: BrokerError | None = None

    def __init__(self, *_: object) -> None:
        pass

    async def read_all(self, take: object) -> None:
        if self.error is not None:
            raise self.error
        for entry in self.entries:
            take(KEY, entry)  # type: ignore[operator]


def test_why_nothing_is_known_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody but the workers should read that topic: that a report cannot is usual, and no failure."""
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", input="in", output="out", group="g")
    monkeypatch.setattr(room, "KafkaReturns", _Topic)
    clock = FakeClock()

    def told() -> ReleasesFound:
        return room.read_releases(kafka, BOUND, AuditScope(), clock)

    assert told() == ReleasesFound((), "out.returns: holds nobody of a period that it still has whole")
    monkeypatch.setattr(_Topic, "entries", (_released(clock.wall(), 1, 2),))
    assert [one.people for one in told().periods] == [{1: 2}]
    monkeypatch.setattr(_Topic, "error", BrokerError("out.returns: may not be read by this user"))
    assert told() == ReleasesFound((), "out.returns: may not be read by this user")
