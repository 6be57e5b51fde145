"""Let a service go on in another cluster, to which MirrorMaker 2 has copied its topics.

The offsets of the new cluster are others, so neither the ledger nor the group's offsets of the old one hold
there. What was released is told by the mirrored certificates and the mirrored ledger, in offsets of the old
cluster; offset syncs tell where that is in the new one (`operations/ledger/mirrored_offsets.py`). As with `forget`,
no worker is at work, and exactly what was shown is changed, in one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.topics.cluster_view import ClusterView
from stream_anon.adapters.kafka.topics.requirements import create_ledger
from stream_anon.adapters.kafka.writing.transactional_sink import TransactionalSink
from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.errors import BrokerError, Refused, SettingsError
from stream_anon.operations.ledger.changes import change_entries, refuse_members, run_quietly
from stream_anon.operations.ledger.forgetting import Cluster, ForgetfulLedger, input_partitions
from stream_anon.operations.ledger.mirror_reading import MirrorOptions, MirrorReport, read_mirror
from stream_anon.operations.ledger.mirrored_offsets import Aligned, aligned
from stream_anon.ports import LedgerEntry, Place, ReleaseLedger
from stream_anon.ports.input_topics import InputTopics
from stream_anon.service.wiring.clients import connection_of, topics_of
from stream_anon.settings.loading import kafka_of, load_settings


class Fate(StrEnum):
    """What becomes of a partition."""

    ALIGNED = "goes on behind what was released"
    DONE = "has an entry of this cluster: left as it is"
    UNTOUCHED = "nothing was released: begins as kafka.start says"
    LOCAL = "not mirrored: left as it is"


@dataclass(frozen=True, slots=True)
class Route:
    """What is known of a partition of the new cluster, and where it goes on.

    Parameters
    ----------
    released
        The next offset to release in the old cluster; None where nothing was released.
    entry
        The new entry; None where nothing is changed.
    aligned
        Where it goes on, and what may be withheld.
    """

    place: Place
    fate: Fate
    released: int | None = None
    entry: LedgerEntry | None = None
    aligned: Aligned | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done, partition by partition."""

    group: str
    ledger: str
    members: int
    lines: tuple[Route, ...]

    @property
    def entries(self) -> dict[Place, LedgerEntry]:
        """Return the entries that are written."""
        return {line.place: line.entry for line in self.lines if line.entry is not None}

    @property
    def withheld(self) -> int:
        """Return how many records are withheld at the most."""
        return sum(line.aligned.withheld for line in self.lines if line.aligned is not None)


@dataclass(frozen=True, slots=True)
class TargetService:
    """The service in the new cluster."""

    group: str
    inputs: InputTopics
    ledger: str
    options: MirrorOptions


async def plan(
    service: TargetService, told: MirrorReport, cluster: Cluster, sink: WindowProducer, ledger: ReleaseLedger
) -> Plan:
    """Return where partitions will go on, without changing anything.

    Raises
    ------
    Refused
        If nothing tells what was released.
    BrokerError
        If the brokers cannot be reached, refuse, or do not tell the ids of topics.
    """
    places = await input_partitions(service.inputs, cluster)
    held: Mapping[Place, LedgerEntry] = {}
    if await cluster.partitions(service.ledger) is not None:
        await ledger.open()
        held = await ledger.caught_up()
    await sink.open()
    firsts, ends = await cluster.first_offsets(places), await cluster.end_offsets(places)
    ids = (await sink.topic_ids({topic for topic, _ in places})).ids
    for topic in sorted({topic for topic, _ in places} - ids.keys()):
        raise BrokerError(f"{topic}: the brokers do not tell its id: they must be Apache Kafka 2.8 or later")
    lines = tuple(
        _line(place, held.get(place), ids[place[0]], (firsts[place], ends[place]), told, service.options)
        for place in sorted(places)
    )
    if not any(line.fate in (Fate.ALIGNED, Fate.DONE) for line in lines):
        raise Refused(
            "neither mirrored certificates nor a mirrored ledger name a partition of the input: whether anything "
            "was released is not known. Compare the names of the topics and --source-alias with those of the mirror"
        )
    # Members come last, so that a worker that joined meanwhile is counted.
    return Plan(service.group, service.ledger, await cluster.members(), lines)


def _line(
    place: Place,
    held: LedgerEntry | None,
    topic_id: str,
    bounds: tuple[int, int],
    told: MirrorReport,
    options: MirrorOptions,
) -> Route:
    upstream = options.upstream(place)
    if upstream is None:
        return Route(place, Fate.LOCAL)
    if held is not None and held.topic_id == topic_id:
        return Route(place, Fate.DONE)
    # An entry of another topic was mirrored under the same name: it counts offsets of the old cluster.
    known = [entry for entry in (told.released.get(upstream), held) if entry is not None]
    released = max((entry.next for entry in known), default=0)
    first, end = bounds
    if options.to_end:
        goes_on = Aligned(end, first)
    elif released:
        syncs = told.syncs.get(upstream, ())
        goes_on = aligned(released, syncs, first, end, exactly_once=options.exactly_once)
    else:
        return Route(place, Fate.UNTOUCHED)
    revision = max((entry.revision for entry in known), default=0)
    entry = LedgerEntry(goes_on.next, None, topic_id, revision)
    return Route(place, Fate.ALIGNED, released or None, entry, goes_on)


async def realign(
    service: TargetService,
    shown: Plan,
    told: MirrorReport,
    cluster: Cluster,
    sink: WindowProducer,
    ledger: ForgetfulLedger,
    time: int,
) -> None:
    """Write the entries that were shown, and set the group's offsets to them: all of them or none.

    Parameters
    ----------
    shown
        What the operator has agreed to.
    time
        Milliseconds since the epoch.

    Raises
    ------
    Refused
        If a worker runs, or anything has moved since.
    BrokerError
        If it could not be done; the message says whether that is known.
    """
    # 1. Everything is still as it was shown, and neither a worker nor the mirror runs.
    now = await plan(service, told, cluster, sink, ledger)
    refuse_members(now)
    if now.lines != shown.lines:
        raise Refused(
            "the ends of the input, certificates, syncs or ledger have changed since they were shown: nothing was "
            "changed. Stop the mirror, and let nobody write to the input before this is done"
        )
    # 2. to 7. are those of `change_entries`.
    entries = shown.entries
    await change_entries(ledger.written(entries, time), entries, entries.keys(), "realigned", sink, ledger)


# On a real broker ----------------------------------------------------------------------------------------------


def look(config: Path, options: MirrorOptions) -> Plan:
    """Return where the partitions of a settings file will go on. Raises SettingsError, Refused, BrokerError."""
    return _on_brokers(config, options, None)


def realign_shown(config: Path, options: MirrorOptions, shown: Plan) -> None:
    """Do what was shown; see `realign` and `look`."""
    _on_brokers(config, options, shown)


def _on_brokers(config: Path, options: MirrorOptions, shown: Plan | None) -> Plan:
    settings = load_settings(config)
    kafka = kafka_of(settings)
    if kafka.delivery != "exactly-once":
        raise SettingsError("kafka.delivery", "must be exactly-once: without transactions there is no ledger")
    service = TargetService(kafka.group, kafka.inputs, kafka.ledger, options)
    connection = connection_of(kafka)

    async def work() -> Plan:
        sink, ledger = TransactionalSink(connection), KafkaLedger(connection, kafka.ledger)
        view = ClusterView(connection)
        try:
            told = await read_mirror(connection, view, options, kafka.certificates, kafka.ledger)
            if shown is None:
                return await plan(service, told, view, sink, ledger)
            await create_ledger(connection, topics_of(kafka))
            await realign(service, shown, told, view, sink, ledger, int(SystemClock().wall()) * 1000)
            return shown
        finally:
            await asyncio.gather(sink.discard(), ledger.discard())

    return run_quietly(settings, work())
