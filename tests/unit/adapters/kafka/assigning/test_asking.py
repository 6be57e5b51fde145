"""When a member asks its group to look at the load again."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.group_coordinator import GroupCoordinator

from stream_anon.adapters.kafka.assigning.asking import LONGEST_REST, MARGIN, Asking, rebalance
from stream_anon.adapters.kafka.assigning.assignor import REST
from stream_anon.adapters.kafka.assigning.notes import LeaderNote


class Group:
    """What a member knows of its group, and what it measures."""

    def __init__(self, members: int = 3, carriers: int = 2, busy: float | None = 0.9) -> None:
        self.note: LeaderNote | None = LeaderNote(members, carriers)
        self.age = math.inf
        self.busy, self.load = busy, busy
        self.asking = Asking(self)  # type: ignore[arg-type]

    def due(self, now: float, partitions: int = 2, *, aside: bool = False) -> bool:
        return self.asking.due(now, self, partitions, aside=aside)  # type: ignore[arg-type]


def test_an_overloaded_member_asks_at_once_if_load_never_changed_the_group() -> None:
    assert Group().due(60.0)


@pytest.mark.parametrize(
    "group",
    [Group(busy=None), Group(busy=0.5), Group(members=1), Group(carriers=1, busy=0.1)],
    ids=["of unknown load", "busy half of the time", "alone", "idle and alone"],
)
def test_a_member_asks_only_if_others_could_help(group: Group) -> None:
    assert not group.due(60.0)


def test_a_member_asks_only_for_what_can_be_shared() -> None:
    assert not Group().due(60.0, partitions=1)
    assert not Group(busy=0.1).due(60.0, partitions=0)
    assert Group(busy=0.1).due(60.0, partitions=1)


def test_a_member_that_stands_aside_asks_at_once_and_again_after_a_rest() -> None:
    group = Group(busy=None)
    group.age = 1.0
    assert group.due(1000.0, aside=True)
    group.age = math.inf
    assert not group.due(1000.0 + REST - 1, aside=True)
    assert not Group(busy=None).due(1000.0, partitions=0, aside=True)


def test_a_member_asks_nothing_of_a_group_that_spreads() -> None:
    group = Group()
    group.note = None
    assert not group.due(60.0)


def test_a_member_waits_until_the_last_change_is_old_enough_for_all() -> None:
    group = Group()
    group.age = REST + MARGIN - 1
    assert not group.due(1000.0)
    group.age += 2
    assert group.due(1002.0)


def test_a_member_that_asked_in_vain_waits_twice_as_long_each_time_up_to_an_hour() -> None:
    group = Group()
    asked = [now for now in range(0, 20_000, 10) if group.due(float(now))]
    waits = [after - before for before, after in pairwise(asked)]
    assert waits[:5] == [300, 600, 1200, 2400, 3600]
    assert set(waits[5:]) == {LONGEST_REST}


def test_a_change_ends_the_waiting() -> None:
    group = Group()
    for now in range(0, 2000, 10):
        group.due(float(now))
    group.age = REST + MARGIN  # what was asked at 900 s has moved something at 1,700 s
    assert group.due(1700 + REST + MARGIN)


async def test_a_consumer_that_is_asked_to_joins_its_group_again() -> None:
    """Pins what is used of the client: it waits for a future that this sets."""
    coordinator: Any = SimpleNamespace(_rejoin_needed_fut=asyncio.get_running_loop().create_future())
    coordinator.request_rejoin = GroupCoordinator.request_rejoin.__get__(coordinator)
    rebalance(SimpleNamespace(_coordinator=coordinator))
    rebalance(SimpleNamespace(_coordinator=coordinator))
    assert GroupCoordinator.need_rejoin(
        coordinator, SimpleNamespace(assignment=object(), partitions_auto_assigned=lambda: True)
    )
    assert "_coordinator" in AIOKafkaConsumer.__init__.__code__.co_names
