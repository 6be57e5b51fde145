"""A real PostgreSQL, read by a real Debezium into a real Kafka: rows are released, all else is counted by name."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest
import yaml
from aiokafka import ConsumerRecord

from tests.support.debezium import Connect, in_avro, in_json, jdbc_sink, postgres_source
from tests.support.postgres import Postgres, missing_parts
from tests.support.registry.apicurio import Apicurio
from tests.support.service import CITIES, Stage, WorkerProcess, command, make_records, produce, wait_until_accounted

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.soak,
    pytest.mark.skipif(bool(missing_parts()), reason=missing_parts() or "PostgreSQL is here"),
]

SNAPSHOT, INSERTED, UPDATED, DELETED = 300, 300, 60, 25
UNAVAILABLE = "__debezium_unavailable_value"
WITHIN = 120.0
ATTRIBUTES = {
    "weight": {"role": "quasi-identifier", "numeric": {"min": 40, "max": 120, "step": 0.1}, "coerce": True},
    "born": {"role": "quasi-identifier", "date": {"format": "epoch-d", "min": "1930-01-01", "max": "2029-12-31"}},
    "note": {"role": "insensitive", "accept_linkable": True, "accept_missing": True},
}
TABLE = """
CREATE TABLE people (
    serial bigint PRIMARY KEY, person bigint, age int, city text, weight numeric(5, 1), born date, note text
);
ALTER TABLE people ALTER COLUMN note SET STORAGE EXTERNAL;
"""


@pytest.fixture
def database() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


def rows(count: int, first: int) -> str:
    """Return the SQL that inserts made-up people, each with a note too large to be logged again at an update."""
    draws = np.random.default_rng(first)
    values = [
        f"({serial}, {int(draws.integers(0, 400))}, {int(draws.integers(0, 100))}, "
        f"'{CITIES[int(draws.integers(0, len(CITIES)))]}', {draws.integers(400, 1200) / 10}, "
        f"'{dt.date(1930, 1, 1) + dt.timedelta(int(draws.integers(0, 36_000)))}', repeat('{serial} ', 1500))"
        for serial in range(first, first + count)
    ]
    return f"INSERT INTO people VALUES {', '.join(values)};\n"  # noqa: S608 - of made-up values


def read_json(record: ConsumerRecord) -> dict[str, Any]:
    """Return an event, without the schema beside it."""
    event: dict[str, Any] = json.loads(record.value)
    return event.get("payload", event)


def avro_reader(registry: str) -> Callable[[ConsumerRecord], dict[str, Any]]:
    """Return what reads an event by the global id in its header, with all that its schema refers to."""
    schemas: dict[int, Any] = {}

    def read(record: ConsumerRecord) -> dict[str, Any]:
        number = int.from_bytes(dict(record.headers)["apicurio.value.globalId"], "big")
        if number not in schemas:
            url = f"{registry}/ids/globalIds/{number}?dereference=true"
            with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own address
                schemas[number] = fastavro.parse_schema(json.load(answer))
        event = fastavro.schemaless_reader(io.BytesIO(record.value), schemas[number], None)
        assert isinstance(event, dict)
        return event

    return read


async def events_of(
    stage: Stage, debezium: Connect, read: Callable[[ConsumerRecord], dict[str, Any]], **wanted: int
) -> None:
    """Wait until the topic holds so many events of each operation."""
    deadline = time.monotonic() + WITHIN
    while True:
        found: Counter[str] = Counter()
        for record in await stage.kafka.read_to_end(stage.name):
            found[read(record).get("op", "none") if record.value else "none"] += 1
        if all(found[op] >= count for op, count in wanted.items()):
            return
        assert time.monotonic() < deadline, f"{dict(found)} of {wanted}: {debezium.log}"
        await asyncio.sleep(0.5)


def configured(stage: Stage, **kafka: Any) -> Path:
    """Return a settings file with all columns of the table."""
    config = stage.config(kafka=kafka)
    document = yaml.safe_load(config.read_text())
    document["attributes"] |= ATTRIBUTES
    config.write_text(yaml.safe_dump(document))
    return config


@pytest.mark.parametrize(
    ("form", "updates"), [("json with schemas", "release"), ("json", "skip"), ("avro", "release")]
)
async def test_rows_of_a_real_database_are_released_and_all_else_is_ignored_by_name(
    stage: Stage, database: Postgres, tmp_path: Path, request: pytest.FixtureRequest, form: str, updates: str
) -> None:
    kafka: dict[str, Any] = {"envelope": "debezium", "updates": updates}
    converter, read = in_json(schemas="schemas" in form), read_json
    if form == "avro":
        registry: Apicurio = request.getfixturevalue("registry")
        kafka |= {
            "format": {"input": "avro", "output": "json"},
            "registry": {"url": registry.url, "framing": "apicurio-global"},
        }
        own = registry.url.replace("/apis/ccompat/v7", "/apis/registry/v2")
        converter, read = in_avro(own), avro_reader(own)
    database.execute(TABLE + rows(SNAPSHOT, 0))
    properties = {"decimal.handling.mode": "string"}
    source = postgres_source(database, stage.name, tables="public.people", properties=properties)
    debezium = Connect(tmp_path / "connect", stage.kafka, source, converter)
    with debezium:
        await events_of(stage, debezium, read, r=SNAPSHOT)
        database.execute(rows(INSERTED, SNAPSHOT))
        database.execute(f"UPDATE people SET age = 99 - age WHERE serial < {UPDATED};")  # noqa: S608
        database.execute(f"DELETE FROM people WHERE serial >= {SNAPSHOT + INSERTED - DELETED};")  # noqa: S608
        database.execute("SELECT pg_logical_emit_message(true, 'audit', 'a message beside rows');")
        database.execute("TRUNCATE people;")
        await events_of(stage, debezium, read, c=INSERTED, u=UPDATED, d=DELETED, m=1, t=1)
    sent = await stage.kafka.read_to_end(stage.name)
    config = configured(stage, **kafka)
    with WorkerProcess(config) as worker:
        published = await wait_until_accounted(stage, len(sent))
        metrics = worker.get("/metrics")[1]
    certificates = [each for each in published.certificates if each["part"] == 1]
    ignored = Counter[str]()
    for certificate in certificates:
        ignored.update(certificate.get("ignored", {}))

    assert published.dead_letters == []
    suppressed = sum(certificate["suppressed"] for certificate in certificates)
    counted = SNAPSHOT + INSERTED + (UPDATED if updates == "release" else 0)
    assert len(published.records) + suppressed == counted
    assert len(published.records) > counted / 2, "nearly all was suppressed: the test proves little"
    assert ignored["deleted"] == ignored["tombstone"] == DELETED
    assert (ignored["message"], ignored["truncated"]) == (1, 1)
    assert ignored["heartbeat"] > 0
    assert ignored["transaction-marker"] > 0
    assert ignored["update"] == (0 if updates == "release" else UPDATED)
    assert ignored.total() + counted == len(sent)
    assert f'stream_anon_records_ignored_total{{reason="deleted"}} {DELETED:.1f}' in metrics

    _check_values([record for _, record in published.records], updates)
    code, text = await command("audit", config)
    assert code == 0, text


def _check_values(records: list[dict[str, Any]], updates: str) -> None:
    """Check that what an update left unchanged is missing and never published as it stands in for the value."""
    serials = Counter(record["serial"] for record in records)
    assert max(serials.values()) <= (2 if updates == "release" else 1)
    assert UNAVAILABLE not in json.dumps(records)
    missing = [record["serial"] for record in records if record["note"] is None]
    assert all(record["note"] in (None, f"{record['serial']} " * 1500) for record in records)
    assert set(missing) <= set(range(UPDATED))
    assert bool(missing) == (updates == "release")


async def test_a_jdbc_sink_reads_what_is_written_as_pairs(stage: Stage, database: Postgres, tmp_path: Path) -> None:
    values = make_records(400, 1)
    pairs = [b'{"schema":{"type":"struct"},"payload":%b}' % value for value in values]
    await produce(stage, pairs)
    config = stage.config(kafka={"envelope": "connect", "output_envelope": "connect"})
    document = yaml.safe_load(config.read_text()) | {"output": {"shape": "flat"}}
    config.write_text(yaml.safe_dump(document))
    with WorkerProcess(config):
        published = await wait_until_accounted(stage, len(values))
    code, text = await command("audit", config)
    assert code == 0, text
    sink = Connect(
        tmp_path / "sink", stage.kafka, jdbc_sink(database, stage.output, "released"), in_json(schemas=True)
    )
    count = len(published.records)
    assert count > len(values) / 2
    with sink:
        deadline = time.monotonic() + WITHIN
        there = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'released';"
        while database.execute(there).strip() == "0" or _rows(database) < count:
            assert time.monotonic() < deadline, sink.log
            await asyncio.sleep(0.5)
    columns = ("age_min", "age_max", "city", "serial")
    found = database.execute(f"SELECT row_to_json(r) FROM (SELECT {', '.join(columns)} FROM released) r;")  # noqa: S608
    expected = [record["payload"] for _, record in published.records]
    assert sorted(map(json.loads, found.splitlines()), key=_serial) == sorted(expected, key=_serial)


def _rows(database: Postgres) -> int:
    return int(database.execute("SELECT count(*) FROM released;"))


def _serial(record: dict[str, Any]) -> int:
    return int(record["serial"])
