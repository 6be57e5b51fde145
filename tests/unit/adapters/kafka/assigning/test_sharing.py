"""A worker's part in sharing out the input, with a client that is made up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stream_anon.adapters.kafka.assigning import sharing as module
from stream_anon.adapters.kafka.assigning.notes import LeaderNote
from stream_anon.adapters.kafka.assigning.sharing import Sharing
from stream_anon.ports import GroupView

PLACES = [("people", number) for number in range(2)]


async def test_an_overloaded_worker_asks_its_group_once_and_shows_what_it_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(module, "rebalance", asked.append)
    busy, consumer = 0.0, SimpleNamespace()
    sharing = Sharing(lambda: busy, packed=True)
    sharing.assignor.note = LeaderNote(3, 1)
    for now in range(0, 70, 2):
        sharing.read(PLACES[0], 10)
        sharing.look(consumer, float(now), dict.fromkeys(PLACES, 0))
        busy += 1.8
    assert asked == [consumer]
    assert sharing.seen(GroupView({"people": 2})) == GroupView({"people": 2}, members=3, carriers=1, busy=0.9)


class Stuck:
    """A worker that may be unable to work, in a group with others."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[float] = []
        self.ready, self.now, self.places = False, 0.0, PLACES
        monkeypatch.setattr(module, "rebalance", lambda _: self.asked.append(self.now))
        self.sharing = Sharing(ready=lambda: self.ready, packed=True)
        self.sharing.assignor.note = LeaderNote(3, 1)

    def look(self, seconds: float, *, absent: bool = False) -> None:
        """Look every two seconds; while the broker is absent, no look comes to its end."""
        for _ in range(int(seconds / 2)):
            self.now += 2
            self.sharing.begin_look()
            if not absent:
                self.sharing.look(SimpleNamespace(), self.now, dict.fromkeys(self.places, 5))

    def aside(self) -> bool:
        return self.sharing._told().aside


async def test_a_worker_that_cannot_work_for_a_minute_stands_aside_and_asks_for_that_once_in_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = Stuck(monkeypatch)
    stuck.look(60)
    assert (stuck.aside(), stuck.asked) == (False, [])
    stuck.look(2)
    assert (stuck.aside(), stuck.asked) == (True, [62.0])
    stuck.look(1000)  # nobody else can work: it has kept them
    assert stuck.asked == [62.0, 362.0, 962.0]
    stuck.ready = True
    stuck.look(2)
    assert not stuck.aside()


async def test_a_worker_that_was_relieved_is_not_given_partitions_at_once_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = Stuck(monkeypatch)
    stuck.look(70)
    stuck.places, stuck.ready = [], True
    stuck.look(290)
    assert stuck.aside()
    stuck.look(10)
    assert not stuck.aside()
    assert stuck.asked == [62.0]


async def test_a_worker_whose_broker_was_away_does_not_stand_aside_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = Stuck(monkeypatch)
    stuck.ready = True
    stuck.look(10)
    stuck.ready = False
    stuck.look(200, absent=True)
    stuck.look(20)
    assert not stuck.aside()
    stuck.ready = True
    stuck.look(100)
    assert (stuck.aside(), stuck.asked) == (False, [])


async def test_a_takeover_that_does_not_let_anybody_look_counts_as_time_without_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = Stuck(monkeypatch)
    stuck.look(10)
    stuck.now += 80
    stuck.look(2)
    assert (stuck.aside(), stuck.asked) == (True, [92.0])


async def test_a_worker_that_spreads_asks_for_nothing_and_still_knows_its_busy_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "rebalance", lambda _: pytest.fail("it asked"))
    sharing = Sharing(lambda: 0.0, packed=False)
    for now in range(0, 70, 2):
        sharing.look(SimpleNamespace(), float(now), dict.fromkeys(PLACES, 0))
    assert sharing.seen(GroupView({})) == GroupView({}, busy=0.0)
