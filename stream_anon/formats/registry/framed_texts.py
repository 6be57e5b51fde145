"""Read values that name their schemas: each body is read by the schema that its frame names."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.registry.asked_schemas import Schemas
from stream_anon.formats.registry.framing import UNFRAMED, Frames, Framing, SchemaKey, frames_of
from stream_anon.formats.registry.schema_learning import BodyFormat
from stream_anon.formats.unwrapping import FITS, MOST_TEXT, TooMuchAtOnce, Unwrapped
from stream_anon.formats.writing.text_buffer import TEXT_A_BYTE, free_text
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.texts import Texts


class FramedTexts:
    """Takes frames off, and reads each body by its schema; see `Unwrapper`.

    Parameters
    ----------
    schemas
        What is known of the schemas of the registry.
    most_bytes
        A larger value is rejected unread.
    """

    def __init__(self, schemas: Schemas, framing: Framing, form: BodyFormat, most_bytes: int) -> None:
        self._schemas, self._framing, self._form = schemas, framing, form
        self._most_bytes = most_bytes

    async def learn(self, parts: Sequence[Sequence[bytes | None]]) -> None:
        """Learn the schemas that these values name; see `Schemas.learn`."""
        named = Counter[SchemaKey]()
        for part in parts:
            named.update(self._frames(_texts(part)).records())
        await self._schemas.learn(named)

    def unwrap(self, values: Texts) -> Unwrapped:
        """See `Unwrapper`. What names a schema that was not learned is rejected: `learn` comes first."""
        frames = self._frames(values)
        sizes = values.stops - values.starts
        outcomes = np.full(len(values), FITS, np.int8)
        outcomes[(frames.owners == UNFRAMED) & (sizes > 0)] = Reason.MALFORMED
        outcomes[(sizes == 0) & (True if values.missing is None else ~values.missing)] = Reason.EMPTY
        outcomes[sizes > self._most_bytes] = Reason.TOO_LARGE
        parts: list[tuple[NDArray[np.int64], Texts]] = []
        written = 0
        for number, key in enumerate(frames.keys):
            rows = np.flatnonzero((frames.owners == number) & (outcomes == FITS))
            if not len(rows):
                continue
            learned = self._schemas.reader(key)
            if learned is None or learned.reader is None:
                unasked = self._schemas.is_unasked(key)
                outcomes[rows] = Reason.UNASKED_SCHEMA if unasked else Reason.UNKNOWN_SCHEMA
                continue
            if frames.packed[rows].any():
                bodies = self._unpacked(values, frames, rows, outcomes)
            else:
                bodies = values.cut(frames.bodies[rows], values.stops[rows])
            found = learned.reader.unwrap(bodies)
            outcomes[rows] = np.where(outcomes[rows] == FITS, found.outcomes, outcomes[rows])
            parts.append((rows, found.texts))
            written = _added(written, found.texts.size, values)
        return Unwrapped(_in_place(parts, values), outcomes)

    def _unpacked(
        self, values: Texts, frames: Frames, rows: NDArray[np.int64], outcomes: NDArray[np.int8]
    ) -> Texts:
        """Return bodies of which some are compressed, one by one and in bounded memory."""
        bodies, unpacked = list[bytes | None](), 0
        for row in rows.tolist():
            body = values.room[int(frames.bodies[row]) : int(values.stops[row])].tobytes()
            if frames.packed[row]:
                reason, body = _inflated(body, self._most_bytes)
                outcomes[row] = reason
            bodies.append(body)
            unpacked = _added(unpacked, len(body), values)
        return Texts.of(bodies)

    def _frames(self, values: Texts) -> Frames:
        return frames_of(values, self._framing, messages=self._form.messages)

    def warm_up(self) -> None:
        """Compile what every schema needs; a schema's own reader is made when it is learned."""
        some = Texts.of([b"x"])
        some.cut(some.starts, some.stops)
        self._form.warm_up()


def _texts(values: Sequence[bytes | None]) -> Texts:
    return values if isinstance(values, Texts) else Texts.of(values)


def _added(total: int, size: int, values: Texts) -> int:
    """Return the bytes that stand for values, with more of them. Raises TooMuchAtOnce."""
    if total + size > MOST_TEXT and len(values) > 1:
        raise TooMuchAtOnce
    return total + size


def _inflated(body: bytes, most: int) -> tuple[int, bytes]:
    """Return what zlib has packed, and `FITS` or why there is nothing.

    A few bytes may hold no more than those of other formats may mean.
    """
    most = min(most, free_text(()) + TEXT_A_BYTE * len(body))
    try:
        stream = zlib.decompressobj()
        whole = stream.decompress(body, most + 1)
    except zlib.error:
        return Reason.MALFORMED, b""
    if len(whole) > most:
        return Reason.TOO_LARGE, b""
    return (FITS, whole) if stream.eof and not stream.unused_data else (Reason.MALFORMED, b"")


def _in_place(parts: Sequence[tuple[NDArray[np.int64], Texts]], values: Texts) -> Texts:
    """Return the texts of all parts at their rows; the others are missing."""
    count = len(values)
    if len(parts) == 1 and len(parts[0][0]) == count:
        return parts[0][1]
    starts, stops = np.zeros(count, np.int64), np.zeros(count, np.int64)
    missing = np.ones(count, np.bool_)
    joined = Texts.concatenate([texts for _, texts in parts]) if parts else Texts.of([])
    at, places = 0, joined.starts
    for rows, texts in parts:
        starts[rows], stops[rows] = places[at : at + len(rows)], joined.stops[at : at + len(rows)]
        missing[rows] = False if texts.missing is None else texts.missing
        at += len(rows)
    return joined.cut(starts, stops, missing)
