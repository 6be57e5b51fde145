"""The formats whose records name a schema in a registry: a new one is a line of the table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stream_anon.errors import InputError
from stream_anon.extras import require
from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.avro.encoding import AvroEncoder
from stream_anon.formats.protobuf.encoding import ProtobufEncoder
from stream_anon.formats.registry.framing import Framing
from stream_anon.formats.registry.messages import KnownMessages, MessagePlace
from stream_anon.formats.registry.registered import RegisteredSchema
from stream_anon.formats.registry.registry_codec import BodyEncoder
from stream_anon.formats.registry.schema_fields import FieldTypes, avro_fields, json_fields, protobuf_fields
from stream_anon.formats.registry.schema_learning import BodyFormat, ParsedSchema
from stream_anon.formats.unwrapping import Bodies, Ignored, Unwrapper
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.ports import Codec

Paths = tuple[tuple[str, ...], ...]
_PROTOBUF = ("google.protobuf", "grpc_tools", "google.type")  # modules that read its schemas
_EMPTY = 'syntax = "proto3"; message Nothing {}'
_NOTHING = '{"type": "record", "name": "nothing", "fields": []}'


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read of the bodies of a topic.

    Parameters
    ----------
    paths
        Of all fields that are read.
    sensitive
        Of those of sensitive attributes: a default that nobody wrote would count as a value, and a class could
        reach l by it.
    most
        Bodies of more bytes are too large.
    ignored
        Why records are ignored, by the names of their schemas.
    """

    paths: Paths
    sensitive: Paths
    most: int
    framing: Framing = Framing.CONFLUENT
    ignored: Mapping[str, Reason] = field(default_factory=dict)

    def reader(
        self, name: str, make: Callable[[], tuple[Unwrapper, FieldTypes]]
    ) -> tuple[Unwrapper, FieldTypes | None]:
        """Return what reads a message of this name, and the types of its fields; None where nothing is read."""
        reason = self.ignored.get(name)
        return make() if reason is None else (Ignored(reason), None)


@dataclass(frozen=True, slots=True)
class RegisteredFormat:
    """How a format is read and written.

    Parameters
    ----------
    kind
        What a registry calls its schemas.
    typed
        Whether what is written needs one type for each attribute.
    messages
        Whether a record names a message of its schema.
    taken_wrongly
        Says why readers of an older schema would take a field of ours, given as its text, for another one; None
        where fields are found by name.
    """

    kind: str
    body: Callable[[Wanted], BodyFormat]
    encoder: Callable[[Policy, Codec], BodyEncoder]
    typed: bool
    messages: bool = False
    taken_wrongly: Callable[[str, RegisteredSchema], str | None] | None = None


def _json_bodies(wanted: Wanted) -> BodyFormat:
    return BodyFormat(
        "JSON",
        lambda schema: ParsedSchema(lambda _: (Bodies(), json_fields(schema.text, wanted.paths))),
        references=False,
    )


def _avro_bodies(wanted: Wanted) -> BodyFormat:
    def parse(schema: RegisteredSchema) -> ParsedSchema:
        reader = AvroReader(schema.text, wanted.paths, wanted.most, dict(schema.references))
        fields = avro_fields(schema.text, schema.references, wanted.paths)
        return ParsedSchema(lambda _: wanted.reader(reader.name, lambda: (reader, fields)))

    return BodyFormat("AVRO", parse, lambda: AvroReader(_NOTHING, (), wanted.most).warm_up())


def _protobuf_bodies(wanted: Wanted) -> BodyFormat:
    require("kafka.format", *_PROTOBUF)
    from stream_anon.formats.protobuf.message_reader import MessageReader
    from stream_anon.formats.protobuf.proto_files import Messages, message_of

    def parse(schema: RegisteredSchema) -> ParsedSchema:
        messages = Messages(schema.text, dict(schema.references))

        def reader(place: MessagePlace) -> tuple[Unwrapper, FieldTypes | None]:
            descriptor = messages.at(place)
            return wanted.reader(
                descriptor.full_name,
                lambda: (
                    MessageReader(descriptor, wanted.paths, wanted.most, wanted.sensitive),
                    protobuf_fields(descriptor, wanted.paths),
                ),
            )

        known: KnownMessages = messages.places
        if wanted.framing is Framing.GLUE:
            known = messages.by_number
        elif wanted.framing.is_apicurio:
            known = messages.by_name
        return ParsedSchema(reader, known)

    def warm_up() -> None:
        MessageReader(message_of(_EMPTY, (0,), {}), (), wanted.most).warm_up()

    return BodyFormat("PROTOBUF", parse, warm_up, messages=True)


class _JsonBodies:
    """Writes what the codec of JSON writes; see `BodyEncoder`."""

    most_around = 0  # its own bound says it already

    def __init__(self, policy: Policy, plain: Codec) -> None:
        self.schema = json.dumps(released_schema(policy))
        self.encode, self.larger_than, self.warm_up = plain.encode_in_bulk, plain.larger_than, plain.warm_up

    def admitted(self, batch: CodedBatch) -> CodedBatch:
        """Return the batch: whatever was read can be written."""
        return batch


def _protobuf_encoder(policy: Policy, _plain: Codec) -> ProtobufEncoder:
    require("kafka.format", *_PROTOBUF)
    return ProtobufEncoder(policy)


def _taken_wrongly(own: str, older: RegisteredSchema) -> str | None:
    from stream_anon.formats.protobuf.proto_files import taken_wrongly

    return taken_wrongly(own, older.text, dict(older.references))


REGISTERED: Mapping[str, RegisteredFormat] = {
    "json-schema": RegisteredFormat("JSON", _json_bodies, _JsonBodies, typed=False),
    "avro": RegisteredFormat("AVRO", _avro_bodies, lambda policy, _: AvroEncoder(policy), typed=True),
    "protobuf": RegisteredFormat(
        "PROTOBUF", _protobuf_bodies, _protobuf_encoder, typed=True, messages=True, taken_wrongly=_taken_wrongly
    ),
}


def described(schema: str) -> Any:
    """Return the descriptor of the first message of a Protobuf schema, as protoc reads it. Raises ValueError."""
    require("kafka.format", *_PROTOBUF)
    from stream_anon.formats.protobuf.proto_files import message_of

    try:
        return message_of(schema, (0,), {})
    except InputError as error:
        raise ValueError(str(error)) from None
