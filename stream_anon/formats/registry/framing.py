"""The frame before a record, which names its schema: where it ends, and whose schema it names.

::

    confluent             0, id (4 bytes, big end first), the record; or 1, GUID (16 bytes), the record
    apicurio-*            0, id (8 bytes), the record
    glue                  3, compression (0 or 5), UUID (16 bytes), the record

The same may stand in headers instead; whoever reads the topic puts it before the value, as `headers_of` says. Of
Protobuf, what names the message within its schema follows; see `messages`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.registry.messages import (
    MOST_BYTES,
    MOST_PLACE,
    MOST_SHORT_NAME,
    SHORT_LEAD,
    MessageName,
    name_at,
    number_at,
    place_at,
)
from stream_anon.microdata.keys import padded_words
from stream_anon.microdata.texts import Texts
from stream_anon.ports.headers import NO_HEADERS, HeaderPart, HeaderRule

_CONFLUENT_HEADER = b"__value_schema_id"  # 0 and an id, or 1 and a GUID
_GLOBAL_HEADER, _CONTENT_HEADER = b"apicurio.value.globalId", b"apicurio.value.contentId"  # eight bytes of an id
_MESSAGE_HEADER = b"apicurio.protobuf.type"  # the name of a message that is not within another
_ENCODING_HEADER = b"apicurio.value.encoding"  # of Avro: BINARY, or JSON
_BY_ID = 0  # the first byte of frames that hold a number
_GUID_BYTES = 16
_PLAIN, _ZLIB = 0, 5
MOST_ID = (1 << 31) - 1
"""The largest id that Confluent's frame holds."""
UNFRAMED = -1
_AT_ONCE = 8  # messages whose records are found together


class Framing(StrEnum):
    """How a record names its schema."""

    CONFLUENT = "confluent"
    APICURIO_GLOBAL = "apicurio-global"
    APICURIO_CONTENT = "apicurio-content"
    GLUE = "glue"

    @property
    def is_apicurio(self) -> bool:
        """Return whether ids are Apicurio's own, of eight bytes."""
        return self in (Framing.APICURIO_GLOBAL, Framing.APICURIO_CONTENT)


def headers_of(framing: Framing, *, messages: bool = False) -> HeaderRule:
    """Return which headers may hold a frame, so that it stands before the value as others have it there.

    Parameters
    ----------
    messages
        Whether a message within the schema is named too, as in Protobuf.
    """
    if framing is Framing.GLUE:
        return NO_HEADERS
    if not framing.is_apicurio:
        most = 1 + _GUID_BYTES + (MOST_PLACE if messages else 0)
        return HeaderRule((HeaderPart(_CONFLUENT_HEADER, 0, most),))
    own, other = _GLOBAL_HEADER, _CONTENT_HEADER
    if framing is Framing.APICURIO_CONTENT:
        own, other = other, own
    parts = [HeaderPart(own, 8, 8, ((_BY_ID, 0),))]
    if messages:
        parts.append(HeaderPart(_MESSAGE_HEADER, 1, MOST_SHORT_NAME, SHORT_LEAD))
    # An id of the other kind would name another schema, and a bare record must not be taken for a framed one.
    return HeaderRule(tuple(parts), ((other, b""), (_ENCODING_HEADER, b"BINARY")))


@dataclass(frozen=True, slots=True)
class SchemaKey:
    """What names a schema in a frame.

    Parameters
    ----------
    id
        The registry's number, or a UUID in text.
    message
        Of Protobuf: what names the message within the schema; empty for other formats.
    """

    id: int | str
    message: MessageName = ()


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

    def records(self) -> dict[SchemaKey, int]:
        """Return how many values name each schema."""
        counts = np.bincount(self.owners - UNFRAMED, minlength=1 + len(self.keys))[1:]
        return dict(zip(self.keys, counts.tolist(), strict=True))


class _Form(NamedTuple):
    """One way in which a frame begins."""

    first: int  # byte
    width: int  # bytes of what names the schema: a number, or 16 of a UUID
    packing: bool = False  # whether a byte before that says how the record is compressed

    @property
    def size(self) -> int:
        """Return the bytes of the frame."""
        return 1 + self.packing + self.width


_MessageReader = Callable[[bytes], tuple[MessageName, int] | None]
"""Returns the name of the message that bytes begin with, and how many bytes it takes; None if they name none."""

_FRAMES: Mapping[Framing, tuple[tuple[_Form, ...], _MessageReader]] = {
    Framing.CONFLUENT: ((_Form(_BY_ID, 4), _Form(1, _GUID_BYTES)), place_at),
    Framing.APICURIO_GLOBAL: ((_Form(_BY_ID, 8),), name_at),
    Framing.APICURIO_CONTENT: ((_Form(_BY_ID, 8),), name_at),
    Framing.GLUE: ((_Form(3, _GUID_BYTES, packing=True),), number_at),
}


def frames_of(values: Texts, framing: Framing, *, messages: bool = False) -> Frames:
    """Return the frames of values; about 50 ns a value, whatever the bytes.

    Parameters
    ----------
    messages
        Whether the name of a message follows, as in Protobuf.
    """
    starts, words = values.starts, padded_words(values.room)
    sizes, first = values.stops - starts, values.room[starts]
    kinds = np.full(len(values), UNFRAMED, np.int64)
    bodies, packed = starts.copy(), np.zeros(len(values), np.bool_)
    high, low = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    forms, message_of = _FRAMES[framing]
    for form in forms:
        rows = np.flatnonzero((first == form.first) & (sizes >= form.size))
        if form.packing:
            packing = values.room[starts[rows] + 1]
            packed[rows] = packing == _ZLIB
            rows = rows[(packing == _PLAIN) | (packing == _ZLIB)]
        kinds[rows] = form.first
        bodies[rows] += form.size
        names = bodies[rows] - form.width
        high[rows] = words[names].byteswap() >> max(64 - 8 * form.width, 0)
        if form.width == _GUID_BYTES:
            low[rows] = words[names + _GUID_BYTES // 2].byteswap()
    keys, owners = _distinct(kinds, high, low)
    frames = Frames(keys, owners, bodies, packed)
    return _of_messages(values, frames, message_of) if messages else frames


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


def _of_messages(values: Texts, frames: Frames, read: _MessageReader) -> Frames:
    """Return frames whose keys name the message too; values that name none are unframed."""
    owners, bodies, stops = np.full(len(values), UNFRAMED, np.int64), frames.bodies.copy(), values.stops
    known = dict[SchemaKey, int]()

    def name_of(row: int) -> tuple[bytes, MessageName] | None:
        begin = int(bodies[row])
        data = values.room[begin : min(int(stops[row]), begin + MOST_BYTES)].tobytes()
        found = read(data)
        return None if found is None else (data[: found[1]], found[0])

    def number_of(owner: int, message: MessageName) -> int:
        return known.setdefault(SchemaKey(frames.keys[owner].id, message), len(known))

    rest = np.flatnonzero(frames.owners != UNFRAMED)
    # Nearly all records of a topic are of one message, or of a few: what begins alike names the same.
    for _ in range(_AT_ONCE):
        found = name_of(int(rest[0])) if len(rest) else None
        if found is None:
            rest = rest[1:]
            continue
        name, message = found
        alike = _beginning(values.room, rest[stops[rest] - bodies[rest] >= len(name)], bodies, name)
        for owner in np.unique(frames.owners[alike]).tolist():
            owners[alike[frames.owners[alike] == owner]] = number_of(owner, message)
        bodies[alike] += len(name)
        rest = rest[owners[rest] == UNFRAMED]
    for row in rest.tolist():
        found = name_of(row)
        if found is not None:
            owners[row] = number_of(int(frames.owners[row]), found[1])
            bodies[row] += len(found[0])
    return Frames(tuple(known), owners, bodies, frames.packed)


def _beginning(
    room: NDArray[np.uint8], rows: NDArray[np.int64], bodies: NDArray[np.int64], name: bytes
) -> NDArray[np.int64]:
    """Return the rows whose bodies begin with a name; each has at least as many bytes."""
    for at, byte in enumerate(name):
        rows = rows[room[bodies[rows] + at] == byte]
    return rows


def lead_of(schema: int, *, message: bool = False) -> bytes:
    """Return what stands before each record of a schema: Confluent's frame.

    Parameters
    ----------
    message
        Of Protobuf: whether a message is named, which is the first of the schema.
    """
    return bytes([_BY_ID]) + schema.to_bytes(4, "big", signed=True) + (b"\0" if message else b"")
