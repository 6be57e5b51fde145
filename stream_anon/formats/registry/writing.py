"""Write records that name their schema: it is registered, or looked up, before the first one is written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stream_anon.errors import Refused, RegistryError
from stream_anon.formats.registry.asking import WAY_OUT, RegistrySession, SchemaRegistry
from stream_anon.formats.registry.framing import MOST_ID, lead_of
from stream_anon.formats.registry.registered import RegisteredSchema
from stream_anon.microdata.texts import Texts

# What says nothing about the bytes of a record.
_TOLD_ONLY = frozenset({"doc", "description", "title", "$id", "$schema"})


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The schema of the output, and where it stands.

    Parameters
    ----------
    kind
        What a registry calls its format.
    register
        Whether it is registered; if not, the registry must have it.
    message
        Whether frames name a message, the first.
    taken_wrongly
        Returns why readers of an older schema would take one field for another, None if they would not; it may take
        a while. None for formats whose readers know the writer's schema.
    number
        Its id, if nobody is asked for one.
    """

    subject: str
    text: str
    kind: str
    register: bool
    message: bool = False
    taken_wrongly: Callable[[RegisteredSchema], str | None] | None = None
    number: int | None = None


class Frame:
    """Puts the frame of one schema before records, once `open` has learned its id."""

    def __init__(self, registry: SchemaRegistry, schema: OutputSchema) -> None:
        self._registry, self._schema = registry, schema
        self._lead = b"" if schema.number is None else lead_of(schema.number, message=schema.message)
        self.width = len(lead_of(0, message=schema.message))

    async def open(self) -> None:
        """Register the schema, or look it up, once.

        Raises
        ------
        RegistryError
            If the registry is away, gives an id that no frame can hold, or the subject has no schema yet and none
            may be registered.
        Refused
            If the registry refuses the schema, or the subject has another one.
        """
        if self._lead:
            return
        schema = self._schema
        async with self._registry.session() as session:
            if schema.register:
                await _raise_if_taken_wrongly(session, schema)
                number = await session.register(schema.subject, schema.text, schema.kind)
            else:
                number = await _found(session, schema)
        if not 0 <= number <= MOST_ID:
            raise RegistryError(f"registry: gave the output's schema the id {number}, which no frame can hold")
        self._lead = lead_of(number, message=schema.message)

    async def raise_if_refused(self) -> None:
        """Ask whether `open` would learn the id, and register nothing; raises as `open` does."""
        schema = self._schema
        async with self._registry.session() as session:
            if not schema.register:
                await _found(session, schema)
                return
            await _raise_if_taken_wrongly(session, schema)
            if not await session.takes(schema.subject, schema.text, schema.kind):
                raise Refused(
                    "the registry would refuse the output's schema: it does not go with the schemas of the "
                    f"subject {schema.subject}. {WAY_OUT}"
                )

    def put_before(self, records: Texts) -> Texts:
        """Return records with their frames."""
        if not self._lead:
            raise RegistryError("the id of the output's schema is not known yet")
        return records.cut(records.starts, records.stops, lead=self._lead, gap=0)


async def _raise_if_taken_wrongly(session: RegistrySession, schema: OutputSchema) -> None:
    """Raise `Refused` if the newest schema's readers would take a field for another; a known schema is taken."""
    if (
        schema.taken_wrongly is None
        or await session.looked_up(schema.subject, schema.text, schema.kind) is not None
    ):
        return
    newest = await session.newest(schema.subject)
    if newest is None or newest.kind != schema.kind:
        return
    why = await asyncio.to_thread(schema.taken_wrongly, newest)
    if why is not None:
        raise Refused(
            f"the output's schema does not go with the newest one of the subject {schema.subject}: {why}. Put new "
            "attributes behind all others and keep those that went, set another kafka.registry.subject, or "
            "register the schema yourself once nobody reads by the old one"
        )


async def _found(session: RegistrySession, schema: OutputSchema) -> int:
    exact = await session.looked_up(schema.subject, schema.text, schema.kind)
    if exact is not None:
        return exact
    newest = await session.newest(schema.subject)
    if newest is None:
        raise RegistryError(
            f"registry: the subject {schema.subject} has no schema yet: register what `stream-anon schema` prints, "
            "or set kafka.registry.register_schema: true"
        )
    if newest.id is None or newest.kind != schema.kind or not says_the_same(newest.text, schema.text):
        raise Refused(
            f"the newest schema of the subject {schema.subject} is not that of the output: register what "
            "`stream-anon schema` prints, or set kafka.registry.register_schema: true"
        )
    return newest.id


def says_the_same(one: str, other: str) -> bool:
    """Return whether two schemas differ in nothing but what they tell people."""
    try:
        return bool(_bare(json.loads(one)) == _bare(json.loads(other)))
    except (ValueError, RecursionError):  # Protobuf: its comments tell
        return _without_comments(one) == _without_comments(other)


def _bare(schema: Any) -> Any:
    """Return a schema without what it tells people."""
    if isinstance(schema, list):
        return [_bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    # A property may have one of these names: then what stands there is no text.
    return {key: _bare(each) for key, each in schema.items() if key not in _TOLD_ONLY or not isinstance(each, str)}


def _without_comments(text: str) -> list[str]:
    return [word for line in text.splitlines() for word in line.partition("//")[0].split()]
