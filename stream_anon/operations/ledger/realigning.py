"""Let a service go on in another cluster, to which MirrorMaker 2 has copied its topics.

The offsets of the new cluster are others, so neither the ledger nor the group's offsets of the old one hold
there. What was released is told by the mirrored certificates and the mirrored ledger, in offsets of the old
cluster; offset syncs tell where that is in the new one (`operations/ledger/mirrored_offsets.py`). As with `forget`,
no worker is at work, and exactly what was shown is changed, in one transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.creation import create_ledger
from stream_anon.errors import BrokerError, Refused
from stream_anon.operations.ledger.changes import change_entries, on_brokers, refuse_members
from stream_anon.operations.ledger.looking import Brokers, Look, look_at
from stream_anon.operations.ledger.mirror_reading import MirrorOptions, MirrorReport, read_mirror
from stream_anon.operations.ledger.mirrored_offsets import Aligned, aligned
from stream_anon.ports import LedgerEntry, Place
from stream_anon.service.wiring.clients import topics_of
from stream_anon.settings.sections.kafka_settings import KafkaSettings


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
class RealignmentPlan:
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


async def plan(kafka: KafkaSettings, told: MirrorReport, brokers: Brokers) -> RealignmentPlan:
    """Return where partitions of a service in the new cluster will go on, without changing anything.

    Raises
    ------
    Refused
        If nothing tells what was released.
    BrokerError
        If the brokers do not tell the ids of topics, or as `look_at` says.
    """
    seen = await look_at(kafka, brokers)
    for topic in sorted({topic for topic, _ in seen.places} - seen.topics.ids.keys()):
        raise BrokerError(f"{topic}: the brokers do not tell its id: they must be Apache Kafka 2.8 or later")
    lines = tuple(_line(place, seen, told) for place in seen.places)
    if not any(line.fate in (Fate.ALIGNED, Fate.DONE) for line in lines):
        raise Refused(
            "neither mirrored certificates nor a mirrored ledger name a partition of the input: whether anything "
            "was released is not known. Compare the names of the topics and --source-alias with those of the mirror"
        )
    return RealignmentPlan(kafka.group, kafka.ledger, seen.members, lines)


def _line(place: Place, seen: Look, told: MirrorReport) -> Route:
    options, held, topic_id = told.options, seen.entries.get(place), seen.topics.ids[place[0]]
    upstream = options.upstream(place)
    if upstream is None:
        return Route(place, Fate.LOCAL)
    if held is not None and held.topic_id == topic_id:
        return Route(place, Fate.DONE)
    # An entry of another topic was mirrored under the same name: it counts offsets of the old cluster.
    known = [entry for entry in (told.released.get(upstream), held) if entry is not None]
    released = max((entry.next for entry in known), default=0)
    first, end = seen.firsts[place], seen.ends[place]
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


async def realign(kafka: KafkaSettings, shown: RealignmentPlan, told: MirrorReport, brokers: Brokers) -> None:
    """Write the entries that were shown, and set the group's offsets to them: all of them or none.

    Parameters
    ----------
    shown
        What the operator has agreed to.

    Raises
    ------
    Refused
        If a worker runs, or anything has moved since.
    BrokerError
        If it could not be done; the message says whether that is known.
    """
    # 1. Everything is still as it was shown, and neither a worker nor the mirror runs.
    now = await plan(kafka, told, brokers)
    refuse_members(now.group, now.members)
    if now.lines != shown.lines:
        raise Refused(
            "the ends of the input, certificates, syncs or ledger have changed since they were shown: nothing was "
            "changed. Stop the mirror, and let nobody write to the input before this is done"
        )
    # 2. to 7. are those of `change_entries`.
    await change_entries(shown.entries, "realigned", brokers)


# On a real broker ----------------------------------------------------------------------------------------------


def look(config: Path, options: MirrorOptions) -> RealignmentPlan:
    """Return where the partitions of a settings file will go on. Raises SettingsError, Refused, BrokerError."""

    async def do(kafka: KafkaSettings, connection: Connection, brokers: Brokers) -> RealignmentPlan:
        return await plan(kafka, await read_mirror(connection, brokers.cluster, options, kafka), brokers)

    return on_brokers(config, do)


def realign_shown(config: Path, options: MirrorOptions, shown: RealignmentPlan) -> None:
    """Do what was shown; see `realign` and `look`."""

    async def do(kafka: KafkaSettings, connection: Connection, brokers: Brokers) -> None:
        told = await read_mirror(connection, brokers.cluster, options, kafka)
        await create_ledger(connection, topics_of(kafka))
        await realign(kafka, shown, told, brokers)

    on_brokers(config, do)
