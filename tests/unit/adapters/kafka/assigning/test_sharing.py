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


async def test_a_worker_that_spreads_asks_for_nothing_and_still_knows_its_busy_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "rebalance", lambda _: pytest.fail("it asked"))
    sharing = Sharing(lambda: 0.0, packed=False)
    for now in range(0, 70, 2):
        sharing.look(SimpleNamespace(), float(now), dict.fromkeys(PLACES, 0))
    assert sharing.seen(GroupView({})) == GroupView({}, busy=0.0)
