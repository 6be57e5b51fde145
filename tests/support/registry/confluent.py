"""Confluent's own serializers and deserializers: how others write to a registry's topics, and read from them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass

from stream_anon.formats.registered_formats import described
from tests.support.service import Stage

_FIELDS = {
    "person": ("long", "integer"),
    "age": ("int", "integer"),
    "city": ("string", "string"),
    "serial": ("long", "integer"),
}


def avro_of_people(*more: Mapping[str, Any]) -> str:
    """Return the Avro schema of the made-up records of `tests.support.service`, with more fields."""
    fields = [{"name": name, "type": ["null", kind]} for name, (kind, _) in _FIELDS.items()]
    return json.dumps({"type": "record", "name": "person", "fields": [*fields, *more]})


PROTOBUF_OF_PEOPLE = """
syntax = "proto3";
package people;
message Person {
  optional int64 person = 1;
  optional int32 age = 2;
  optional string city = 3;
  optional int64 serial = 4;
}
"""


def json_of_people() -> str:
    """Return their JSON Schema."""
    properties = {name: {"type": kind} for name, (_, kind) in _FIELDS.items()}
    return json.dumps({"title": "person", "type": "object", "properties": properties})


def avro_stage(stage: Stage, url: str) -> Stage:
    """Return a stage whose input and output are Avro; its records name two writer schemas by turns."""
    confluent, turns = Confluent(url, "avro"), itertools.count()
    age = {"name": "age", "type": ["null", "int", "string"]}  # a bad record has a text there
    plain = json.loads(avro_of_people())["fields"]
    fields = [age if field["name"] == "age" else field for field in plain]
    schemas = [fields, [*fields, {"name": "note", "type": ["null", "string"], "default": None}]]
    texts = [json.dumps({"type": "record", "name": "person", "fields": each}) for each in schemas]
    writers = [confluent.writer(stage.name, text) for text in texts]

    def encode(value: bytes) -> bytes:
        return writers[next(turns) // 1000 % 2](json.loads(value))

    # Both are registered before anything happens: a producer that knows its schema needs no registry.
    for write in writers:
        write({"person": 1, "age": 1, "city": "Bonn", "serial": 1})
    settings = {"kafka": {"format": "avro", "registry": {"url": url}}, "output": {"shape": "typed"}}
    # A reader of its own each: another thread decodes.
    reads = Confluent(url, "avro")
    return replace(
        stage,
        settings=settings,
        encode=encode,
        decode=reads.reader(stage.output),
        decode_input=reads.reader(stage.name),
    )


class Confluent:
    """A producer's and a consumer's side of a registry.

    Parameters
    ----------
    form
        `avro` or `json-schema`.
    """

    opened: ClassVar[list[Self]] = []

    def __init__(self, url: str, form: str) -> None:
        self.opened.append(self)
        self.client = SchemaRegistryClient({"url": url})
        self._form = form

    @classmethod
    def close_all(cls) -> None:
        """Close the connections of all that were made."""
        while cls.opened:
            cls.opened.pop().close()

    def close(self) -> None:
        """Close its connections; it has no word for that."""
        self.client._rest_client.session.close()

    def writer(self, topic: str, schema: str) -> Callable[[Mapping[str, Any]], bytes]:
        """Return what serializes records of a topic; the schema is registered at the first."""
        make = {"avro": AvroSerializer, "json-schema": JSONSerializer}[self._form]
        write = make(schema_registry_client=self.client, schema_str=schema)
        context = SerializationContext(topic, MessageField.VALUE)
        return lambda record: bytes(write(dict(record), context))

    def protobuf_writer(self, topic: str, schema: str) -> Callable[[Mapping[str, Any]], bytes]:
        """Return what serializes records as the first message of a Protobuf schema."""
        kind = GetMessageClass(described(schema))
        write = ProtobufSerializer(kind, self.client, {"use.deprecated.format": False})
        context = SerializationContext(topic, MessageField.VALUE)
        return lambda record: bytes(write(kind(**record), context))

    def protobuf_reader(self, topic: str, schema: str) -> Callable[[bytes], Any]:
        """Return what reads records of the first message of a Protobuf schema; serial numbers are numbers."""
        read = ProtobufDeserializer(GetMessageClass(described(schema)), {"use.deprecated.format": False})
        context = SerializationContext(topic, MessageField.VALUE)

        def record(value: bytes) -> Any:
            found = MessageToDict(read(value, context), preserving_proto_field_name=True)
            return {**found, "serial": int(found["serial"])}

        return record

    def reader(self, topic: str) -> Callable[[bytes], Any]:
        """Return what reads records of a topic."""
        read: Any
        if self._form == "avro":
            read = AvroDeserializer(self.client)
        else:
            read = JSONDeserializer(None, schema_registry_client=self.client)
        context = SerializationContext(topic, MessageField.VALUE)
        return lambda value: read(value, context)

    def register(self, subject: str, schema: str, kind: str = "AVRO") -> int:
        """Register a schema; return its id."""
        return int(self.client.register_schema(subject, Schema(schema, kind)))
