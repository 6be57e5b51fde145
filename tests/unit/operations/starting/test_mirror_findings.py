"""What `check` and `run` say where the input was copied from a cluster in which it was released."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.entry_format import entry_of, key_of, value_of
from stream_anon.adapters.kafka.reading.topic_reader import TopicReading
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.conditions import Condition
from stream_anon.errors import BrokerError, TopicError, UnreadableRecords
from stream_anon.judging.findings import Finding, Severity
from stream_anon.operations.starting import mirror_findings as module
from stream_anon.operations.starting.mirror_findings import aliases, mirror_findings, unaligned
from stream_anon.ports import LedgerEntry, Place, TopicIds
from stream_anon.ports.input_topics import InputTopics
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, release_of, ward_people, ward_policy

P, Q, COPY = ("people", 0), ("people", 1), ("A.people", 0)
HERE = TopicIds({"people": "new", "A.people": "copied"}, cluster="B")
CERTIFICATES = "A.out.certificates"


def _entry(offset: int, topic_id: str | None, cluster: str | None) -> LedgerEntry:
    return LedgerEntry(offset, "b", topic_id, 0, cluster)


def test_an_entry_of_another_cluster_and_another_topic_forbids_a_run() -> None:
    (finding,) = unaligned({P: _entry(5, "old", "A"), Q: _entry(7, "old", "A")}, HERE, ())
    assert (finding.severity, finding.place) == (Severity.FORBIDS, "people")
    assert finding.condition is Condition.MIRRORED_INPUT_UNALIGNED
    assert "partitions 0, 1" in finding.text
    assert "stream-anon realign" in finding.text


@pytest.mark.parametrize(
    "entry",
    [
        _entry(5, "new", "B"),  # realigned, or never moved
        _entry(5, "old", "B"),  # created again in this cluster: a takeover stops it
        _entry(5, "old", None),  # of a release that did not name the cluster: a takeover stops it
        _entry(5, "new", "A"),  # of the topic that is here: brokers that were given another id
        _entry(5, None, "A"),
    ],
)
def test_an_entry_that_may_be_of_this_cluster_forbids_nothing(entry: LedgerEntry) -> None:
    assert unaligned({P: entry}, HERE, ()) == []


def test_copied_certificates_forbid_a_run_until_the_ledger_knows_the_copy() -> None:
    assert [each.place for each in unaligned({}, HERE, {COPY})] == ["A.people"]
    assert [each.place for each in unaligned({COPY: _entry(5, "older", "B")}, HERE, {COPY})] == ["A.people"]
    assert unaligned({COPY: _entry(5, "copied", "B")}, HERE, {COPY}) == []


def test_an_entry_tells_its_cluster_and_an_older_one_tells_none() -> None:
    assert entry_of(value_of(_entry(5, "old", "A"))).cluster == "A"
    assert entry_of(b'{"schema":2,"next":5}').cluster is None
    with pytest.raises(TypeError):
        entry_of(b'{"schema":2,"next":5,"cluster":7}')


def test_every_prefix_of_a_name_may_be_an_alias() -> None:
    assert list(aliases("people")) == []
    assert list(aliases("A.b.people")) == [("A", "b.people"), ("A.b", "people")]


class Cluster:
    """Topics with their records; what is not there raises as on brokers."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, topics: Mapping[str, list[tuple[bytes | None, bytes | None]]]
    ) -> None:
        self.topics, self.incomplete, self.unreadable, self.hostile = topics, False, "", ""
        monkeypatch.setattr(module, "read_topic", self._read)
        monkeypatch.setattr(module, "ask_topic_ids", self._ids)
        monkeypatch.setattr(module, "ClusterView", lambda _: SimpleNamespace(topics=self._names))

    async def _names(self) -> Collection[str]:
        return list(self.topics)

    async def _ids(self, *_: Any) -> TopicIds:
        return HERE

    async def _read(self, _: Connection, topic: str, **__: Any) -> TopicReading:
        if topic not in self.topics or topic == self.unreadable:
            raise TopicError(f"{topic}: is not there, or may not be read")
        if topic == self.hostile:
            raise UnreadableRecords(topic, 0, 1, 2)
        records = [SimpleNamespace(key=key, value=value) for key, value in self.topics[topic]]
        return TopicReading({0: records}, frozenset({0}), not self.incomplete)  # type: ignore[dict-item]

    async def findings(self, *inputs: str) -> list[Finding]:
        topics = Topics(InputTopics(inputs, None), "out", "out.certificates", "out.dead-letters", "out.ledger")
        return await mirror_findings(Connection("nowhere:9", "g"), topics, inputs)


def _held(entries: Mapping[Place, LedgerEntry | None]) -> list[tuple[bytes | None, bytes | None]]:
    return [(key_of(place), None if entry is None else value_of(entry)) for place, entry in entries.items()]


def _certificates(*places: Place) -> list[tuple[bytes | None, bytes | None]]:
    policy = ward_policy()
    release = release_of(policy, [ward_people(4)])
    frame = replace(frame_of(release), inputs=tuple((*place, 0, 4) for place in places))
    return [(None, part) for part in certificate_parts(release, policy, frame)]


async def test_a_service_that_never_moved_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await Cluster(monkeypatch, {"people": []}).findings("people") == []
    ledger = _held({P: _entry(5, "new", "B")})
    assert await Cluster(monkeypatch, {"out.ledger": ledger}).findings("people") == []


async def test_a_copied_ledger_forbids_a_run_until_it_is_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = _held({P: _entry(5, "old", "A")})
    (finding,) = await Cluster(monkeypatch, {"out.ledger": copied}).findings("people")
    assert finding.place == "people"
    realigned = [*copied, *_held({P: _entry(4, "new", "B")})]
    assert await Cluster(monkeypatch, {"out.ledger": realigned}).findings("people") == []
    forgotten = [*copied, *_held({P: None})]
    assert await Cluster(monkeypatch, {"out.ledger": forgotten}).findings("people") == []


async def test_copied_certificates_that_name_the_input_forbid_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, {CERTIFICATES: _certificates(P)})
    (finding,) = await cluster.findings("A.people")
    assert (finding.place, finding.condition) == ("A.people", Condition.MIRRORED_INPUT_UNALIGNED)
    cluster = Cluster(monkeypatch, {CERTIFICATES: _certificates(("others", 0))})
    assert await cluster.findings("A.people") == [], "a mirrored input alone proves nothing"
    cluster = Cluster(monkeypatch, {"B.out.certificates": _certificates(P)})
    assert await cluster.findings("A.people") == [], "certificates of a third cluster speak of its own topic"


async def test_certificates_that_may_not_be_read_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, {CERTIFICATES: []})
    cluster.unreadable = CERTIFICATES
    (finding,) = await cluster.findings("A.people")
    assert (finding.severity, finding.place) == (Severity.WARNS, CERTIFICATES)


@pytest.mark.parametrize("topic", [CERTIFICATES, "out.ledger"])
async def test_what_nobody_can_read_is_not_taken_for_nothing(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be what says that records were released."""
    cluster = Cluster(monkeypatch, {CERTIFICATES: _certificates(P), "out.ledger": []})
    cluster.hostile = topic
    with pytest.raises(UnreadableRecords, match=topic):
        await cluster.findings("A.people")


async def test_a_ledger_that_is_not_read_to_its_end_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, {CERTIFICATES: _certificates(P), "out.ledger": []})
    cluster.incomplete = True
    with pytest.raises(BrokerError, match=r"out\.ledger"):
        await cluster.findings("A.people")
