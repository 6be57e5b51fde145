"""What speaks against a run if the input is a copy, and its records were released in another cluster.

Two things prove it. An entry of the ledger names the cluster that it was written to; an entry of another cluster is
a copy, and topics have the same names in both clusters. Or the copies carry the alias of the other cluster, and a
copy of our certificates beside the copy of the input names the partitions that were released.

::

    copy of          people                  A.people
    told by          people.out.ledger       A.people.out.certificates
                     (cluster, topic id)     (people-0, people-1, ...)

A mirrored input alone proves nothing: many services read one and have released none of it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.entry_format import entry_of, place_of
from stream_anon.adapters.kafka.protocol.topic_ids import ask_topic_ids
from stream_anon.adapters.kafka.reading.topic_reader import read_topic
from stream_anon.adapters.kafka.topics.cluster_view import ClusterView
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.conditions import Condition
from stream_anon.errors import BrokerError, CertificateError, TopicError
from stream_anon.judging.findings import Finding, Severity
from stream_anon.ports import LedgerEntry, Place, TopicIds
from stream_anon.privacy.certificate import read_part
from stream_anon.service.takeover.continuing import is_another

MOST_NAMED = 8
_WITHIN = 20.0
_NEWEST = 4096  # parts of certificates; one that names a partition suffices


async def mirror_findings(connection: Connection, topics: Topics, inputs: Sequence[str]) -> list[Finding]:
    """Return what forbids a run behind a mirror, or what cannot be told; writes nothing.

    Parameters
    ----------
    inputs
        The input topics that exist.

    Raises
    ------
    BrokerError
        If no broker answers, or if the ledger decides and cannot be read to its end.
    """
    found: list[Finding] = []
    released: set[Place] = set()
    for topic, alias, upstream in await _copies(connection, topics.certificates, inputs):
        name = f"{alias}.{topics.certificates}"
        try:
            released |= {(topic, number) for its, number in await _certified(connection, name) if its == upstream}
        except TopicError:
            text = f"whether records of {topic} were released in the cluster {alias} cannot be told: not readable"
            found.append(Finding(Severity.WARNS, name, text))
    entries, complete = await _entries(connection, topics.ledger)
    if released and not complete:
        raise BrokerError(f"{topics.ledger}: could not be read to its end, so nobody knows if {inputs} continue")
    if not complete:
        text = "could not be read to its end: whether the rest was written in another cluster cannot be told"
        found.append(Finding(Severity.WARNS, topics.ledger, text))
    if released or entries:
        found += unaligned(entries, await ask_topic_ids(connection, inputs), released)
    return found


def aliases(topic: str) -> Iterator[tuple[str, str]]:
    """Return each pair (alias of a cluster, topic there) that a topic's name may stand for."""
    parts = topic.split(".")
    for n in range(1, len(parts)):
        yield ".".join(parts[:n]), ".".join(parts[n:])


def unaligned(entries: Mapping[Place, LedgerEntry], here: TopicIds, released: Iterable[Place]) -> list[Finding]:
    """Return what forbids a run, by input topic.

    Parameters
    ----------
    entries
        The ledger's.
    here
        The ids of the input topics, and of this cluster.
    released
        Partitions whose records were released in the other cluster, as copied certificates say.
    """
    copied = {
        place
        for place, entry in entries.items()
        if place[0] in here.ids and _is_a_copy(entry, here.cluster) and is_another(entry, here.ids[place[0]])
    }
    copied |= {
        place
        for place in released
        if (entry := entries.get(place)) is None or is_another(entry, here.ids.get(place[0]))
    }
    found = []
    for topic in sorted({topic for topic, _ in copied}):
        numbers = sorted(number for its, number in copied if its == topic)
        named = ", ".join(map(str, numbers[:MOST_NAMED]))
        more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
        text = (
            f"was copied from another cluster, where records of its partitions {named}{more} were released, and "
            "the ledger of this cluster does not say up to where: they could be released a second time. Run "
            "`stream-anon realign`, which writes that; see the page on disaster recovery"
        )
        found.append(Finding(Severity.FORBIDS, topic, text, Condition.MIRRORED_INPUT_UNALIGNED))
    return found


def _is_a_copy(entry: LedgerEntry, cluster: str | None) -> bool:
    """Return whether an entry was written to another cluster; False if either cluster is unknown."""
    return None not in (entry.cluster, cluster) and entry.cluster != cluster


async def _copies(connection: Connection, certificates: str, inputs: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return (input, alias, upstream topic) for each copied input beside a copy of our certificates."""
    possible = [(topic, alias, upstream) for topic in inputs for alias, upstream in aliases(topic)]
    if not possible:
        return []
    names = set(await ClusterView(connection).topics())
    return [each for each in possible if f"{each[1]}.{certificates}" in names]


async def _certified(connection: Connection, topic: str) -> set[Place]:
    """Return the partitions that the newest certificates name, in offsets of the other cluster."""
    reading = await read_topic(connection, topic, newest=_NEWEST, within=_WITHIN)
    found: set[Place] = set()
    for records in reading.records.values():
        for record in records:
            with suppress(CertificateError):
                found |= {(its.topic, its.partition) for its in read_part(record.value or b"").inputs}
    return found


async def _entries(connection: Connection, ledger: str) -> tuple[dict[Place, LedgerEntry], bool]:
    """Return the entries of the ledger and whether they are all; none if it is missing or may not be read.

    Either of these is another condition, and a takeover compares with the ledger once more.
    """
    try:
        reading = await read_topic(connection, ledger, within=_WITHIN)
    except TopicError:
        return {}, True
    entries: dict[Place, LedgerEntry] = {}
    for records in reading.records.values():
        for record in records:
            with suppress(ValueError, TypeError, KeyError, RecursionError):
                place = place_of(record.key or b"")
                entries.pop(place, None)
                if record.value is not None:
                    entries[place] = entry_of(record.value)
    return entries, reading.complete
