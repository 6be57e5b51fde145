"""Which members a packed group gives its partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stream_anon.adapters.kafka.assigning.packed import JOINED, OVERLOADED, UNDERLOADED, KnownMember, Packed, packed
from stream_anon.ports import Place

TOPIC = frozenset({"people"})
PLACES = [("people", number) for number in range(6)]


def member(holds: str = "", load: float | None = None, carriers: int = 1, **more: float) -> KnownMember:
    """Return a member that holds the partitions with these numbers, each with an equal part of its load."""
    places = [("people", int(number)) for number in holds]
    loads = {} if load is None else {place: load / len(places) for place in places}
    busy = None if load is None else min(load, 1.0)
    return KnownMember(TOPIC, frozenset(places), 5, more.get("busy", busy), loads, carriers)


def given_by(members: Mapping[str, KnownMember], *, may_change: bool = True) -> dict[str, str]:
    found = packed(members, PLACES, may_change=may_change)
    return {name: "".join(str(number) for _, number in sorted(places)) for name, places in found.given.items()}


def test_members_that_know_nothing_give_all_to_one() -> None:
    assert given_by({name: KnownMember(TOPIC) for name in "cab"}) == {"a": "012345", "b": "", "c": ""}


def test_what_a_lost_member_had_goes_to_one_that_stands_by() -> None:
    members = {"a": member("01", 0.5, 2), "b": member("", carriers=2), "c": member("", carriers=2)}
    assert given_by(members) == {"a": "01", "b": "2345", "c": ""}


def test_two_lost_members_are_replaced_by_two() -> None:
    members = {"a": member("01", 0.5, 3), "b": member("", carriers=3), "c": member("", carriers=3)}
    assert given_by(members) == {"a": "01", "b": "24", "c": "35"}


def test_without_one_that_stands_by_the_least_loaded_take_what_a_lost_member_had() -> None:
    assert given_by({"a": member("0", 0.3, 3), "b": member("12", 0.2, 3)}) == {"a": "04", "b": "1235"}


def test_new_partitions_wake_nobody_who_stands_by() -> None:
    assert given_by({"a": member("012", 0.4), "b": member("")}) == {"a": "012345", "b": ""}


def test_a_member_that_comes_back_takes_nothing_from_others() -> None:
    away = KnownMember(TOPIC, frozenset(PLACES[:3]), 4)
    assert given_by({"a": away, "b": member("012345", 0.5)}) == {"a": "", "b": "012345"}


def test_an_overloaded_member_gives_half_away() -> None:
    assert given_by({"a": member("012345", 0.7), "b": member("")}) == {"a": "024", "b": "135"}


def test_a_backlog_wakes_as_many_as_it_needs() -> None:
    members = {"a": member("012345", 1.7), **{name: member("") for name in "bcd"}}
    assert given_by(members) == {"a": "03", "b": "14", "c": "25", "d": ""}


def test_a_member_with_little_to_do_helps_before_one_that_stands_by() -> None:
    members = {"a": member("0123", 0.7, 2), "b": member("45", 0.1, 2), "c": member("", carriers=2)}
    assert given_by(members) == {"a": "02", "b": "1345", "c": ""}


def test_a_member_whose_backlog_overloads_it_is_relieved_though_it_was_not_busy() -> None:
    assert given_by({"a": member("012345", 0.7, busy=0.5), "b": member("")}) == {"a": "024", "b": "135"}


def test_a_member_that_was_busy_is_never_joined_up() -> None:
    members = {"a": member("012", 0.15, 2, busy=0.3), "b": member("345", 0.1, 2)}
    assert given_by(members) == {"a": "012", "b": "345"}


def test_halves_are_equal_in_load_and_not_in_number() -> None:
    places = dict(zip(PLACES, (0.5, 0.06, 0.06, 0.06, 0.06, 0.06), strict=True))
    heavy = KnownMember(TOPIC, frozenset(PLACES), 5, 0.8, places, 1)
    assert given_by({"a": heavy, "b": member("")}) == {"a": "0", "b": "12345"}


def test_one_partition_that_is_nearly_all_of_the_load_moves_nothing() -> None:
    places = dict(zip(PLACES, (0.9, *(0.01,) * 5), strict=True))
    heavy = KnownMember(TOPIC, frozenset(PLACES), 5, 0.95, places, 1)
    assert given_by({"a": heavy, "b": member("")}) == {"a": "012345", "b": ""}


def test_members_with_little_to_do_are_joined_up() -> None:
    members = {"a": member("01", 0.1, 3), "b": member("23", 0.15, 3), "c": member("45", 0.3, 3)}
    assert given_by(members) == {"a": "", "b": "0123", "c": "45"}


def test_one_member_with_little_to_do_stays_as_it_is() -> None:
    members = {"a": member("012", 0.1, 2), "b": member("345", 0.5, 2)}
    assert given_by(members) == {"a": "012", "b": "345"}


def test_those_who_stand_aside_give_all_to_others_and_the_newest_policy_is_woken_first() -> None:
    old = replace(member("012345", 0.4), aside=True)
    members = {
        "a": old,
        "b": replace(member(""), aside=True),
        "c": member(""),
        "d": replace(member(""), revision=2),
    }
    assert given_by(members, may_change=False) == {"a": "", "b": "", "c": "", "d": "012345"}
    assert given_by({"a": old, "b": members["b"]}) == {"a": "012345", "b": ""}


@pytest.mark.parametrize("loads", [(0.9, 0.0), (0.1, 0.1)])
def test_load_changes_nothing_before_its_time(loads: tuple[float, float]) -> None:
    members = {"a": member("012", loads[0], 2), "b": member("345", loads[1], 2)}
    assert given_by(members, may_change=False) == {"a": "012", "b": "345"}


def test_a_member_whose_partitions_are_new_to_it_is_left_in_peace() -> None:
    members = {"a": member("012", None, 2), "b": member("345", 0.1, 2), "c": member("", busy=1.0)}
    assert given_by(members) == {"a": "012", "b": "345", "c": ""}


@st.composite
def groups(draw: st.DrawFn) -> tuple[dict[str, KnownMember], list[Place]]:
    """Draw members that may claim what others claim, or what does not exist, with loads of any size."""
    places = [(topic, number) for topic in ("people", "visits") for number in range(draw(st.integers(0, 5)))]
    members = {}
    for name in draw(st.lists(st.sampled_from("abcdef"), unique=True, min_size=1)):
        topics = frozenset(draw(st.sets(st.sampled_from(["people", "visits"]), min_size=1)))
        holds = draw(st.frozensets(st.sampled_from([*places, ("gone", 0)])))
        loads = {place: draw(st.floats(0, 3)) for place in sorted(holds)} if draw(st.booleans()) else {}
        busy = draw(st.none() | st.floats(0, 1))
        figures = draw(st.integers(-1, 3)), busy, loads, draw(st.integers(0, 6))
        members[name] = KnownMember(topics, holds, *figures, draw(st.booleans()), draw(st.integers(0, 2)))
    return members, places


def settled(members: Mapping[str, KnownMember], found: Packed) -> dict[str, KnownMember]:
    """Return the members as they are once they have what they were given, and have measured it."""
    loads = {place: load for member in members.values() for place, load in member.loads.items()}
    after = {}
    for name, places in found.given.items():
        own = {place: loads.get(place, 0.3) for place in places}
        after[name] = KnownMember(members[name].topics, places, 9, min(sum(own.values()), 1.0), own, found.carriers)
    return after


@given(groups(), st.booleans())
def test_each_partition_goes_to_one_member_that_reads_its_topic(
    group: tuple[dict[str, KnownMember], list[Place]], may_change: bool
) -> None:
    members, places = group
    found = packed(members, places, may_change=may_change)
    assert found.given.keys() == members.keys()
    assert all(topic in members[name].topics for name, own in found.given.items() for topic, _ in own)
    given_away = sorted(place for own in found.given.values() for place in own)
    assert given_away == [p for p in sorted(places) if any(p[0] in member.topics for member in members.values())]


@given(groups(), st.randoms(use_true_random=False))
def test_the_order_of_members_and_partitions_does_not_matter(
    group: tuple[dict[str, KnownMember], list[Place]], chance: object
) -> None:
    members, places = group
    names, mixed = list(members), list(places)
    chance.shuffle(names)  # type: ignore[attr-defined]
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert packed({name: members[name] for name in names}, mixed, may_change=True) == packed(
        members, places, may_change=True
    )


@given(groups())
def test_who_has_a_partition_keeps_it_unless_load_changes_the_group(
    group: tuple[dict[str, KnownMember], list[Place]],
) -> None:
    members, places = group
    first = packed(members, places, may_change=False)
    assert not first.changed
    after = settled(members, first)
    assert packed(after, places, may_change=False).given == first.given
    second = packed(after, places, may_change=True)
    assert second.changed == (second.given != first.given)


@given(groups())
def test_a_change_relieves_the_busiest_or_joins_members_up_to_a_bound(
    group: tuple[dict[str, KnownMember], list[Place]],
) -> None:
    members, places = group
    before = settled(members, packed(members, places, may_change=False))
    found = packed(before, places, may_change=True)
    assume(found.changed)
    after = settled(before, found)
    gave = [name for name in before if before[name].holds - after[name].holds]
    took = [name for name in before if after[name].holds - before[name].holds]
    # Loads travel with partitions, so none of them is unknown.
    for name in gave:
        overloaded = (before[name].load or 0.0) > OVERLOADED
        underloaded = (before[name].load or 0.0) < UNDERLOADED
        assert overloaded or (underloaded and not after[name].holds)
    most = max(before[name].load or 0.0 for name in (*gave, *took))
    assert max(after[name].load or 0.0 for name in took) <= max(most, JOINED + 1e-9)


@given(groups())
def test_changes_come_to_an_end(group: tuple[dict[str, KnownMember], list[Place]]) -> None:
    members, places = group
    found = packed(members, places, may_change=False)
    for _ in range(12):
        members = settled(members, found)
        found = packed(members, places, may_change=True)
        if not found.changed:
            return
    raise AssertionError("the group never rests")
