"""A Faust app's stream as the worker's source: the consumer's records, and its group's decisions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping

from stream_anon.adapters.kafka.reading.assignment import Marks
from stream_anon.errors import BrokerError
from stream_anon.hosts.faust.group import FaustGroup
from stream_anon.hosts.faust.lane import Lane
from stream_anon.ports import Clock, DeadClient, GroupView, Held, Lost, Membership, Place, Polled

MOST_WAITING = 20_000  # records that were taken from the stream and not yet polled
LINGER = 0.1  # seconds: a stream brings single records, and a turn of the worker costs as much as many of them
SEEK_AGAIN = 1.0
GIVE_UP = 15.0


class FaustSource(Marks):
    """A member of the app's consumer group; see `ports.Source`.

    The app's signals tell about the group, and the agent hands over every record. The agent waits while a takeover
    is pending. A record carries the group's generation in which it was fetched; records of an older one are
    dropped. The app is never told to pause, for it would drop what it has fetched.

    Parameters
    ----------
    topics
        The input; the app may read others too.
    """

    def __init__(self, group: FaustGroup, topics: Collection[str], clock: Clock) -> None:
        super().__init__()
        self._group = group
        self._topics = frozenset(topics)
        self._clock = clock
        self._lanes: dict[Place, Lane] = {}
        self._numbered: list[Lane] = []
        self._given: frozenset[int] | None = None
        self._generation: int | None = None
        self._held = True
        self._waiting = 0
        self._came, self._go = asyncio.Event(), asyncio.Event()
        self._seeks: dict[int, asyncio.Task[None]] = {}

    # -- what the app tells ----------------------------------------------------------------------------------

    def revoked(self) -> None:
        """Note that the group takes all partitions back, to give some of them anew."""
        self._group.read_committed()  # before the first fetch: the first revocation precedes the first assignment
        self._given = None
        self._mark(frozenset(), settled=False)

    def assigned_now(self, places: Collection[Place], generation: int) -> None:
        """Note which partitions the group gave."""
        self._generation = generation
        for lane in self._numbered:
            lane.begin_anew()
        self._given = frozenset(self._lane(place).number for place in sorted(places) if place[0] in self._topics)
        self._mark(self._given, settled=True)

    def take(self, place: Place, offset: int, value: bytes | None, time: int, generation: int | None) -> bool:
        """Take a record, or drop it; return False if it must wait.

        Parameters
        ----------
        time
            The broker's, in milliseconds since the epoch.
        generation
            The generation of the group in which the record was fetched.
        """
        if self._held or self._waiting >= MOST_WAITING:
            return False
        lane = self._lanes.get(place)
        if lane is not None and generation == self._generation and lane.take(offset, value, time):
            self._waiting += 1
            if self._waiting == 1:
                self._came.set()
        return True

    async def feed(self, place: Place, offset: int, value: bytes | None, time: int, generation: int | None) -> None:
        """Take a record once there is room for it and no takeover is pending."""
        while not self.take(place, offset, value, time, generation):
            self._go.clear()
            await self._go.wait()

    def _lane(self, place: Place) -> Lane:
        if place not in self._lanes:
            lane = self._lanes[place] = Lane(len(self._numbered), place)
            self._numbered.append(lane)
        return self._lanes[place]

    def _mark(self, assigned: frozenset[int], *, settled: bool) -> None:
        self._held = True
        for lane in self._numbered:
            lane.read = False
            lane.drop()
        self._waiting = 0
        super()._mark(assigned, settled=settled)

    # -- what the worker asks --------------------------------------------------------------------------------

    def place(self, source: int) -> Place:
        """See `ports.Source`."""
        return self._numbered[source].place

    def membership(self) -> Membership | None:
        """See `ports.Source`."""
        return self._group.membership()

    async def start(self) -> None:
        """See `ports.Source`. The app joins by itself, so this returns to the group's last word."""
        self._mark(self._given or frozenset(), settled=self._given is not None)

    async def poll(self, wait: float, most: int) -> Polled:
        """See `ports.Source`. Returns all waiting records, since a lane is not read in parts."""
        self._look_at_seeks()
        if not self._waiting:
            self._came.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._came.wait()
        if self._waiting < most:
            await asyncio.sleep(min(LINGER, wait))
        marks = self._marks
        lost = await self._lost()
        if self._marks != marks:
            return Polled()
        chunks = tuple(lane.chunk() for lane in self._numbered if len(lane))
        self._waiting = 0
        self._go.set()
        return Polled(chunks, lost)

    async def _lost(self) -> tuple[Lost, ...]:
        """Return where records were deleted before they were read.

        The app's consumer silently goes on at the first record that is left, which shows as a hole.
        """
        holed = {lane.place: lane for lane in self._numbered if lane.hole is not None}
        if not holed:
            return ()
        earliest = await self._group.bounds(holed.keys(), "earliest")
        cuts = ((lane.number, lane.cut(earliest[place])) for place, lane in holed.items())
        return tuple(Lost(number, begin) for number, begin in cuts if begin is not None)

    def seek(self, source: int, offset: int) -> None:
        """See `ports.Source`."""
        if source not in self._assigned:
            raise BrokerError("seeking: the partition is not ours any more")
        lane = self._numbered[source]
        lane.aim(offset, self._clock.monotonic())
        self._ask(lane)

    def _ask(self, lane: Lane) -> None:
        self._seeks[lane.number] = asyncio.create_task(self._group.seek(lane.place, lane.next))

    def _look_at_seeks(self) -> None:
        """Raise the error of a seek; seek again if nothing shows that a seek was done.

        A record that was on its way during a seek can make Faust drop those before it.
        """
        for number, task in list(self._seeks.items()):
            if task.done():
                del self._seeks[number]
                task.result()
        now = self._clock.monotonic()
        for lane in self._numbered:
            if lane.read and not lane.joined and now - lane.asked > SEEK_AGAIN and lane.number not in self._seeks:
                if now - lane.sought > GIVE_UP:
                    raise DeadClient("seeking: nothing came of it")
                lane.aim_again(now)
                self._ask(lane)

    def pause(self, sources: Collection[int]) -> None:
        """See `ports.Source`. Records of these partitions are dropped."""
        for source in sources:
            lane = self._numbered[source]
            lane.read = False
            self._waiting -= len(lane)
            lane.drop()

    def resume(self, sources: Collection[int]) -> None:
        """See `ports.Source`. This is the last step of a takeover, so the agent need not wait any more."""
        for source in sources:
            self._numbered[source].read = True
        self._held = False
        self._go.set()

    async def bounds(self, sources: Collection[int], start: str) -> Mapping[int, int]:
        """See `ports.Source`."""
        places = {self._numbered[source].place: source for source in sources}
        answer = await self._group.bounds(places.keys(), start)
        return {number: answer[place] for place, number in places.items()}

    def lag(self, sources: Collection[int]) -> int | None:
        """See `ports.Source`."""
        total = 0
        for source in self._assigned.intersection(sources):
            lane = self._numbered[source]
            end = self._group.end(lane.place)
            if end is None:
                return None
            total += max(end - lane.first, 0)
        return total

    def held(self, sources: Collection[int]) -> Held:  # noqa: ARG002
        """See `ports.Source`. The app's consumer does not report it."""
        return Held()

    async def reachable(self) -> bool:
        """See `ports.Source`."""
        return await self._group.reachable()

    def view(self) -> GroupView:
        """See `ports.Source`. The group is the app's, and workers of the app own what this source does not."""
        return GroupView({})

    async def stop(self, within: float) -> None:  # noqa: ARG002 - the app leaves the group by itself
        """See `ports.Source`."""
        self._mark(frozenset(), settled=False)
        seeks = list(self._seeks.values())
        self._seeks.clear()
        for task in seeks:
            task.cancel()
        await asyncio.gather(*seeks, return_exceptions=True)
