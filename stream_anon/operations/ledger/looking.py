"""What a service stands at: the look at group, ledger and inputs that every change of the ledger begins with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.topics.cluster_view import ClusterView
from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.errors import TopicError
from stream_anon.ports import LedgerEntry, Place, TopicIds
from stream_anon.ports.input_topics import InputTopics
from stream_anon.settings.kafka import KafkaSettings


@dataclass(frozen=True, slots=True)
class Brokers:
    """What is asked and changed.

    Parameters
    ----------
    time
        Of the change: milliseconds since the epoch.
    """

    cluster: ClusterView
    sink: WindowProducer
    ledger: KafkaLedger
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


async def _input_partitions(inputs: InputTopics, cluster: ClusterView) -> set[Place]:
    there: set[Place] = set()
    for topic in inputs.among(await cluster.topics() if inputs.pattern is not None else ()):
        partitions = await cluster.partitions(topic)
        if partitions is None:
            raise TopicError(f"{topic}: does not exist")
        there.update((topic, number) for number in range(partitions))
    if not there:
        raise TopicError(f"no topic fits kafka.input {inputs}")
    return there
