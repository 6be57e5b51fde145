"""How a partition's committed offset compares with its ledger entry, as values that can be shown to a person."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from stream_anon.errors import SettingsError
from stream_anon.ports import LedgerEntry, Place
from stream_anon.settings.sections.kafka_settings import KafkaSettings


class OffsetStanding(StrEnum):
    """How a partition's committed offset compares with its ledger entry, and what a worker does then."""

    RECREATED = "topic was created anew: stopped"
    UNBACKED = "beyond the end of its input: stopped"
    REWOUND = "set back: stopped"
    MISSING = "no offset: goes on from the ledger"
    AGREES = "agrees with the ledger"
    AHEAD = "beyond the ledger: goes on there"
    NO_ENTRY = "not in the ledger"


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of a partition.

    Parameters
    ----------
    entry
        The ledger's: everything below was released or rejected.
    committed
        The group's.
    first
        The first offset that can still be read; None where it is not known.
    topic_id
        Kafka's id of the topic; None where it is not known.
    released_of
        The id of the topic that the entry speaks of; None where it names none.
    end
        The end of the input; None where it is not known.
    revision
        The entry's.
    """

    place: Place
    entry: int | None
    committed: int | None
    first: int | None = field(default=None, compare=False)
    topic_id: str | None = None
    released_of: str | None = None
    end: int | None = field(default=None, compare=False)
    revision: int = field(default=0, compare=False)

    @property
    def beginning(self) -> LedgerEntry:
        """Return the entry of a partition that begins anew: at its first record."""
        return LedgerEntry(self.first or 0, None, self.topic_id, self.revision)

    @property
    def standing(self) -> OffsetStanding:
        """Return how offset and entry stand to each other."""
        if self.entry is None:
            return OffsetStanding.NO_ENTRY
        if self.topic_id is not None and self.released_of is not None and self.topic_id != self.released_of:
            return OffsetStanding.RECREATED
        unbacked = self.end is not None and self.entry > self.end
        if self.committed is None:
            return OffsetStanding.UNBACKED if unbacked else OffsetStanding.MISSING
        if self.committed < self.entry:
            return OffsetStanding.UNBACKED if unbacked else OffsetStanding.REWOUND
        return OffsetStanding.AGREES if self.committed == self.entry else OffsetStanding.AHEAD

    def again(self, start: str) -> int:
        """Return how many records at the most would be released a second time without the entry.

        Parameters
        ----------
        start
            `kafka.start`: where a partition begins that has neither offset nor entry.
        """
        if self.entry is None or (self.committed is None and start == "latest"):
            return 0
        begin = max(self.committed or 0, self.first or 0)
        released = self.entry if self.end is None else min(self.entry, self.end)
        return max(released - begin, 0)


@dataclass(frozen=True, slots=True)
class Survey:
    """What a ledger, a group and its topics say at one moment.

    Parameters
    ----------
    start
        `kafka.start`.
    members
        Of the group: nothing is forgotten while there is any.
    accounts
        All that were asked for.
    chosen
        Those that there is something to forget of: set back, beyond the end of the input, or without an offset and
        asked for by name. With `recreated` those whose topic was created anew.
    recreated
        Whether the chosen ones begin at their topic's first record, instead of being forgotten.
    """

    group: str
    ledger: str
    start: str
    members: int
    accounts: tuple[Account, ...]
    chosen: tuple[Account, ...]
    recreated: bool = False

    @property
    def again(self) -> int:
        """Return how many records at the most would be released a second time."""
        return sum(account.again(self.start) for account in self.chosen)


@dataclass(frozen=True, slots=True)
class Question:
    """What to look at.

    Parameters
    ----------
    named
        Partitions asked for; none means all partitions of the input.
    recreated
        Whether it is about partitions whose topic was created anew.
    """

    kafka: KafkaSettings
    named: tuple[Place, ...] = ()
    recreated: bool = False


def parse_places(texts: Iterable[str]) -> tuple[Place, ...]:
    """Return partitions written as TOPIC:N, each once, in order.

    Raises
    ------
    SettingsError
        If a text is not of this form.
    """
    found: dict[Place, None] = {}
    for text in texts:
        match = re.fullmatch(r"([A-Za-z0-9._-]{1,249}):([0-9]{1,9})", text)
        if match is None:
            raise SettingsError("--partition", "must be a topic and a number, such as people:3")
        found[match[1], int(match[2])] = None
    return tuple(sorted(found))
