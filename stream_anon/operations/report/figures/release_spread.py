"""How many people were released once, twice and so on in a period of `privacy.returning`, by the topic of returns.

It names people by pseudonyms. These are counted, and nothing of them is shown.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from stream_anon.adapters.kafka.ledger.returns import KafkaReturns
from stream_anon.adapters.logs import silenced_libraries
from stream_anon.audit.scope import AuditScope
from stream_anon.engine.release_counts import ReleaseCounts
from stream_anon.errors import BrokerError
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.microdata.release import ReleasedPeople
from stream_anon.ports import Clock
from stream_anon.service.wiring.clients import connection_of
from stream_anon.settings.sections.kafka_settings import KafkaSettings

KEPT = 86_400.0  # seconds for which entries outlive their period, as `Topics.returns_kept` has it
_MOST_KEYS = 100  # further ones are those of a forger, and count as one


@dataclass(frozen=True, slots=True)
class ReleasesInPeriod:
    """How often people were released in a period.

    Parameters
    ----------
    begins, ends
        Seconds since the epoch.
    keys
        Of pseudonyms. With several of them whoever was released under two counts as two people.
    people
        How many there are by the number of windows that released them.
    """

    begins: float
    ends: float
    keys: int
    people: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class ReleasesFound:
    """What the topic of returns tells.

    Parameters
    ----------
    periods
        Those that overlap what was asked, and of which no entry is deleted yet; oldest first.
    unread
        Why there is none; empty if the topic was read.
    """

    periods: tuple[ReleasesInPeriod, ...] = ()
    unread: str = ""

    def beyond(self, most: int) -> int:
        """Return how many people were released more often in a period."""
        return sum(people for one in self.periods for times, people in one.people.items() if times > most)


class ReleaseSpread:
    """Counts people by how often they were released; at most 27 bytes a person and period.

    Parameters
    ----------
    bound
        What the policy allows.
    stretch
        Periods that do not overlap it are left out.
    now
        Seconds since the epoch; entries of periods that are over for a day may be deleted, and are left out.
    """

    def __init__(self, bound: ReturnBound, stretch: AuditScope, now: float) -> None:
        self._bound, self._stretch, self._now = bound, stretch, now
        self._counts: dict[tuple[int, bytes], ReleaseCounts] = {}

    def add(self, key: bytes, released: ReleasedPeople) -> None:
        """Count the people of an entry, under the key with this name."""
        number = self._bound.number_of(released.sealed)
        begins = number * self._bound.period
        ends = begins + self._bound.period
        asked = ends > self._stretch.since and begins < self._stretch.until
        if not asked or ends + KEPT <= self._now:
            return
        if (number, key) not in self._counts and len(self._counts) >= _MOST_KEYS:
            key = b""
        self._counts.setdefault((number, key), ReleaseCounts()).add(released.people)

    def found(self) -> tuple[ReleasesInPeriod, ...]:
        """Return what was counted, by period."""
        people: dict[int, Counter[int]] = {}
        keys = Counter(number for number, _ in self._counts)
        for (number, _), counts in self._counts.items():
            people.setdefault(number, Counter()).update(counts.spread())
        period = self._bound.period
        return tuple(
            ReleasesInPeriod(number * period, (number + 1) * period, keys[number], dict(sorted(own.items())))
            for number, own in sorted(people.items())
        )


def read_releases(kafka: KafkaSettings, bound: ReturnBound, stretch: AuditScope, clock: Clock) -> ReleasesFound:
    """Return what the topic of returns tells, or why it cannot be read: most users may not."""
    spread = ReleaseSpread(bound, stretch, clock.wall())
    history = KafkaReturns(connection_of(kafka), kafka.returns, b"")
    try:
        with silenced_libraries(clock):
            asyncio.run(history.read_all(spread.add))
    except BrokerError as error:
        return ReleasesFound(unread=str(error))
    found = spread.found()
    return ReleasesFound(
        found, "" if found else f"{kafka.returns}: holds nobody of a period that it still has whole"
    )
