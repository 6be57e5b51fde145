"""What stands before a record and names its schema: where it ends, and whose schema it names.

::

    confluent             0, id (4 bytes, big end first), the record; or 1, GUID (16 bytes), the record
    apicurio-*            0, id (8 bytes), the record
    glue                  3, compression (0 or 5), UUID (16 bytes), the record

A GUID may stand in the header `__value_schema_id` instead; whoever reads the topic puts that header's bytes before
the value. Of Protobuf, the place of the message within its schema follows: how many numbers, and the numbers, as
zigzag varints; one byte 0 stands for the first message.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.keys import padded_words
from stream_anon.microdata.texts import Texts

SCHEMA_HEADER = b"__value_schema_id"
"""The header of a record that holds 0 and an id, or 1 and a GUID."""

_BY_ID, _BY_GUID, _BY_GLUE = 0, 1, 3  # first bytes
_GUID_BYTES = 16
_PLAIN, _ZLIB = 0, 5
_MOST_DEPTH = 16  # messages within messages
_MOST_NUMBER = 5  # bytes of a number of 32 bits
MOST_ID = (1 << 31) - 1
"""The largest id that Confluent's frame holds."""
UNFRAMED = -1


class Framing(StrEnum):
    """How an id stands before a record."""

    CONFLUENT = "confluent"
    APICURIO_GLOBAL = "apicurio-global"
    APICURIO_CONTENT = "apicurio-content"
    GLUE = "glue"

    @property
    def is_apicurio(self) -> bool:
        """Return whether ids are Apicurio's own, of eight bytes."""
        return self in (Framing.APICURIO_GLOBAL, Framing.APICURIO_CONTENT)


@dataclass(frozen=True, slots=True)
class SchemaKey:
    """What names a schema in a frame.

    Parameters
    ----------
    id
        The registry's number, or a UUID in text.
    message
        Of Protobuf: the place of the message within the schema; empty for other formats.
    """

    id: int | str
    message: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """The frames of n values.

    Parameters
    ----------
    keys
        Each schema that is named, once.
    owners
        int64[n], index into `keys`, or `UNFRAMED`; a value that is missing or empty has no frame.
    bodies
        int64[n], where the record begins in the values' room.
    packed
        bool[n], which records are compressed by zlib.
    """

    keys: tuple[SchemaKey, ...]
    owners: NDArray[np.int64]
    bodies: NDArray[np.int64]
    packed: NDArray[np.bool_]


def frames_of(values: Texts, framing: Framing, *, messages: bool = False) -> Frames:
    """Return the frames of values; about 50 ns a value, whatever the bytes.

    Parameters
    ----------
    messages
        Whether the place of a message follows, as in Protobuf.
    """
    starts, words = values.starts, padded_words(values.room)
    sizes = values.stops - starts
    first = values.room[starts]
    kinds = np.full(len(values), UNFRAMED, np.int64)
    heads = np.zeros(len(values), np.int64)
    packed = np.zeros(len(values), np.bool_)
    width = 8 if framing.is_apicurio else 4
    if framing is Framing.GLUE:
        named = (first == _BY_GLUE) & (sizes >= 2 + _GUID_BYTES)
        packing = np.where(named, values.room[np.where(named, starts + 1, 0)], _PLAIN)
        named &= (packing == _PLAIN) | (packing == _ZLIB)
        packed = named & (packing == _ZLIB)
        kinds[named], heads[named] = _BY_GLUE, 2 + _GUID_BYTES
    else:
        numbered = (first == _BY_ID) & (sizes > width)
        kinds[numbered], heads[numbered] = _BY_ID, 1 + width
        named = (first == _BY_GUID) & (sizes > _GUID_BYTES) & (not framing.is_apicurio)
        kinds[named], heads[named] = _BY_GUID, 1 + _GUID_BYTES
    bodies = starts + heads
    high, low = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    rows = np.flatnonzero(kinds == _BY_ID)
    high[rows] = words[starts[rows] + 1].byteswap() >> (64 - 8 * width)
    rows = np.flatnonzero(kinds > _BY_ID)
    high[rows] = words[bodies[rows] - _GUID_BYTES].byteswap()
    low[rows] = words[bodies[rows] - _GUID_BYTES // 2].byteswap()
    keys, owners = _distinct(kinds, high, low)
    frames = Frames(keys, owners, bodies, packed)
    return _of_messages(values, frames) if messages else frames


def _distinct(
    kinds: NDArray[np.int64], high: NDArray[np.int64], low: NDArray[np.int64]
) -> tuple[tuple[SchemaKey, ...], NDArray[np.int64]]:
    """Return the schemas that are named and which one each value names."""
    owners = np.full(len(kinds), UNFRAMED, np.int64)
    rows = np.flatnonzero(kinds != UNFRAMED)
    if not len(rows):
        return (), owners
    # Nearly always all of a poll name one schema.
    first = rows[0]
    if ((kinds[rows] == kinds[first]) & (high[rows] == high[first]) & (low[rows] == low[first])).all():
        owners[rows] = 0
        return (_key(int(kinds[first]), int(high[first]), int(low[first])),), owners
    table, places = np.unique(np.column_stack([kinds, high, low])[rows], axis=0, return_inverse=True)
    owners[rows] = places.reshape(-1)
    return tuple(_key(*row) for row in table.tolist()), owners


def _key(kind: int, high: int, low: int) -> SchemaKey:
    if kind == _BY_ID:
        return SchemaKey(high)
    half = 1 << 64
    return SchemaKey(str(uuid.UUID(int=(high % half) * half + low % half)))


def _of_messages(values: Texts, frames: Frames) -> Frames:
    """Return frames whose keys name the message too; values without a sound place are unframed."""
    owners, bodies = frames.owners.copy(), frames.bodies.copy()
    # Nearly all schemas have one message: one byte says so.
    short = (owners != UNFRAMED) & (bodies < values.stops) & (values.room[bodies] == 0)
    keys = [SchemaKey(key.id, (0,)) for key in frames.keys]
    known = {key: place for place, key in enumerate(keys)}
    bodies[short] += 1
    for row in np.flatnonzero((owners != UNFRAMED) & ~short).tolist():
        begin, stop = int(bodies[row]), int(values.stops[row])
        found = message_place(values.room[begin : min(stop, begin + _MOST_NUMBER * (1 + _MOST_DEPTH))].tobytes())
        if found is None:
            owners[row] = UNFRAMED
            continue
        place, size = found
        key = SchemaKey(frames.keys[owners[row]].id, place)
        if key not in known:
            known[key] = len(keys)
            keys.append(key)
        owners[row], bodies[row] = known[key], begin + size
    # A first message that no record names must not be asked for, nor be told of as a schema that changed.
    named, places = np.unique(owners[owners != UNFRAMED], return_inverse=True)
    owners[owners != UNFRAMED] = places.reshape(-1)
    return Frames(tuple(keys[place] for place in named.tolist()), owners, bodies, frames.packed)


def message_place(data: bytes) -> tuple[tuple[int, ...], int] | None:
    """Return the place of a message that bytes begin with and the bytes that it takes; None if they hold none."""
    found = _number_at(data, 0)
    if found is None or found[0] > _MOST_DEPTH:
        return None
    (count, at), numbers = found, list[int]()
    for _ in range(count):
        found = _number_at(data, at)
        if found is None:
            return None
        number, at = found
        numbers.append(number)
    return (tuple(numbers) or (0,), at)


def _number_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Return a zigzag varint of up to five bytes and the place behind it; None if it is none, or negative."""
    value = 0
    for turn, byte in enumerate(data[at : at + _MOST_NUMBER]):
        value |= (byte & 127) << 7 * turn
        if byte < 128:
            return None if value & 1 else (value >> 1, at + turn + 1)
    return None


def lead_of(schema: int, message: Sequence[int] | None = None) -> bytes:
    """Return what stands before each record of a schema: Confluent's frame.

    Parameters
    ----------
    message
        Of Protobuf: the place of the message, of which only the first of a schema is written.
    """
    return bytes([_BY_ID]) + schema.to_bytes(4, "big", signed=True) + (b"" if message is None else b"\0")
