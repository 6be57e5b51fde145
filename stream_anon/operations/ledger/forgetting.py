"""Let the ledger forget partitions that were set back, or let those of a re-created topic begin anew.

A committed offset below the ledger stops its partition, and so does a topic that was deleted and created anew
(`service/takeover/steps.py`). Only this lets them go on: an operator has seen what is at stake, no worker is at
work, and exactly the partitions that were shown are changed, in one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.topics.cluster_view import ClusterView
from stream_anon.adapters.kafka.writing.transactional_sink import TransactionalSink
from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.errors import Refused, SettingsError, TopicError
from stream_anon.operations.ledger.changes import change_entries, refuse_members, run_quietly
from stream_anon.operations.ledger.offsets import Account, OffsetStanding, Question, Survey, parse_places
from stream_anon.ports import LedgerEntry, Parcel, Place, ReleaseLedger, TopicIds
from stream_anon.ports.input_topics import InputTopics
from stream_anon.service.wiring.clients import connection_of
from stream_anon.settings.loading import kafka_of, load_settings
from stream_anon.settings.model import Settings


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


class ForgetfulLedger(ReleaseLedger, Protocol):
    """A ledger whose entries can be changed; see `ledger.KafkaLedger`."""

    def written(self, entries: Mapping[Place, LedgerEntry], time: int) -> Parcel:
        """Return the parcel that writes entries."""
        ...

    def tombstones(self, places: Collection[Place], time: int) -> Parcel:
        """Return the parcel that takes entries away."""
        ...


async def survey(question: Question, cluster: Cluster, sink: WindowProducer, ledger: ReleaseLedger) -> Survey:
    """Return how partitions stand, without changing anything.

    Raises
    ------
    TopicError
        If an input does not exist, or there is none.
    BrokerError
        If the brokers cannot be reached, refuse, or a transaction stays open.
    """
    there = await input_partitions(question.inputs, cluster)
    places = set(question.named) or there
    # The ledger first: a group at work only moves on, so none of its offsets looks set back for being read early.
    entries: Mapping[Place, LedgerEntry] = {}
    if await cluster.partitions(question.ledger) is not None:
        await ledger.open()
        entries = await ledger.caught_up()
    await sink.open()
    committed = await sink.stable_offsets(places)
    firsts = await cluster.first_offsets(places & there)
    ends = await cluster.end_offsets(places & there)
    topics = await sink.topic_ids({topic for topic, _ in places})
    accounts = tuple(
        _account(place, entries.get(place), committed[place], (firsts.get(place), ends.get(place)), topics)
        for place in sorted(places)
    )
    wanted = {OffsetStanding.REWOUND, OffsetStanding.UNBACKED} | (
        {OffsetStanding.MISSING} if question.named else set()
    )
    if question.recreated:
        wanted = {OffsetStanding.RECREATED} | ({OffsetStanding.NO_ENTRY} if question.named else set())
    chosen = tuple(account for account in accounts if account.standing in wanted)
    # Members come last, so that a worker that joined meanwhile is counted.
    members = await cluster.members()
    return Survey(question.group, question.ledger, question.start, members, accounts, chosen, question.recreated)


def _account(
    place: Place,
    entry: LedgerEntry | None,
    committed: int | None,
    bounds: tuple[int | None, int | None],
    topics: TopicIds,
) -> Account:
    following, released_of = (None, None) if entry is None else (entry.next, entry.topic_id)
    first, end = bounds
    return Account(place, following, committed, first, topics.ids.get(place[0]), released_of, end)


async def input_partitions(inputs: InputTopics, cluster: Cluster) -> set[Place]:
    """Return all partitions of the input topics. Raises TopicError where one is missing, or there is none."""
    there: set[Place] = set()
    for topic in inputs.among(await cluster.topics() if inputs.pattern is not None else ()):
        partitions = await cluster.partitions(topic)
        if partitions is None:
            raise TopicError(f"{topic}: does not exist")
        there.update((topic, number) for number in range(partitions))
    if not there:
        raise TopicError(f"no topic fits kafka.input {inputs}")
    return there


async def forget(
    question: Question, shown: Survey, cluster: Cluster, sink: WindowProducer, ledger: ForgetfulLedger, time: int
) -> None:
    """Take the entries away that were shown, or let these partitions begin anew: all of them or none.

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
    # 1. Everything is still as it was shown, and no worker runs.
    now = await survey(question, cluster, sink, ledger)
    refuse_members(now)
    if now.chosen != shown.chosen:
        raise Refused("offsets, topics or ledger have changed since they were shown; nothing was changed")
    places = [account.place for account in shown.chosen]
    begun = await _begun(now.chosen, ledger) if question.recreated else {}
    parcel = ledger.written(begun, time) if begun else ledger.tombstones(places, time)
    await change_entries(parcel, begun, places, "forgotten", sink, ledger)


async def _begun(chosen: Collection[Account], ledger: ReleaseLedger) -> dict[Place, LedgerEntry]:
    """Return the entries with which partitions of a re-created topic begin: at its first record."""
    held = await ledger.caught_up()
    return {
        account.place: LedgerEntry(account.first or 0, None, account.topic_id, _revision(held, account.place))
        for account in chosen
    }


def _revision(held: Mapping[Place, LedgerEntry], place: Place) -> int:
    return held[place].revision if place in held else 0


# On a real broker ----------------------------------------------------------------------------------------------


def look(config: Path, partitions: Iterable[str], *, recreated: bool = False) -> Survey:
    """Return how the partitions of a settings file stand.

    Parameters
    ----------
    partitions
        Texts such as `people:3`; none means all of the input.
    recreated
        Whether it is about partitions whose topic was created anew.

    Raises
    ------
    SettingsError, BrokerError
        If the settings are wrong, or the brokers cannot be asked.
    """
    settings = load_settings(config)
    question = _question(settings, partitions, recreated)
    connection = connection_of(kafka_of(settings))

    async def ask() -> Survey:
        sink, ledger = TransactionalSink(connection), KafkaLedger(connection, question.ledger)
        try:
            return await survey(question, ClusterView(connection), sink, ledger)
        finally:
            await asyncio.gather(sink.discard(), ledger.discard())

    return run_quietly(settings, ask())


def forget_shown(config: Path, partitions: Iterable[str], shown: Survey) -> None:
    """Make the ledger of a settings file forget what was shown; see `forget` and `look`."""
    settings = load_settings(config)
    question = _question(settings, partitions, shown.recreated)
    connection = connection_of(kafka_of(settings))

    async def do() -> None:
        sink, ledger = TransactionalSink(connection), KafkaLedger(connection, question.ledger)
        time = int(SystemClock().wall()) * 1000
        try:
            await forget(question, shown, ClusterView(connection), sink, ledger, time)
        finally:
            await asyncio.gather(sink.discard(), ledger.discard())

    run_quietly(settings, do())


def _question(settings: Settings, partitions: Iterable[str], recreated: bool) -> Question:
    kafka = kafka_of(settings)
    if kafka.delivery != "exactly-once":
        raise SettingsError("kafka.delivery", "must be exactly-once: without transactions there is no ledger")
    return Question(kafka.group, kafka.inputs, kafka.ledger, kafka.start, parse_places(partitions), recreated)
