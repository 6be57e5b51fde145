"""Records whose schema Confluent's own serializers name by a GUID in a header."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import numpy as np
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.formats.codecs import RecordFormats, topic_codec
from stream_anon.formats.protobuf.proto_files import message_of
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy

AVRO = json.dumps(
    {
        "type": "record",
        "name": "visit",
        "fields": [
            {"name": "person", "type": "string"},
            {"name": "age", "type": "int"},
            {"name": "visits", "type": "long"},
        ],
    }
)
PROTOBUF = """
syntax = "proto3";
package clinic;
message Other { string key = 1; }
message Visit { string person = 1; optional int32 age = 2; int64 visits = 3; }
"""
RECORD = {"person": "p", "age": 5, "visits": 7}


def _written(form: str) -> tuple[list[tuple[str, bytes]], bytes]:
    """Return the headers and the value that Confluent's client would send."""
    client, headers = SchemaRegistryClient.new_client({"url": "mock://"}), list[tuple[str, bytes]]()
    chosen = {"schema.id.serializer": header_schema_id_serializer}
    context = SerializationContext("visits", MessageField.VALUE, headers)
    if form == "avro":
        return headers, AvroSerializer(client, AVRO, conf=chosen)(RECORD, context)
    kind = GetMessageClass(message_of(PROTOBUF, (1,), {}))
    serializer = ProtobufSerializer(kind, client, {"use.deprecated.format": False, **chosen})
    return headers, serializer(kind(**RECORD), context)


@pytest.mark.parametrize(("form", "schema"), [("avro", AVRO), ("protobuf", PROTOBUF)])
async def test_what_confluents_serializer_names_in_a_header_is_read(form: str, schema: str, tmp_path: Path) -> None:
    headers, value = _written(form)
    [(_, held)] = headers
    file = tmp_path / "schema"
    file.write_text(schema)
    access = RegistryAccess("http://127.0.0.1:1", schemas={str(uuid.UUID(bytes=bytes(held[1:17]))): file})
    policy = load_policy(write_policy(tmp_path))
    formats = RecordFormats(form, "json", access)
    codec = topic_codec(policy, formats=formats)
    values = [formats.headers.value(value, [(key, bytes(one)) for key, one in headers])]
    await codec.learn([values])
    batch = codec.decode(values, 0, np.arange(1))
    assert len(batch) == 1
    age = [attribute.name for attribute in policy.quasi_identifiers].index("age")
    assert batch.codes[age].tolist() == [5]
    assert dict(zip([one.name for one in policy.passed], batch.payload[0], strict=True))["visits"] == 7
