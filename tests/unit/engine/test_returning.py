"""How often people are released is counted, by source and period, and bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.engine import returning
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.returning import Returns, ReturnsKey
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.errors import SettingsError
from stream_anon.files.anonymizing import Anonymization
from stream_anon.microdata.bounds import RecordBound, ReturnBound
from stream_anon.microdata.choices.window_limits import AboveMost, Shortfall
from stream_anon.microdata.release import Release, ReleasedPeople, Suppression
from tests.support.batches import batch_of, small_policy

KEY = ReturnsKey(b"sixteen bytes or more")
DAY = 86_400.0


def keys(*people: int) -> NDArray[np.int64]:
    """Return the keys of people of `batch_of`."""
    return batch_of(small_policy(), 0, range(len(people)), people=people).individuals


def named(*people: int) -> NDArray[np.int64]:
    """Return their pseudonyms."""
    return np.sort(KEY.pseudonyms(keys(*people)))


class Wall:
    now = 10 * DAY

    def __call__(self) -> float:
        return self.now


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


def settle(counted: Returns, sealed: SealedWindow) -> None:
    release = closed(sealed)
    assert release.people is not None
    counted.settle(sealed, release.people)


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
    settle(counted, sealed)  # two people are too few
    assert window(made, [1, 2, 3]).returning == 0


def test_what_is_taken_off_was_counted_in_the_counts_of_now() -> None:
    """The source was opened again meanwhile: the topic knows what is out, and the window never was."""
    counted = returns(1)
    made = engine(counted, k=3)
    sealed = window(made, [1, 2])
    made.revoke([0])
    before = counted.empty()
    before.take([ReleasedPeople(int(10 * DAY), named(1))])
    made.open(0, 2, before)
    settle(counted, sealed)
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


@pytest.mark.parametrize(("day", "now", "then"), [(9, 0, 0), (10, 2, 0), (11, 2, 2), (12, 2, 2)])
def test_history_counts_now_if_it_is_of_this_period_or_later_and_again_in_its_own(
    day: int, now: int, then: int
) -> None:
    """Who notes a later one has a clock that is ahead: that moves nobody else's period."""
    wall, people = Wall(), [1, 2]
    counted = Returns(ReturnBound(1, DAY), KEY, wall)
    history = counted.empty()
    history.take([ReleasedPeople(int(day * DAY), named(*people))])
    counted.open(0, history)
    counted.open(1)
    for source in (0, 1):
        assert (~counted.allowed(source, keys(*people))).sum() == (now if source == 0 else 0)
    wall.now += DAY
    assert (~counted.allowed(0, keys(*people))).sum() == then


def test_a_longer_period_counts_what_was_noted_in_shorter_ones() -> None:
    wall = Wall()
    history = [ReleasedPeople(int(wall.now - days * DAY), named(1)) for days in (1, 2, 12)]
    for days, most_out in ((1, 0), (5, 0), (8, 2)):
        counted = Returns(ReturnBound(2, days * DAY), KEY, wall)
        source = counted.empty()
        source.take(history)
        assert source.counts.of(named(1)).tolist() == [most_out], days


def test_what_is_noted_is_who_was_released_and_who_comes_from_two_sources_is_told() -> None:
    made = engine(returns(5), k=3)
    made.add(batch_of(made._policy, 0, range(4), people=[1, 2, 3, 3]), 0.0)
    sealed = window(made, [1, 7, 8], source=1)
    found = closed(sealed).people
    assert found is not None
    everybody = {source: people.tolist() for source, people in sealed.everybody.items()}
    assert {source: released.people.tolist() for source, released in found.released.items()} == everybody
    assert {source: len(people) for source, people in everybody.items()} == {0: 3, 1: 3}
    assert all(released.sealed == 10 * DAY for released in found.released.values())
    assert (sum(map(len, found.kept_back.values())), found.scattered) == (0, 1)
    few = closed(window(engine(returns(5), k=3), [1, 2])).people
    assert few is not None
    assert [len(few.released[0].people), len(few.kept_back[0]), few.scattered] == [0, 2, 0]


def test_the_people_of_a_window_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, calls = returning.people_of, list[SealedWindow]()

    def people_of(sealed: SealedWindow) -> Mapping[int, NDArray[np.int64]]:
        calls.append(sealed)
        return found(sealed)

    monkeypatch.setattr(returning, "people_of", people_of)
    counted = returns(2)
    settle(counted, window(engine(counted), [1, 2, 3]))
    assert len(calls) == 1


@pytest.mark.parametrize("seed", range(20))
def test_who_is_released_and_who_is_kept_back_are_those_of_the_rows(seed: int) -> None:
    draws = np.random.default_rng(seed)
    made = engine(returns(5))
    for source in (0, 1):
        people = draws.integers(1, 12, 12).tolist()
        made.add(batch_of(made._policy, source, range(12), people=people), 0.0)
    sealed = made.seal(0.0)
    assert sealed is not None
    class_of_row = np.where(draws.random(sealed.records) < 0.4, 0, -1)
    found = returning.counted_release(sealed, replace(closed(sealed), class_of_row=class_of_row))
    rows = list(zip(np.array(sealed.sources)[sealed.stretches].tolist(), sealed.people.tolist(), strict=True))
    out = {row for row, number in zip(rows, class_of_row.tolist(), strict=True) if number >= 0}
    assert {(source, one) for source, who in found.released.items() for one in who.people.tolist()} == out
    assert {(source, one) for source, who in found.kept_back.items() for one in who.tolist()} == {*rows} - out
    of_two = Counter(person for _, person in {*rows})
    assert found.scattered == sum(times > 1 for times in of_two.values())


def test_a_source_asks_the_time_once_when_it_is_opened() -> None:
    asked: list[float] = []

    def wall() -> float:
        asked.append(10 * DAY)
        return asked[-1]

    counted = Returns(ReturnBound(1, DAY), KEY, wall)
    for history in (None, counted.empty()):
        asked.clear()
        counted.open(0, history)
        assert len(asked) == 1


def test_what_is_left_out_on_purpose_is_not_among_too_many_suppressed() -> None:
    bounded = {"max_suppressed": RecordBound(0.5), "above_max_suppressed": AboveMost.SUPPRESS}
    policy = replace(small_policy(2, max_records=100), **bounded)
    made = Engine(policy, draws=np.random.default_rng(1), returns=returns(1))
    made.open(0, 0)
    window(made, [1, 2, 3, 4, 5, 6])
    release = closed(window(made, [1, 2, 3, 4, 5, 6, 7, 8]))
    assert (release.released, release.suppressed) == (2, {Suppression.RETURNING: 6})


def test_slices_of_a_nearly_full_window_do_not_end_at_each_row_that_is_left_out() -> None:
    made = engine(returns(1))
    window(made, list(range(50)))
    made.add(batch_of(made._policy, 0, range(50, 149), people=range(1000, 1099)), 0.0)
    made.add(batch_of(made._policy, 0, range(149, 249), people=[*range(50), *range(50)]), 0.0)
    assert len(made._window._parts) == 1
    assert (made._window.admitted, made._window.returning) == (99, 100)


def test_what_keeps_no_counts_refuses_a_bound_and_a_window_is_not_held_for_it() -> None:
    policy = replace(small_policy(), returning=ReturnBound(3, DAY))
    with pytest.raises(SettingsError, match=r"privacy\.returning: is for a service on topics"):
        Anonymization(policy)
    with pytest.raises(SettingsError, match=r"window\.shortfall: hold is not for privacy\.returning"):
        replace(small_policy(shortfall=Shortfall.HOLD), returning=ReturnBound(3, DAY))


@pytest.mark.parametrize("secret", [b"", b"fifteen bytes.."])
def test_a_short_secret_is_refused(secret: bytes) -> None:
    with pytest.raises(ValueError, match="counts of returns"):
        ReturnsKey(secret)
