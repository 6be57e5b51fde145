"""What the ledger says against a run: offsets without an entry, and strangers who may write there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from stream_anon.adapters.kafka.client.connection import Connection, connection_error
from stream_anon.adapters.kafka.ledger.committed import committed_offsets
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.ledger.marking import has_records
from stream_anon.adapters.kafka.topics.cluster_view import ClusterView
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.kafka.topics.writers import EVERYBODY, writers_of
from stream_anon.conditions import Condition
from stream_anon.errors import BrokerError
from stream_anon.judging.findings import Finding, Severity
from stream_anon.ports import LedgerEntry, Place

MOST_NAMED = 8


async def ledger_findings(connection: Connection, topics: Topics, inputs: Sequence[str]) -> list[Finding]:
    """Return what forbids a run, or what somebody should know; writes nothing.

    Parameters
    ----------
    inputs
        The input topics that exist.
    """
    try:
        found = await _offsets_without_entry(connection, topics, inputs)
        for topic in (topics.ledger, topics.certificates):
            found += strangers(topic, await writers_of(connection, topic))
    except BrokerError as error:
        return [
            Finding(Severity.WARNS, topics.ledger, f"whether it fits the group's offsets is not known ({error})")
        ]
    return found


async def _offsets_without_entry(connection: Connection, topics: Topics, inputs: Sequence[str]) -> list[Finding]:
    view = ClusterView(connection)
    places = {(topic, n) for topic in inputs for n in range(await view.partitions(topic) or 0)}
    committed = {place for place, offset in (await committed_offsets(connection, places)).items() if offset}
    if not committed:
        return []
    try:
        released = await has_records(connection, topics.output)
    except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
        raise await connection_error(connection, "reading the output's end", error) from None
    entries: Mapping[Place, LedgerEntry] | None = None
    if await view.partitions(topics.ledger) is not None:
        ledger = KafkaLedger(connection, topics.ledger)
        try:
            await ledger.open()
            entries = await ledger.caught_up()
        finally:
            await ledger.discard()
    return unknown_offsets(topics.ledger, committed, entries, released)


def unknown_offsets(
    ledger: str, committed: Collection[Place], entries: Mapping[Place, LedgerEntry] | None, released: bool
) -> list[Finding]:
    """Return whether the group has offsets without an entry in the ledger.

    Parameters
    ----------
    committed
        Where the group has an offset above 0.
    entries
        The ledger's; None if there is no ledger.
    released
        Whether the output ever held a record.
    """
    unknown = sorted(place for place in committed if place not in (entries or {}))
    if not unknown or not released:
        return []
    named = ", ".join(f"{topic}-{number}" for topic, number in unknown[:MOST_NAMED])
    more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
    what = "does not exist" if entries is None else "knows nothing of them"
    return [
        Finding(
            Severity.FORBIDS,
            ledger,
            f"the group has offsets of {named}{more}, and the ledger {what}: if they were set back, which nobody "
            "can tell, records are released twice. Compare them with the ends of the newest certificates",
            Condition.LEDGER_INCOMPLETE,
        )
    ]


def strangers(topic: str, writers: frozenset[str] | None) -> list[Finding]:
    """Return a warning if others than the service may write to a topic, or if that cannot be told."""
    if writers is None:
        text = "this user may not see who can write there (DESCRIBE on the cluster); only this service should"
    elif EVERYBODY in writers:
        text = "everybody may write there: entries and certificates of strangers stop partitions or hide a release"
    elif len(writers) > 1:
        named = ", ".join(sorted(writers)[:MOST_NAMED])
        text = f"{len(writers)} users may write there ({named}); only this service should"
    else:
        return []
    return [Finding(Severity.WARNS, topic, text)]
