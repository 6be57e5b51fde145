"""What the copied topics of MirrorMaker 2 say about the old cluster: released offsets and offset syncs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.reading.topic_reader import read_topic
from stream_anon.adapters.kafka.topics.cluster_view import ClusterView
from stream_anon.adapters.kafka.topics.offset_syncs import read_offset_syncs
from stream_anon.errors import BrokerError, CertificateError, TopicError
from stream_anon.operations.certificate_parts import part_or_document
from stream_anon.operations.ledger.mirrored_offsets import Sync
from stream_anon.ports import LedgerEntry, Place
from stream_anon.settings.kafka import KafkaSettings

_CERTIFICATES_WITHIN = 300.0


@dataclass(frozen=True, slots=True)
class MirrorOptions:
    """What the operator says of the mirror.

    Parameters
    ----------
    offset_syncs
        The topic of the offset syncs; None only with `to_end`.
    source_alias
        The old cluster's, where mirrored topics carry it as a prefix.
    exactly_once
        Whether the mirror ran with `exactly.once.source.support = enabled`.
    to_end
        Whether every mirrored partition goes on at its end, no matter what was released.
    """

    offset_syncs: str | None
    source_alias: str | None = None
    exactly_once: bool = False
    to_end: bool = False

    def mirrored(self, topic: str) -> str:
        """Return what a topic of the old cluster is called in the new one."""
        return topic if self.source_alias is None else f"{self.source_alias}.{topic}"

    def upstream(self, place: Place) -> Place | None:
        """Return the partition of the old cluster that was copied to this one; None where it was not mirrored."""
        topic, number = place
        prefix = self.mirrored("")
        return (topic.removeprefix(prefix), number) if topic.startswith(prefix) else None


@dataclass(frozen=True, slots=True)
class MirrorReport:
    """What the mirrored topics tell, by partitions of the old cluster.

    Parameters
    ----------
    options
        By which they were read.
    released
        The next offset to release, and the revision of the newest policy.
    syncs
        As the mirror wrote them.
    """

    options: MirrorOptions
    released: Mapping[Place, LedgerEntry] = field(default_factory=dict)
    syncs: Mapping[Place, Sequence[Sync]] = field(default_factory=dict)


async def read_mirror(
    connection: Connection, cluster: ClusterView, options: MirrorOptions, kafka: KafkaSettings
) -> MirrorReport:
    """Return what mirrored certificates, ledger and offset syncs tell.

    Parameters
    ----------
    kafka
        Names the topics as they are called in the old cluster.

    Raises
    ------
    TopicError
        If the syncs or the certificates are missing, or hold something else.
    BrokerError
        If the brokers cannot be reached or refuse.
    """
    if options.to_end:
        return MirrorReport(options)
    if options.offset_syncs is None or await cluster.partitions(options.offset_syncs) is None:
        raise TopicError(
            f"{options.offset_syncs}: does not exist here. MirrorMaker 2 writes it to the new cluster only with "
            "offset-syncs.topic.location = target; without it use --to-end"
        )
    syncs = await read_offset_syncs(connection, options.offset_syncs)
    released = await _certified(connection, options.mirrored(kafka.certificates))
    mirrored = options.mirrored(kafka.ledger)
    if mirrored != kafka.ledger and await cluster.partitions(mirrored) is not None:
        copy = KafkaLedger(connection, mirrored)
        try:
            await copy.open()
            for place, entry in (await copy.caught_up()).items():
                released[place] = _later(released.get(place), entry)
        finally:
            await copy.discard()
    return MirrorReport(
        options, released, {place: [Sync(*pair) for pair in pairs] for place, pairs in syncs.items()}
    )


async def _certified(connection: Connection, topic: str) -> dict[Place, LedgerEntry]:
    """Return up to where certificates say that partitions were released."""
    reading = await read_topic(connection, topic, within=_CERTIFICATES_WITHIN)
    if not reading.complete:
        raise BrokerError(
            f"{topic}: could not be read to its end in {_CERTIFICATES_WITHIN:g} s and 1 GiB; see --to-end"
        )
    lives: dict[Place, dict[str | None, tuple[str, LedgerEntry]]] = {}
    for records in reading.records.values():
        for record in records:
            try:
                part = part_or_document(record.value or b"")
            except CertificateError:
                where = f"{topic}-{record.partition}, offset {record.offset}"
                raise TopicError(f"{where}: is not a certificate, so it is not known what was released") from None
            if part is None:
                continue
            for its in part.inputs:
                ids = lives.setdefault((its.topic, its.partition), {})
                closed, entry = ids.get(its.topic_id, ("", None))
                new = LedgerEntry(its.end, revision=part.revision)
                ids[its.topic_id] = max(closed, part.closed), _later(entry, new)
    return {place: _newest(ids) for place, ids in lives.items()}


def _newest(lives: Mapping[str | None, tuple[str, LedgerEntry]]) -> LedgerEntry:
    """Return the entry of the id whose windows closed last: offsets of a topic before it mean other records."""
    _, newest = max(lives.values(), key=lambda life: life[0])
    return LedgerEntry(newest.next, revision=max(entry.revision for _, entry in lives.values()))


def _later(one: LedgerEntry | None, other: LedgerEntry) -> LedgerEntry:
    """Return the greater offset, and the greater revision."""
    if one is None:
        return other
    return LedgerEntry(max(one.next, other.next), revision=max(one.revision, other.revision))
