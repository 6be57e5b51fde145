"""The formats of records by name. A new one is a room beside `json` and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from stream_anon.errors import SettingsError
from stream_anon.formats.envelopes.wrapping import Wrapping
from stream_anon.formats.guarding import GuardedCodec
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.registered_formats import REGISTERED, Wanted
from stream_anon.formats.registry.asked_schemas import Schemas
from stream_anon.formats.registry.asking import SchemaRegistry
from stream_anon.formats.registry.framed_texts import FramedTexts
from stream_anon.formats.registry.framing import headers_of
from stream_anon.formats.registry.registry_codec import BodyEncoder, RegistryCodec
from stream_anon.formats.registry.writing import Frame, OutputSchema
from stream_anon.formats.unwrapping import Unwrapper, UnwrappingCodec
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.ports import MOST_RECORD_BYTES, Codec
from stream_anon.ports.headers import NO_HEADERS, HeaderRule
from stream_anon.ports.schema_news import SchemaChange, UnknownSchemas


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
        return headers_of(self.registry.framing, messages=REGISTERED[self.input].messages)


PLAIN = RecordFormats()


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
    form = REGISTERED[formats.input].body(Wanted(paths, sensitive, max_record_bytes, registry.framing, ignored))
    schemas = Schemas(registry, form, attributes, noticed, unheard)
    return FramedTexts(schemas, registry.framing, form, max_record_bytes)


def _writing(
    policy: Policy, plain: Codec, formats: RecordFormats, registry: SchemaRegistry
) -> tuple[BodyEncoder, Frame] | None:
    if formats.output not in REGISTERED:
        return None
    chosen = REGISTERED[formats.output]
    encoder, taken_wrongly = chosen.encoder(policy, plain), chosen.taken_wrongly
    schema = OutputSchema(
        formats.subject,
        encoder.schema,
        chosen.kind,
        register=formats.register,
        message=chosen.messages,
        taken_wrongly=None if taken_wrongly is None else partial(taken_wrongly, encoder.schema),
        number=formats.number,
    )
    return encoder, Frame(registry, schema)
