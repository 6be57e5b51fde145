"""A lane must neither skip nor repeat a record, whatever a stream brings between a seek and its effect."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("faust", reason="needs the extra `faust`")

from stream_anon.hosts.faust.lane import Lane


def lane_at(offset: int) -> Lane:
    lane = Lane(0, ("people", 0), read=True)
    lane.aim(offset, 0.0)
    return lane


def bring(lane: Lane, *offsets: int) -> list[int]:
    return [offset for offset in offsets if lane.take(offset, b"", 0)]


def test_records_after_a_hole_are_taken() -> None:
    # A committed offset often points at a transaction's marker, which is no record.
    lane = lane_at(5)
    assert bring(lane, 6, 7, 10) == [6, 7, 10]
    chunk = lane.chunk()
    assert (chunk.first, chunk.offsets.tolist(), chunk.end) == (5, [6, 7, 10], 11)


def test_records_that_are_read_again_are_not_taken_again() -> None:
    lane = lane_at(5)
    assert bring(lane, 3, 4, 5, 6, 4, 5, 6, 7) == [5, 6, 7]


def test_records_on_their_way_during_a_seek_back_do_not_hide_those_before_them() -> None:
    lane = lane_at(0)
    bring(lane, 0, 1, 2, 3, 4)
    lane.aim(1, 0.0)
    assert bring(lane, 5, 6) == []  # fetched before the seek
    assert bring(lane, 1, 2, 3) == [1, 2, 3]


def test_a_seek_is_done_only_when_its_first_record_arrives() -> None:
    # Faust drops what lies below the last record that it handed on, and may note that one after the seek.
    lane = lane_at(0)
    bring(lane, 0, 1, 2, 3, 4)
    lane.aim(1, 0.0)
    assert bring(lane, 4, 5) == []
    lane.aim_again(1.0)
    assert bring(lane, 1, 2) == [1, 2]


def test_going_back_by_one_record_does_not_wait_for_ever() -> None:
    lane = lane_at(0)
    bring(lane, 0, 1)
    lane.aim(1, 0.0)
    bring(lane, 1, 2)
    lane.aim_again(1.0)
    assert bring(lane, 1, 2) == [1, 2]


def test_a_generation_that_is_over_has_no_say_in_the_next() -> None:
    lane = lane_at(0)
    bring(lane, 0, 1, 2)
    lane.begin_anew()
    lane.aim(1, 0.0)
    lane.read = True
    assert bring(lane, 2) == [2]  # offset 1 is no record: nothing of before can arrive


def test_records_that_were_deleted_are_told_as_lost() -> None:
    lane = lane_at(0)
    bring(lane, 0, 1, 4, 9)
    assert lane.hole == 5
    assert lane.cut(2) is None
    assert lane.cut(6) == 2
    assert lane.chunk().offsets.tolist() == [0, 1]
    assert lane.next == 2


# A reader of a log with holes: what it fetched is on its way, a seek moves only where it fetches next.
steps = st.lists(
    st.one_of(
        st.tuples(st.just("fetch"), st.integers(1, 6)),
        st.tuples(st.just("arrive"), st.integers(1, 8)),
        st.tuples(st.just("aim"), st.integers(0, 30)),
        st.tuples(st.just("again"), st.just(0)),
        st.tuples(st.just("faust"), st.integers(0, 30)),  # a seek of Faust's own, to what is committed
    ),
    max_size=40,
)


@given(log=st.sets(st.integers(0, 30), min_size=10), steps=steps)
@settings(max_examples=150)
def test_no_record_is_skipped_or_repeated(log: set[int], steps: list[tuple[str, int]]) -> None:
    lane, position, aimed = lane_at(0), 0, 0
    under_way: deque[int] = deque()
    taken: list[int] = []

    def fetch(count: int) -> None:
        nonlocal position
        found = sorted(offset for offset in log if offset >= position)[:count]
        under_way.extend(found)
        position = found[-1] + 1 if found else position

    for step, number in steps:
        if step == "fetch":
            fetch(number)
        elif step == "arrive":
            for _ in range(min(number, len(under_way))):
                taken += bring(lane, under_way.popleft())
        elif step == "aim":
            lane.aim(number, 0.0)
            position, aimed, taken = number, number, []
        elif step == "again" and not lane.joined:
            lane.aim_again(1.0)
            position = aimed
        elif step == "faust":
            position = min(number, aimed, position)  # committed is never beyond what was aimed at
        expected = sorted(offset for offset in log if offset >= aimed)
        assert taken == expected[: len(taken)]
