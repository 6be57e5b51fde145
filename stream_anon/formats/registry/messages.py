"""What behind a frame names a message of a Protobuf schema, and where such a message is.

::

    confluent     how many numbers, and the numbers, as zigzag varints: which of the schema's messages, which of the
                  messages within that one, and so on; one byte 0 stands for the first message
    glue          a varint: which of all messages of the schema, with those within others, sorted by full name
    apicurio-*    a length as a varint, and a message of so many bytes whose field 1 is the name of a message that
                  is not within another
"""

from __future__ import annotations

from collections.abc import Mapping

from stream_anon.formats.writing.varints import varint_at

MessagePlace = tuple[int, ...]
"""Which of a schema's messages, which of the messages within that one, and so on."""
MessageName = MessagePlace | int | str
"""What a frame calls a message; the empty place where frames name none."""
Places = tuple["Places | None", ...]
"""The places of messages: for each one, in order, those of the messages within it; None of an entry of a map."""
KnownMessages = Places | Mapping[int | str, MessagePlace]
"""The messages of a schema: as places, or by what frames call them."""

_MOST_DEPTH = 16  # messages within messages
_MOST_NUMBER = 5  # bytes of a number of 32 bits
_MOST_NAME = 512
_NAME_FIELD = 0x0A  # field 1, with a length
MOST_SHORT_NAME = 125
"""Bytes of a name whose lengths take a byte each."""
SHORT_LEAD = ((2, 1), (_NAME_FIELD, 0), (0, 1))
"""What `name_at` reads before such a name; see `HeaderPart`."""
MOST_PLACE = _MOST_NUMBER * (1 + _MOST_DEPTH)
"""Bytes of a place, in Confluent's writing, at the most."""
MOST_BYTES = max(MOST_PLACE, 2 * _MOST_NUMBER + 1 + _MOST_NAME)
"""Bytes that name a message, at the most."""


def place_in(message: MessageName, known: KnownMessages) -> MessagePlace | None:
    """Return where a message of a schema is; None if there is none of that name."""
    if not isinstance(message, tuple):
        return known.get(message) if isinstance(known, Mapping) else None
    places: Places | None = () if isinstance(known, Mapping) else known
    for index in message:
        if places is None or index >= len(places):
            return None
        places = places[index]
    return None if places is None else message


def place_at(data: bytes) -> tuple[MessagePlace, int] | None:
    """Return the place that bytes begin with, as Confluent writes it, and its bytes; None if they hold none."""
    found = _signed_at(data, 0)
    if found is None or found[0] > _MOST_DEPTH:
        return None
    (count, at), numbers = found, list[int]()
    for _ in range(count):
        found = _signed_at(data, at)
        if found is None:
            return None
        number, at = found
        numbers.append(number)
    return (tuple(numbers) or (0,), at)


def number_at(data: bytes) -> tuple[int, int] | None:
    """Return the number that bytes begin with, as AWS Glue writes it, and its bytes; None if they hold none."""
    return varint_at(data, 0, _MOST_NUMBER)


def name_at(data: bytes) -> tuple[str, int] | None:
    """Return the name that bytes begin with, as Apicurio writes it, and its bytes; None if they hold none."""
    outer = varint_at(data, 0, _MOST_NUMBER)
    if outer is None or data[outer[1] : outer[1] + 1] != bytes([_NAME_FIELD]):
        return None
    inner = varint_at(data, outer[1] + 1, _MOST_NUMBER)
    if inner is None:
        return None
    size, at = inner
    if size > _MOST_NAME or at + size > len(data) or outer[0] != at + size - outer[1]:
        return None
    try:
        return data[at : at + size].decode("utf-8"), at + size
    except UnicodeDecodeError:
        return None


def _signed_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Return a zigzag varint and the place behind it; None if it is none, or negative."""
    found = varint_at(data, at, _MOST_NUMBER)
    return None if found is None or found[0] & 1 else (found[0] >> 1, found[1])
