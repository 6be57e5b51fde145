"""The bytes that members of a group exchange about their load."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.adapters.kafka.assigning.notes import (
    MOST_LOAD,
    MOST_SECONDS,
    LeaderNote,
    MemberNote,
    leader_note,
    member_note,
)

COUNTS = st.integers(0, 65_535)
AGES = st.floats(0, MOST_SECONDS) | st.just(math.inf)
NOTES = st.builds(
    MemberNote,
    st.none() | st.floats(0, 1),
    st.lists(st.floats(0, MOST_LOAD), max_size=5),
    COUNTS,
    AGES,
    st.booleans(),
    st.integers(0, 2**32 - 1),
)


@given(NOTES, st.binary(max_size=5))
def test_a_member_note_is_read_as_it_was_meant_whatever_a_later_version_appends(
    note: MemberNote, more: bytes
) -> None:
    found = member_note(note.written() + more)
    assert found is not None
    assert (found.busy is None) == (note.busy is None)
    assert (found.busy or 0.0) == pytest.approx(note.busy or 0.0, abs=0.0006)
    assert list(found.loads) == pytest.approx(list(note.loads), rel=1e-6)
    assert (found.carriers, found.aside, found.revision) == (note.carriers, note.aside, note.revision)
    assert found.age == pytest.approx(note.age, abs=0.0006)


@given(COUNTS, COUNTS, AGES)
def test_a_leader_note_is_read_as_it_was_meant(members: int, carriers: int, age: float) -> None:
    found = leader_note(LeaderNote(members, carriers, age).written())
    assert found is not None
    assert (found.members, found.carriers) == (members, carriers)
    assert found.age == pytest.approx(age, abs=0.0006)


@given(NOTES, st.integers(1, 100))
def test_a_note_that_is_cut_off_is_none(note: MemberNote, missing: int) -> None:
    whole = note.written()
    assert member_note(whole[: max(len(whole) - missing, 0)]) is None
    assert leader_note(LeaderNote(3, 1).written()[:-missing]) is None


@pytest.mark.parametrize("place", range(4))
def test_a_note_of_another_version_or_mark_is_none(place: int) -> None:
    for read, whole in ((member_note, MemberNote().written()), (leader_note, LeaderNote(3, 1).written())):
        assert read(whole[:place] + bytes([whole[place] + 1]) + whole[place + 1 :]) is None


@given(st.binary(max_size=60))
def test_whatever_comes_is_a_note_within_bounds_or_none(data: bytes) -> None:
    for tried in (data, MemberNote().written()[:4] + data):
        note = member_note(tried)
        assert note is None or (all(0 <= load < 66 for load in note.loads) and (note.busy or 0.0) <= 1)


@pytest.mark.parametrize("partitions", [300, 2000, 4000])
def test_the_loads_of_many_partitions_arrive_as_they_are(partitions: int) -> None:
    found = member_note(MemberNote(0.9, [0.9 / partitions] * partitions).written())
    assert found is not None
    assert math.fsum(found.loads) == pytest.approx(0.9, rel=1e-6)


@pytest.mark.parametrize("load", [math.nan, math.inf, -math.inf, -0.1, 2 * MOST_LOAD])
def test_a_load_that_is_none_makes_the_note_none(load: float) -> None:
    whole = MemberNote(0.9, [0.5]).written()
    assert member_note(whole[:-4] + struct.pack(">f", load)) is None


def test_what_is_too_large_becomes_the_largest_that_can_be_told() -> None:
    found = member_note(MemberNote(2.0, [1e9, -1.0], 10**9, 1e12, revision=2**40).written())
    assert found == MemberNote(1.0, (MOST_LOAD, 0.0), 65_535, MOST_SECONDS, revision=2**32 - 1)
