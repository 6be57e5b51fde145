"""Decode the records of an output topic: by the schemas that stand in the registry, as their readers do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stream_anon.adapters.kafka.reading.topic_reader import CommittedRecord
from stream_anon.audit.formats.decoding import WriterSchema, by_schemas, schema_named
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.released_records import Decoded
from stream_anon.formats.codecs import RecordFormats
from stream_anon.formats.registered_formats import REGISTERED, described
from stream_anon.formats.registry.framing import Framing


class OutputDecoder:
    """Decodes released records of the formats of a service.

    A record that names no schema of the registry, or one of another kind, is no record: the audit says so. Whether
    the schema is the one of the record's policy is for the judge of its window to say.
    """

    def __init__(self, formats: RecordFormats) -> None:
        self._formats = formats
        self._schemas: dict[int, WriterSchema | None] = {}
        named = by_schemas(self._schemas, formats.output)
        self._decode: Callable[[bytes | None], Decoded] = decode_record if formats.output == "json" else named

    async def learn(self, values: Iterable[bytes | None]) -> None:
        """Fetch the schemas that records name. Raises RegistryError."""
        registry = self._formats.registry
        if registry is None or self._formats.output == "json":
            return
        wanted = {schema_named(value) for value in values} - {None, *self._schemas}
        if wanted:
            async with registry.session(Framing.CONFLUENT) as session:  # as the output is framed
                for number in sorted(each for each in wanted if each is not None):
                    found = await session.schema(number, alone=True)
                    fits = found is not None and found.kind == REGISTERED[self._formats.output].kind
                    self._schemas[number] = self._made(found.text) if found is not None and fits else None

    def _made(self, schema: str) -> WriterSchema | None:
        try:
            return WriterSchema.of(self._formats.output, schema, described)
        except ValueError:
            return None

    def decode(self, value: bytes | None) -> Decoded:
        """Return what a record says; None if it is none."""
        return self._decode(value)


def batch_of(record: CommittedRecord) -> str | None:
    """Return the header that names the window; None where it is absent, empty of a value, or stands twice."""
    value = header_of(record, "batch")
    return None if value is None else value.decode("ascii", "replace")


def header_of(record: CommittedRecord, wanted: str) -> bytes | None:
    """Return the value of a header; None where it is absent, empty of a value, or stands twice."""
    values = [value for name, value in record.headers if name == wanted]
    return values[0] if len(values) == 1 else None
