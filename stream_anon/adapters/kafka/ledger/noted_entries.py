"""What has been read of the ledger: the last record of each key counts, whether it is an entry or not."""

from __future__ import annotations

from collections.abc import Mapping

from aiokafka import ConsumerRecord

from stream_anon.adapters.kafka.ledger.entry_format import entry_of, place_of
from stream_anon.errors import Overtaken, TopicError
from stream_anon.ports import LedgerEntry, Place, newest_revision


class NotedEntries:
    """The entries of a ledger's topic, and those of one that was deleted.

    Attributes
    ----------
    current
        The last entry of each input partition.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.current: dict[Place, LedgerEntry] = {}
        self._remembered: dict[Place, LedgerEntry] = {}  # of a topic that was deleted
        self._strange: dict[bytes, str] = {}  # by key, if the last record of the key is no entry

    def begin(self) -> None:
        """Forget what was read of the topic, which is read from its start."""
        self.current.clear()
        self._strange.clear()

    def remember(self) -> None:
        """Keep the entries of a topic that is gone: no window can be released without it, so they still hold."""
        self._remembered |= self.current
        self.current.clear()

    def take(self, record: ConsumerRecord) -> None:
        """Take note of a record."""
        if record.key is None:  # a compacted topic takes none
            return
        self._strange.pop(record.key, None)
        try:
            place = place_of(record.key)
            if record.value is None:  # a tombstone, written by `stream-anon forget`
                self.current.pop(place, None)
                self._remembered.pop(place, None)
            else:
                self.current[place] = entry_of(record.value)
        except (ValueError, TypeError, KeyError, RecursionError):
            if record.value is not None:
                # It is not skipped: if an entry was meant, records could be released twice without it.
                self._strange[record.key] = f"{record.topic}-{record.partition}, offset {record.offset}"

    def remembered(self) -> Mapping[Place, LedgerEntry]:
        """Return the entries of a deleted topic, except those that were written again."""
        return {place: entry for place, entry in self._remembered.items() if place not in self.current}

    def holds(self, batch: str) -> bool:
        """Return whether a partition's last entry is of this window."""
        return any(entry.batch == batch for entry in self._all())

    def _all(self) -> list[LedgerEntry]:
        return [*self.current.values(), *self.remembered().values()]

    def raise_if_strange(self) -> None:
        """Raise TopicError if the last record of a key is no entry."""
        if self._strange:
            raise TopicError(
                f"{next(iter(self._strange.values()))}: is not a ledger entry: somebody else has written "
                "to this topic. Nothing is taken over until an entry or an empty record with the same key follows"
            )

    def raise_if_overtaken(self, starts: Mapping[Place, int], revision: int) -> None:
        """Raise Overtaken if records from `starts` on were released, or any records under a higher revision."""
        newest = newest_revision(self._all())
        if newest > revision:
            raise Overtaken(
                f"{self._topic} holds entries of revision {newest} of the policy, and this worker has revision "
                f"{revision}: it publishes nothing more"
            )
        for (topic, partition), start in starts.items():
            entry = self.current.get((topic, partition))
            if entry is not None and entry.next > start:
                raise Overtaken(
                    f"records of {topic}-{partition} from offset {start} on have been released by another consumer "
                    f"group that writes to the same output; its entries are in {self._topic}. One output takes one "
                    "group: stop one of them"
                )
