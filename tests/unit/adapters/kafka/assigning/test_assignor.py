"""What members of a group tell each other through the client's protocol, and what the leader makes of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import TopicPartition
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.adapters.kafka.assigning.asking import Asking
from stream_anon.adapters.kafka.assigning.assignor import REST, Assignor, Told
from stream_anon.adapters.kafka.assigning.notes import LeaderNote

TOPIC = "people"
PARTITIONS = 4


class Cluster:
    """What the leader knows of the topics."""

    def topics(self) -> set[str]:
        return {TOPIC}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(PARTITIONS)) if topic == TOPIC else None


class Earlier:
    """The assignor of a worker that knows no notes."""

    def __init__(self) -> None:
        own = cast("Any", type("Sticky", (StickyPartitionAssignor,), {}))
        self.metadata: Callable[..., Any] = own.metadata
        self.assign: Callable[..., Any] = own.assign
        self.on_assignment: Callable[..., Any] = own.on_assignment
        self.on_generation_assignment: Callable[..., Any] = own.on_generation_assignment


class Group:
    """Members whose messages go through bytes, as they do in Kafka; the first one leads."""

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}
        self.now, self.generation = 1000.0, 0
        self.loads: dict[str, float] = {}

    def join(self, name: str, kind: str = "packed") -> None:
        spread = kind == "spread"
        self.members[name] = (
            Earlier() if kind == "earlier" else Assignor(lambda: self.now, None if spread else self._telling(name))
        )

    def _telling(self, name: str) -> Callable[[], Told]:
        def told() -> Told:
            load = self.loads.get(name)
            places = self.held.get(name, [])
            loads = {} if load is None else {(TOPIC, n): load / len(places) for n in places}
            return Told(None if load is None else min(load, 1.0), loads)

        self.held: dict[str, list[int]] = getattr(self, "held", {})
        return told

    def rebalance(self, junk: Mapping[str, bytes] | None = None) -> dict[str, list[int]]:
        told = {
            name: ConsumerProtocolMemberMetadata.decode(member.metadata({TOPIC}).encode())
            for name, member in self.members.items()
        }
        for name, data in (junk or {}).items():
            told[name] = ConsumerProtocolMemberMetadata(0, [TOPIC], data)
        found = next(iter(self.members.values())).assign(Cluster(), told)
        assert found.keys() == told.keys()
        self.generation += 1
        given_away: dict[str, list[int]] = {}
        for name in told:
            given_ = ConsumerProtocolMemberAssignment.decode(found[name].encode())
            given_away[name] = [place.partition for place in given_.partitions()]
            if name in self.members:
                self.members[name].on_assignment(given_)
                self.members[name].on_generation_assignment(self.generation)
        assert sorted(number for numbers in given_away.values() for number in numbers) == list(range(PARTITIONS))
        self.held = given_away
        return given_away


def sizes(given_away: Mapping[str, list[int]]) -> dict[str, int]:
    return {name: len(numbers) for name, numbers in given_away.items()}


@pytest.fixture
def group() -> Group:
    return Group()


def test_one_reads_all_and_the_others_know_it(group: Group) -> None:
    for name in "abc":
        group.join(name)
    assert sizes(group.rebalance()) == {"a": 4, "b": 0, "c": 0}
    assert {member.note for member in group.members.values()} == {LeaderNote(3, 1, math.inf)}


def test_load_changes_the_group_at_most_every_five_minutes_whoever_leads(group: Group) -> None:
    for name in "abc":
        group.join(name)
    group.rebalance()
    group.loads = {"a": 0.9}
    assert sizes(group.rebalance()) == {"a": 2, "b": 2, "c": 0}
    group.loads = {"a": 0.1, "b": 0.1}
    group.members = {"c": group.members.pop("c"), **group.members}
    group.now += REST - 1
    group.join("d")  # it knows of no change
    assert sizes(group.rebalance()) == {"a": 2, "b": 2, "c": 0, "d": 0}
    group.now += 1
    assert sorted(sizes(group.rebalance()).values()) == [0, 0, 0, 4]


@pytest.mark.parametrize("leader", ["earlier", "packed"])
@pytest.mark.parametrize("kind", ["earlier", "spread"])
def test_one_member_that_spreads_makes_the_group_spread_whoever_leads(group: Group, kind: str, leader: str) -> None:
    group.join("a", kind if leader == "earlier" else "packed")
    group.join("b", "packed" if leader == "earlier" else kind)
    assert sizes(group.rebalance()) == {"a": 2, "b": 2}
    assert group.members["b" if leader == "earlier" else "a"].note is None


def test_a_roll_out_spreads_until_the_last_earlier_worker_has_gone_and_packs_then(group: Group) -> None:
    group.join("a", "earlier")
    group.join("b", "earlier")
    assert sizes(group.rebalance()) == {"a": 2, "b": 2}
    group.join("c")
    before = group.rebalance()
    assert sorted(sizes(before).values()) == [1, 1, 2]
    del group.members["a"]
    group.join("d")
    assert sorted(sizes(group.rebalance()).values()) == [1, 1, 2]
    del group.members["b"]
    after = group.rebalance()
    assert group.members["c"].note == LeaderNote(2, 2)
    group.loads = {"c": 0.1, "d": 0.1}
    assert sorted(sizes(group.rebalance()).values()) == [0, 4]
    assert set(before["c"]) <= set(after["c"])
    group.join("e", "earlier")  # and back
    assert sorted(sizes(group.rebalance()).values()) == [1, 1, 2]
    assert group.members["c"].note is None


@given(st.binary(max_size=80))
def test_whatever_another_member_sends_each_partition_is_given_once(data: bytes) -> None:
    group = Group()
    group.join("a")
    group.join("b")
    group.rebalance()
    good = group.members["a"].metadata({TOPIC}).user_data
    for junk in (data, good[:-8] + data, good + data, b""):
        group.rebalance({"x": junk})


def test_a_member_that_was_away_claims_nothing_that_another_has_by_now(group: Group) -> None:
    group.join("a")
    group.join("b")
    group.rebalance()
    away = group.members.pop("a")
    assert sizes(group.rebalance()) == {"b": 4}
    group.members["a"] = away
    assert sizes(group.rebalance()) == {"b": 4, "a": 0}


def test_members_that_cannot_be_relieved_let_the_group_rebalance_as_rarely_as_one(group: Group) -> None:
    for name in "abcd":
        group.join(name, "spread")
    before = group.rebalance()
    assert sizes(before) == dict.fromkeys("abcd", 1)
    for name in "abcd":
        group.join(name)
        group.members[name]._sticky.member_assignment = [TopicPartition(TOPIC, n) for n in before[name]]
    assert sizes(group.rebalance()) == dict.fromkeys("abcd", 1)
    measured: Any = SimpleNamespace(busy=0.9, load=0.9)
    group.loads = dict.fromkeys("abcd", 0.9)
    asking = {name: Asking(member) for name, member in group.members.items()}
    asked = 0
    for now in range(2000, 2000 + 3600, 2):
        for number, name in enumerate("abcd"):
            group.now = now + number / 4
            if asking[name].due(group.now, measured, 2):
                asked += 1
                group.now += 1
                for each in asking.values():
                    each.tell(measured, 2, aside=False)
                assert sizes(group.rebalance()) == dict.fromkeys("abcd", 1)
    assert asked == 4  # at once, and after 5, 15 and 35 minutes


def test_a_member_notes_when_load_might_have_changed_the_group_and_did_not(group: Group) -> None:
    for name in "ab":
        group.join(name)
    group.rebalance()
    assert group.members["b"].answered == group.now
    group.loads = {"a": 0.9}
    group.now += 1
    group.rebalance()  # this changes it
    group.now += REST - 1
    group.rebalance()  # it is too early
    assert group.members["b"].answered == 1000.0
    group.now += 1
    group.loads = {"a": 0.5, "b": 0.5}
    group.rebalance()
    assert group.members["b"].answered == group.now


def test_the_name_is_that_of_earlier_workers() -> None:
    assert Assignor(lambda: 0.0, None).name == StickyPartitionAssignor.name == "sticky"


def test_the_client_keeps_the_places_that_a_member_claims_in_their_order() -> None:
    """Pins the form of the client's data: loads are told in the order of the places."""
    sticky: Any = type("Sticky", (StickyPartitionAssignor,), {})
    sticky.member_assignment = [TopicPartition("b", 1), TopicPartition("a", 3), TopicPartition("b", 0)]
    read = StickyPartitionAssignor.parse_member_metadata(sticky.metadata({"a", "b"}))
    assert read.partitions == [TopicPartition("b", 1), TopicPartition("b", 0), TopicPartition("a", 3)]
