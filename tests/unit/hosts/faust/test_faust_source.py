"""A stream as the worker's source: when it takes records, and what the worker learns of the group."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

import pytest

pytest.importorskip("faust", reason="needs the extra `faust`")

from stream_anon.errors import BrokerError
from stream_anon.hosts.faust.faust_source import GIVE_UP, MOST_WAITING, SEEK_AGAIN, FaustSource
from stream_anon.ports import DeadClient, Membership, Place
from tests.support.clock import FakeClock

PLACE = ("people", 0)


class FakeGroup:
    def __init__(self) -> None:
        self.seeks: list[tuple[Place, int]] = []
        self.earliest = 0
        self.committed_only = False
        self.broken = False

    def membership(self) -> Membership | None:
        return Membership(1, "me")

    def read_committed(self) -> None:
        self.committed_only = True

    async def seek(self, place: Place, offset: int) -> None:
        self.seeks.append((place, offset))
        if self.broken:
            raise BrokerError("seeking: IllegalStateError")

    async def bounds(self, places: Collection[Place], start: str) -> Mapping[Place, int]:
        return dict.fromkeys(places, self.earliest if start == "earliest" else 100)

    def end(self, place: Place) -> int | None:
        return 100

    async def reachable(self) -> bool:
        return True


class Stage:
    """A source with one partition that a takeover has opened at offset 0."""

    def __init__(self) -> None:
        self.group, self.clock = FakeGroup(), FakeClock()
        self.source = FaustSource(self.group, ["people"], self.clock)
        self.source.revoked()
        self.source.assigned_now([PLACE, ("other", 0)], 1)

    def take_over(self, offset: int = 0) -> None:
        self.source.seek(0, offset)
        self.source.resume([0])

    def bring(self, *offsets: int, generation: int = 1) -> list[bool]:
        return [self.source.take(PLACE, offset, b"%d" % offset, 1000, generation) for offset in offsets]

    async def poll(self) -> list[tuple[int, list[int]]]:
        polled = await self.source.poll(0.01, 1000)
        return [(chunk.first, chunk.offsets.tolist()) for chunk in polled.chunks]


async def test_topics_of_other_agents_are_left_alone() -> None:
    stage = Stage()
    assert stage.source.assigned == frozenset({0})
    assert stage.source.place(0) == PLACE
    assert stage.source.take(("other", 0), 0, b"", 0, 1) is False  # nobody took over yet: it waits


async def test_only_committed_records_are_fetched_from_the_first_assignment() -> None:
    group = FakeGroup()
    source = FaustSource(group, ["people"], FakeClock())
    source.revoked()
    assert group.committed_only


async def test_records_are_taken_only_after_the_takeover() -> None:
    stage = Stage()
    assert stage.bring(0) == [False]
    stage.take_over()
    assert stage.bring(0, 1) == [True, True]
    assert await stage.poll() == [(0, [0, 1])]
    assert await stage.poll() == []


async def test_waiting_agent_wakes_at_the_takeover() -> None:
    stage = Stage()
    feeding = asyncio.create_task(stage.source.feed(PLACE, 0, b"", 0, 1))
    await asyncio.sleep(0.01)
    assert not feeding.done()
    stage.take_over()
    await asyncio.wait_for(feeding, 10)
    assert await stage.poll() == [(0, [0])]


async def test_records_of_a_revoked_partition_do_not_reach_the_worker() -> None:
    stage = Stage()
    stage.take_over()
    stage.bring(0, 1)
    marks = stage.source.marks
    stage.source.revoked()
    assert stage.source.marks > marks
    assert not stage.source.settled
    assert not stage.source.assigned
    assert await stage.poll() == []


async def test_records_of_an_old_generation_enter_no_window() -> None:
    stage = Stage()
    stage.take_over()
    stage.source.revoked()
    stage.source.assigned_now([PLACE], 2)
    stage.take_over(0)
    stage.bring(0, generation=1)
    stage.bring(0, 1, generation=2)
    assert await stage.poll() == [(0, [0, 1])]


async def test_memory_is_bounded_while_the_worker_does_not_poll() -> None:
    stage = Stage()
    stage.take_over()
    assert all(stage.bring(*range(MOST_WAITING)))
    assert stage.bring(MOST_WAITING) == [False]
    feeding = asyncio.create_task(stage.source.feed(PLACE, MOST_WAITING, b"", 0, 1))
    await asyncio.sleep(0)
    assert not feeding.done()
    await stage.poll()
    await asyncio.wait_for(feeding, 10)


async def test_deleted_input_is_told_as_lost() -> None:
    stage = Stage()
    stage.take_over()
    stage.bring(0, 1, 5)
    stage.group.earliest = 4
    polled = await stage.source.poll(0.01, 1000)
    assert [chunk.offsets.tolist() for chunk in polled.chunks] == [[0, 1]]
    assert [(lost.source, lost.position) for lost in polled.lost] == [(0, 2)]


async def test_a_seek_that_failed_is_an_error() -> None:
    stage = Stage()
    stage.group.broken = True
    stage.take_over()
    await asyncio.sleep(0)
    with pytest.raises(BrokerError):
        await stage.poll()


async def test_a_seek_without_effect_is_tried_again_and_then_told() -> None:
    stage = Stage()
    stage.take_over()
    stage.bring(0, 1, 2, 3)
    stage.take_over(1)
    stage.bring(4)
    await stage.poll()
    stage.clock.advance(SEEK_AGAIN + 0.1)
    await stage.poll()
    await asyncio.sleep(0)
    assert stage.group.seeks == [(PLACE, 0), (PLACE, 1), (PLACE, 1)]
    stage.clock.advance(GIVE_UP)
    with pytest.raises(DeadClient):
        await stage.poll()


async def test_a_partition_that_was_stopped_gives_no_records() -> None:
    stage = Stage()
    stage.take_over()
    stage.bring(0)
    stage.source.pause([0])
    assert stage.bring(1) == [True]  # dropped, or the app's other topics would wait for it
    assert await stage.poll() == []


async def test_a_source_that_starts_again_forgets_what_the_group_gave() -> None:
    stage = Stage()
    await stage.source.stop(1.0)
    assert not stage.source.settled
    await stage.source.start()
    assert stage.source.settled
    assert stage.source.assigned == frozenset({0})
    assert stage.source.lag([0]) == 100
