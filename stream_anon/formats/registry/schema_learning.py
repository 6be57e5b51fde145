"""What is learned of a schema: which messages it has, and what reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stream_anon.formats.registry.framing import SchemaKey
from stream_anon.formats.registry.messages import KnownMessages, MessagePlace, place_in
from stream_anon.formats.registry.registered import UNTOLD, RegisteredSchema
from stream_anon.formats.registry.schema_fields import FieldTypes
from stream_anon.formats.unwrapping import Unwrapper

MOST_MESSAGES = 1_000
"""Messages of one schema that are learned at once; what a poll names beyond them is not read."""


@dataclass(frozen=True, slots=True)
class ParsedSchema:
    """What readers are made of.

    Parameters
    ----------
    reader
        Returns what reads the bodies of a message, and the types of the declared fields that it has, None where
        nothing is read; may raise anything for a message that it does not understand.
    messages
        The messages that frames may name; empty if they name none.
    """

    reader: Callable[[MessagePlace], tuple[Unwrapper, FieldTypes | None]]
    messages: KnownMessages = ()


@dataclass(frozen=True, slots=True)
class BodyFormat:
    """A format whose records name their schemas.

    Parameters
    ----------
    kind
        What a registry calls it.
    parse
        Parses a schema; may raise anything for one that it does not understand.
    warm_up
        Compiles what readers call.
    messages
        Whether frames name a message too.
    references
        Whether a schema cannot be read without those that it refers to.
    """

    kind: str
    parse: Callable[[RegisteredSchema], ParsedSchema]
    warm_up: Callable[[], None] = lambda: None
    messages: bool = False
    references: bool = True


@dataclass(frozen=True, slots=True)
class LearnedMessage:
    """What reads a message, or None if it cannot be read, and the types of the declared fields that it has.

    These are None of a message whose records are ignored.
    """

    reader: Unwrapper | None
    fields: FieldTypes | None


UNREADABLE = LearnedMessage(None, {})


@dataclass(frozen=True, slots=True)
class LearnedSchema:
    """What became known of one schema.

    Parameters
    ----------
    messages
        The messages that it has; None if it cannot be read.
    learned
        Of its messages that are named and exist; of the schema as a whole if it cannot be read.
    """

    messages: KnownMessages | None
    learned: Mapping[SchemaKey, LearnedMessage]


def learn(form: BodyFormat, keys: Sequence[SchemaKey], found: RegisteredSchema) -> LearnedSchema:
    """Return what reads the messages of one schema that are named; nothing is raised whatever the schema is."""
    unreadable = LearnedSchema(None, {SchemaKey(keys[0].id): UNREADABLE})
    if found.kind not in (form.kind, UNTOLD):
        return unreadable
    try:
        parsed = form.parse(found)
    except Exception:  # noqa: BLE001 - anybody may have registered it, and libraries raise what they like
        return unreadable
    places = {key: place_in(key.message, parsed.messages) for key in keys}
    there = [(key, place) for key, place in places.items() if place is not None][:MOST_MESSAGES]
    return LearnedSchema(parsed.messages, {key: _reader_of(parsed, place) for key, place in there})


def _reader_of(parsed: ParsedSchema, place: MessagePlace) -> LearnedMessage:
    try:
        return LearnedMessage(*parsed.reader(place))
    except Exception:  # noqa: BLE001 - as of the schema
        return UNREADABLE
