"""Debezium's events in Avro: the frame, the body and the envelope are taken off one after the other."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.errors import SettingsError
from stream_anon.formats.codecs import RecordFormats, topic_codec
from stream_anon.formats.envelopes.wrapping import EnvelopeKind, Updates, Wrapping
from stream_anon.formats.registered_formats import described
from stream_anon.microdata.batch import Reason
from stream_anon.ports.schema_news import SchemaChange
from stream_anon.settings.policy_file import load_policy
from tests.support.driver import Driver
from tests.support.policies import write_policy
from tests.support.registry.memory_registry import MemoryRegistry

HOME = {"type": "record", "name": "home", "fields": [{"name": "city", "type": "string"}]}
ROW = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "person", "type": "string"},
        {"name": "age", "type": ["null", "int"]},
        {"name": "home", "type": HOME},
        {"name": "illness", "type": ["null", "string"], "default": None},
        {"name": "secret", "type": "string"},
    ],
}
SOURCE = {
    "type": "record",
    "name": "Source",
    "fields": [{"name": "connector", "type": "string"}, {"name": "lsn", "type": ["null", "long"]}],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "db.public.people",
    "fields": [
        {"name": "before", "type": ["null", ROW], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": SOURCE},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ],
}
MESSAGE = {
    "type": "record",
    "name": "MessageValue",
    "fields": [
        {"name": "source", "type": SOURCE},
        {"name": "op", "type": "string"},
        {
            "name": "message",
            "type": {
                "type": "record",
                "name": "Message",
                "fields": [{"name": "prefix", "type": ["null", "string"]}, {"name": "content", "type": "bytes"}],
            },
        },
    ],
}
ROW_WITH_OP = {"type": "record", "name": "Event", "fields": [*ROW["fields"], {"name": "op", "type": "string"}]}
HEARTBEAT = {"type": "record", "name": "Heartbeat", "fields": [{"name": "ts_ms", "type": "long"}]}
MARKER = {
    "type": "record",
    "name": "TransactionMetadataValue",
    "namespace": "io.debezium.connector.common",
    "fields": [{"name": "status", "type": "string"}, {"name": "id", "type": "string"}],
}
PERSON = {"person": "p", "age": 5, "home": {"city": "Oslo"}, "illness": "flu", "secret": "x"}


def framed(schema: dict[str, Any], number: int, record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    return b"\0" + number.to_bytes(4, "big") + out.getvalue()


def event(op: str, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None) -> bytes:
    source = {"connector": "postgresql", "lsn": 7}
    return framed(ENVELOPE, 1, {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1})


def message(prefix: str | None) -> bytes:
    source, told = {"connector": "postgresql", "lsn": 7}, {"prefix": prefix, "content": b"x"}
    return framed(MESSAGE, 4, {"source": source, "op": "m", "message": told})


@pytest.mark.parametrize("updates", Updates)
async def test_a_row_after_a_change_is_read_and_all_else_is_ignored_by_name(
    tmp_path: Path, updates: Updates
) -> None:
    noticed = list[SchemaChange]()
    async with MemoryRegistry() as registry:
        registry.add(ENVELOPE, 1)
        registry.add(HEARTBEAT, 2)
        registry.add(ROW, 3)
        registry.add(MESSAGE, 4)
        registry.add(ROW_WITH_OP, 5)
        access = RegistryAccess(registry.url, timeout=2.0)
        formats = RecordFormats("avro", "json", access, wrapping=Wrapping(EnvelopeKind.DEBEZIUM, updates))
        codec = topic_codec(load_policy(write_policy(tmp_path)), 100_000, formats, noticed.append)
        values = [
            event("c", after=PERSON),
            event("r", after=PERSON | {"illness": "__debezium_unavailable_value"}),
            event("u", PERSON, PERSON | {"age": 6}),
            event("d", PERSON),
            None,
            event("t"),
            framed(HEARTBEAT, 2, {"ts_ms": 1}),
            framed(ROW, 3, PERSON),
            event("x", after=PERSON),
            event("c"),
            event("d"),
            event("d", PERSON, PERSON),
            message("audit"),
            message(None),
            *(framed(ROW_WITH_OP, 5, PERSON | {"op": op}) for op in "dtm"),
        ]
        await codec.learn([values])
        batch = codec.decode(values, 0, np.arange(len(values)))
    passed = [(None, "flu"), (None, None), (None, "flu")]
    rows = 3 if updates is Updates.RELEASE else 2
    assert batch.offsets.tolist() == [0, 1, 2][:rows]
    assert [tuple(row) for row in batch.payload] == passed[:rows]
    told = [Reason(reason).label for reason in batch.rejects.reasons.tolist()]
    # Of events that are no changes no field is read: a row with a column ts_ms must not be taken for a heartbeat.
    wrong = ["wrong-envelope"]
    proven = ["deleted", *wrong, "message", *wrong * 4]
    assert told == [
        *([] if rows == 3 else ["update"]),
        *("deleted", "tombstone", "truncated", *wrong * 4, *proven),
    ]
    (lacking,) = {names for change in noticed for names in [change.lacking] if change.schema == "1"}
    assert lacking == ("visits",)


@pytest.mark.parametrize("envelope", [EnvelopeKind.DEBEZIUM, EnvelopeKind.NONE])
async def test_heartbeats_and_markers_are_known_by_the_names_of_their_schemas(
    tmp_path: Path, envelope: EnvelopeKind
) -> None:
    noticed: list[SchemaChange] = []
    beat = HEARTBEAT | {"name": "io.debezium.connector.common.Heartbeat"}
    async with MemoryRegistry() as registry:
        registry.add(beat, 1)
        registry.add(MARKER, 2)
        registry.add(HEARTBEAT, 3)
        formats = RecordFormats(
            "avro", "json", RegistryAccess(registry.url, timeout=2.0), wrapping=Wrapping(envelope)
        )
        codec = topic_codec(load_policy(write_policy(tmp_path)), 100_000, formats, noticed.append)
        values = [
            framed(beat, 1, {"ts_ms": 1}),
            framed(MARKER, 2, {"status": "BEGIN", "id": "7"}),
            framed(HEARTBEAT, 3, {"ts_ms": 1}),
            b"",
        ]
        await codec.learn([values])
        batch = codec.decode(values, 0, np.arange(len(values)))
    told = [Reason(reason).label for reason in batch.rejects.reasons.tolist()]
    if envelope is EnvelopeKind.DEBEZIUM:
        assert told == ["heartbeat", "transaction-marker", "wrong-envelope", "empty"]
        assert {change.schema for change in noticed} == {"3"}, "what is ignored lacks nothing"
    else:
        assert "heartbeat" not in told
        assert told[3] == "empty"


async def test_envelopes_that_are_json_alone_are_refused_for_other_formats() -> None:
    registry = {"url": "http://127.0.0.1:1"}
    for envelope in ("cloudevents", "connect"):
        kafka = {"format": "avro", "registry": registry, "envelope": envelope}
        with pytest.raises(SettingsError, match="format json"):
            Driver(kafka=kafka)


PROTOBUF = """
syntax = "proto3";
message Envelope {
  message Value { optional string person = 1; optional int32 age = 2; optional string illness = 3; }
  message Source { optional string connector = 1; optional int64 lsn = 2; }
  optional Value before = 1;
  optional Value after = 2;
  optional Source source = 3;
  optional string op = 4;
}
"""
PROTOBUF_ROW = """
syntax = "proto3";
message Event { optional string person = 1; optional int32 age = 2; optional string op = 3; }
"""


async def test_what_is_ignored_in_protobuf_proves_to_be_an_event(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    from google.protobuf.message_factory import GetMessageClass

    def written(schema: str, number: int, record: dict[str, Any]) -> bytes:
        body = GetMessageClass(described(schema))(**record).SerializeToString()
        return b"\0" + number.to_bytes(4, "big") + b"\0" + bytes(body)

    row, source = {"person": "p", "age": 5, "illness": "flu"}, {"connector": "mysql", "lsn": 7}
    values = [
        written(PROTOBUF, 1, {"op": "d", "before": row, "source": source}),
        written(PROTOBUF, 1, {"op": "t", "source": source}),
        written(PROTOBUF, 1, {"op": "d", "before": row}),
        written(PROTOBUF, 1, {"op": "d", "before": row, "source": {"lsn": 7}}),
        written(PROTOBUF, 1, {"op": "d", "after": row, "source": source}),
        *(written(PROTOBUF_ROW, 2, {"person": "p", "age": 5, "op": op}) for op in "dtm"),
    ]
    async with MemoryRegistry() as registry:
        registry.add(PROTOBUF, 1, kind="PROTOBUF")
        registry.add(PROTOBUF_ROW, 2, kind="PROTOBUF")
        access = RegistryAccess(registry.url, timeout=2.0)
        formats = RecordFormats("protobuf", "json", access, wrapping=Wrapping(EnvelopeKind.DEBEZIUM))
        codec = topic_codec(load_policy(write_policy(tmp_path)), 100_000, formats)
        await codec.learn([values])
        batch = codec.decode(values, 0, np.arange(len(values)))
    told = [Reason(reason).label for reason in batch.rejects.reasons.tolist()]
    assert told == ["deleted", "truncated", *["wrong-envelope"] * 6]
