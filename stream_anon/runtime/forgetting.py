"""Let the ledger forget partitions, so that records which were released already may be released again.

A committed offset below the ledger stops its partition (`runtime/takeover.py`). Only this lets it go on: an
operator has seen what would be released twice, no worker is at work, and exactly the partitions that were shown
lose their entries, in one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from stream_anon.adapters.clock import Clock
from stream_anon.adapters.kafka.cluster_view import ClusterView
from stream_anon.adapters.kafka.inputs import InputTopics
from stream_anon.adapters.kafka.ledger import KafkaLedger
from stream_anon.adapters.kafka.seam import Ledger, Parcel, Place, Sink
from stream_anon.adapters.kafka.transactional_sink import TransactionalSink
from stream_anon.adapters.logs import open_log, quiet_libraries
from stream_anon.errors import BrokerError, Refused, SettingsError, TopicError
from stream_anon.runtime.accounts import Account, Question, Standing, Survey, parse_places
from stream_anon.runtime.settings import Settings, load_settings
from stream_anon.runtime.wiring import connection_of, kafka_of

_T = TypeVar("_T")


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


class ForgetfulLedger(Ledger, Protocol):
    """A ledger whose entries can be taken away; see `ledger.KafkaLedger`."""

    def tombstones(self, places: Collection[Place], time: int) -> Parcel:
        """Return the parcel that takes entries away."""
        ...


async def survey(question: Question, cluster: Cluster, sink: Sink, ledger: Ledger) -> Survey:
    """Return how partitions stand, without changing anything.

    Raises
    ------
    TopicError
        If an input does not exist, or there is none.
    BrokerError
        If the brokers cannot be reached, refuse, or a transaction stays open.
    """
    there = await _partitions(question.inputs, cluster)
    places = set(question.named) or there
    # The ledger first: a group at work only moves on, so none of its offsets looks set back for being read early.
    entries: Mapping[Place, int] = {}
    if await cluster.partitions(question.ledger) is not None:
        await ledger.open()
        entries = {place: entry.next for place, entry in (await ledger.caught_up()).items()}
    await sink.open()
    committed = await sink.stable_offsets(places)
    firsts = await cluster.first_offsets(places & there)
    accounts = tuple(
        Account(place, entries.get(place), committed[place], firsts.get(place)) for place in sorted(places)
    )
    wanted = {Standing.REWOUND, Standing.MISSING} if question.named else {Standing.REWOUND}
    chosen = tuple(account for account in accounts if account.standing in wanted)
    # Members last: whoever joined meanwhile is counted.
    members = await cluster.members()
    return Survey(question.group, question.ledger, question.start, members, accounts, chosen)


async def _partitions(inputs: InputTopics, cluster: Cluster) -> set[Place]:
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
    question: Question, shown: Survey, cluster: Cluster, sink: Sink, ledger: ForgetfulLedger, time: int
) -> None:
    """Take the entries away that were shown, all of them or none.

    Parameters
    ----------
    shown
        What the operator has agreed to.
    time
        Milliseconds since the epoch.

    Raises
    ------
    Refused
        If somebody is at work, or anything has moved since.
    BrokerError
        If it could not be done; the message says whether that is known.
    """
    # 1. Everything is still as it was shown, and nobody is at work.
    now = await survey(question, cluster, sink, ledger)
    refuse_members(now)
    if now.chosen != shown.chosen:
        raise Refused("offsets or ledger have changed since they were shown; nothing was forgotten")
    places = [account.place for account in shown.chosen]
    broken: BrokerError | None = None
    try:
        # 2. Begin.
        await sink.begin()
        # 3. Send one tombstone a partition, to where its entries are.
        await sink.send([ledger.tombstones(places, time)])
        # 4. Await every batch, by all replicas in sync.
        await sink.settle()
        # 5. Commit: all of them at once.
        await sink.commit()
    except BrokerError as error:
        broken = error
    # 6. Read back: only the ledger tells how it ended.
    try:
        if broken is not None:  # a new producer with the same transactional id settles what was open
            await sink.discard()
            await sink.open()
        entries = await ledger.caught_up()
    except BrokerError as error:
        raise BrokerError(f"whether the ledger has forgotten is not known, look again ({error})") from None
    if any(place in entries for place in places):
        raise BrokerError(f"nothing was forgotten ({broken or 'the entries are still there'})")


def refuse_members(seen: Survey) -> None:
    """Raise Refused if the group has members."""
    if seen.members:
        noun = "member" if seen.members == 1 else "members"
        raise Refused(
            f"the group {seen.group} has {seen.members} live {noun}: stop all workers first; one that was killed "
            "counts until kafka.session_timeout is over"
        )


# On a real broker ----------------------------------------------------------------------------------------------


def look(config: Path, partitions: Iterable[str]) -> Survey:
    """Return how the partitions of a settings file stand.

    Parameters
    ----------
    partitions
        Texts such as `people:3`; none means all of the input.

    Raises
    ------
    SettingsError, BrokerError
        If the settings are wrong, or the brokers cannot be asked.
    """
    settings = load_settings(config)
    question = _question(settings, partitions)
    connection = connection_of(kafka_of(settings))

    async def ask() -> Survey:
        sink, ledger = TransactionalSink(connection), KafkaLedger(connection, question.ledger)
        try:
            return await survey(question, ClusterView(connection), sink, ledger)
        finally:
            await asyncio.gather(sink.discard(), ledger.discard())

    return _run(settings, ask())


def forget_shown(config: Path, partitions: Iterable[str], shown: Survey) -> None:
    """Make the ledger of a settings file forget what was shown; see `forget` and `look`."""
    settings = load_settings(config)
    question = _question(settings, partitions)
    connection = connection_of(kafka_of(settings))

    async def do() -> None:
        sink, ledger = TransactionalSink(connection), KafkaLedger(connection, question.ledger)
        time = int(Clock().wall()) * 1000
        try:
            await forget(question, shown, ClusterView(connection), sink, ledger, time)
        finally:
            await asyncio.gather(sink.discard(), ledger.discard())

    _run(settings, do())


def _question(settings: Settings, partitions: Iterable[str]) -> Question:
    kafka = kafka_of(settings)
    if kafka.delivery != "exactly-once":
        raise SettingsError("kafka.delivery", "must be exactly-once: without transactions there is no ledger")
    return Question(kafka.group, kafka.inputs, kafka.ledger, kafka.start, parse_places(partitions))


def _run(settings: Settings, work: Coroutine[Any, Any, _T]) -> _T:
    clock = Clock()
    with quiet_libraries(open_log(clock.wall, settings.logs.format, "error"), clock.monotonic):
        return asyncio.run(work)
