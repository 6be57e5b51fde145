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
        self.age, self.answered = math.inf, -math.inf
        self.busy, self.load = busy, busy
        self.asking = Asking(self)  # type: ignore[arg-type]

    def due(self, now: float, partitions: int = 2, *, aside: bool = False) -> bool:
        return self.asking.due(now, self, partitions, aside=aside)  # type: ignore[arg-type]

    def tell(self) -> None:
        self.asking.tell(self, 2, aside=False)  # type: ignore[arg-type]


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


def test_an_answer_that_another_member_asked_for_counts_for_all_who_wanted_to_ask() -> None:
    group = Group()
    group.tell()
    group.answered = 1000.0
    assert not group.due(1001.0)
    assert not group.due(1000.0 + REST - 1)
    group.tell()
    group.answered = 1000.0 + REST  # to another one, a moment before this one would ask
    assert not group.due(1001.0 + REST)
    assert not group.due(1000.0 + 3 * REST - 1)
    assert group.due(1000.0 + 3 * REST)


def test_an_answer_to_a_question_that_a_member_did_not_have_is_none() -> None:
    group = Group(busy=0.5)
    group.tell()
    group.answered, group.load = 999.0, 0.9
    assert group.due(1000.0)


def test_answers_in_quick_succession_make_a_member_wait_no_longer_than_one() -> None:
    """As many workers are replaced one after another."""
    group = Group()
    assert group.due(1000.0)
    for now in range(1002, 1100, 2):
        group.tell()
        group.answered = float(now)
        assert not group.due(float(now + 1))
    assert group.due(1000.0 + REST)


def test_a_member_that_what_waits_overloads_asks_though_it_was_not_busy() -> None:
    group = Group(busy=0.5)
    group.load = 0.7
    assert group.due(60.0)


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
