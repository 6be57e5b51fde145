"""Change the ledger by hand while no worker runs: entries and offsets change in one transaction or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.topics.cluster_view import ClusterView
from stream_anon.adapters.kafka.writing.transactional_producer import TransactionalProducer
from stream_anon.adapters.logs import open_log, quiet_libraries
from stream_anon.errors import BrokerError, Refused, SettingsError
from stream_anon.operations.ledger.looking import Brokers
from stream_anon.ports import LedgerEntry, Membership, Place
from stream_anon.service.wiring.clients import connection_of
from stream_anon.settings.loading import kafka_of, load_settings
from stream_anon.settings.sections.kafka_settings import KafkaSettings

_T = TypeVar("_T")
NOBODY = Membership(-1, "")  # a group without members lets this one set its offsets


def refuse_members(group: str, members: int) -> None:
    """Raise Refused if a group has members."""
    if members:
        noun = "member" if members == 1 else "members"
        raise Refused(
            f"the group {group} has {members} live {noun}: stop all workers first; one that was killed "
            "counts until kafka.session_timeout is over"
        )


async def change_entries(entries: Mapping[Place, LedgerEntry | None], done: str, brokers: Brokers) -> None:
    """Change the ledger's entries of some partitions, and the group's offsets where there are new ones, at once.

    Parameters
    ----------
    entries
        The new ones; None takes an entry away.
    done
        The participle that errors name it by.

    Raises
    ------
    BrokerError
        If it could not be done; the message says whether that is known.
    """
    sink, ledger = brokers.sink, brokers.ledger
    offsets = {place: entry.next for place, entry in entries.items() if entry is not None}
    broken: BrokerError | None = None
    try:
        # 2. Begin.
        await sink.begin()
        # 3. Send one tombstone a partition to where its entries are, or the entry of one that begins elsewhere.
        await sink.send([ledger.written(entries, brokers.time)])
        # 4. Await every batch, by all replicas in sync.
        await sink.settle()
        # 5. The group's offsets of another topic would let this one skip or repeat records: set them too.
        if offsets:
            await sink.add_offsets()
            await sink.commit_offsets(offsets, NOBODY)
        # 6. Commit: all of them at once.
        await sink.commit()
    except BrokerError as error:
        broken = error
    # 7. Read back: only the ledger tells how it ended.
    try:
        if broken is not None:  # a new producer with the same transactional id settles what was open
            await sink.discard()
            await sink.open()
        held = await ledger.caught_up()
    except BrokerError as error:
        raise BrokerError(f"whether anything was {done} is not known, look again ({error})") from None
    if any(held.get(place) != entry for place, entry in entries.items()):
        raise BrokerError(f"nothing was {done} ({broken or 'the ledger has not changed'})")


# On a real broker ----------------------------------------------------------------------------------------------


def on_brokers(config: Path, work: Callable[[KafkaSettings, Connection, Brokers], Awaitable[_T]]) -> _T:
    """Return what a command does on the brokers of a settings file, with a log of errors only.

    Raises
    ------
    SettingsError
        If the service has no ledger.
    """
    settings = load_settings(config)
    kafka = kafka_of(settings)
    if kafka.delivery != "exactly-once":
        raise SettingsError("kafka.delivery", "must be exactly-once: without transactions there is no ledger")
    connection, clock = connection_of(kafka), SystemClock()
    time = int(clock.wall()) * 1000

    async def do() -> _T:
        sink, ledger = TransactionalProducer(connection), KafkaLedger(connection, kafka.ledger)
        try:
            return await work(kafka, connection, Brokers(ClusterView(connection), sink, ledger, time))
        finally:
            await asyncio.gather(sink.discard(), ledger.discard())

    with quiet_libraries(open_log(clock.wall, settings.logs.format, "error"), clock.monotonic):
        return asyncio.run(do())
