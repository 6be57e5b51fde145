"""What may stand around the records of topics: a new envelope is a module beside this one and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from stream_anon.formats.envelopes.cloudevents import CloudEventsEnvelope
from stream_anon.formats.envelopes.connect import ConnectEnvelope
from stream_anon.formats.envelopes.debezium import (
    AFTER,
    CONNECTOR,
    IGNORED_SCHEMAS,
    OP,
    PREFIX,
    UNAVAILABLE,
    DebeziumEnvelope,
)
from stream_anon.formats.envelopes.object_unwrapper import Envelope, ObjectUnwrapper
from stream_anon.formats.unwrapping import Unwrapper
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.connect_schema import PAYLOAD, SCHEMA, connect_schema

_encode = msgspec.json.Encoder().encode


class EnvelopeKind(StrEnum):
    """The kinds of envelopes."""

    NONE = "none"
    DEBEZIUM = "debezium"
    CLOUDEVENTS = "cloudevents"
    CONNECT = "connect"


class Updates(StrEnum):
    """What becomes of the row after an update: a record, or nothing."""

    RELEASE = "release"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What stands around the records of a topic.

    Parameters
    ----------
    kind
        The envelope.
    updates
        For `DEBEZIUM`.
    pairs
        Whether a record that is written stands as the payload beside a schema of Kafka Connect.
    """

    kind: EnvelopeKind = EnvelopeKind.NONE
    updates: Updates = Updates.RELEASE
    pairs: bool = False

    def unwrappers(self, most: int) -> tuple[Unwrapper, ...]:
        """Return what takes the wrapping off; values of more than `most` bytes are rejected unread."""
        kinds: dict[EnvelopeKind, Envelope] = {
            EnvelopeKind.DEBEZIUM: DebeziumEnvelope(skips_updates=self.updates is Updates.SKIP),
            EnvelopeKind.CLOUDEVENTS: CloudEventsEnvelope(),
            EnvelopeKind.CONNECT: ConnectEnvelope(),
        }
        return (ObjectUnwrapper(kinds[self.kind], most),) if self.kind in kinds else ()

    def around(self, policy: Policy) -> tuple[bytes, bytes]:
        """Return the bytes before and behind each record that is written.

        Raises
        ------
        SettingsError
            If its values have several types, which no such schema can say.
        """
        if not self.pairs:
            return b"", b""
        return b'{"%b":%b,"%b":' % (SCHEMA.encode(), _encode(connect_schema(policy)), PAYLOAD.encode()), b"}"

    def placed(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return where a field of a record stands in an event whose format is not JSON."""
        return (AFTER, *path) if self.kind is EnvelopeKind.DEBEZIUM else path

    @property
    def beside(self) -> tuple[tuple[str, ...], ...]:
        """Return what else of such an event must be read.

        Of an event that is no change nothing is read: without all of its fields, a row could be taken for it.
        Bodies are read once, so all of them give what only those that are ignored have to prove.
        """
        return ((OP,), CONNECTOR, PREFIX) if self.kind is EnvelopeKind.DEBEZIUM else ()

    @property
    def ignored_schemas(self) -> Mapping[str, Reason]:
        """Return why records are ignored, by the names of their schemas."""
        return IGNORED_SCHEMAS if self.kind is EnvelopeKind.DEBEZIUM else {}

    @property
    def null_values(self) -> frozenset[str]:
        """Return the texts by which the wrapping's maker says that a value is not there."""
        return UNAVAILABLE if self.kind is EnvelopeKind.DEBEZIUM else frozenset()
