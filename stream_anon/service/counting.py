"""Count how often people are released: in memory, into a topic, and out of it when a partition is taken over."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from stream_anon.engine.release_counts import SourceCounts
from stream_anon.engine.returning import Returns
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.release import CountedRelease, Release
from stream_anon.ports import Clock, Parcel, Place
from stream_anon.ports.release_history import ReleaseHistory, entries_of
from stream_anon.service.events import Listener, PeopleScattered

_TOLD_EVERY = 3600.0


@dataclass
class Counting:
    """How a worker counts releases of people.

    Parameters
    ----------
    history
        What is out.
    topic, key
        Where it is noted who was released, and the name of the key that pseudonyms follow from.
    """

    returns: Returns
    history: ReleaseHistory
    topic: str
    key: bytes
    clock: Clock
    tell: Listener
    _told: float | None = None

    async def of(self, places: Collection[Place]) -> Mapping[Place, SourceCounts]:
        """Return the counts of partitions that are taken over. Raises BrokerError as the history does."""
        counts = {place: self.returns.empty() for place in places}
        await self.history.read(places, lambda place, released: counts[place].take(released))
        return counts

    def parcels(
        self, counted: CountedRelease, places: Sequence[Place], time: int, headers: tuple[tuple[str, bytes], ...]
    ) -> list[Parcel]:
        """Return what is noted of one window; its sources are numbered as in `places`."""
        return [
            Parcel(self.topic, places[source][1], entries, time, headers)
            for source, people in counted.released.items()
            if (entries := list(entries_of(people, self.key)))
        ]

    def settle(self, window: SealedWindow, release: Release) -> None:
        """Note that a window is out; tell now and then if its people come from several partitions."""
        if release.people is None:
            return
        self.returns.settle(window, release.people)
        now = self.clock.monotonic()
        if release.people.scattered and (self._told is None or now - self._told >= _TOLD_EVERY):
            self._told = now
            self.tell(PeopleScattered(release.people.scattered))
