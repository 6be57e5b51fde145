"""`check` against brokers: what it finds, what it must not do, and its exit codes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.admin import CreateAclsRequest

from stream_anon.adapters.embedded_broker import EmbeddedBroker
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_reader import read_topic
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.kafka.topics.permissions import least_privileges, permissions_of
from stream_anon.cli.decide.check import check
from stream_anon.errors import BrokerError, TopicError
from stream_anon.judging.findings import Severity
from stream_anon.operations.check.checking import CheckReport, examine_deployment
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka
from tests.support.data import ROOT
from tests.support.plain_kafka import admin_of, create_topics, fill

PERSONAL = "Zyxwvut"
TOPIC, GROUP, LITERAL, ALLOW, DESCRIBE, DESCRIBE_CONFIGS = 2, 3, 3, 3, 8, 10


def _settings(folder: Path, address: str, prefix: str, *, more: str = "", development: bool = True) -> Path:
    path = folder / "settings.yaml"
    path.write_text(
        f"""
kafka:
  bootstrap_servers: "{address}"
  group: {prefix}-group
  input: {prefix}.in
  output: {prefix}.out
  development: {str(development).lower()}
  {more}
privacy: {{k: 3, individual: person}}
window: {{max_records: 100}}
attributes:
  person: {{role: identifier}}
  age: {{role: quasi-identifier, numeric: {{min: 0, max: 99}}}}
  visits: {{role: insensitive, type: integer}}
"""
    )
    return path


def _events(count: int, first: int = 0) -> list[bytes]:
    return [
        json.dumps({"person": f"{PERSONAL}{i}", "age": i % 100, "visits": i % 2, PERSONAL: PERSONAL}).encode()
        for i in range(first, first + count)
    ]


def _topics(prefix: str) -> list[str]:
    return [f"{prefix}.in", f"{prefix}.out", f"{prefix}.out.certificates", f"{prefix}.out.dead-letters"]


def _forbidden(report: CheckReport) -> set[str]:
    return {finding.place for finding in report.findings if finding.severity is Severity.FORBIDS}


@pytest.fixture(scope="module")
def tansu() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.mark.tansu
async def test_a_sample_of_the_demos_broker_is_read_to_its_end(
    tansu: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    await create_topics(tansu.address, _topics(unique))
    await fill(tansu.address, f"{unique}.in", [*_events(250), b"{"], key=b"k")
    report = await examine_deployment(_settings(tmp_path, tansu.address, unique, more="delivery: at-least-once"))
    assert report.study is not None
    assert (report.study.records, report.study.fit, report.study.individuals) == (251, 250, 250)
    assert report.study.forecast is not None
    assert report.study.forecast.windows == 2
    assert not report.forbids
    assert {"kafka.delivery", "kafka.development"} <= {finding.place for finding in report.findings}


@pytest.mark.tansu
async def test_a_sample_is_made_of_the_newest_records_of_each_partition(tansu: EmbeddedBroker, unique: str) -> None:
    await create_topics(tansu.address, [f"{unique}.in"])
    for first in range(0, 400, 40):
        await fill(tansu.address, f"{unique}.in", [*_events(40, first)], key=b"k")
    connection = Connection(tansu.address, unique)
    newest = await read_topic(connection, f"{unique}.in", newest=60)
    assert {number: [r.offset for r in part] for number, part in newest.records.items()} == {
        0: list(range(170, 200)),
        1: list(range(170, 200)),
    }
    assert newest.whole == frozenset()
    everything = await read_topic(connection, f"{unique}.in")
    assert len(everything) == 400
    assert everything.whole == {0, 1}
    assert everything.complete
    few = await read_topic(connection, f"{unique}.in", most_bytes=100)
    assert not few.complete


@pytest.mark.kafka
async def test_a_check_joins_no_group_and_creates_no_topic(kafka: ApacheKafka, unique: str, tmp_path: Path) -> None:
    await create_topics(kafka.address, _topics(unique))
    await fill(kafka.address, f"{unique}.in", [*_events(300), b"[]", None], key=b"k")
    report = await examine_deployment(_settings(tmp_path, kafka.address, unique))
    assert report.study is not None
    assert (report.study.records, report.study.fit) == (302, 300)
    assert not report.forbids
    async with admin_of(kafka.address) as admin:
        assert f"{unique}-group" not in [group for group, _ in await admin.list_consumer_groups()]
        assert f"{unique}.out.ledger" not in await admin.list_topics()


@pytest.mark.kafka
async def test_topics_that_are_missing_or_poorly_replicated_forbid_a_run(
    kafka: ApacheKafka, unique: str, tmp_path: Path
) -> None:
    await create_topics(kafka.address, _topics(unique)[1:3])
    report = await examine_deployment(_settings(tmp_path, kafka.address, unique, development=False))
    assert _forbidden(report) >= {*_topics(unique)}
    assert report.study is None
    ledger = f"{unique}.out.ledger"
    assert ledger not in _forbidden(report)
    with pytest.raises(TopicError, match="does not exist"):
        await read_topic(Connection(kafka.address, unique), f"{unique}.in")


@pytest.mark.kafka
def test_rare_values_forbid_a_run_until_they_are_accepted(
    kafka: ApacheKafka, unique: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(create_topics(kafka.address, _topics(unique)))
    rare: list[bytes | None] = [
        json.dumps({"person": f"{PERSONAL}{i}", "age": 1, "visits": i}).encode() for i in range(30)
    ]
    asyncio.run(fill(kafka.address, f"{unique}.in", rare, key=b"k"))
    path = _settings(tmp_path, kafka.address, unique)
    assert check(path) == 1
    said = capsys.readouterr().out
    assert "FORBIDS  attributes.visits" in said
    assert PERSONAL not in said
    path.write_text(path.read_text().replace("type: integer", "type: integer, accept_linkable: true"))
    assert check(path) == 0
    assert "Nothing prevents a run." in capsys.readouterr().out


@pytest.mark.kafka
async def test_a_broker_without_rules_refuses_nothing(kafka: ApacheKafka, unique: str) -> None:
    await create_topics(kafka.address, _topics(unique))
    source, *others = _topics(unique)
    topics = Topics(InputTopics((source,)), *others, f"{unique}.ledger")
    wanted = least_privileges(unique, topics, (source,))
    found = await permissions_of(Connection(kafka.address, unique), wanted)
    places = {*_topics(unique), f"{unique}.ledger", f"group {unique}", f"transactional ids {unique}-*"}
    assert {acl.place for acl in found.told} == places
    assert found.missing == ()


@pytest.mark.kafka
def test_what_the_brokers_forbid_forbids_a_run(
    kafka: ApacheKafka, unique: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    output, group = f"{unique}.out", f"{unique}-group"
    with ApacheKafka(tmp_path / "broker", properties) as strict:
        asyncio.run(create_topics(strict.address, _topics(unique)))
        asyncio.run(fill(strict.address, f"{unique}.in", [*_events(50)], key=b"k"))
        # What has a rule allows nothing else.
        asyncio.run(_allow(strict.address, TOPIC, output, DESCRIBE, DESCRIBE_CONFIGS))
        asyncio.run(_allow(strict.address, GROUP, group, DESCRIBE))
        path = _settings(tmp_path, strict.address, unique)
        report = asyncio.run(examine_deployment(path))
        assert _forbidden(report) == {output, f"group {group}"}
        assert report.study is not None
        asyncio.run(_allow(strict.address, TOPIC, f"{unique}.in", DESCRIBE, DESCRIBE_CONFIGS))
        assert check(path) == 1
    assert f"FORBIDS  {unique}.in: this user may not read" in capsys.readouterr().out


async def _allow(address: str, kind: int, name: str, *operations: int) -> None:
    client = AIOKafkaClient(bootstrap_servers=address)
    await client.bootstrap()
    try:
        for operation in operations:
            rule = CreateAclsRequest(kind, name, LITERAL, "User:ANONYMOUS", "*", operation, ALLOW)
            answer = await client.send(client.get_random_node(), rule)
            assert answer.creation_responses[0][0] == 0
    finally:
        await client.close()


def _command(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stream_anon.cli.main", "check", "--config", str(path)],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_an_absent_broker_and_wrong_settings_have_exit_codes_of_their_own(tmp_path: Path) -> None:
    begun = time.monotonic()
    path = _settings(tmp_path, "127.0.0.1:1", "away")
    run = _command(path)
    assert run.returncode == 3, run.stderr
    assert "kafka.bootstrap_servers (connection refused)" in run.stderr
    path.write_text(path.read_text().replace("k: 3", "k: 1"))
    run = _command(path)
    assert run.returncode == 2
    assert "privacy.k" in run.stderr
    assert time.monotonic() - begun < 50


async def test_an_absent_broker_is_an_error_and_not_waited_for() -> None:
    with pytest.raises(BrokerError):
        await permissions_of(Connection("127.0.0.1:1", "g"), ())
    with pytest.raises(BrokerError):
        await read_topic(Connection("127.0.0.1:1", "g"), "t")
