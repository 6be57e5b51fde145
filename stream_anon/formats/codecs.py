"""The formats of records by name. A new one is a room beside `json` and a line here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from stream_anon.errors import InputError, SettingsError
from stream_anon.extras import require
from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.avro.encoding import AvroEncoder
from stream_anon.formats.envelopes.wrapping import Wrapping
from stream_anon.formats.guarding import GuardedCodec
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.protobuf.encoding import ProtobufEncoder
from stream_anon.formats.registry.asked_schemas import Schemas
from stream_anon.formats.registry.asking import SchemaRegistry
from stream_anon.formats.registry.framed_texts import FramedTexts
from stream_anon.formats.registry.framing import Framing, headers_of
from stream_anon.formats.registry.messages import KnownMessages, MessagePlace
from stream_anon.formats.registry.registered import RegisteredSchema
from stream_anon.formats.registry.registry_codec import BodyEncoder, RegistryCodec
from stream_anon.formats.registry.schema_fields import FieldTypes, avro_fields, json_fields, protobuf_fields
from stream_anon.formats.registry.schema_learning import BodyFormat, ParsedSchema
from stream_anon.formats.registry.writing import Frame, OutputSchema
from stream_anon.formats.unwrapping import Bodies, Ignored, Unwrapper, UnwrappingCodec
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.ports import MOST_RECORD_BYTES, Codec
from stream_anon.ports.headers import NO_HEADERS, HeaderRule
from stream_anon.ports.schema_news import SchemaChange, UnknownSchemas

Paths = tuple[tuple[str, ...], ...]


class _Maker(Protocol):
    def __call__(self, policy: Policy, *, max_record_bytes: int, around: tuple[bytes, bytes]) -> Codec: ...


FORMATS: Mapping[str, _Maker] = {"json": JsonCodec}


BARE = Wrapping()
"""Records without an envelope."""


def codec_of(
    policy: Policy, max_record_bytes: int = MOST_RECORD_BYTES, name: str = "json", wrapping: Wrapping = BARE
) -> Codec:
    """Return the codec of a format.

    Parameters
    ----------
    max_record_bytes
        Larger records are rejected unread.
    name
        One of `FORMATS`.
    wrapping
        What stands around each record that is read, and around each that is written.
    """
    inside, unwrappers = _inside(policy, max_record_bytes, name, wrapping)
    return GuardedCodec(policy, UnwrappingCodec(unwrappers, inside) if unwrappers else inside)


def _inside(policy: Policy, most: int, name: str, wrapping: Wrapping) -> tuple[Codec, tuple[Unwrapper, ...]]:
    """Return what reads the records inside of envelopes, and what takes the envelopes off."""
    read = replace(policy, null_values=policy.null_values | wrapping.null_values)
    inside = FORMATS[name](read, max_record_bytes=most, around=wrapping.around(policy))
    return inside, wrapping.unwrappers(most)


@dataclass(frozen=True)
class RecordFormats:
    """In which formats records stand in topics.

    Parameters
    ----------
    input, output
        One of `FORMATS` or `REGISTERED`.
    registry
        Where schemas are; the formats of `REGISTERED` need it.
    subject, register
        Of the output's schema; see `OutputSchema`.
    wrapping
        What stands around each record, behind the frame that names its schema.
    number
        The id of the output's schema, where nobody is asked for one since nothing is published.
    """

    input: str = "json"
    output: str = "json"
    registry: SchemaRegistry | None = None
    subject: str = ""
    register: bool = True
    wrapping: Wrapping = BARE
    number: int | None = None

    @property
    def names_schemas(self) -> bool:
        """Return whether the records of the input name their schemas."""
        return self.input in REGISTERED

    @property
    def headers(self) -> HeaderRule:
        """Return which headers may name a record's schema."""
        if not self.names_schemas or self.registry is None:
            return NO_HEADERS
        return headers_of(self.registry.framing, messages=self.input == "protobuf")


PLAIN = RecordFormats()


@dataclass(frozen=True, slots=True)
class _Wanted:
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
class _Registered:
    """A format whose records name their schemas: how it is read, and how it is written."""

    kind: str  # what a registry calls it
    body: Callable[[_Wanted], BodyFormat]
    encoder: Callable[[Policy, Codec], BodyEncoder]
    typed: bool  # whether what is written needs one type for each attribute


def _json_bodies(wanted: _Wanted) -> BodyFormat:
    return BodyFormat(
        "JSON",
        lambda schema: ParsedSchema(lambda _: (Bodies(), json_fields(schema.text, wanted.paths))),
        references=False,
    )


def _avro_bodies(wanted: _Wanted) -> BodyFormat:
    def parse(schema: RegisteredSchema) -> ParsedSchema:
        reader = AvroReader(schema.text, wanted.paths, wanted.most, dict(schema.references))
        fields = avro_fields(schema.text, schema.references, wanted.paths)
        return ParsedSchema(lambda _: wanted.reader(reader.name, lambda: (reader, fields)))

    return BodyFormat("AVRO", parse, lambda: AvroReader(_NOTHING, (), wanted.most).warm_up())


def _protobuf_bodies(wanted: _Wanted) -> BodyFormat:
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


_PROTOBUF = ("google.protobuf", "grpc_tools", "google.type")  # modules that read its schemas
_EMPTY = 'syntax = "proto3"; message Nothing {}'
_NOTHING = '{"type": "record", "name": "nothing", "fields": []}'


class _JsonBodies:
    """Writes what the codec of JSON writes; see `BodyEncoder`."""

    most_around = 0  # its own bound says it already

    def __init__(self, policy: Policy, plain: Codec) -> None:
        self.schema = json.dumps(released_schema(policy))
        self.encode, self.larger_than, self.warm_up = plain.encode_in_bulk, plain.larger_than, plain.warm_up

    def admitted(self, batch: CodedBatch) -> CodedBatch:
        """Return the batch: whatever was read can be written."""
        return batch


REGISTERED: Mapping[str, _Registered] = {
    "json-schema": _Registered("JSON", _json_bodies, _JsonBodies, typed=False),
    "avro": _Registered("AVRO", _avro_bodies, lambda policy, _: AvroEncoder(policy), typed=True),
    "protobuf": _Registered("PROTOBUF", _protobuf_bodies, lambda policy, _: ProtobufEncoder(policy), typed=True),
}


def kind_of(name: str) -> str:
    """Return what a registry calls the schemas of a format of `REGISTERED`."""
    return REGISTERED[name].kind


def described(schema: str) -> Any:
    """Return the descriptor of the first message of a Protobuf schema, as protoc reads it. Raises ValueError."""
    require("kafka.format", *_PROTOBUF)
    from stream_anon.formats.protobuf.proto_files import message_of

    try:
        return message_of(schema, (0,), {})
    except InputError as error:
        raise ValueError(str(error)) from None


def topic_codec(
    policy: Policy,
    max_record_bytes: int = MOST_RECORD_BYTES,
    formats: RecordFormats = PLAIN,
    noticed: Callable[[SchemaChange], None] = lambda _: None,
    unheard: Callable[[UnknownSchemas], None] = lambda _: None,
) -> Codec:
    """Return the codec of a service's topics.

    Parameters
    ----------
    max_record_bytes
        Larger records are rejected unread.
    noticed
        Hears of each schema of the input that tells something about declared fields.
    unheard
        Hears of schemas that records name and the registry does not know.

    Raises
    ------
    SettingsError
        If the output's format needs another shape.
    """
    if formats.registry is None or not {formats.input, formats.output} & REGISTERED.keys():
        plain = formats.input if formats.input in FORMATS else "json"
        return codec_of(policy, max_record_bytes, plain, formats.wrapping)
    check_formats(policy, formats)
    # What the bodies of registered formats mean is JSON.
    inside, unwrappers = _inside(policy, max_record_bytes, "json", formats.wrapping)
    framed = _framed_texts(policy, max_record_bytes, formats, formats.registry, noticed, unheard)
    writing = _writing(policy, inside, formats, formats.registry)
    return GuardedCodec(policy, RegistryCodec(framed, unwrappers, inside, writing))


def check_formats(policy: Policy, formats: RecordFormats) -> None:
    """Raise SettingsError if a format cannot be had, or the output's format needs another shape of the records."""
    for name in (formats.input, formats.output):
        if name not in FORMATS and name not in REGISTERED:
            raise SettingsError("kafka.format", f"{name} is not supported")
        if name in FORMATS and name != "json" and formats.input != formats.output:
            raise SettingsError("kafka.format", f"{name} must be the format of both input and output")
    typed = formats.output in REGISTERED and REGISTERED[formats.output].typed
    if typed and policy.shape is Shape.NATURAL:
        raise SettingsError("kafka.format", f"{formats.output} output needs output.shape: typed or flat")


async def raise_if_schema_refused(policy: Policy, formats: RecordFormats) -> None:
    """Ask the registry whether the schema of the output may be written, and register nothing.

    Raises
    ------
    RegistryError
        If the registry is away, or the subject has no schema yet and none may be registered.
    Refused
        If a worker would be refused.
    """
    if formats.registry is not None and formats.output in REGISTERED:
        writing = _writing(policy, codec_of(policy), formats, formats.registry)
        if writing is not None:
            await writing[1].raise_if_refused()


def _framed_texts(
    policy: Policy,
    max_record_bytes: int,
    formats: RecordFormats,
    registry: SchemaRegistry,
    noticed: Callable[[SchemaChange], None],
    unheard: Callable[[UnknownSchemas], None],
) -> FramedTexts | None:
    """Return what takes the frames of the input off; None if it has none."""
    if not formats.names_schemas:
        return None
    wrapping = formats.wrapping
    attributes = {wrapping.placed(attribute.path): attribute.name for attribute in policy.attributes}
    sensitive = tuple(wrapping.placed(one.path) for one in policy.attributes if isinstance(one, Sensitive))
    paths, ignored = (*attributes, *wrapping.beside), wrapping.ignored_schemas
    form = REGISTERED[formats.input].body(_Wanted(paths, sensitive, max_record_bytes, registry.framing, ignored))
    schemas = Schemas(registry, form, attributes, noticed, unheard)
    return FramedTexts(schemas, registry.framing, form, max_record_bytes)


def _writing(
    policy: Policy, plain: Codec, formats: RecordFormats, registry: SchemaRegistry
) -> tuple[BodyEncoder, Frame] | None:
    if formats.output not in REGISTERED:
        return None
    chosen = REGISTERED[formats.output]
    encoder, kind = chosen.encoder(policy, plain), chosen.kind
    by_number = kind == "PROTOBUF"
    schema = OutputSchema(
        formats.subject,
        encoder.schema,
        kind,
        register=formats.register,
        message=by_number,
        taken_wrongly=_numbers_taken_wrongly(encoder.schema) if by_number else None,
        number=formats.number,
    )
    return encoder, Frame(registry, schema)


def _numbers_taken_wrongly(own: str) -> Callable[[RegisteredSchema], str | None]:
    """Return what says why readers of an older Protobuf schema would take a field for another."""
    from stream_anon.formats.protobuf.proto_files import taken_wrongly

    return lambda older: taken_wrongly(own, older.text, dict(older.references))
