"""Read values that name their schemas: each body is read by the schema that its frame names."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.registry.client import RegisteredSchema, RegistryClient, Session
from stream_anon.adapters.registry.fields import FieldTypes
from stream_anon.adapters.registry.framing import UNFRAMED, Frames, Framing, SchemaKey, frames_of
from stream_anon.adapters.registry.learning import Answer, BodyFormat, Learned, learn
from stream_anon.adapters.registry.messages import KnownMessages, place_in
from stream_anon.adapters.unwrapping import FITS, Unwrapped
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.texts import Texts
from stream_anon.ports.schemas import SchemaChange

MOST_SCHEMAS = 1_000
"""Schemas that are kept; of more, those that the last poll did not name are asked for again."""
_AT_ONCE = 8  # questions
_ASKED_AGAIN = 60.0  # seconds until an id that is not known, or was unreadable, is asked for again
_MOST_UNKNOWN = 100_000


class FramedTexts:
    """Takes frames off, and reads each body by its schema; see `Unwrapper`.

    Parameters
    ----------
    known
        Texts of schemas by ids that nobody is asked for.
    attributes
        Names of the declared attributes, by the paths of their fields.
    most_bytes
        A larger value is rejected unread.
    noticed
        Hears of each schema that tells something about declared fields.
    """

    def __init__(
        self,
        client: RegistryClient,
        framing: Framing,
        form: BodyFormat,
        attributes: Mapping[tuple[str, ...], str],
        most_bytes: int,
        known: Mapping[str, str],
        noticed: Callable[[SchemaChange], None],
    ) -> None:
        self._client, self._framing, self._form = client, framing, form
        self._attributes = attributes
        self._most_bytes = most_bytes
        self._known = known
        self._noticed = noticed
        self._learned: dict[SchemaKey, Learned] = {}
        self._messages: dict[int | str, KnownMessages] = {}  # of each schema that could be parsed
        self._unknown: dict[int | str, float] = {}  # when each was asked for
        self._refused: dict[SchemaKey, float] = {}  # when each was found unreadable
        self._fields: FieldTypes | None = None  # of the schema that was learned last

    @property
    def unpacks(self) -> bool:
        """Return whether bodies may be compressed each by itself."""
        return self._framing is Framing.GLUE

    async def learn(self, parts: Sequence[Sequence[bytes | None]]) -> None:
        """Ask for the schemas that these values name and nobody has asked for; each once, whatever it is named by.

        Of a schema that is known, places without a message cost nothing: nothing is asked, and nothing remembered.

        Raises RegistryError; what was learned before stays.
        """
        named = {key: None for part in parts for key in self._frames(_texts(part)).keys}
        due = (key for key in named if self._is_due(key) and self._may_be_there(key))
        wanted = dict[int | str, list[SchemaKey]]()
        for key in sorted(due, key=lambda key: (str(key.id).zfill(20), str(key.message))):
            wanted.setdefault(key.id, []).append(key)
        if not wanted:
            return
        self._make_room(named)
        async with self._client.session() as session:
            turns = asyncio.Semaphore(_AT_ONCE)
            answers = await asyncio.gather(
                *(self._ask(session, turns, keys) for keys in wanted.values()), return_exceptions=True
            )
        for number, answer in zip(wanted, answers, strict=True):
            if answer is None:
                self._note_unknown(number)
            elif isinstance(answer, Answer):
                self._take(number, answer)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def _ask(self, session: Session, turns: asyncio.Semaphore, keys: Sequence[SchemaKey]) -> Answer | None:
        async with turns:
            number = keys[0].id
            given = self._known.get(str(number))
            found = await session.schema(number) if given is None else RegisteredSchema(given, self._form.kind)
        return None if found is None else await asyncio.to_thread(learn, self._form, keys, found)

    def _note_unknown(self, number: int | str) -> None:
        if len(self._unknown) >= _MOST_UNKNOWN:
            self._unknown.clear()
        self._unknown[number] = asyncio.get_running_loop().time()

    def _take(self, number: int | str, answer: Answer) -> None:
        self._unknown.pop(number, None)
        if answer.messages is not None:
            self._messages[number] = answer.messages
            self._refused.pop(SchemaKey(number), None)
        for key, learned in answer.learned.items():
            self._keep(key, learned)

    def _keep(self, key: SchemaKey, learned: Learned) -> None:
        again = key in self._learned and learned.reader is None
        before, self._learned[key] = self._fields, learned
        self._refused.pop(key, None)
        if learned.reader is None:
            self._refused[key] = asyncio.get_running_loop().time()
        if learned.reader is not None:
            self._fields = learned.fields
        change = _change(str(key.id), before, learned, self._attributes)
        if change.tells and not again:
            self._noticed(change)

    def _is_due(self, key: SchemaKey) -> bool:
        """Return whether a message is to be learned; what could not be read is tried again after a while.

        Where a parser was at fault for want of memory or time, another try may succeed.
        """
        messages = self._messages.get(key.id)
        if messages is not None and place_in(key.message, messages) is None:
            return False
        learned = self._learned.get(key)
        if learned is not None and learned.reader is not None:
            return False
        refused = [self._refused[each] for each in (key, SchemaKey(key.id)) if each in self._refused]
        return not refused or asyncio.get_running_loop().time() - max(refused) >= _ASKED_AGAIN

    def _may_be_there(self, key: SchemaKey) -> bool:
        if isinstance(key.id, int) and key.id < 0:
            return False
        if self._framing is Framing.GLUE:
            return str(key.id) in self._known
        asked = self._unknown.get(key.id)
        return asked is None or asyncio.get_running_loop().time() - asked >= _ASKED_AGAIN

    def _make_room(self, named: Collection[SchemaKey]) -> None:
        numbers = {key.id for key in named}
        if len(self._learned) > MOST_SCHEMAS:
            stay = {*named, *map(SchemaKey, numbers)}  # the schema as a whole is refused where it cannot be parsed
            self._learned = {key: learned for key, learned in self._learned.items() if key in stay}
            self._refused = {key: since for key, since in self._refused.items() if key in self._learned}
        if len(self._messages) > MOST_SCHEMAS:
            self._messages = {number: known for number, known in self._messages.items() if number in numbers}

    def unwrap(self, values: Texts) -> Unwrapped:
        """See `Unwrapper`. What names a schema that was not learned is rejected: `learn` comes first."""
        frames = self._frames(values)
        sizes = values.stops - values.starts
        outcomes = np.full(len(values), FITS, np.int8)
        outcomes[(frames.owners == UNFRAMED) & (sizes > 0)] = Reason.MALFORMED
        outcomes[sizes > self._most_bytes] = Reason.TOO_LARGE
        parts: list[tuple[NDArray[np.int64], Texts]] = []
        for number, key in enumerate(frames.keys):
            rows = np.flatnonzero((frames.owners == number) & (outcomes == FITS))
            if not len(rows):
                continue
            learned = self._learned.get(key)
            if learned is None or learned.reader is None:
                outcomes[rows] = Reason.UNKNOWN_SCHEMA
                continue
            if frames.packed[rows].any():
                bodies = self._unpacked(values, frames, rows, outcomes)
            else:
                bodies = values.cut(frames.bodies[rows], values.stops[rows])
            found = learned.reader.unwrap(bodies)
            outcomes[rows] = np.where(outcomes[rows] == FITS, found.outcomes, outcomes[rows])
            parts.append((rows, found.texts))
        return Unwrapped(_in_place(parts, values), outcomes)

    def _unpacked(
        self, values: Texts, frames: Frames, rows: NDArray[np.int64], outcomes: NDArray[np.int8]
    ) -> Texts:
        """Return bodies of which some are compressed, one by one and in bounded memory."""
        bodies = list[bytes | None]()
        for row in rows.tolist():
            body = values.room[int(frames.bodies[row]) : int(values.stops[row])].tobytes()
            if frames.packed[row]:
                reason, body = _inflated(body, self._most_bytes)
                outcomes[row] = reason
            bodies.append(body)
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


def _inflated(body: bytes, most: int) -> tuple[int, bytes]:
    """Return what zlib has packed, and `FITS` or why there is nothing."""
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


def _change(
    schema: str, before: FieldTypes | None, learned: Learned, attributes: Mapping[tuple[str, ...], str]
) -> SchemaChange:
    """Return what a schema says about declared fields, beside the one that was learned before it."""
    if learned.reader is None:
        return SchemaChange(schema, readable=False)
    now = learned.fields
    then = now if before is None else before

    def names(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(sorted(attributes[path] for path in paths))

    return SchemaChange(
        schema,
        lacking=names(path for path in attributes if path not in now),
        vanished=names(path for path in attributes if path in then and path not in now),
        appeared=names(path for path in attributes if path in now and path not in then),
        retyped=names(path for path in attributes if path in now and path in then and now[path] != then[path]),
    )
