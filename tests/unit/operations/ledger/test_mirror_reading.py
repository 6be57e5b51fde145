"""What mirrored topics say, from topics in memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_reader import TopicReading
from stream_anon.errors import BrokerError, TopicError
from stream_anon.microdata.release import InputRange
from stream_anon.operations.ledger import mirror_reading
from stream_anon.operations.ledger.mirror_reading import MirrorOptions, read_mirror
from stream_anon.operations.ledger.mirrored_offsets import Sync
from stream_anon.ports import LedgerEntry
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from tests.support.driver import after_release
from tests.support.memory import INPUT, MemoryBroker
from tests.support.releases import frame_of, release_of, ward_people, ward_policy

CONNECTION = Connection("nowhere:9", "g")
KAFKA = KafkaSettings.model_validate(
    {"bootstrap_servers": "nowhere:9", "group": "g", "input": INPUT, "output": "out"}
)


class View:
    """Brokers that have these topics."""

    def __init__(self, *topics: str) -> None:
        self.topics = topics

    async def partitions(self, topic: str) -> int | None:
        return 1 if topic in self.topics else None


async def _read(
    monkeypatch: pytest.MonkeyPatch, values: list[bytes], *, complete: bool = True
) -> Mapping[Any, Any]:
    async def syncs(connection: Connection, topic: str) -> Mapping[tuple[str, int], list[tuple[int, int]]]:
        return {(INPUT, 0): [(7, 3)]}

    async def topic(connection: Connection, name: str, *, within: float) -> TopicReading:
        assert name == "A.out.certificates"
        records = [SimpleNamespace(value=value, partition=0, offset=n) for n, value in enumerate(values)]
        return TopicReading({0: records}, frozenset({0}), complete)

    monkeypatch.setattr(mirror_reading, "read_offset_syncs", syncs)
    monkeypatch.setattr(mirror_reading, "read_topic", topic)
    view: Any = View("syncs")
    told = await read_mirror(CONNECTION, view, MirrorOptions("syncs", "A"), KAFKA)
    assert told.syncs == {(INPUT, 0): [Sync(7, 3)]}
    return told.released


async def test_certificates_among_policy_documents_tell_up_to_where_partitions_were_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = MemoryBroker()
    await after_release(broker, 40)
    values = broker.visible("out.certificates")
    assert await _read(monkeypatch, values[::-1]) == {(INPUT, 0): LedgerEntry(40)}


async def test_of_a_topic_that_was_created_anew_the_newest_id_tells_how_far_it_was_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = []
    for number, (topic_id, end, minutes) in enumerate([("old", 40, 1), ("old", 90, 2), ("new", 12, 5)], start=1):
        release = release_of(ward_policy(), [ward_people(4)], ranges=[InputRange(0, 0, end)])
        frame = frame_of(release, number, topic_id=topic_id, minutes=minutes)
        values += certificate_parts(release, ward_policy(), frame)
    for ordered in (values, values[::-1]):
        assert await _read(monkeypatch, ordered) == {("people", 0): LedgerEntry(12)}


async def test_a_record_that_is_no_certificate_is_refused_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TopicError, match=r"A\.out\.certificates-0, offset 0: is not a certificate"):
        await _read(monkeypatch, [b'{"person": "Ada"}'])


async def test_certificates_that_were_not_read_to_the_end_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokerError, match="--to-end"):
        await _read(monkeypatch, [], complete=False)


async def test_syncs_that_stayed_in_the_old_cluster_are_an_error_that_names_the_setting() -> None:
    view: Any = View()
    with pytest.raises(TopicError, match=r"offset-syncs\.topic\.location"):
        await read_mirror(CONNECTION, view, MirrorOptions("syncs"), KAFKA)
