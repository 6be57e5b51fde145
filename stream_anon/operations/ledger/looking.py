"""What a service stands at: the look at group, ledger and inputs that every change of the ledger begins with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.errors import TopicError
from stream_anon.ports import LedgerEntry, Parcel, Place, ReleaseLedger, TopicIds
from stream_anon.ports.input_topics import InputTopics
from stream_anon.settings.sections.kafka_settings import KafkaSettings


class Cluster(Protocol):
    """What the brokers say; see `cluster_view.ClusterView`."""

    async def topics(self) -> Collection[str]:
        """Return all topics that this user may see."""
        ...

    async def partitions(self, topic: str) -> int | None:
        """Return how many partitions a topic has; None if it does not exist."""
        ...

    async def members(self) -> int:
        """Return how many members the group has."""
        ...

    async def first_offsets(self, places: Collection[Place]) -> Mapping[Place, int]:
        """Return the first offset that can still be read of each partition."""
        ...

    async def end_offsets(self, places: Collection[Place]) -> Mapping[Place, int]:
        """Return where each partition ends."""
        ...


class ChangeableLedger(ReleaseLedger, Protocol):
    """A ledger whose entries can be changed; see `ledger.KafkaLedger`."""

    def written(self, entries: Mapping[Place, LedgerEntry | None], time: int) -> Parcel:
        """Return the parcel that writes entries, and takes those away that are None."""
        ...


@dataclass(frozen=True, slots=True)
class Brokers:
    """What is asked and changed.

    Parameters
    ----------
    time
        Of the change: milliseconds since the epoch.
    """

    cluster: Cluster
    sink: WindowProducer
    ledger: ChangeableLedger
    time: int


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at one moment.

    Parameters
    ----------
    places
        Partitions of the input, or those that were asked for by name.
    entries
        The ledger's, of whatever partition; none if there is no ledger.
    committed
        The group's offsets of `places`; None where there is none.
    firsts, ends
        The bounds of those `places` that the input has.
    topics
        The ids of the topics of `places`.
    members
        Of the group.
    """

    places: tuple[Place, ...]
    entries: Mapping[Place, LedgerEntry]
    committed: Mapping[Place, int | None]
    firsts: Mapping[Place, int]
    ends: Mapping[Place, int]
    topics: TopicIds
    members: int


async def look_at(kafka: KafkaSettings, brokers: Brokers, named: Collection[Place] = ()) -> Look:
    """Return what a service stands at, without changing anything.

    Parameters
    ----------
    named
        The partitions to look at; none means all of the input.

    Raises
    ------
    TopicError
        If an input does not exist, or there is none.
    BrokerError
        If the brokers cannot be reached, refuse, or a transaction stays open.
    """
    cluster, sink, ledger = brokers.cluster, brokers.sink, brokers.ledger
    there = await _input_partitions(kafka.inputs, cluster)
    places = set(named) or there
    # The ledger first: a group at work only moves on, so none of its offsets looks set back for being read early.
    entries: Mapping[Place, LedgerEntry] = {}
    if await cluster.partitions(kafka.ledger) is not None:
        await ledger.open()
        entries = await ledger.caught_up()
    await sink.open()
    return Look(
        tuple(sorted(places)),
        entries,
        await sink.stable_offsets(places),
        await cluster.first_offsets(places & there),
        await cluster.end_offsets(places & there),
        await sink.topic_ids({topic for topic, _ in places}),
        await cluster.members(),  # last, so that a worker that joined meanwhile is counted
    )


async def _input_partitions(inputs: InputTopics, cluster: Cluster) -> set[Place]:
    there: set[Place] = set()
    for topic in inputs.among(await cluster.topics() if inputs.pattern is not None else ()):
        partitions = await cluster.partitions(topic)
        if partitions is None:
            raise TopicError(f"{topic}: does not exist")
        there.update((topic, number) for number in range(partitions))
    if not there:
        raise TopicError(f"no topic fits kafka.input {inputs}")
    return there
